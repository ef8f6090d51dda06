/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librankinit, in the order in which data flows through it. The library is
 * pure: it never forks, executes, prints or reads environ, and it opens no
 * path but below a root directory that it is handed.
 */
#ifndef RI_RANKINIT_H
#define RI_RANKINIT_H

/* What everything stands on. */
#include "base/limits.h"	/* every bound */
#include "base/error.h"		/* why a step failed: codes.def */
#include "base/finding.h"	/* what a stage has to say */
#include "base/arena.h"		/* memory until the command starts */
#include "base/text.h"		/* bounded text, quoting, nearest names */
#include "base/number.h"	/* the only place where text becomes a number */
#include "base/loopback.h"	/* a machine's names for itself */
#include "base/signals.h"	/* signal names, signal and exit maps */

/* The machine. */
#include "base/host.h"		/* files below a root directory */
#include "base/path.h"		/* where a path really leads */
#include "base/account.h"	/* users and groups of the image */
#include "base/cgroup.h"	/* our cgroups, out-of-memory kills */
#include "base/mounts.h"	/* what is mounted where */
#include "base/procstat.h"	/* one process in /proc */

/* 1. The environment as it was found. */
#include "base/env.h"

/* What this node has for ranks. */
#include "node/node.h"		/* how many CPUs and GPUs there are to use */
#include "node/cpus.h"		/* sets of CPUs */
#include "node/budget.h"	/* the CPUs that are ours, and the quota */
#include "node/hierarchy.h"	/* our cgroups of a controller, and their limits */
#include "node/gpus.h"		/* the GPUs that a program sees */
#include "node/cores.h"		/* cores and NUMA nodes */
#include "node/place.h"		/* where each rank runs */
#include "node/elf.h"		/* what a library says of itself */
#include "node/ldcache.h"	/* the table of the loader */
#include "node/program.h"	/* programs on PATH */
#include "node/script.h"		/* who runs a script */
#include "node/library.h"	/* libraries as the loader finds them */
#include "node/mca.h"		/* what Open MPI is told to use */
#include "node/mpi.h"		/* libraries and launchers of MPI */
#include "node/rdma_core.h"	/* libibverbs and its providers */
#include "node/probe.h"		/* what rankinit-probe says of them */
#include "node/sysfile.h"	/* files of /proc and /sys with one value */
#include "node/nvidia.h"	/* NVIDIA's driver, peer memory */
#include "node/infiniband.h"	/* RDMA devices and their ports */
#include "node/verbs.h"		/* the nodes of these devices */
#include "node/ofed.h"		/* whose driver the kernel runs for them */
#include "node/interfaces.h"	/* network interfaces */
#include "node/choice.h"	/* lists that choose among interfaces or HCAs */
#include "node/hostname.h"	/* what this node is called */
#include "node/storage.h"	/* what kind of storage a path is on */
#include "node/demand.h"	/* what is asked of the node: --require and the like */
#include "node/azure_size.h"	/* what a VM size of Azure should have */
#include "node/limits.h"	/* limits of a process */
#include "node/status.h"	/* its capabilities */

/* 2. Who speaks in it: sources.def. */
#include "from/from.h"

/* 3. One topology of facts, each with its origin: facts.def, rules.def. */
#include "model/topology.h"
#include "model/wishes.h"	/* what the user states by hand */
#include "model/explain.h"	/* all of it for people and for programs */
#include "model/json.h"		/* what our JSON documents share */

/* 4. What the command is: launchers.def. */
#include "to/words.h"		/* options among its words */
#include "to/command.h"
#include "to/nodes.h"

/* 5. Variables for the frameworks: frameworks.def. */
#include "to/to.h"
#include "to/expand.h"

/* 6. What the command says: whole lines, names of logs, the end of stderr. */
#include "output/pattern.h"
#include "output/lines.h"
#include "output/tail.h"

/* 7. What became of it, told with the cause first. */
#include "report/outcome.h"
#include "report/span.h"
#include "report/traceback.h"	/* Python's, in what a rank wrote to stderr */
#include "report/redact.h"	/* secrets out of text */
#include "report/torch_error.h"	/* what torch itself wrote about it */
#include "report/verdict.h"	/* for people */
#include "report/report.h"	/* for programs */
#include "report/job.h"		/* the state file */

#endif
