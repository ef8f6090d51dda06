/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a job do at one moment: shim/hang fills it in, this room judges and shows
 * it. One region of fixed size holds it, so that processes can share it. Every string is foreign.
 */
#ifndef RI_HANG_HANG_H
#define RI_HANG_HANG_H

#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <jansson.h>

#include "base/proc.h"
#include "base/text.h"
#include "from/sources.h"
#include "model/json.h"

/*
 * Files below /proc/PID that say what a process does (proc(5); kernel documentation,
 * filesystems/proc.rst and scheduler/sched-stats.rst), as texts that end in '\0'.
 */

/* The number behind "NAME:" at the start of a line, as in status, io and fdinfo. */
bool ri_hang_read_field(const char *text, const char *name, uint64_t *out);

/* The function of the kernel that it waits in, of wchan; "" where that says "0": in none. */
void ri_hang_read_wchan(const char *text, char *out, size_t size);

/* The mount of that id in the text of mountinfo, which is cut up. False: there is none. */
bool ri_hang_find_mount(char *mountinfo, uint64_t id, struct ri_mount *out);

/* How surely variables make a process a rank, from the least to the most. */
enum ri_hang_claim {
	RI_HANG_NO_RANK,
	RI_HANG_STEP_RANK,	/* srun, flux run: also of a launcher that these started */
	RI_HANG_NODE_RANK,	/* RANK, without LOCAL_RANK: also of a node's launcher */
	RI_HANG_MPI_RANK,
	RI_HANG_OWN_RANK,	/* RANK and LOCAL_RANK, or what Lightning sets in place of RANK */
};

/* -1: not known. */
struct ri_hang_place {
	int64_t rank, local_rank, local_ranks;
};

/* What the variables of a process say of its rank; -1: nothing. Begin with ri_hang_unsaid. */
struct ri_hang_identity {
	int64_t rank, local_rank, local_ranks, pmix_rank;
	int64_t restarts, most_restarts;	/* of torchrun's ranks; -1: it tells none */
	int64_t world, nodes, node_rank;
	struct ri_hang_place launched[RI_SOURCE_COUNT];		/* by the source of its variables */
};

extern const struct ri_hang_identity ri_hang_unsaid;

/* Notes what one variable says, as "NAME=VALUE". */
void ri_hang_note_variable(struct ri_hang_identity *said, const char *variable);

/* The rank that they claim together; *place is left as it is where they claim none. */
enum ri_hang_claim ri_hang_claim_of(const struct ri_hang_identity *said,
	struct ri_hang_place *place);

enum ri_call_kind {
	RI_CALL_FILE,
	RI_CALL_SLEEP,
	RI_CALL_LOCK,
	RI_CALL_CHILD,
	RI_CALL_EVENT,
	RI_CALL_VFORK,
	RI_CALL_EXEC,
	RI_CALL_SIGNAL,
	RI_CALL_END,
};

struct ri_call_row {
	long number;
	const char *name;
	enum ri_call_kind kind;
	int file, path;		/* its argument; -1: none */
};

/* /proc/PID/syscall: in which system call a thread waits; calls.def has what is known of them. */

enum ri_call_state {
	RI_CALL_UNKNOWN,	/* not read, or not readable */
	RI_CALL_RUNNING,	/* it runs, or could: no call holds it */
	RI_CALL_OUTSIDE,	/* it waits, and not in a call: for memory, or stopped */
	RI_CALL_INSIDE,
};

struct ri_call {
	enum ri_call_state state;
	long number;		/* of RI_CALL_INSIDE */
	uint64_t arguments[6];
};

/* False: the text is none of that file. */
bool ri_call_read(const char *text, struct ri_call *out);

/* What is known of the call that it is inside of, or NULL. */
const struct ri_call_row *ri_call_row(const struct ri_call *call);

/* Does it wait for the time alone? So does a poll(2) of no file. */
bool ri_call_sleeps(const struct ri_call *call);

