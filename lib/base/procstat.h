/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process as /proc/PID/stat tells it (proc(5), fields 1 to 6, 9, 10, 14, 15, 22, 33 and 34).
 */
#ifndef RI_BASE_PROCSTAT_H
#define RI_BASE_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ri_procstat {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;		/* 0: its leader is not of our PID namespace */
	char state;		/* 'R', 'S', 'D', 'T', 'Z', ... */
	char name[16];		/* cut by the kernel; may hold any byte */
	bool dying;		/* its end has begun, or it is a zombie */
	bool dumping;		/* the kernel writes its core */
	uint64_t started;	/* clock ticks since boot: tells a reused pid */
	uint64_t ticks;		/* of a CPU that it was given, for itself and in the kernel */
	uint64_t faults;	/* pages of memory that it was given without reading them */
	uint64_t blocked;	/* of signals 1 to 31, 1 << (number - 1), by its first thread */
	uint64_t ignored;	/* the same, those that do nothing */
	uint64_t caught;	/* the same, those with a handler */
};

/*
 * Read the text of the file. Returns false, and leaves *out, if it is not one. Where it ends before
 * the signals, all of them count as blocked, as ignored and as caught.
 */
bool ri_procstat_read(const char *text, struct ri_procstat *out);

#endif
