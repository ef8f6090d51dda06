/* SPDX-License-Identifier: Apache-2.0 */
#include "check/lookups.h"

#include <errno.h>
#include <string.h>

/* What is read stays as it was: a check and the next one see the same. */
#define ONCE(read) \
	do { \
		static bool done; \
		if (!done) \
			read; \
		done = true; \
	} while (0)

const struct ri_loader *ri_check_loader(const struct ri_checking *checking)
{
	static struct ri_image image;
	static struct ri_loader loader;

	image = (struct ri_image){ .host = checking->host, .env = checking->env,
		.arena = checking->arena };
	ONCE(ri_loader_init(&loader, &image));
	return &loader;
}

static struct ri_mpi mpi;

const struct ri_mpi *ri_check_mpi_loaded(const struct ri_checking *checking)
{
	ONCE(ri_mpi_find_loaded(&mpi, ri_check_loader(checking)));
	return &mpi;
}

const struct ri_mpi *ri_check_mpi(const struct ri_checking *checking)
{
	ri_check_mpi_loaded(checking);
	ONCE(ri_mpi_find_rest(&mpi, ri_check_loader(checking)));
	return &mpi;
}

const struct ri_rdma_core *ri_check_rdma_core(const struct ri_checking *checking)
{
	static struct ri_rdma_core core;

	ONCE(ri_rdma_core_find(&core, ri_check_loader(checking)));
	return &core;
}

const struct ri_nvidia *ri_check_nvidia(const struct ri_checking *checking)
{
	static struct ri_nvidia nvidia;

	ONCE(ri_nvidia_read(&nvidia, checking->host));
	return &nvidia;
}

const struct ri_cuda *ri_check_cuda(const struct ri_checking *checking)
{
	static struct ri_cuda cuda;

	ONCE(ri_cuda_find(&cuda, ri_check_loader(checking), ri_check_nvidia(checking)->version));
	return &cuda;
}

const struct ri_gpus *ri_check_gpus(const struct ri_checking *checking)
{
	static struct ri_gpus gpus;
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &findings,
	};

	return ri_gpus_find(&gpus, &node, &err) < 0 ? NULL : &gpus;
}

const char *ri_check_library_fault(const struct ri_library *library)
{
	static const char *const faults[] = {
		[RI_ELF_OK] = NULL, [RI_ELF_OTHER] = "is not a library",
		[RI_ELF_FOREIGN] = "is for another processor",
		[RI_ELF_MISSING] = "cannot be opened", [RI_ELF_BROKEN] = "is truncated or damaged",
	};

	return faults[library->fault];
}

/* --- InfiniBand and other RDMA ---------------------------------------------- */

static struct ri_hcas hcas;

const struct ri_hcas *ri_ib_look(struct ri_checking *checking)
{
	ONCE(ri_hcas_find(&hcas, checking->host, checking->arena));
	return &hcas;
}

const struct ri_hcas *ri_ib_open(struct ri_checking *checking)
{
	ri_ib_look(checking);
	ONCE(ri_hcas_open(&hcas, checking->host));
	return &hcas;
}

bool ri_ib_has_infiniband(struct ri_checking *checking)
{
	return ri_ib_count(ri_ib_look(checking), RI_LINK_INFINIBAND) > 0;
}

static bool has_device(struct ri_checking *checking)
{
	return ri_ib_look(checking)->count > 0;
}

static bool has_nvidia(struct ri_checking *checking)
{
	return ri_check_nvidia(checking)->control != ENOENT;
}

const struct ri_check_need ri_check_needs_nvidia = {
	"/dev/nvidiactl", "is not here", has_nvidia,
};

const struct ri_check_need ri_ib_needs_device = {
	"/sys/class/infiniband", "no RDMA device is here", has_device,
};
const struct ri_check_need ri_ib_needs_infiniband = {
	"/sys/class/infiniband", "no InfiniBand port is here", ri_ib_has_infiniband,
};

/* NCCL documentation, "Environment Variables": 1 makes it use sockets, whatever is here. */
static const char declined[] = "NCCL_IB_DISABLE";

bool ri_check_is_one(const struct ri_checking *checking, const char *name)
{
	const char *value = ri_env_get(checking->env, name);

	return value != NULL && strcmp(value, "1") == 0;
}

bool ri_ib_is_usable(struct ri_checking *checking)
{
	if (ri_check_is_one(checking, declined))
		return false;
	if (ri_ib_has_infiniband(checking))
		return true;
	ri_ib_open(checking);
	for (size_t i = 0; i < hcas.count; i++)
		if (hcas.list[i].error == 0)
			return true;
	return false;
}

bool ri_ib_matters(struct ri_checking *checking)
{
	return ri_topology_is_wide(checking->topology) && !ri_check_is_one(checking, declined) &&
		ri_ib_has_infiniband(checking);
}

size_t ri_ib_count(const struct ri_hcas *all, enum ri_link link)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += ri_hca_has(&all->list[i], link);
	return count;
}

size_t ri_ib_active(const struct ri_hcas *all)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		for (size_t j = 0; j < all->list[i].count; j++)
			count += all->list[i].ports[j].link == RI_LINK_INFINIBAND &&
				all->list[i].ports[j].state == RI_PORT_ACTIVE;
	return count;
}

void ri_ib_asked(struct ri_checking *checking, size_t usable)
{
	ri_check_asked(checking,
		ri_demands_unmet(checking->demands, RI_TOPIC_IB, RI_DEMAND_COUNT, usable));
	if (usable == 0)
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_OFED));
}

const struct ri_demand *ri_ib_demand(const struct ri_checking *checking)
{
	const struct ri_demand *ib = ri_demands_find(checking->demands, RI_TOPIC_IB);
	const struct ri_demand *ofed = ri_demands_find(checking->demands, RI_TOPIC_OFED);

	return ib == NULL || (ofed != NULL && ofed->asker > ib->asker) ? ofed : ib;
}
