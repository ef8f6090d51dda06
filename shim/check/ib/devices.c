/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which RDMA devices there are, over what they send, and whether their device files open; of the
 * InfiniBand ports, whether they are up, how many, how fast.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/lookups.h"

static const char folder[] = "/sys/class/infiniband";

/* Where to get InfiniBand from, where the machine has none. */
static const char no_device_hint[] =
	"outside the image: a machine with InfiniBand (Azure: a size with an r, such as "
	"ND96isr_H100_v5); node admin: load the driver (mlx5_core, mlx5_ib) on the host";

/* This VM has RDMA of the kind that no guest ever sees a device of. */
static bool is_direct(const struct ri_checking *checking)
{
	return checking->azure_size != NULL &&
		checking->azure_size->network == RI_AZURE_NETWORK_DIRECT;
}

static void check_dev(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	const struct ri_azure_size *size = checking->azure_size;
	struct ri_row row = { .count = 0 };
	char others[48] = "";
	size_t other = ri_ib_count(hcas, RI_LINK_OTHER);	/* such as EFA of AWS */

	if (hcas->count > 0) {
		for (size_t i = 0; i < hcas->count; i++)
			ri_row_add(&row, hcas->list[i].name);
		if (other > 0)
			snprintf(others, sizeof(others), ", %zu of another kind", other);
		ri_check_pass(checking, folder, "%s: %zu on InfiniBand, %zu on Ethernet%s",
			ri_row_end(&row), ri_ib_count(hcas, RI_LINK_INFINIBAND),
			ri_ib_count(hcas, RI_LINK_ETHERNET), others);
	} else if (!hcas->exclusive && ri_ib_demand(checking) == NULL &&
		ri_demands_check(checking->demands, checking->number, false) == NULL) {
		ri_check_skip(checking, folder, "no RDMA device is here, and none is requested");
	} else if (is_direct(checking)) {
		ri_check_skip(checking, folder, "%s never shows a device: see ib.nonsriov",
			size->name);
	} else if (hcas->error != 0 &&
		(hcas->error != ENOENT || !ri_host_has(checking->host, "sys/class"))) {
		ri_check_unknown(checking, RI_CODE_IB_DEV_UNKNOWN, folder, "%s",
			hcas->error != ENOENT ? strerror(hcas->error)
			: "no sysfs is mounted here, so devices cannot be listed");
		ri_ib_asked(checking, 0);
	} else {
		ri_check_lack(checking, RI_CODE_IB_DEV_ABSENT, folder, "no RDMA device is here%s",
			hcas->exclusive ? "; each device is visible in only one network namespace"
			: "");
		ri_ib_asked(checking, 0);
		ri_check_asked_count(checking,
			ri_demands_unmet(checking->demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 0));
		if (hcas->exclusive)
			ri_check_hint(checking, "node admin: \"rdma system set netns shared\", or "
				"a network plug-in that moves a device into the container's "
				"namespace");
		else if (size != NULL && size->network == RI_AZURE_ETHERNET)
			ri_check_hint(checking, "%s has no InfiniBand: take a size with an r in "
				"its name, such as ND96isr_H100_v5, or do not request InfiniBand",
				size->name);
	}
}

const struct ri_check ri_check_ib_dev = {
	.summary = "RDMA devices are here",
	.reads = "/sys/class/infiniband, netns_mode of ib_core (Linux "
		"ABI/stable/sysfs-class-infiniband, rdma-system(8))",
	.fails = "no device is here",
	.advice = no_device_hint,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_dev,
};

static const char direct_hint[] =
	"NCCL_IB_DISABLE=1 in the job's environment, so that NCCL does not look for it; only Intel "
	"MPI 2018 or older can use it (I_MPI_FABRICS=shm:dapl); for verbs take a size with SR-IOV, "
	"such as ND40rs_v2";

static void check_nonsriov(struct ri_checking *checking)
{
	if (!is_direct(checking)) {
		ri_check_skip(checking, "azure=SIZE", "no VM size without SR-IOV is given");
	} else if (!checking->asked && !ri_topology_is_wide(checking->topology)) {
		ri_check_skip(checking, "azure=SIZE", "a job of one node does not need it");
	} else if (ri_ib_look(checking)->count > 0) {
		ri_check_pass(checking, checking->azure_size->name, "shows RDMA devices anyway");
	} else {
		ri_check_warn(checking, RI_CODE_IB_NONSRIOV_SIZE, checking->azure_size->name,
			"has RDMA without SR-IOV: programs that use verbs, such as NCCL, cannot "
			"use it, whatever is installed");
		ri_ib_asked(checking, 0);
	}
}

const struct ri_check ri_check_ib_nonsriov = {
	.summary = "the VM size has RDMA that verbs can use",
	.reads = "the VM size of azure=SIZE and its table, /sys/class/infiniband (Azure "
		"documentation, \"Distributed GPU training guide\": NC24r)",
	.fails = "the size has RDMA without SR-IOV",
	.advice = direct_hint,
	.runs = RI_CHECK_LAUNCH,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_nonsriov,
};

/*
 * sysfs shows RDMA devices in every container, but their device files are there only where the
 * container was started with them. libibverbs passes over a device without one, and programs use
 * sockets without a word.
 */
