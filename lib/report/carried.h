/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one attempt of a job leaves for the next: rankinit executes itself again (--restarts), and
 * all that the next one is to know of those before it stands here.
 */
#ifndef RI_REPORT_CARRIED_H
#define RI_REPORT_CARRIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "report/verdict.h"

/* Of a descriptor of rankinit's own, for the rankinit that it executes: its number. */
#define RI_CARRIED_VARIABLE "RANKINIT_CARRIED"

/* Of the ranks, where --restarts is given: how often they were started before, "0" at first. */
#define RI_ATTEMPT_VARIABLE "RANKINIT_ATTEMPT"

enum {
	RI_CARRIED_NAME = 16,	/* as the kernel has it, with its end */
	RI_CARRIED_SIGNATURE = 256,
	RI_CARRIED_FAILURE = 512,
	RI_CARRIED_KEY = 32,
	RI_CARRIED_VERDICT = 3072,
};

/* Of a job of several nodes: what its link leaves (shim/link). */
struct ri_carried_link {
	bool on;
	unsigned char key[RI_CARRIED_KEY];	/* of the attempt that begins */
	int place;		/* descriptor of the node's name in its network; 0: none */
	struct ri_verdict verdict;	/* on the last one; this node would have ended so */
	char text[RI_CARRIED_VERDICT];	/* the same as lines */
};

struct ri_carried {
	pid_t pid;		/* whose it is */
	uint64_t attempt;	/* that begins: 1 for the first restart */
	uint64_t mask;		/* signals that were blocked when rankinit was first executed */
	struct timespec began;	/* the first attempt, CLOCK_REALTIME */
	uint64_t quick;		/* attempts in a row that were over in no time: restarts.h */
	uint64_t lines;		/* of rank 0 in the last attempt, as far as they were read */
	int program;		/* descriptor of rankinit itself, O_PATH */
	char name[RI_CARRIED_NAME];	/* of the process, which an exec by a descriptor changes */
	char signature[RI_CARRIED_SIGNATURE];	/* of how the last attempt failed: restarts.h */
	char failure[RI_CARRIED_FAILURE];	/* the same for people, in a line without secrets */
	/* of its verdict, which nobody has said yet; "": none */
	char last_line[RI_VERDICT_LINE_SIZE];
	struct ri_carried_link link;
	struct ri_restarts restarts;	/* all that were made */
};

/* Bytes that ri_carried_write makes, at most. */
enum { RI_CARRIED_SIZE = 32768 };

/* Returns how many of the RI_CARRIED_SIZE bytes, aligned as a uint64_t is, are used. */
size_t ri_carried_write(const struct ri_carried *carried, void *bytes);

/* Returns false, and leaves *out, where they are not what ri_carried_write makes. */
bool ri_carried_read(struct ri_carried *out, const void *bytes, size_t length);

#endif
