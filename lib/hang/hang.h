/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a job do at one moment: shim/hang fills it in, the other files of this
 * room judge and show it. One region of fixed size holds all of it, so that it can
 * be shared by processes. Every string in it is foreign.
 */
#ifndef RI_HANG_HANG_H
#define RI_HANG_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "hang/facts.h"

struct ri_wait_row;

enum {
	RI_HANG_PROCESSES = 4096,	/* 512 ranks with seven data-loader workers each */
	RI_HANG_THREADS = 6,		/* of one process, whose stacks are kept */
	RI_HANG_FRAMES = 32,		/* of one stack that are kept: the innermost */
	RI_HANG_STACKS = 131072,	/* frames of all stacks */
	RI_HANG_TEXT = 4 << 20,	/* bytes of all strings */
	RI_HANG_PATH = 256,
	RI_HANG_MISSING = 128,		/* a quarter of 512 ranks */
};

/* A total that could not be read. */
#define RI_HANG_NO_TOTAL UINT64_MAX

/* Is there a Python stack, and why not? */
enum ri_hang_python {
	RI_HANG_NOT_ASKED,	/* it is not there any more, or was not read */
	RI_HANG_HAS_PYTHON,
	RI_HANG_NO_PYTHON,
	RI_HANG_OTHER_PYTHON,	/* a release that is not known */
	RI_HANG_REFUSED,	/* its memory may not be read */
	RI_HANG_SILENT,	/* the worker that read it had to wait for its memory */
	RI_HANG_SLOW,		/* the worker that read it was not done in time */
};

enum ri_hang_class {
	RI_HANG_GONE,		/* it has ended */
	RI_HANG_EXITING,
	RI_HANG_STOPPED,	/* by a signal */
	RI_HANG_DEBUGGED,
	RI_HANG_VFORKING,
	RI_HANG_BLOCKED,	/* in the kernel, where no signal reaches it */
	RI_HANG_COLLECTIVE,
	RI_HANG_CHILD,
	RI_HANG_LOADER,
	RI_HANG_WORK,
	RI_HANG_DATA,
	RI_HANG_LOCK,
	RI_HANG_THREAD,
	RI_HANG_SLEEPS,
	RI_HANG_WAITS,		/* in a system call: for a file or an event */
	RI_HANG_SPINS,		/* runs, and the Python instruction stays the same */
	RI_HANG_RUNS,
	RI_HANG_REFUSED_ALL,	/* neither its call nor its memory may be read */
	RI_HANG_UNLOOKED,	/* the look was cut short before it */
	RI_HANG_UNKNOWN,
};

/* Does it compute, as far as can be seen? */
static inline bool ri_hang_runs(enum ri_hang_class class)
{
	return class == RI_HANG_RUNS || class == RI_HANG_SPINS;
}

struct ri_hang_frame {
	const char *file, *function;
	uint32_t line;
};

struct ri_hang_stack {
	const struct ri_hang_frame *frames;	/* the innermost first */
	uint32_t count, depth;			/* depth: how many there were */
	int32_t tid;
	uint64_t hash;
	bool torn;		/* it changed while it was read */
};

