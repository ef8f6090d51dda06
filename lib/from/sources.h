/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all sources, whose order is the precedence, and how each of them is written. */
#ifndef RI_FROM_SOURCES_H
#define RI_FROM_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/env.h"
#include "from/shape.h"
#include "model/topology.h"

struct ri_reading;
struct ri_wishes;

enum ri_source_mpi {
	RI_SOURCE_NO_MPI,
	RI_SOURCE_OPENMPI,
	RI_SOURCE_MPICH,
	RI_SOURCE_MVAPICH2,
};

/* Of a launcher that stops its ranks or passes a signal on to them: whom does it reach? */
enum ri_source_signals {
	RI_SIGNALS_UNKNOWN,
	RI_SIGNALS_GROUP,	/* the process group of the rank, which the launcher made */
	RI_SIGNALS_STEP,	/* as Slurm's process tracking has it */
};

/* What a source reads, of struct ri_source_row. */
#define RI_READS(...) (const struct ri_source_row[]){ __VA_ARGS__, { .name = NULL } }

/* A source's shapes, which --simulate makes its jobs of. */
#define RI_SHAPES(...) \
	.shapes = (const struct ri_shape[]){ __VA_ARGS__ }, \
	.shape_count = sizeof((const struct ri_shape[]){ __VA_ARGS__ }) / sizeof(struct ri_shape)

/* One source. What is no bool or bit must be set, but for detect and read. */
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
	enum ri_source_mpi mpi;	/* whose processes its ranks are */
	enum ri_source_signals signals;
	/* Of RI_SIGNALS_GROUP the programs that start its ranks, "a|b", as /proc names them. */
	const char *launchers;
	bool over_ssh;		/* its ranks may lack what their container was given */
	bool of_container;	/* its variables are the container's: process 1 has them, too */
	/* A file alone may tell that it is there: --source=NAME reads it unseen. */
	bool hidden;
	/*
	 * A variable, one of reads, that the service sets in the processes of its
	 * jobs alone: with it even a process without a rank is no shell
	 * that looks into an image. NULL: there is none, as of an allocation,
	 * where people log in.
	 */
	const char *job;
	/*
	 * Of several sources that are recognised by this variable the first that is
	 * there reads it, and no other one. NULL: it has none to share.
	 */
	const char *shares;
	/* How its jobs start a command once on each node; NULL: by srun or mpirun. */
	const char *once;
	unsigned traits;	/* what follows where it is the identity: bits of enum ri_trait */
	const struct ri_source_row *reads;	/* by RI_READS; end with a NULL name */
	const struct ri_shape *shapes;	/* of its jobs, by RI_SHAPES; none: it starts no job */
	size_t shape_count;
	/*
	 * What the signs among reads cannot say; runs where they are there. Some look-ups,
	 * no allocation, no system call: it runs at every start. NULL: the signs say it all.
	 */
	bool (*detect)(const struct ri_env *env);
	/* Say everything it knows; runs only where it is there. NULL: the rows, ri_claim_rows. */
	void (*read)(struct ri_reading *reading);
};

enum {
#define RI_SOURCE(name) RI_SOURCE_AT_##name,
#include "from/sources.def"
#undef RI_SOURCE
	RI_SOURCE_COUNT
};

#define RI_SOURCE(name) extern const struct ri_source ri_source_##name;
#include "from/sources.def"
#undef RI_SOURCE

/* The table, in order of precedence; ends with NULL. */
extern const struct ri_source *const ri_sources[];

/* The shape at this place, in the order of the sources; NULL past the last. */
const struct ri_shape *ri_source_shape_at(size_t index);

/* The one of that name, which need not end in '\0'; or NULL. */
const struct ri_shape *ri_source_shape_find(const char *name, size_t length);

/* Has the text no bytes but blanks, or none at all? */
bool ri_text_is_blank(const char *text);

/* Does the environment show this source? Not so of one by hand, which options show. */
bool ri_source_is_seen(const struct ri_source *source, const struct ri_env *env);

/*
 * Is the variable set, and no link to a Kubernetes service? For detect functions, which
 * look at the environment alone.
 */
bool ri_source_sees(const struct ri_env *env, const char *variable);

/* The same, and it is not blank? For names that an image may set to an empty value. */
bool ri_source_sees_text(const struct ri_env *env, const char *variable);

/*
 * Did some MPI start this process, whether or not its tuple is whole? Then it
 * is no launcher, even if it inherited the variables of one.
 */
bool ri_source_sees_mpi_rank(const struct ri_env *env);

/*
 * Does the environment describe a task that srun started (slurm.c)? Slurm's variables
 * are in every process of a job: in its batch script and in a shell of salloc they
 * describe the job, and below launchers that srun started they describe these.
 */
bool ri_source_sees_slurm_task(const struct ri_env *env);

/* Is there something to read for it: in the environment, by options, by --source? */
bool ri_source_is_there(const struct ri_source *source, const struct ri_env *env,
	const struct ri_wishes *wishes);

/* Does the source of this identity watch over its ranks? Not so for NULL. */
bool ri_source_manages(const char *identity);

/* How does that source signal its ranks? */
enum ri_source_signals ri_source_signals(const char *identity);

/* Is a program of this name, which may end in ".openmpi" or so, one that starts its ranks? */
bool ri_source_is_launcher(const char *identity, const char *name);

/* Whose MPI job is a process with this identity one of? Of none for NULL. */
enum ri_source_mpi ri_source_mpi(const char *identity);

/* Does a source that may be read say that this process is a job's, with a rank or without? */
bool ri_sources_say_job(const struct ri_env *env, const struct ri_wishes *wishes);

#endif
