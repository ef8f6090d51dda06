/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scheduler says of the machines that a job was given. It is no
 * identity; and a launcher that runs inside may use fewer of the machines, in
 * another order, so that its ranks learn from it only what fits them.
 */
#ifndef RI_FROM_ALLOCATION_H
#define RI_FROM_ALLOCATION_H

#include "from/hostfile.h"
#include "from/reading.h"

/* Claim the hosts of a list in Slurm's notation (hostlist.h): known, or broken. */
struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable);

/* Read a text as a host file; false when out of memory. */
bool ri_allocation_read_text(struct ri_reading *reading, const char *variable,
	const char *text, struct ri_hostfile *out);

/*
 * Read the file that the variable names as a host file (hostfile.h): false
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
