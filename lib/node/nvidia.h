/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's driver and what a program needs of it beside the GPUs themselves
 * (gpus.h), without its libraries. Only /dev/nvidiactl is opened: opening
 * /dev/nvidiaN may wake a GPU.
 */
#ifndef RI_NODE_NVIDIA_H
#define RI_NODE_NVIDIA_H

#include <stdbool.h>

#include "base/host.h"

struct ri_nvidia {
	bool driver;		/* it is loaded */
	char version[32];	/* "580.95.05"; "": unknown */
	bool open;		/* the open kernel modules */
	int control;		/* errno of opening /dev/nvidiactl; 0: it can be used */
	bool memory;		/* there is /dev/nvidia-uvm */
};

void ri_nvidia_read(struct ri_nvidia *out, struct ri_host *host);

/*
 * The version and the flavour in the text of /proc/driver/nvidia/version.
 * False, and *out untouched, where there is none in it.
 */
bool ri_nvidia_version(const char *text, struct ri_nvidia *out);

/* What lets an adapter reach the memory of GPUs. */
struct ri_peer_memory {
	const char *path;	/* that shows the kernel module for it; NULL: there is none */
	bool dmabuf;		/* open modules on a kernel that can do without (5.12) */
};

void ri_peer_memory_read(struct ri_peer_memory *out, const struct ri_nvidia *nvidia,
	struct ri_host *host);

#endif
