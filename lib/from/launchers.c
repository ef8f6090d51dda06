/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launchers that tell each rank who it is and say little else: by names of their own horovodrun,
 * jsrun, Flux, PALS, MVAPICH2, Hydra, and whatever else speaks PMI; by torch's names torchrun,
 * deepspeed and an outer rankinit.
 */
#include <inttypes.h>
#include <string.h>

#include "from/hosts.h"
#include "from/reading.h"

#define HOSTS "Horovod horovod/runner/common/util/hosts.py, get_host_assignments"

/*
 * The cross rank counts the hosts that have this local rank. All hosts have
 * local rank 0, so there it is the node's; elsewhere it is that if no host
 * has fewer ranks than this one, which a worker cannot know for certain.
 */
static void read_horovod(struct ri_reading *reading)
{
	uint64_t local_rank, cross, hosts, rank, size, local;
	bool even;

	ri_claim_rows(reading, ri_source_horovod.reads);
	if (ri_reading_number(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK", &cross) &&
		ri_reading_number(reading, RI_FACT_NNODES, "HOROVOD_CROSS_SIZE", &hosts) &&
		ri_claim_get(reading, RI_FACT_LOCAL_RANK, &local_rank) && local_rank > 0) {
		/* is it where it would be if every host had as many ranks as this one? */
		even = ri_claim_get(reading, RI_FACT_RANK, &rank) &&
			ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) &&
			ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
			hosts * local == size && cross * local + local_rank == rank;
		if (!even) {
			ri_claim_open(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK",
				"HOROVOD_CROSS_RANK skips hosts with fewer ranks");
			return;
		}
		if (hosts > 1)
			ri_note(reading->context->findings, RI_CODE_NODE_RANK_ASSUMED,
				"HOROVOD_CROSS_RANK", "%" PRIu64
				" is the node's index if every node has as many ranks as this one",
				cross);
	}
	ri_claim_number(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK");
	ri_claim_filled(reading, RI_FACT_NNODES, "HOROVOD_CROSS_SIZE");
}

/* Its rendezvous is the driver's, and speaks Horovod's protocol: no master for anybody else. */
const struct ri_source ri_source_horovod = {
	.name = "horovod",
	.summary = "a worker of horovodrun over Gloo",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.cite = "Horovod horovod/runner/gloo_run.py, create_slot_env_vars",
	.reads = RI_READS(
		{ "HOROVOD_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "HOROVOD_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "HOROVOD_LOCAL_RANK", "local rank", RI_SEEN, RI_NUMBER(LOCAL_RANK) },
		{ "HOROVOD_LOCAL_SIZE", "ranks on this node", 0, RI_FILLED(LOCAL_WORLD_SIZE) },
		{ "HOROVOD_CROSS_RANK", "index of this node among the nodes with this local rank",
		  RI_SEEN, .value = "<node>", .cite = HOSTS },
		{ "HOROVOD_CROSS_SIZE", "the number of those nodes", .value = "<nodes>",
		  .cite = HOSTS }),
	/* The driver ends all workers where one fails. */
	RI_SHAPES({ RI_SHAPE_OF(horovod, PROCESS), .summary = "horovodrun starts each worker",
		.beside = ri_shape_states_master, .grace_s = 5,
		RI_CITE("Horovod horovod/runner/common/util/safe_shell_exec.py, "
			"GRACEFUL_TERMINATION_TIME_S") }),
	.read = read_horovod,
};

#define LSF "Lightning src/lightning/fabric/plugins/environments/lsf.py"

/* The nodes are LSF's to tell (schedulers.c). */
const struct ri_source ri_source_jsm = {
	.name = "jsm",
	.summary = "a rank under jsrun (IBM Job Step Manager)",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.cite = LSF,
	.reads = RI_READS(
		{ "JSM_NAMESPACE_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "JSM_NAMESPACE_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "JSM_NAMESPACE_LOCAL_RANK", "local rank", 0, RI_FILLED(LOCAL_RANK) },
		{ "JSM_NAMESPACE_LOCAL_SIZE", "ranks on this node", 0, RI_FILLED(LOCAL_WORLD_SIZE),
		  .cite = "IBM Spectrum LSF, jsrun(1)" }),
	/* What jsrun gives a rank to end is not documented: JOB_TERMINATE_INTERVAL of LSF. */
	RI_SHAPES({ RI_SHAPE_OF(jsm, PROCESS), .summary = "jsrun starts each rank",
		.beside = ri_shape_states_master, .grace_s = 10,
		RI_CITE("IBM Spectrum LSF, lsb.params, JOB_TERMINATE_INTERVAL") }),
};

static void read_flux(struct ri_reading *reading)
{
	ri_claim_rows(reading, ri_source_flux.reads);
	/* A launcher in one of its tasks may use fewer. */
	if (ri_reading_is_direct(reading))
		ri_claim_filled(reading, RI_FACT_NNODES, "FLUX_JOB_NNODES");
}

/*
 * Flux tells neither how many tasks the node has nor which node it is, and its hosts only to
 * those who ask it.
 */
const struct ri_source ri_source_flux = {
	.name = "flux",
	.summary = "a task of a Flux job",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.cite = "flux-core doc/man7/flux-environment.rst",
	.reads = RI_READS(
		{ "FLUX_TASK_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "FLUX_JOB_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "FLUX_TASK_LOCAL_ID", "local rank", 0, RI_FILLED(LOCAL_RANK) },
		{ "FLUX_JOB_NNODES", "nodes of the job", .value = "<nodes>" },
		{ "FLUX_JOB_ID", "the job, as text", 0, RI_JOB_NAME, "\306\222F58" }),
	/* exit-timeout ends the other tasks 30 s after one has ended: here at once. */
	RI_SHAPES({ RI_SHAPE_OF(flux, PROCESS), .summary = "flux run starts each task",
		.beside = ri_shape_states_master, .grace_s = 5,
		.succeeded = "COMPLETED", .failed = "FAILED", .stopped = "CANCELED",
		RI_CITE("flux-core doc/man5/flux-config-exec.rst, kill-timeout; "
			"doc/man1/flux-shell.rst, exit-timeout; doc/man1/flux-jobs.rst") }),
	.read = read_flux,
};

#define CORAL "flux-coral2 src/shell/plugins/cray_pals.c"
#define CRAY "Slurm src/plugins/mpi/cray_shasta/mpi_cray_shasta.c"

/* Slurm sets the same names for MPI of Cray; then it is Slurm that tells who a task is. */
static bool is_of_no_slurm(const struct ri_env *env)
{
	return !ri_source_sees_slurm_task(env);
}

/*
 * With PMIx in place of PMI it does not say how many ranks there are. Where the ranks up to this
 * one fill their nodes, PBS says how many nodes these are.
 */
static void read_pals(struct ri_reading *reading)
{
	uint64_t rank, local_rank, local, node, size;
	struct ri_hostfile file;

	ri_claim_rows(reading, ri_source_pals.reads);
	if (ri_claim_of(reading, RI_FACT_WORLD_SIZE, reading->source->name) != NULL ||
		!ri_claim_get(reading, RI_FACT_RANK, &rank) ||
		!ri_claim_get(reading, RI_FACT_LOCAL_RANK, &local_rank) ||
		!ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &local) ||
		!ri_claim_get(reading, RI_FACT_NODE_RANK, &node) ||
		local_rank >= local || rank != node * local + local_rank ||
		/* what is wrong with it source "pbs" says */
		!ri_hostfile_of_variable(&file, "PBS_NODEFILE", reading) ||
		node >= file.count || file.count > RI_MAX_RANKS / local)
		return;
	size = file.count * local;
	ri_claim_value(reading, RI_FACT_WORLD_SIZE, "PBS_NODEFILE", size);
	ri_finding_hint(ri_findings_add(reading->context->findings,
		rank == 0 ? RI_SEVERITY_WARNING : RI_SEVERITY_NOTE, RI_CODE_WORLD_SIZE_ASSUMED,
		"PBS_NODEFILE", "pals does not give the number of ranks: %" PRIu64 " is right if "
		"each of %zu nodes has %" PRIu64, size, file.count, local),
		"if mpiexec starts fewer, state --rank, --world-size, --local-rank and "
		"--local-world-size");
}

