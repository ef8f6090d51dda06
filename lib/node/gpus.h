/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVIDIA GPUs that a CUDA program started here would see, in its order,
 * found without the driver's libraries and without opening a device, which
 * could wake it. A device whose use the cgroup forbids is thus counted too.
 */
#ifndef RI_NODE_GPUS_H
#define RI_NODE_GPUS_H

#include "node/node.h"

struct ri_gpu {
	const char *name;	/* as CUDA_VISIBLE_DEVICES names it: "3", "GPU-...", "MIG-..." */
	const char *address;	/* on the PCI bus: "0000:07:00.0"; NULL: unknown */
};

struct ri_gpus {
	struct ri_gpu *list;
	size_t count;
	bool instances;		/* parts of GPUs, by CUDA_VISIBLE_DEVICES; else whole ones */
	bool hidden;		/* CUDA_VISIBLE_DEVICES leaves out some that are here */
	const char *others;	/* where count is 0: the node of devices that are not counted */
};

/* A device file by which accelerators show, and what they are called. */
struct ri_gpu_node {
	const char *path, *kind;
};

/* The first one that is here, or NULL; others: of those alone that ri_gpus_find does not count. */
const struct ri_gpu_node *ri_gpu_node_find(struct ri_host *host, bool others);

/*
 * Returns 0, perhaps with none, or -1 with RI_CODE_ENV_VALUE. What cuts
 * CUDA_VISIBLE_DEVICES short, and GPUs of which a process sees only a part,
 * are findings RI_CODE_GPU_VISIBLE.
 */
int ri_gpus_find(struct ri_gpus *out, const struct ri_node *node, struct ri_error *err);

/*
 * The CPUs next to a GPU and the number of their NUMA node (-1: unknown). False
 * where the machine does not say: virtual machines hide it.
 */
bool ri_gpu_cpus(struct ri_host *host, const struct ri_gpu *gpu, struct ri_cpus *out, int *numa);

/*
 * NVIDIA's driver and what a program needs of it beside the GPUs themselves. Only /dev/nvidiactl
 * is opened: opening /dev/nvidiaN may wake a GPU.
 */
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