static const char absent_hint[] =
	"outside the image: docker run --device=/dev/infiniband (with the NVIDIA runtime also "
	"-e NVIDIA_MOFED=enabled); Kubernetes: the resource of an RDMA device plug-in, such as "
	"rdma/hca; Azure ML: docker_args: \"--device=/dev/infiniband\"";
static const char denied_hint[] =
	"outside the image: the device cgroup denies access, though the file is there: docker run "
	"--device=/dev/infiniband, not -v; Kubernetes: the RDMA device plug-in, not a hostPath";
static const char mode_hint[] =
	"outside the image: run as root, or node admin: mode 0666 for /dev/infiniband/uverbs* "
	"(rdma-core's udev rules); an image cannot change it";
static const char failed_hint[] =
	"node admin: check the driver's messages for this device; restart the container after a "
	"reset of the device";

/* TABLE: what one errno is called, and what to do about it; the last row is for all others. */
static const struct kind {
	int error;
	enum ri_code code;
	const char *text, *hint;
} kinds[] = {
	{ ENOENT, RI_CODE_IB_UVERBS_ABSENT,
		"in sysfs, but without a device file in /dev/infiniband", absent_hint },
	{ EPERM, RI_CODE_IB_UVERBS_DENIED,
		"with a device file that the device cgroup does not let it open", denied_hint },
	{ EACCES, RI_CODE_IB_UVERBS_MODE,
		"with a device file whose mode does not let this user open it", mode_hint },
	{ 0, RI_CODE_IB_UVERBS_FAILED, "with a device file that cannot be used", failed_hint },
};

/* All that fail as this one does, in one result. */
static void say_unopened(struct ri_checking *checking, const struct ri_hcas *hcas, int error)
{
	bool infiniband = ri_ib_count(hcas, RI_LINK_INFINIBAND) > 0, crawls;
	const struct kind *kind = kinds;
	struct ri_row row = { .count = 0 };
	size_t usable = 0;

	while (kind->error != 0 && kind->error != error)
		kind++;
	/* those over InfiniBand alone can be used, where there are any */
	for (size_t i = 0; i < hcas->count; i++) {
		usable += hcas->list[i].error == 0 &&
			(!infiniband || ri_hca_has(&hcas->list[i], RI_LINK_INFINIBAND));
		if (hcas->list[i].error == error)
			ri_row_add(&row, hcas->list[i].name);
	}
	/* several nodes talk over sockets then; a pod may have been given some of many */
	crawls = usable == 0 && ri_ib_matters(checking);
	ri_check_problem(checking, crawls, kind->code, ri_row_end(&row), "%s%s", kind->text,
		crawls ? "; NCCL and MPI use TCP instead" : "");
	if (infiniband)
		ri_ib_asked(checking, usable);
	else if (usable == 0)
		ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_OFED));
	ri_check_hint(checking, "%s", kind->hint);
}

static void check_uverbs(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_open(checking);
	size_t bad = 0;

	for (size_t i = 0; i < hcas->count; i++) {
		const struct ri_hca *hca = &hcas->list[i];
		size_t first = 0;

		while (hcas->list[first].error != hca->error)
			first++;
		bad += hca->error != 0 || hca->stale;
		if (hca->error != 0 && first == i) {
			say_unopened(checking, hcas, hca->error);
		} else if (hca->stale) {
			ri_check_lack(checking, RI_CODE_IB_UVERBS_STALE, hca->name,
				"%s belongs to another device: the device was reset after the "
				"container was started", hca->node);
			ri_check_hint(checking, "outside the image: start the container again");
		}
	}
	if (bad == 0)
		ri_check_pass(checking, "/dev/infiniband",
			"the device file%s of %zu adapter%s can be opened",
			hcas->count == 1 ? "" : "s", hcas->count, hcas->count == 1 ? "" : "s");
}

const struct ri_check ri_check_ib_uverbs = {
	.summary = "the device files of RDMA adapters can be opened",
	.reads = "/sys/class/infiniband_verbs, and /dev/infiniband/uverbsN, which is opened and "
		"closed (rdma-core libibverbs/init.c)",
	.fails = "the device file of an adapter is missing, denied by the device cgroup or its "
		"mode, or cannot be used; a warning if none on InfiniBand can be used and the job "
		"has several nodes",
	.advice = absent_hint,
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_ib_needs_device,
	.topics = RI_ABOUT(IB) | RI_ABOUT(OFED),
	.run = check_uverbs,
};

/* --- ports ------------------------------------------------------------------ */

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
static void say_down(struct ri_checking *checking, const struct ri_hcas *hcas,
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
			say_down(checking, hcas, walk.port);
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
		ri_check_asked_count(checking, demand);
		if (hcas->count == 0 && is_direct(checking))
			ri_check_hint(checking, "%s", direct_hint);
		else if (ri_ib_count(hcas, RI_LINK_INFINIBAND) == 0)
			ri_check_hint(checking, "%s", no_device_hint);
	}
}

const struct ri_check ri_check_ib_count = {
	.summary = "there are as many active InfiniBand ports as requested",
	.reads = "link_layer and state of each port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband)",
	.fails = "fewer than \"ib=N\" are active",
	.advice = "outside the image: give all devices to the container (docker run "
		"--device=/dev/infiniband; Kubernetes: as many of the RDMA device plug-in's "
		"resource); if a port is down, see ib.port and take another node",
	.topics = RI_ABOUT(IB),
	.because = "ib.dev",
	.run = check_count,
};