const struct ri_source ri_source_pals = {
	.name = "pals",
	.summary = "a rank under mpiexec of Cray PALS",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.cite = CRAY,
	.reads = RI_READS(
		{ "PALS_RANKID", "rank", RI_SEEN, RI_NUMBER(RANK), .cite = CORAL },
		{ "PMI_SIZE", "world size", 0, RI_FILLED(WORLD_SIZE) },
		{ "PALS_LOCAL_RANKID", "local rank", 0, RI_FILLED(LOCAL_RANK) },
		{ "PMI_LOCAL_RANK", "the same", 0, RI_ELSE(LOCAL_RANK) },
		{ "PALS_LOCAL_SIZE", "ranks on this node", 0, RI_FILLED(LOCAL_WORLD_SIZE) },
		{ "PMI_LOCAL_SIZE", "the same", 0, RI_ELSE(LOCAL_WORLD_SIZE) },
		{ "PALS_NODEID", "index of this node", RI_SEEN, RI_NUMBER(NODE_RANK),
		  .cite = CORAL },
		{ "PALS_APID", "the application's name", 0, RI_JOB_NAME,
		  "3c5a9a4e-6b3f-4a8e-9f0b-0d6e5a1c2b7d", .cite = CORAL },
		{ "PBS_NODEFILE", "a file with the nodes, which count the ranks without PMI_SIZE",
		  .cite = "meta-pytorch/torchcomms pull request 79" }),
	/* How long it waits, and for whom, is not documented: as mpirun of others. */
	RI_SHAPES({ RI_SHAPE_OF(pals, PROCESS), .summary = "mpiexec of PALS starts each rank",
		.beside = ri_shape_states_master, .grace_s = 5, RI_CITE(CORAL) }),
	.detect = is_of_no_slurm,
	.read = read_pals,
};

