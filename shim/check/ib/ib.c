/* SPDX-License-Identifier: Apache-2.0 */
#include "check/ib/ib.h"

#include <errno.h>
#include <string.h>

static struct ri_hcas hcas;

const struct ri_hcas *ri_ib_look(struct ri_checking *checking)
{
	struct ri_error err = RI_ERROR_INIT;
	static bool looked;

	if (!looked && ri_hcas_find(&hcas, checking->host, checking->arena, &err) < 0)
		hcas = (struct ri_hcas){ .error = ENOMEM };
	looked = true;
	return &hcas;
}

const struct ri_hcas *ri_ib_open(struct ri_checking *checking)
{
	static bool opened;

	ri_ib_look(checking);
	if (!opened)
		ri_hcas_open(&hcas, checking->host);
	opened = true;
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

const struct ri_check_need ri_ib_needs_device = {
	"/sys/class/infiniband", "no RDMA device is here", has_device,
};
const struct ri_check_need ri_ib_needs_infiniband = {
	"/sys/class/infiniband", "no InfiniBand port is here", ri_ib_has_infiniband,
};

/* NCCL documentation, "Environment Variables": 1 makes it use sockets, whatever is here. */
static bool is_declined(const struct ri_checking *checking)
{
	const char *value = ri_env_get(checking->env, "NCCL_IB_DISABLE");

	return value != NULL && strcmp(value, "1") == 0;
}

bool ri_ib_is_usable(struct ri_checking *checking)
{
	if (is_declined(checking))
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
	return ri_topology_is_wide(checking->topology) && !is_declined(checking) &&
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
