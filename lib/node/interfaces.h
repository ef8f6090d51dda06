/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces, lists that choose among them, and this node's name. */
#ifndef RI_NODE_INTERFACES_H
#define RI_NODE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"

/* Of sysfs (kernel documentation, ABI/testing/sysfs-class-net). */
enum { RI_MAX_INTERFACES = 1024 };	/* a host shows one for each of its pods */

struct ri_interface {
	const char *name;
	bool down;		/* it says so itself */
	bool loopback;
};

struct ri_interfaces {
	struct ri_interface *list;	/* by name */
	size_t count;
	bool known;		/* /sys/class/net can be read */
};

/* Returns 0, perhaps with none, or -1 with RI_CODE_MEMORY. */
int ri_interfaces_find(struct ri_interfaces *out, struct ri_host *host, struct ri_arena *arena,
	struct ri_error *err);

/* The node's name, from /proc/sys/kernel/hostname; false, and "", where it is not shown. */
bool ri_hostname_read(struct ri_host *host, char *name, size_t size);

/*
 * The first address that the text of /etc/hosts has for a name (hosts(5)), in
 * any case. False, and *address untouched, where it has none.
 */
bool ri_hosts_find(const char *text, const char *name, char *address, size_t size);

/* Lists by which variables choose among interfaces or HCAs: "eth0,ib". */
enum ri_choice_kind {
	RI_CHOICE_NCCL,		/* beginnings of names; names where the list begins with "=" */
	RI_CHOICE_NAMES,	/* names alone: neither "^" nor "=" means anything */
};

struct ri_choice {
	const char *rest;	/* of the list */
	bool exact;		/* its words are whole names */
	bool excludes;		/* "^": all but these */
};

void ri_choice_init(struct ri_choice *choice, const char *list, enum ri_choice_kind kind);

/*
 * The next word, without the ":1" of a port. A longer one than word holds is
 * cut. False when there is none left.
 */
bool ri_choice_next(struct ri_choice *choice, char *word, size_t size);

bool ri_choice_matches(const struct ri_choice *choice, const char *word, const char *name);

/* Is the name chosen by the list? An empty list chooses all, a lone "^" none (NCCL). */
bool ri_choice_takes(const char *list, enum ri_choice_kind kind, const char *name);

#endif
