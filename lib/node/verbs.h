/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device nodes through which libibverbs and librdmacm reach RDMA devices.
 * libibverbs passes over a device whose node is missing without a word
 * (rdma-core libibverbs/init.c), so that programs find none and use sockets.
 */
#ifndef RI_NODE_VERBS_H
#define RI_NODE_VERBS_H

#include "node/infiniband.h"
#include "node/node.h"

/* The node of a device, and what opening it gave. */
struct ri_verbs {
	const char *hca;	/* name of the device */
	char node[64];		/* "/dev/infiniband/uverbs0"; "": sysfs does not name one */
	int error;		/* errno of opening it to read and write; 0: it can be used */
	bool stale;		/* its number is not the device's: it was made for another */
};

struct ri_verbs_all {
	struct ri_verbs *list;	/* one for each of the devices, in their order */
	size_t count;
};

/*
 * Opening and closing these nodes does nothing to the hardware. Returns 0, or
 * -1 with RI_CODE_MEMORY.
 */
int ri_verbs_find(struct ri_verbs_all *out, const struct ri_hcas *hcas,
	const struct ri_node *node, struct ri_error *err);

#endif