#define ACCELERATE "Accelerate src/accelerate/utils/environment.py"

/* By mpirun_rsh. Its mpiexec is Hydra's, and so is that of MVAPICH 3. */
const struct ri_source ri_source_mvapich2 = {
	.name = "mvapich2",
	.summary = "a rank under mpirun_rsh of MVAPICH2",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_MVAPICH2,
	.over_ssh = true,
	.cite = ACCELERATE,
	.reads = RI_READS(
		{ "MV2_COMM_WORLD_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "MV2_COMM_WORLD_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "MV2_COMM_WORLD_LOCAL_RANK", "local rank", 0, RI_FILLED(LOCAL_RANK) },
		{ "MV2_COMM_WORLD_LOCAL_SIZE", "ranks on this node", 0, RI_FILLED(LOCAL_WORLD_SIZE),
		  .cite = "MVAPICH2 User Guide, 9.1" }),
	/* How long it waits is not documented: as mpirun of others. */
	RI_SHAPES({ RI_SHAPE_OF(mvapich2, PROCESS), .summary = "mpirun_rsh starts each rank",
		.beside = ri_shape_states_master, .grace_s = 5, RI_CITE(ACCELERATE) }),
};

#define TOOLS "MPICH src/pm/hydra/tools/bootstrap/external"

/*
 * Hydra does not say which node this is. Where it used Slurm as its launcher
 * there is one proxy for each node, and Slurm's variables are the proxy's. A job
 * that fits this node was started inside of the step instead.
 */
static void read_hydra(struct ri_reading *reading)
{
	uint64_t size, local, tasks, nodes;

	ri_claim_rows(reading, ri_source_hydra.reads);
	if (!ri_reading_is_direct(reading) ||
		!ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) ||
		!ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &local) || local >= size ||
		!ri_reading_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_TASKS", &tasks) ||
		!ri_reading_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES", &nodes) ||
		tasks != nodes || nodes < 2)
		return;
	ri_claim_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES");
	ri_claim_number(reading, RI_FACT_NODE_RANK, "SLURM_NODEID");
	ri_claim_master(reading, ri_claim_hostlist(reading, "SLURM_STEP_NODELIST"),
		RI_STRENGTH_SAID);
}

/*
 * PMI_RANK alone is no proof, since Slurm, Flux and PALS set it as well; the local
 * index and count are Hydra's own.
 */
