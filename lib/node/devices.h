/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs and the InfiniBand adapters of a node, by what the kernel and its drivers say. */
#ifndef RI_NODE_DEVICES_H
#define RI_NODE_DEVICES_H

#include "base/host.h"
#include "node/node.h"

/*
 * The NVIDIA GPUs that a CUDA program started here would see, in its order,
 * found without the driver's libraries and without opening a device, which
 * could wake it. A device whose use the cgroup forbids is thus counted too.
 */

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

/* The CPUs next to a GPU. False where the machine does not say: virtual machines hide it. */
bool ri_gpu_cpus(struct ri_host *host, const struct ri_gpu *gpu, struct ri_cpus *out);

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

/*
 * What lets an adapter reach the memory of GPUs: a path that shows the kernel module for it, or
 * "dma-buf" with open modules on a kernel that can do without (5.12). NULL: nothing.
 */
const char *ri_peer_memory_find(const struct ri_nvidia *nvidia, struct ri_host *host);

/*
 * RDMA devices: what sysfs shows of them (kernel documentation,
 * ABI/stable/sysfs-class-infiniband), their device files, and whose driver they
 * have. Sysfs shows them in a container also where their device files are
 * missing. Names are no evidence of what a device is, the link layer of its
 * ports is.
 */

enum {
	RI_MAX_HCAS = 256,	/* with SR-IOV a container may see 16 for each real one */
	RI_MAX_HCA_PORTS = 8,
};

enum ri_link {
	RI_LINK_UNKNOWN,
	RI_LINK_INFINIBAND,
	RI_LINK_ETHERNET,	/* RoCE; on Azure the accelerated network */
	RI_LINK_OTHER,		/* what sysfs calls "Unknown": EFA of AWS */
};

/* States of a port, as the kernel counts them (include/rdma/ib_verbs.h). */
enum { RI_PORT_DOWN = 1, RI_PORT_INIT = 2, RI_PORT_ARMED = 3, RI_PORT_ACTIVE = 4 };
enum { RI_PHYS_POLLING = 2, RI_PHYS_DISABLED = 3, RI_PHYS_UP = 5 };

struct ri_port {
	unsigned number;	/* from 1 */
	enum ri_link link;
	uint64_t state;		/* 0: unknown */
	uint64_t phys;		/* 0: unknown */
	uint64_t rate;		/* Mb/s; 0: unknown. What a port that is down says means nothing */
	uint64_t manager;	/* LID of the subnet manager; 0 over InfiniBand: none was reached */
};

struct ri_hca {
	const char *name;	/* "mlx5_ib0" */
	const char *driver;	/* "mlx5_core"; "" where unknown */
	struct ri_port ports[RI_MAX_HCA_PORTS];
	size_t count;
	/* of ri_hcas_open */
	char node[64];		/* "/dev/infiniband/uverbs0"; "": sysfs does not name one */
	int error;		/* errno of opening it to read and write; 0: it can be used */
	bool stale;		/* its number is not the device's: it was made for another */
};

struct ri_hcas {
	struct ri_hca *list;	/* by name, numbers in it as numbers */
	size_t count;
	/* errno of the folder, ENOENT where the kernel has no RDMA; ENOMEM: no memory left */
	int error;
	bool exclusive;		/* each device is in one network namespace only (rdma-system(8)) */
};

void ri_hcas_find(struct ri_hcas *out, struct ri_host *host, struct ri_arena *arena);

bool ri_hca_has(const struct ri_hca *hca, enum ri_link link);	/* a port of this kind */

/* "100 Gb/sec (4X EDR)" in Mb/s; 0 where text is no rate. */
uint64_t ri_rate_read(const char *text);

/* "ACTIVE", "INIT"; "unknown" for what has no name. */
const char *ri_port_state_name(uint64_t state);

/*
 * Open and close the device nodes through which libibverbs and librdmacm reach RDMA devices,
 * which does nothing to the hardware. libibverbs passes over a device whose node is missing
 * without a word (rdma-core libibverbs/init.c), so that programs find none and use sockets.
 */
void ri_hcas_open(struct ri_hcas *hcas, struct ri_host *host);

/*
 * Whose driver the kernel runs for the adapters of Mellanox: its own ("inbox"),
 * or that of MLNX_OFED, since 2025 DOCA-OFED. It is the machine's, whatever
 * the image brings, and /sys/module shows it in containers too.
 */
enum ri_ofed_kind {
	RI_OFED_NONE,		/* no such driver is loaded, or it is built in */
	RI_OFED_INBOX,
	RI_OFED_MELLANOX,
};

struct ri_ofed {
	enum ri_ofed_kind kind;
	const char *module;	/* "mlx5_core"; NULL where none */
	char version[64];	/* as the driver says it: "23.10-1.1.9"; "" where it does not */
};

/* What a version says of a driver; release: of the kernel, "" where unknown. */
enum ri_ofed_kind ri_ofed_judge(const char *version, const char *release);

void ri_ofed_read(struct ri_ofed *out, struct ri_host *host);

/* "MLNX_OFED", "DOCA-OFED": what packages of its version are called. */
const char *ri_ofed_name(const struct ri_ofed *ofed);

#endif
