/* SPDX-License-Identifier: Apache-2.0 */
/* The InfiniBand ports: are they up, how many, how fast. */
#include <stdio.h>

#include "check/ib/ib.h"

static const char folder[] = "/sys/class/infiniband";

/* Call with each InfiniBand port in turn: zeroes first; false past the last. */
struct walk {
	const struct ri_hca *hca;
	const struct ri_port *port;
	size_t device, next;
};

static bool walk_ports(const struct ri_hcas *hcas, struct walk *walk)
{
	for (; walk->device < hcas->count; walk->device++, walk->next = 0) {
		walk->hca = &hcas->list[walk->device];
		while (walk->next < walk->hca->count) {
			walk->port = &walk->hca->ports[walk->next++];
			if (walk->port->link == RI_LINK_INFINIBAND)
				return true;
		}
	}
	return false;
}

/* "mlx5_ib0:1", as NCCL_IB_HCA has it. */
static void add_name(struct ri_row *row, const struct walk *walk)
{
	char name[80];

	snprintf(name, sizeof(name), "%.60s:%u", walk->hca->name, walk->port->number);
	ri_row_add(row, name);
}

static bool is_up(const struct ri_port *port)
{
	return port->state == RI_PORT_ACTIVE && (port->phys == RI_PHYS_UP || port->phys == 0);
}

/* All that are in the same state as the first of them, which this one is; else nothing. */
static void say_bad(struct ri_checking *checking, const struct ri_hcas *hcas,
	const struct ri_port *first)
{
	struct walk walk = { .device = 0 };
	struct ri_row row = { .count = 0 };
	const char *why = first->phys == RI_PHYS_DISABLED ? ": it is disabled"
		: first->phys == RI_PHYS_POLLING ? ": nothing answers at the other end" : "";

	if (first->state == RI_PORT_INIT || first->state == RI_PORT_ARMED)
		why = first->manager == 0 ? ": no subnet manager has configured it"
			: ": the subnet manager has not finished configuring it";
	while (walk_ports(hcas, &walk)) {
		if (walk.port->state != first->state || walk.port->phys != first->phys)
			continue;
		if (row.count == 0 && walk.port != first)
			return;
		add_name(&row, &walk);
	}
	if (first->state == 0)
		ri_check_unknown(checking, RI_CODE_IB_PORT_UNKNOWN, ri_row_end(&row),
			"its state cannot be read");
	else
		ri_check_lack(checking, RI_CODE_IB_PORT_DOWN, ri_row_end(&row), "state %s%s",
			ri_port_state_name(first->state), why);
	ri_check_advise(checking);
	ri_ib_asked(checking, ri_ib_active(hcas));
}

static void check_port(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	struct walk walk = { .device = 0 };
	size_t up = 0, all = 0;

	while (walk_ports(hcas, &walk)) {
		all++;
		up += is_up(walk.port);
		if (!is_up(walk.port))
			say_bad(checking, hcas, walk.port);
	}
	if (up == all)
		ri_check_pass(checking, folder, "%zu InfiniBand port%s active", all,
			all == 1 ? " is" : "s are");
}

const struct ri_check ri_check_ib_port = {
	.summary = "InfiniBand ports are active",
	.reads = "state, phys_state and sm_lid of each InfiniBand port in /sys/class/infiniband "
		"(Linux ABI/stable/sysfs-class-infiniband)",
	.fails = "a port is not ACTIVE and LinkUp; counts as requested if fewer than \"ib=N\" are",
	.advice = "node admin: check the cable, the switch port and the subnet manager; for the "
		"job: another node (Azure: redeploy the VM)",
	.needs = &ri_ib_needs_infiniband,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_port,
};

/* Ports slower than this; their rates are in Mb/s. */
static size_t find_slow(const struct ri_hcas *hcas, uint64_t rate, struct ri_row *row)
{
	struct walk walk = { .device = 0 };

	while (walk_ports(hcas, &walk))
		if (walk.port->state == RI_PORT_ACTIVE && walk.port->rate != 0 &&
			walk.port->rate < rate)
			add_name(row, &walk);
	return row->count;
}