const struct ri_source ri_source_hydra = {
	.name = "hydra",
	.summary = "a rank under mpiexec of MPICH or Intel MPI",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_MPICH,
	/* HYD_pmcd_pmip_send_signal() of src/pm/hydra/proxy */
	.signals = RI_SIGNALS_GROUP,
	.launchers = "hydra_pmi_proxy",
	.once = "mpiexec -n NODES -ppn 1 rankinit -- COMMAND",
	.over_ssh = true,
	.cite = "MPICH src/pm/hydra/proxy/pmip_cb.c",
	.reads = RI_READS(
		{ "PMI_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "PMI_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "MPI_LOCALRANKID", "local rank", RI_SEEN, RI_NUMBER(LOCAL_RANK) },
		{ "MPI_LOCALNRANKS", "ranks of this job on this node", RI_SEEN,
		  RI_NUMBER(LOCAL_WORLD_SIZE) },
		{ "SLURM_STEP_NUM_TASKS", "proxies, if Slurm started them",
		  .cite = TOOLS "/slurm_launch.c" },
		{ "SLURM_STEP_NUM_NODES", "nodes of the proxies", .cite = TOOLS "/slurm_launch.c" },
		{ "SLURM_NODEID", "index of this node's proxy",
		  .cite = TOOLS "/slurm_query_proxy_id.c" },
		{ "SLURM_STEP_NODELIST", "nodes of the proxies, that of rank 0 first",
		  .cite = TOOLS "/slurm_launch.c" }),
	/* How long it waits is not documented: as mpirun of others. One failed rank ends all. */
	RI_SHAPES({ RI_SHAPE_OF(hydra, PROCESS),
		.summary = "mpiexec of MPICH or Intel MPI starts each rank",
		.beside = ri_shape_states_master, .grace_s = 5,
		RI_CITE("MPICH doc/wiki/how_to/Using_the_Hydra_Process_Manager.md") }),
	.read = read_hydra,
};

#define PMI1 "MPICH src/pmi, PMI-1 wire protocol"

static bool is_of_no_hydra(const struct ri_env *env)
{
	return !ri_source_sees(env, "MPI_LOCALRANKID") && !ri_source_sees(env, "MPI_LOCALNRANKS");
}

/* Slurm, Flux and PALS set the two for their own ranks, and say more of them. */
static void read_pmi(struct ri_reading *reading)
{
	uint64_t size;

	if (reading->launcher != NULL)
		return;
	ri_claim_rows(reading, ri_source_pmi.reads);
	if (ri_claim_of(reading, RI_FACT_LOCAL_RANK, reading->source->name) == NULL &&
		ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) && size == 1)
		/* the only one there is */
		ri_claim(reading, RI_FACT_LOCAL_RANK, "PMI_SIZE");
}

/*
 * PMI's own two variables do not tell the node: with several ranks the user has
 * to say the local rank as well, else they are no identity.
 */
