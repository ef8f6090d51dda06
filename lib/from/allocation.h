/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scheduler says of the machines that a job was given. It is no
 * identity; and a launcher that runs inside may use fewer of the machines, in
 * another order, so that its ranks learn from it only what fits them.
 */
#ifndef RI_FROM_ALLOCATION_H
#define RI_FROM_ALLOCATION_H

#include "base/arena.h"
#include "from/reading.h"

/*
 * Lists in Slurm's notation (src/common/hostlist.c), which Intel MPI uses for
 * groups of hosts as well: "n[08-11,20],gpu[1-2]-ib", in the order in which
 * the nodes count. And how many tasks each of these nodes has: "2(x3),1".
 */

struct ri_hostlist {
	const char *const *hosts;	/* in order; one may stand there twice */
	size_t count;
	const char *reason;		/* what was expected; NULL where the list is good */
	size_t fault_at;		/* where the text goes wrong */
};

/*
 * Read the text. Commas and blanks separate; several pairs of brackets in a
 * name count like the digits of a number, the last one fastest; digits in
 * front of a number's value are kept ("n[08-10]"). Returns 0, or -1 when out
 * of memory. A list that is empty or wrong, or has more than RI_MAX_RANKS
 * hosts, has a reason and no hosts. The names live in the arena, in about as
 * many bytes as they have.
 */
int ri_hostlist_read(struct ri_hostlist *out, const char *text, struct ri_arena *arena);

struct ri_tasks {
	uint64_t nodes;		/* entries, those in "(x3)" one by one */
	uint64_t tasks;		/* of them all */
	uint64_t here;		/* of the node that was asked for; 0: no entry */
};

/* Read tasks per node. False, and *out as it was, where it is no such list. */
bool ri_tasks_read(const char *text, uint64_t node, struct ri_tasks *out);

/*
 * Host files as launchers and schedulers write them: on each line a host, and
 * how many ranks it takes as "slots=8" (Open MPI, DeepSpeed), "host:8" (Hydra,
 * Intel MPI) or by as many lines (PBS, LSF); a '#' starts a comment. A host
 * that stands on several lines is one host, at its first place.
 */
struct ri_hostfile {
	const char *const *hosts;	/* in order, each once */
	size_t count;
	const uint32_t *slots;	/* of each of them */
	size_t bad_line;	/* counted from 1; 0 where all lines are good */
};

/*
 * Read the text. A line that does not say how many slots there are stands for
 * one. Returns 0, or -1 when out of memory. Where a line is neither host nor
 * comment, count is 0 and bad_line says which. The names live in the arena.
 */
int ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_arena *arena);

/* The slots that each host from that index on has; 0 where they differ or there is none. */
uint32_t ri_hostfile_share(const struct ri_hostfile *file, size_t from);

/* Claim the hosts of a list in Slurm's notation (hostlist.h): known, or broken. */
struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable);

/* Read a text as a host file; false when out of memory. */
bool ri_allocation_read_text(struct ri_reading *reading, const char *variable,
	const char *text, struct ri_hostfile *out);

/*
 * Read the file that the variable names as a host file: false
 * where there is none, it cannot be read, or it names no hosts. What is wrong
 * with the file is a finding.
 */
bool ri_allocation_read_file(struct ri_reading *reading, const char *variable,
	struct ri_hostfile *out);

/* Claim the first of these hosts as the master; of a broken list, a broken one. */
struct ri_fact *ri_allocation_claim_master(struct ri_reading *reading, const struct ri_fact *hosts);

/*
 * Does no launcher stand between the scheduler and this process? One that started
 * the ranks itself knows better; facts by hand change nothing.
 */
bool ri_allocation_is_direct(const struct ri_reading *reading);

/*
 * Under a launcher: do its ranks, if every node has as many as this one, fill
 * so many hosts? Then it uses all of them.
 */
bool ri_allocation_is_filled(const struct ri_reading *reading, uint64_t hosts);

/* Under such a launcher: claim the first host where no variable names the master, and say so. */
void ri_allocation_guess_master(struct ri_reading *reading, const struct ri_fact *hosts);

/*
 * All that a file of machines, from that one on, says to this process: hosts
 * and how many where no launcher stands between, hosts and a guess of the master
 * under a launcher that fills them all.
 */
void ri_allocation_claim(struct ri_reading *reading, const char *variable,
	const struct ri_hostfile *file, size_t from);

/* Say that there is an allocation and no rank, unless somebody knows a rank. */
void ri_allocation_note(const struct ri_reading *reading, const char *variable);

#endif