/* The descriptor that it waits for; -1: none. */
int ri_call_file(const struct ri_call *call);

/* The child that it waits for, by the number that the process knows; -1: any, or none. */
int ri_call_child(const struct ri_call *call);

/* Where in the memory of the process the path lies; 0: there is none. */
uint64_t ri_call_path(const struct ri_call *call);

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

#define RI_HANG_NO_TOTAL UINT64_MAX	/* one that could not be read */

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

/* With fewer ranks none is suspected, and none is missed. */
enum { RI_HANG_LEAST = 3 };

/* As many of them at most may differ from the others, or be missing: a quarter, or one. */
static inline uint64_t ri_hang_few(uint64_t ranks)
{
	return ranks < 8 ? 1 : ranks / 4;
}

/* May one hold up the others? 2; 1 if it waits for other ranks itself; 0: that is not known. */
int ri_hang_weigh(enum ri_hang_class class);

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
	bool is_rank;
	char state;		/* 'R', 'S', 'D', ... ; 0: it has ended */
	bool dying;
	bool unlooked, unread;	/* the look was cut short before it, or before its memory */
	pid_t tracer;
	char tracer_name[16];
	unsigned threads;
	char wchan[48];
	bool call_refused;
	struct ri_call call;
	char path[RI_HANG_PATH];	/* that it waits for, or asks for; "": not known */
	char mount[64], mount_type[32];	/* where that lies */
	pid_t blocked_tid;	/* another thread in state D; 0: none */
	char blocked_wchan[48];
	bool has_cpu, has_io;	/* since the look before; false in the first */
	/* since that, which was so long ago; main_us is of the main thread */
	uint64_t since_us, cpu_ms, main_us, io_bytes;
	uint64_t naps;		/* how often it began to wait anew: so it goes on, where it was */
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

/* A copy of the string in the region, perhaps one that is there already; "": that is full. */
const char *ri_hang_keep_string(struct ri_hang *hang, const char *string);

/* The index of a process; -1: none. Own ones and others must each be in the order of pid. */
int ri_hang_find_process(const struct ri_hang_look *look, pid_t pid);

/* A process of the newer look as the look before saw it; NULL: that did not see it. */
const struct ri_hang_process *ri_hang_find_before(const struct ri_hang *hang,
	const struct ri_hang_process *now);

/* Is any process of this look a rank? */
bool ri_hang_has_ranks(const struct ri_hang_look *look);

/* How many processes of the newer look were left out, or their memory was. */
size_t ri_hang_count_unlooked(struct ri_hang *hang);

static inline struct ri_hang_look *ri_hang_newer(struct ri_hang *hang)
{
	return &hang->looks[hang->last];
}

/* waits.def: functions of Python libraries in which a process waits. */
enum ri_wait_when {
	RI_WAIT_ALWAYS,
	RI_WAIT_UNLESS_BUSY,
	RI_WAIT_BY_CALL,
	RI_WAIT_LOADS,
};

struct ri_wait_row {
	enum ri_hang_class class;
	enum ri_wait_when when;
	const char *file, *function;
	size_t reach;
};

/* The row of a function of that file, with so many frames further in, or NULL. */
const struct ri_wait_row *ri_wait_find(const char *file, const char *function, size_t inner);

/* The last part of a qualified name ("Queue.get"), which counts there. */
static inline const char *ri_wait_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot == NULL ? function : dot + 1;
}

/*
 * Which processes are the ranks, by their environments and their parents: sets is_rank, and rank
 * also of what runs below one, from rank and claim as they were read. The outermost process that
 * claims to be a rank is one: what it starts inherits the claim, or gets one of its own. A launcher
 * claims less than what it starts, and another number than most of that. Each number belongs to one
 * process, the eldest.
 *
 * Sets missing, too: the numbers of this node that no process has, where torchrun's variables say
 * how many there are, at least three quarters of them are there, or all but one of three, and each
 * process that the same parent started is one of them.
 */
void ri_hang_find_ranks(struct ri_hang_look *look);

