/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA devices of this machine, for gpus.c. */
#ifndef RI_NODE_DEVICES_H
#define RI_NODE_DEVICES_H

#include "node/node.h"

enum { RI_GPU_UUID = 48, RI_GPU_ADDRESS = 20 };

/* A GPU with a device node. */
struct ri_device {
	char address[RI_GPU_ADDRESS];	/* "0000:07:00.0"; empty: unknown */
	char uuid[RI_GPU_UUID];		/* "GPU-..."; empty: unknown */
	uint64_t minor;			/* of /dev/nvidiaN */
	size_t instances;		/* of MIG, as far as they are shown to us */
};

struct ri_devices {
	struct ri_device *list;		/* in the order of the PCI bus, as CUDA counts */
	size_t count;
};

/* Returns 0, or -1 with RI_CODE_MEMORY. */
int ri_devices_find(struct ri_devices *out, const struct ri_node *node, struct ri_error *err);

#endif