const struct ri_source ri_source_pmi = {
	.name = "pmi",
	.summary = "a rank known by PMI alone, if it gives the local rank",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = RI_READS(
		{ "PMI_RANK", "rank", RI_SEEN, RI_NUMBER(RANK), .cite = PMI1 },
		{ "PMI_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE), .cite = PMI1 },
		{ "PMI_LOCAL_RANK", "local rank (Cray PMI)", 0, RI_FILLED(LOCAL_RANK),
		  .cite = CRAY },
		{ "PMI_LOCAL_SIZE", "ranks on this node (Cray PMI)", 0, RI_FILLED(LOCAL_WORLD_SIZE),
		  .cite = CRAY }),
	/* Its launcher is not known: it waits as others' mpirun does. */
	RI_SHAPES({ RI_SHAPE_OF(pmi, PROCESS),
		.summary = "a launcher that speaks PMI starts each rank",
		.beside = ri_shape_states_master, .grace_s = 5, RI_CITE(CRAY) }),
	.detect = is_of_no_hydra,
	.read = read_pmi,
};

bool ri_quartet_sees(const struct ri_env *env)
{
	return ri_source_sees(env, "RANK") && ri_source_sees(env, "WORLD_SIZE") &&
		ri_source_sees(env, "LOCAL_RANK");
}

#define AGENT "PyTorch torch/distributed/elastic/agent/server/local_elastic_agent.py"

/*
 * GROUP_RANK is what tells a worker from a process that was given TORCHELASTIC_RUN_ID by
 * an image or a test.
 */
const struct ri_source ri_source_torchrun = {
	.name = "torchrun",
	.summary = "a worker of torchrun",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.traits = RI_TRAIT_STORE,
	.reads = RI_READS(
		{ "TORCHELASTIC_RUN_ID", "the job's name; only its presence counts", RI_SEEN,
		  .value = "none", .cite = AGENT },
		RI_QUARTET_READS(RI_SEEN),
		{ "GROUP_RANK", "index of this node", RI_SEEN, RI_FILLED(NODE_RANK),
		  .cite = RI_QUARTET_ELASTIC },
		{ "GROUP_WORLD_SIZE", "nodes", 0, RI_FILLED(NNODES), .cite = AGENT }),
	/* An agent that is done closes the rendezvous, and ends the workers of the others. */
	RI_SHAPES({ RI_SHAPE_OF(torchrun, PROCESS), .summary = "torchrun starts each worker",
		.grace_s = 30, RI_CITE("PyTorch torch/distributed/elastic/__init__.py; "
			"multiprocessing/api.py, PContext.close") }),
};

/*
 * Did an outer rankinit write the quartet for a process? A launcher between may have
 * written it again.
 */
static bool is_marked(const struct ri_env *env)
{
	const char *mark = ri_env_get(env, "RANKINIT");
	const char *mode = mark == NULL ? NULL : strchr(mark, ':');

	return mode != NULL && strcmp(mode, ":process") == 0;
}

#define LAUNCH "DeepSpeed deepspeed/launcher/launch.py"

/*
 * Where a rankinit stands around this process, it or the launcher wrote RANK
 * last. What fits DeepSpeed's own names is DeepSpeed's. LOCAL_WORLD_SIZE is not:
 * torchrun or an image left that behind.
 */
static void read_deepspeed(struct ri_reading *reading)
{
	uint64_t size, nodes, local;

	if (is_marked(reading->context->env) &&
		!(ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			ri_reading_number(reading, RI_FACT_NNODES, "CROSS_SIZE", &nodes) &&
			ri_reading_number(
				reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_SIZE", &local) &&
			nodes * local == size))
		return;
	ri_claim_rows(reading, ri_source_deepspeed.reads);
}

/* By launch.py, on its node. */
const struct ri_source ri_source_deepspeed = {
	.name = "deepspeed",
	.summary = "a worker of the deepspeed launcher",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	/* CROSS_RANK, CROSS_SIZE and LOCAL_SIZE tell it from other users of RANK. */
	.cite = LAUNCH,
	.reads = RI_READS(
		{ "RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "WORLD_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "LOCAL_RANK", "local rank", RI_SEEN, RI_NUMBER(LOCAL_RANK) },
		{ "LOCAL_SIZE", "processes on this node", RI_SEEN, RI_NUMBER(LOCAL_WORLD_SIZE) },
		{ "CROSS_RANK", "index of this node", RI_SEEN, RI_NUMBER(NODE_RANK) },
		{ "CROSS_SIZE", "nodes", RI_SEEN, RI_NUMBER(NNODES) },
		{ "MASTER_ADDR", "host on which rank 0 listens", 0, RI_MASTER, .stated = true },
		{ "MASTER_PORT", "port on which rank 0 listens", 0, RI_FILLED(MASTER_PORT),
		  .stated = true }),
	/* Where a process fails, launch.py ends the others of its own node alone. */
	RI_SHAPES({ RI_SHAPE_OF(deepspeed, PROCESS),
		.summary = "deepspeed's launch.py starts each process",
		.grace_s = 30,
		.goes_on = true, RI_CITE(LAUNCH ", terminate_process_tree, sigkill_handler") }),
	.read = read_deepspeed,
};

static void read_rankinit(struct ri_reading *reading)
{
	uint64_t nodes, size;

	/*
	 * Workers of a launcher that rankinit launched carry the mark too. A node's identity
	 * leaves an image's RANK in place, and says of how many nodes.
	 */
	if (reading->identity != NULL ||
		(ri_reading_number(reading, RI_FACT_NNODES, "NNODES", &nodes) &&
			ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			size < nodes))
		return;
	ri_claim_rows(reading, ri_source_rankinit.reads);
	if (ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK") == NULL)
		ri_claim_open(reading, RI_FACT_NODE_RANK, "RANKINIT",
			"unknown to the outer rankinit");
}

/*
 * The mark tells its output from what others left behind. Where it launched a launcher
 * (mode node, none) the four are not of its making.
 */
const struct ri_source ri_source_rankinit = {
	.name = "rankinit",
	.summary = "a process that an outer rankinit launched",
	.identity = RI_SCOPE_PROCESS,
	.unsigned_tuple = true,
	.traits = RI_TRAIT_BELOW,
	.cite = "rankinit(8)",
	.reads = RI_READS(
		{ "RANKINIT", "VERSION:MODE, the mark; only mode process is used" },
		RI_QUARTET_READS(RI_SEEN),
		{ "NODE_RANK", "index of this node" },
		{ "NNODES",
		  "nodes; more nodes than ranks mean that the outer rankinit did not set the "
		  "ranks" }),
	.detect = is_marked,
	.read = read_rankinit,
};
