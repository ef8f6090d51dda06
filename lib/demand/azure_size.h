/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a VM size of Azure should have, as a table: azure_sizes.def. A size
 * that is not in it promises nothing.
 */
#ifndef RI_DEMAND_AZURE_SIZE_H
#define RI_DEMAND_AZURE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ri_azure_network {
	RI_AZURE_ETHERNET,	/* none for RDMA, at most an Ethernet function of mlx5 */
	RI_AZURE_INFINIBAND,
	/*
	 * RDMA without SR-IOV: no adapter is ever seen in the guest, and only
	 * the old Intel MPI over DAPL comes through.
	 */
	RI_AZURE_NETWORK_DIRECT,
};

struct ri_azure_size {
	const char *word;	/* "azure=nd96isr_h100_v5", as lists have it */
	const char *name;	/* without "Standard_", in small letters, of all cores */
	uint64_t gpus;
	uint64_t ports;		/* of InfiniBand */
	uint64_t rate;		/* Gb/s of each */
	enum ri_azure_network network;
};

/*
 * "Standard_ND96isr_H100_v5", with or without "Standard_", in any case; of a
 * size with fewer cores ("HB120-16rs_v3") the one with all of them. NULL: not
 * in the table.
 */
const struct ri_azure_size *ri_azure_size_find(const char *name);

/* The name in the table that is nearest to what was meant, or NULL. */
const char *ri_azure_size_nearest(const char *name);

/* The table in its order; NULL past its end. */
const struct ri_azure_size *ri_azure_size_at(size_t index);

#endif
