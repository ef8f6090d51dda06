/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that describes a cluster and the task that reads it, as TF_CONFIG and
 * CLUSTER_SPEC do:
 *
 *     {"cluster": {"worker": ["host:port", ...], ...}, "task": {"type": "worker", "index": 0}}
 *
 * Keys that are not known are ignored. {} is no cluster, and so is
 * one without a task.
 */
#ifndef RI_FROM_CLUSTER_H
#define RI_FROM_CLUSTER_H

#include <stdint.h>

#include "from/reading.h"

/* The types of tasks. The first two lists end with NULL. */
struct ri_cluster_types {
	const char *const *ranked;	/* in the order of their ranks */
	const char *const *others;	/* that have a role, and no rank */
	const char *const *roles;	/* of the others, in that order; NULL: called as they are */
};

struct ri_cluster {
	const char *role;		/* the task's type or role, as asked for; or NULL */
	uint64_t index;			/* of the task among its type */
	bool served;			/* does the cluster list parameter servers? */
	bool has_place;			/* does the task have a rank? */
	uint64_t place;			/* ... which is this one */
	const char *const *hosts;	/* of all tasks with a rank, in order */
	size_t count;			/* of hosts; 0 where they are not all known */
	bool lone;			/* a task, and no cluster to be one of */
	const char *fault;		/* what was expected; NULL where nothing is wrong */
	size_t fault_at;		/* where in the text, if not as a whole; else 0 */
};

/*
 * Read the text. Returns 0, or -1 when out of memory. The hosts live in the
 * arena, the role is one of the types. With a fault there is no place, but
 * there are hosts if the task alone is wrong. An object of some workers by
 * their index, as TFJob gives it to workers that come and go, leaves open how
 * many there are. Tasks that share a host are processes, and no nodes: then
 * there is the role alone.
 */
int ri_cluster_read(struct ri_cluster *out, const char *text,
	const struct ri_cluster_types *types, struct ri_arena *arena);

#endif
