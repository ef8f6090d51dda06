/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files below /proc/PID that say what a process does (proc(5); kernel documentation,
 * filesystems/proc.rst and scheduler/sched-stats.rst). Texts end in '\0'. Of /proc/PID/syscall: in
 * which system call a thread waits; calls.def has what is known of the calls.
 */
#ifndef RI_HANG_FACTS_H
#define RI_HANG_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mounts.h"

/* The number behind "NAME:" at the start of a line, as in status, io and fdinfo. */
bool ri_hang_read_field(const char *text, const char *name, uint64_t *out);

/* The function of the kernel that it waits in, of wchan; "" where that says "0": in none. */
void ri_hang_read_wchan(const char *text, char *out, size_t size);

/* The mount of that id in the text of /proc/PID/mountinfo, which is cut. False: there is none. */
bool ri_hang_find_mount(char *mountinfo, uint64_t id, struct ri_mount *out);

/* How surely variables make a process a rank, from the least to the most. */
enum ri_hang_claim {
	RI_HANG_NO_RANK,
	RI_HANG_STEP_RANK,	/* srun, flux run: also of a launcher that these started */
	RI_HANG_NODE_RANK,	/* RANK, without LOCAL_RANK: also of a node's launcher */
	RI_HANG_MPI_RANK,
	RI_HANG_OWN_RANK,	/* RANK and LOCAL_RANK, or what Lightning sets in place of RANK */
};

/* Where a process is in its job, and on its node; -1: not known. */
struct ri_hang_place {
	int64_t rank, local_rank, local_ranks;
};

/* What variables of launchers say; of several launchers the first one in the table counts. */
struct ri_hang_launched {
	int64_t rank, local_rank, local_ranks;
	size_t source, place_source;
	bool has_place;
};

/* What the variables of a process say of its rank; -1: nothing. Begin with ri_hang_unsaid. */
struct ri_hang_identity {
	int64_t rank, local_rank, local_ranks, pmix_rank;
	int64_t restarts, most_restarts;	/* of torchrun's ranks; -1: it tells none */
	int64_t world, nodes, node_rank;
	struct ri_hang_launched launched[2];	/* true: of MPI's ranks; false: of others */
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

/* Read the text of the file. False, and *out untouched, where it is none. */
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

#endif
