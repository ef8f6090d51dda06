/* SPDX-License-Identifier: Apache-2.0 */
/* Network interfaces (kernel documentation, ABI/testing/sysfs-class-net). */
#ifndef RI_NODE_INTERFACES_H
#define RI_NODE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"

enum { RI_MAX_INTERFACES = 1024 };	/* a host shows one for each of its pods */

struct ri_interface {
	const char *name;
	uint64_t mtu;		/* 0: unknown */
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

#endif
