/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a host of a list this machine? By address where the list has addresses,
 * by name where it has names.
 *
 * An address proves something only if no other machine has it too, so
 * loopback and link-local ones never count. A bridge such as docker0 has the
 * same address everywhere: therefore one single host of a list has to be this
 * machine, and two that are say nothing.
 */
#ifndef RI_FROM_OWN_ADDRESS_H
#define RI_FROM_OWN_ADDRESS_H

#include <stdint.h>

#include "from/reading.h"

/* Where a machine lists its addresses, for tables of what a source reads. */
#define RI_OWN_READS \
	{ .name = "/proc/net/fib_trie", .meaning = "addresses of this machine", \
	  .cite = "Linux net/ipv4/fib_trie.c, fib_trie_seq_show" }, \
	{ .name = "/proc/net/if_inet6", .meaning = "the same, IPv6", \
	  .cite = "Linux net/ipv6/addrconf.c, if6_seq_show" }

/* IPv4 as ::ffff:a.b.c.d. */
struct ri_address {
	unsigned char bytes[16];
};

/* What is known of this machine. */
struct ri_own_machine {
	const char *name;		/* NULL: not known */
	struct ri_address *addresses;	/* that may be its own alone, sorted */
	size_t count;
	bool knows_ipv4;		/* all of them stand in addresses */
	bool knows_ipv6;
};

enum ri_is_own {
	RI_OWN_UNKNOWN,
	RI_OWN_NO,
	RI_OWN_YES,
};

/*
 * Ask the context's machine. What cannot be read is unknown; false only when
 * out of memory.
 */
bool ri_own_read(struct ri_own_machine *out, struct ri_reading *reading);

/*
 * The same out of the texts of the two files, either of them may be NULL.
 * name is borrowed.
 */
bool ri_own_parse(struct ri_own_machine *out, const char *fib_trie, const char *if_inet6,
	struct ri_arena *arena);

/*
 * Is this host (ri_is_host takes it) the machine? Another name than its own is
 * unknown, since a machine may have several.
 */
enum ri_is_own ri_own_is(const struct ri_own_machine *own, const char *host);

/* The place of the one host that is the machine; false if not just one is. */
bool ri_own_find(const struct ri_own_machine *own, const struct ri_fact *hosts, uint64_t *place);

/*
 * How others reach this machine: its only IPv4 address, that of Docker's
 * bridge left out, else its name, else NULL. The text lives in the arena.
 */
const char *ri_own_host(const struct ri_own_machine *own, struct ri_arena *arena);

/* Equal, or one of them is the other's first label: "node7", "node7.cluster". */
bool ri_is_same_host(const char *a, const char *b);

#endif
