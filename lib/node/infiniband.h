/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RDMA devices that sysfs shows (kernel documentation,
 * ABI/stable/sysfs-class-infiniband). Sysfs shows them in a container also
 * where their nodes are missing: see verbs.h. Names are no evidence of what a
 * device is, the link layer of its ports is.
 */
#ifndef RI_NODE_INFINIBAND_H
#define RI_NODE_INFINIBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"

enum {
	RI_MAX_HCAS = 256,	/* with SR-IOV a container may see 16 for each real one */
	RI_MAX_HCA_PORTS = 8,
	RI_MAX_PKEYS = 8,
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
/* Kinds of a device: a channel adapter, or one for iWARP. */
enum { RI_NODE_CA = 1, RI_NODE_RNIC = 4 };

struct ri_port {
	unsigned number;	/* from 1 */
	enum ri_link link;
	uint64_t state;		/* 0: unknown */
	uint64_t phys;		/* 0: unknown */
	uint64_t rate;		/* Mb/s; 0: unknown. What a port that is down says means nothing */
	uint64_t lanes;		/* 4 of "4X"; 0: unknown */
	uint64_t manager;	/* LID of the subnet manager; 0 over InfiniBand: none was reached */
};

struct ri_hca {
	const char *name;	/* "mlx5_ib0" */
	const char *driver;	/* "mlx5_core"; "" where unknown */
	const char *netdev;	/* of its network interface: "eth1"; "" where there is none */
	uint64_t type;		/* 0: unknown */
	struct ri_port *ports;
	size_t count;
};

struct ri_hcas {
	struct ri_hca *list;	/* by name, numbers in it as numbers */
	size_t count;
	int error;		/* errno of the folder: ENOENT where the kernel has no RDMA */
	bool exclusive;		/* each device is in one network namespace only (rdma-system(8)) */
};

/* Returns 0, perhaps with none, or -1 with RI_CODE_MEMORY. */
int ri_hcas_find(struct ri_hcas *out, struct ri_host *host, struct ri_arena *arena,
	struct ri_error *err);

/* Has the device a port of this kind? */
bool ri_hca_has(const struct ri_hca *hca, enum ri_link link);

/* The partition keys that are set, at most RI_MAX_PKEYS of them; returns how many. */
size_t ri_port_pkeys(struct ri_host *host, const struct ri_hca *hca, const struct ri_port *port,
	uint16_t *keys);

/* "100 Gb/sec (4X EDR)" in Mb/s; 0 where text is no rate. */
uint64_t ri_rate_read(const char *text);

/* The lanes of it: 4; 0 where it does not say. */
uint64_t ri_lanes_read(const char *text);

/* A counter of the port, "link_downed". False: there is none. */
bool ri_port_counter(struct ri_host *host, const struct ri_hca *hca, const struct ri_port *port,
	const char *name, uint64_t *out);

/* "ACTIVE", "INIT"; "unknown" for what has no name. */
const char *ri_port_state_name(uint64_t state);

#endif