struct ri_hang_process {
	pid_t pid, parent;
	uint64_t started;	/* clock ticks since boot */
	char name[16];
	int64_t rank;		/* of the rank that it is, or below which it runs; -1: none */
	bool is_rank;		/* it is the rank itself */
	char state;		/* 'R', 'S', 'D', ... ; 0: it has ended */
	bool dying;
	bool unlooked, unread;	/* the look was cut short before it, or before its memory */
	pid_t tracer;
	char tracer_name[16];
	unsigned threads;
	char wchan[48];
	bool call_refused;
	struct ri_call call;
	int file;		/* the descriptor that it waits for; -1: none */
	char path[RI_HANG_PATH];	/* of that, or the one that it asks for; "": not known */
	char mount[64], mount_type[32];	/* where that lies */
	pid_t blocked_tid;	/* another thread in state D; 0: none */
	char blocked_wchan[48];
	bool has_cpu, has_io, has_switches;	/* since the look before; false in the first */
	/* since that, which was so long ago; main_us is of the main thread */
	uint64_t since_us, cpu_ms, main_us, io_bytes;
	uint64_t naps;		/* how often the main thread began to wait since then */
	int64_t at_us;		/* CLOCK_MONOTONIC */
	uint64_t cpu_ticks, main_ns, io_total, faults, switches;	/* since it began */
	enum ri_hang_claim claim;	/* how surely .rank is its own */
	int64_t local_rank, local_ranks;	/* its place on the node; 0 ranks: not known */
	int64_t restarts, most_restarts;	/* of its launcher's before it; 0: none, no limit */
	enum ri_hang_python python;
	int python_errno;	/* of RI_HANG_REFUSED */
	char release[32];
	uint32_t stack_count;
	struct ri_hang_stack stacks[RI_HANG_THREADS];	/* the main thread's first */
	/* made by ri_hang_judge */
	enum ri_hang_class class;
	const struct ri_wait_row *wait;	/* of the function that it waits in, or NULL */
	int waits_at;			/* that frame of the main stack */
	int child;			/* index of the process that it waits for; -1: not known */
	bool loads;			/* it is a worker of a data loader */
	bool still;			/* the same, at the same instruction, as one look before */
	int group;			/* index of the first process that does the same */
};

/* One moment. */
struct ri_hang_look {
	struct ri_hang_process processes[RI_HANG_PROCESSES];
	size_t count;
	size_t own_count;	/* the first ones, which this rankinit started itself */
	bool listed;		/* the others are there, too: the look was not cut short before */
	size_t left_out;
	int suspect;		/* index of the rank that holds up the others; -1: none */
	int64_t missing[RI_HANG_MISSING];	/* ranks that have no process here */
	size_t missing_count;
	/* made by ri_hang_judge */
	int64_t ended[RI_HANG_MISSING];	/* of those, which the look before missed, too */
	size_t ended_count;
	bool all_wait;		/* all ranks that are there wait for others */
	int crowd;		/* index of one of those that wait for it, where there is one */
};

struct ri_hang {
	struct ri_hang_look looks[2];
	unsigned last;		/* which of them is the newer one */
	unsigned looks_taken;
	uint32_t interval_ms;	/* between the two */
	bool after_loss;	/* a process that is ending is not told of: its end will be */
	const char *why;	/* it was looked, for programs: "asked", "stop" */
	struct timespec at;	/* of the newer one; 0: not known */
	bool by_seccomp;	/* a filter denies process_vm_readv(2) to the process that looks */
	uint32_t cut_ms;	/* how long the look took that was cut short; 0: none was */
	int cut_errno;		/* why there is no process that goes on with it; 0: time */
	int yama;		/* kernel.yama.ptrace_scope; -1: there is no Yama */
	uint32_t frame_count, text_length;
	struct ri_hang_frame frames[RI_HANG_STACKS];
	char text[RI_HANG_TEXT];
};

/*
 * Copy a string into the region, which then lasts as long as that. One that was copied lately is
 * not copied again. "" when the region is full.
 */
const char *ri_hang_keep_string(struct ri_hang *hang, const char *string);

/* The index of a process; -1: none. Own ones and others must each be in the order of pid. */
int ri_hang_find_process(const struct ri_hang_look *look, pid_t pid);

/* A process of the newer look as the look before saw it; NULL: that did not see it. */
const struct ri_hang_process *ri_hang_find_before(const struct ri_hang *hang,
	const struct ri_hang_process *now);

/* Is any process of this look a rank? */
bool ri_hang_has_ranks(const struct ri_hang_look *look);

/* How many processes of the newer look were not looked at, or not their memory. */
size_t ri_hang_count_unlooked(struct ri_hang *hang);

static inline struct ri_hang_look *ri_hang_newer(struct ri_hang *hang)
{
	return &hang->looks[hang->last];
}

#endif
