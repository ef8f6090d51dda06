/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that we start ourselves: one command, or the ranks of this
 * node. The table is made before the first of them runs; what becomes of each
 * is kept in it until the end.
 */
#ifndef RI_SHIM_LAUNCH_CHILDREN_H
#define RI_SHIM_LAUNCH_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "report/outcome.h"

struct ri_child {
	pid_t pid;
	bool lives;
	bool told_to_stop;	/* before it ended */
	bool spoke;		/* and had written something shortly before that */
	bool killed;		/* by us, if it did not end meanwhile */
	unsigned order;		/* 1: it was reaped first */
	int wait_status;	/* as wait4(2) gives it */
	long peak_kib;		/* ru_maxrss: the largest of it and its reaped children */
	int64_t ended_ms;	/* CLOCK_MONOTONIC */
	struct timespec started, ended;	/* CLOCK_REALTIME */
	struct timespec gone_at;	/* when it was first seen to be dying; 0: it was not */
	bool leaving;		/* an exception has left its program, and it lives */
	bool doubtful;		/* it is to be looked at: may an exception be ending it? */
	enum ri_course course;	/* as hang/course.h saw it */
	bool handled;		/* and so of an exception that it had in hand */
	struct timespec course_at;	/* CLOCK_REALTIME, before the look; 0: there was none */
	struct timespec raised_at;	/* CLOCK_REALTIME, when either was seen first; 0: not */
	bool unheeding;		/* a stop would not end it before it ends of itself */
	unsigned lingered_s;	/* so long after its exception we stopped it; 0: we did not */
};

struct ri_children {
	struct ri_child *items;	/* by local rank */
	size_t count;		/* how many there shall be */
	size_t started;		/* how many of them there are, or were */
	size_t living;
	int refused;		/* exit status for which no more were started, or 0 */
	struct timespec refused_at;	/* CLOCK_REALTIME */
	uint64_t first_rank;	/* of items[0], where there are several */
};

/* Room for count of them, 1 to RI_MAX_LOCAL. */
int ri_children_init(struct ri_children *children, size_t count, struct ri_arena *arena,
	struct ri_error *err);

/* The next one was started. */
void ri_children_add(struct ri_children *children, pid_t pid);

/* The next one cannot be started, and none after it will be. */
void ri_children_refuse(struct ri_children *children, int exit_status);

/* The one of that pid that lives, or NULL. */
struct ri_child *ri_children_find(const struct ri_children *children, pid_t pid);

/* It was reaped, just now. */
void ri_children_end(struct ri_children *children, struct ri_child *child, int wait_status,
	const struct rusage *usage);

/* The exit status that shells give: the code, or 128 + signal. */
int ri_child_status(int wait_status);

/* Has it ended, and not with 0? */
bool ri_child_failed(const struct ri_child *child);

/* The failed one that was reaped first, or NULL. */
const struct ri_child *ri_children_first_of(const struct ri_children *children);

/* Append what the kernel said of it: "rank 2 ended first: exit status 1". */
void ri_child_add_end(struct ri_text *out, const struct ri_children *children,
	const struct ri_child *child);

/* Was its memory looked at since then (CLOCK_REALTIME)? */
bool ri_child_was_looked_at(const struct ri_child *child, struct timespec then);

/* When the first of those that failed ended (CLOCK_REALTIME); 0: none did. */
struct timespec ri_children_first_failure(const struct ri_children *children);

/* Did one of them end of a SIGKILL that was not ours? */
bool ri_children_lost_one(const struct ri_children *children);

/*
 * wait4(2), without its EINTR, and by waitid(2) where a seccomp profile denies
 * it. pid is one of a child, or -1 for all; flags WNOHANG or WUNTRACED.
 */
pid_t ri_children_reap(pid_t pid, int *status, int flags, struct rusage *usage);

/*
 * A signal for a child that is not reaped, so that its number is its own; by
 * pidfd where a seccomp profile denies kill(2).
 */
void ri_children_signal(pid_t pid, int number);

#endif
