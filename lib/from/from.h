/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the environment to facts: one orchestrator per file, and the table of
 * them all in sources.def. The order of the table is the precedence.
 */
#ifndef RI_FROM_FROM_H
#define RI_FROM_FROM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/env.h"
#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"
#include "model/variable.h"

struct ri_reading;

/* What a source may need beside the environment; it is looked up for it alone. */
enum ri_want {
	RI_WANTS_FILES = 1,	/* the context's host */
	RI_WANTS_PROC = 2,	/* the same, with a /proc that is ours, but not of process 1 */
	RI_WANTS_NAME = 4,	/* the context's host_name */
	/*
	 * All of these and the /proc of process 1 as well, to find this machine
	 * in a list: where no launcher has given us a rank, and for --hosts.
	 */
	RI_WANTS_PLACE = 8,
};

/* One source. What is no bool or bit must be set, but for detect. */
struct ri_source {
	const char *name;	/* stable; stands in JSON and in --source */
	const char *summary;	/* one line for --list */
	unsigned identity;	/* what it can say who it is: bits of enum ri_scope */
	/*
	 * Its tuple carries no signature: between it and a launcher's, the one
	 * of the larger world was made inside the other.
	 */
	bool unsigned_tuple;
	bool manages;		/* it started each rank itself and watches over it */
	bool mpi;		/* its ranks are processes of an MPI job */
	bool over_ssh;		/* its ranks may lack what their container was given */
	/* A file alone may tell that it is there: --source=NAME reads it unseen. */
	bool hidden;
	/*
	 * A variable, one of reads, that the service sets in the processes of its
	 * jobs and nobody else anywhere: with it even who has no rank is no shell
	 * that looks into an image. NULL: there is none, as of an allocation,
	 * where people log in.
	 */
	const char *job;
	unsigned wants;		/* beyond the environment: bits of enum ri_want */
	const struct ri_variable *reads;	/* ends with a NULL name */
	/*
	 * Some look-ups, no allocation, no system call: it runs at every start.
	 * NULL: not a matter of the environment, but of options.
	 */
	bool (*detect)(const struct ri_env *env);
	/* Say everything it knows; runs only where detect said yes. */
	void (*read)(struct ri_reading *reading);
};

/* The table, in order of precedence; NULL past its end. */
const struct ri_source *ri_source_at(size_t index);

/* Does the source of this identity watch over its ranks? Not so for NULL. */
bool ri_source_manages(const char *identity);

/* Is a process with this identity one of an MPI job? Not so for NULL. */
bool ri_source_is_mpi(const char *identity);

/* Does a source that may be read say that this process is a job's, with a rank or without? */
bool ri_sources_say_job(const struct ri_env *env, const struct ri_wishes *wishes);

/*
 * Bits of enum ri_want: what the sources that are there could use. Only of
 * these the context needs anything.
 */
unsigned ri_sources_want(const struct ri_env *env, const struct ri_wishes *wishes);

/*
 * Read the environment through all sources and complete what they say. The
 * innermost source with a complete tuple (rank, world_size, local_rank,
 * local_world_size) gives the identity, and no other one gives any part of
 * it; master and hosts may come from an outer one. Where no process has an
 * identity its node may: the first source that knows the node's place, if
 * anybody knows how many nodes there are. A launcher of ranks has none.
 *
 * Without an identity out->identity is NULL, and broken values are findings.
 * With one, a broken value that is needed is an error: RI_CODE_ENV_VALUE and
 * the name of the variable, or the code of the rule that it breaks.
 * The topology borrows from the snapshot and the arena.
 *
 * Where ranks are started here (context->fan_out) and nothing else gives the
 * identity, the node's place does (ri_topology_adopt_node), as source manual.
 *
 * Facts stated by hand (context->wishes) win one by one, whoever gives the
 * identity; what is wrong with them is always an error: RI_CODE_OPTION_VALUE,
 * RI_CODE_OPTION_CONFLICT. A source that is forced and gives no identity is
 * RI_CODE_SOURCE_ABSENT.
 *
 * After a failure *out holds the candidates that were read until then, to
 * explain it by; nothing can be started from it.
 */
int ri_topology_read(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err);

#endif
