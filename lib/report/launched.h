/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that a launcher started below rankinit: what the kernel told of their ends, what the
 * launcher says of them on its stderr, and whose words stand there, made into outcomes of ranks.
 */
#ifndef RI_REPORT_LAUNCHED_H
#define RI_REPORT_LAUNCHED_H

#include "base/limits.h"
#include "report/outcome.h"

enum {
	RI_LAUNCHED = 1024,	/* ranks of one node that are watched, those of restarts counted */
	/* bytes of the words of all of them: each is a part of what is kept, and ends in a line */
	RI_LAUNCHED_WORDS = 2 * (RI_OUTPUT_TAIL + RI_OUTPUT_HEAD),
	RI_LAUNCHED_ERRORS = 16,	/* error files of torch's, of the ranks that ended first */
	RI_LAUNCHED_ERROR = 65536,	/* bytes of one; a larger one is not read */
	RI_LAUNCHED_STREAMS = 64,	/* files that ranks had open as stderr */
	RI_LAUNCHED_STREAM = 65536,	/* bytes of one, from its end */
};

/* What a rank wrote where its launcher's TORCHELASTIC_ERROR_FILE said. */
struct ri_launched_error {
	uint32_t item;		/* index of that rank */
	uint32_t length;
	char bytes[RI_LAUNCHED_ERROR];
};

/* What a rank wrote to a file that it had open as stderr. */
struct ri_launched_stream {
	uint32_t item;		/* index of that rank */
	uint32_t length;
	uint64_t device, inode;	/* with the same, several have one file */
	struct timespec written;	/* CLOCK_REALTIME, the last of it */
	char bytes[RI_LAUNCHED_STREAM + 1];	/* whole lines, but for the last */
};

/* One that was seen while it lived. */
struct ri_launched {
	pid_t pid, parent;
	uint64_t born;		/* clock ticks since boot */
	int64_t rank, local_rank;	/* local_rank -1: not known */
	int64_t local_ranks;	/* that the launcher starts on this node; 0: not known */
	int64_t restarts, most_restarts;	/* of its launcher's, before this one began */
	bool has_file;		/* as its stderr */
	bool is_rank;		/* false: one below it is, as was seen later */
	unsigned order;		/* 1: it ended first; 0: it lives, as far as is known */
	struct timespec started, ended;	/* CLOCK_REALTIME */
	bool has_status;	/* the kernel told how it ended: */
	int wait_status;	/* as wait4(2) gives it */
};

/* One that had an exception when it was seen last. */
struct ri_launched_held {
	size_t index;		/* of those that were seen */
	bool handled;		/* which leaves its program for certain; false: it has left it */
	struct timespec raised;	/* CLOCK_REALTIME, as far as that is known */
	unsigned lingered_s;	/* after that the launcher was stopped for it; 0: it was not */
	const char *held;	/* by what it was kept from its end; or NULL */
	struct ri_span words;	/* what Python prints of it */
};

struct ri_launched_source {
	const struct ri_launched *seen;
	size_t count;
	const struct ri_launched_error *errors;
	size_t error_count;
	const struct ri_launched_stream *streams;
	size_t stream_count;
	struct ri_span text;	/* the last bytes of the launcher's stderr; at NULL: a terminal */
	bool cut;		/* its first line may be half of one, and is left out */
	struct timespec stopped;	/* CLOCK_REALTIME, a stop from outside; 0: none came */
	struct timespec started, ended;	/* the launcher did */
	char *room;		/* of RI_LAUNCHED_WORDS, for the words of the ranks */
	const struct ri_launched_held *held;
	size_t held_count;
	/* Ray starts them, whose driver says by its last exception who failed: */
	bool of_ray;
	bool python;		/* it is one command: of others' words those of Lightning count */
	bool later_node;	/* a place on the node is none in the job */
	const struct ri_rank_outcome *command;	/* how it ended, which may be a rank itself */
	bool (*is_here)(const char *host);	/* is it this node, by its address? */
	struct timespec traceback;	/* CLOCK_REALTIME, when the last one began in the text */
	struct ri_actor *actor;	/* room for one that is no rank that was seen */
};

/*
 * The outcomes of the ranks that were seen last under their numbers, of the last start of their
 * launcher, or that the launcher tells of, in the order of their numbers, out of room at most.
 * Classes are not found yet. Returns how many; 0 where none failed before the launcher ended,
 * and no exception had left the program of one.
 */
size_t ri_launched_outcomes(const struct ri_launched_source *given, struct ri_rank_outcome *out,
	size_t room);

#endif