/*
 * Give each process of the newer look its class, its group and the child that it waits for, and
 * find the suspect. The look before says which processes stand still.
 */
void ri_hang_judge(struct ri_hang *hang);

/*
 * The row of the outermost frame of the main thread that waits.def has: the function that the
 * program called, not those that it consists of. NULL: there is none. Sets waits_at.
 */
const struct ri_wait_row *ri_hang_find_wait(struct ri_hang_process *process);

/* Is process i a data loader's worker of that process, or of a server of that? */
bool ri_hang_is_worker(const struct ri_hang_look *look, size_t i, pid_t of);

/*
 * It waits for other ranks and does not move: it used hardly any CPU, or all of it, as libraries do
 * that wait by asking again and again.
 */
bool ri_hang_waits_still(const struct ri_hang *hang, const struct ri_hang_process *process);

/* Do both looks suspect the same rank of the same thing? Else no rank is suspected any more. */
bool ri_hang_looks_agree(struct ri_hang *hang);

/* After a loss: is this process ending, or may it be? */
bool ri_hang_is_lost(const struct ri_hang *hang, const struct ri_hang_process *process);

/* Where a rank's main thread was in Python, and how much the processes had worked for the rank. */
struct ri_hang_moment {
	pid_t pid;		/* 0: there is no such moment yet */
	uint64_t hash, main_ns, faults;
	uint64_t ticks, stacks;	/* of all its threads, and of all processes below it */
	int64_t at_us;
};

/*
 * Has any rank moved since these moments? They become those of the newer look. A rank stands still
 * if it has the same stack, and its main thread used no CPU, or used all of the time and got no
 * memory. If it does not wait for other ranks, its threads and children must stand still, too.
 * True also where this cannot be known. Without ranks the topmost Python processes count.
 */
bool ri_hang_has_moved(struct ri_hang *hang, struct ri_hang_moment *moments, size_t room);

/* The first rank whose Python stack could not be read; NULL: there is none. */
const struct ri_hang_process *ri_hang_find_unreadable(struct ri_hang *hang);

enum {
	RI_HANG_LINES = 48,
	RI_HANG_COLUMNS = 400,	/* of one line; a terminal breaks it */
	RI_HANG_SHOWN = RI_HANG_LINES * RI_HANG_COLUMNS * 2,
};

/*
 * What was judged, as RI_HANG_LINES lines at most that end in '\n', without secrets, and without
 * bytes that a terminal could take for a command; or as an object, memory that runs out in *json.
 */
void ri_hang_say(struct ri_hang *hang, struct ri_text *out);
json_t *ri_hang_json(struct ri_json *json, struct ri_hang *hang);

/* "blocked", "collective": the name of a class for programs, and back. False: it is none. */
const char *ri_hang_class_name(enum ri_hang_class class);
bool ri_hang_class_read(struct ri_span name, enum ri_hang_class *out);

/* The frame of the main thread in the program itself, or its innermost one; NULL: no stack. */
const struct ri_hang_frame *ri_hang_find_place(const struct ri_hang_process *process);

/* Append what a process does: "sleeps, train.py:55 in step", or "sleeps" without its own place. */
void ri_hang_add_activity(struct ri_text *out, const struct ri_hang_look *look, size_t i,
	bool placed);

/* Append why there is no Python stack of it, unless there is one, or it runs no Python. */
void ri_hang_add_no_stack(struct ri_text *out, const struct ri_hang *hang,
	const struct ri_hang_process *process);

/*
 * A file's name without its secrets, all of it: a part may lack the word that marks a secret. The
 * short one begins below site-packages, or below lib/python3.11.
 */
const char *ri_hang_redact_file(const char *file);
const char *ri_hang_short_file(const char *path);

/* Why it cannot be known whether a process moves, as "rank 0 (sleep): it runs no Python". */
void ri_hang_say_unreadable(const struct ri_hang *hang, const struct ri_hang_process *process,
	struct ri_text *out);

#endif