static void judge_rate(struct ri_checking *checking, const struct ri_hcas *hcas, uint64_t least,
	uint64_t most)
{
	const struct ri_demand *demand = NULL;
	size_t active = ri_ib_active(hcas);
	struct ri_row row = { .count = 0 };
	uint64_t wanted;

	/*
	 * The firmest demand for more ports of a rate than there are: those of storage may be
	 * slower than those of the ranks.
	 */
	for (unsigned asker = RI_ASKER_COUNT; demand == NULL && asker-- > 0;) {
		const struct ri_demand *one = &checking->demands->of[asker].topics[RI_TOPIC_IB];
		struct ri_row slow = { .count = 0 };

		if (one->subject != NULL && least < one->rate * 1000 &&
			active - find_slow(hcas, one->rate * 1000, &slow) <
				(one->count == 0 ? 1 : one->count))
			demand = one;
	}
	wanted = demand == NULL ? most : demand->rate * 1000;
	if (find_slow(hcas, wanted, &row) == 0) {
		ri_check_pass(checking, folder, "%llu Gb/s on each active InfiniBand port",
			(unsigned long long)least / 1000);
		return;
	}
	if (demand == NULL &&
		ri_demands_unmet(checking->demands, RI_TOPIC_IB, RI_DEMAND_RATE, 0) != NULL) {
		ri_check_pass(checking, folder, "as many ports as requested are fast enough; %s: "
			"slower than the others", ri_row_end(&row));
		return;
	}
	ri_check_lack(checking, RI_CODE_IB_RATE_LOW, ri_row_end(&row),
		"%llu.%llu Gb/s, the slowest of the active ports", (unsigned long long)least / 1000,
		(unsigned long long)least % 1000 / 100);
	ri_check_asked(checking, demand);
	ri_check_expected(checking, "%llu Gb/s (%s)", (unsigned long long)wanted / 1000,
		demand == NULL ? "the rate of the others" : demand->subject);
}

static void check_rate(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	struct walk walk = { .device = 0 };
	uint64_t least = UINT64_MAX, most = 0;

	while (walk_ports(hcas, &walk)) {
		if (walk.port->state != RI_PORT_ACTIVE || walk.port->rate == 0)
			continue;
		least = walk.port->rate < least ? walk.port->rate : least;
		most = walk.port->rate > most ? walk.port->rate : most;
	}
	if (ri_ib_active(hcas) == 0) {
		ri_check_skip(checking, folder, "no InfiniBand port is active");
	} else if (most == 0) {
		ri_check_unknown(checking, RI_CODE_IB_RATE_UNKNOWN, folder,
			"no port shows its rate");
		ri_check_asked(checking, ri_demands_unmet(checking->demands, RI_TOPIC_IB,
			RI_DEMAND_RATE, 0));
	} else {
		judge_rate(checking, hcas, least, most);
	}
}

const struct ri_check ri_check_ib_rate = {
	.summary = "InfiniBand ports are as fast as requested",
	.reads = "rate of each active InfiniBand port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband)",
	.fails = "fewer ports than \"ib=N@RATE\" requests have that rate; if no rate is requested, "
		"a port is slower than the others",
	.advice = "node admin: the link is slower than it can be, check the cable and the switch "
		"port; for the job: another node",
	.topics = RI_ABOUT(IB),
	.run = check_rate,
};

static const char count_hint[] =
	"outside the image: give all devices to the container (docker run "
	"--device=/dev/infiniband; Kubernetes: as many of the RDMA device plug-in's resource); if "
	"a port is down, see ib.port and take another node";

static void check_count(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	size_t active = ri_ib_active(hcas);
	const struct ri_demand *demand = ri_demands_unmet(checking->demands, RI_TOPIC_IB,
		RI_DEMAND_COUNT, active);

	if (demand == NULL && active == 0) {
		ri_check_skip(checking, folder, "no InfiniBand port is active, and none is "
			"requested");
	} else if (demand == NULL) {
		ri_check_pass(checking, folder, "%zu active InfiniBand port%s", active,
			active == 1 ? "" : "s");
	} else {
		ri_check_lack(checking, RI_CODE_IB_COUNT_FEW, folder,
			"%zu active InfiniBand port%s", active, active == 1 ? "" : "s");
		ri_check_asked(checking, demand);
		ri_check_expected_count(checking, demand);
		if (hcas->count == 0 && ri_ib_direct_hint(checking) != NULL)
			ri_check_hint(checking, "%s", ri_ib_direct_hint(checking));
		else if (ri_ib_count(hcas, RI_LINK_INFINIBAND) == 0)
			ri_check_hint(checking, "%s", ri_ib_absent_hint);
	}
}

const struct ri_check ri_check_ib_count = {
	.summary = "there are as many active InfiniBand ports as requested",
	.reads = "link_layer and state of each port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband)",
	.fails = "fewer than \"ib=N\" are active",
	.advice = count_hint,
	.topics = RI_ABOUT(IB),
	.because = "ib.dev",
	.run = check_count,
};
