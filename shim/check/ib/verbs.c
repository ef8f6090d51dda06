/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image's libibverbs at work: are there devices for it, can they be
 * opened, can memory be registered? One run of rankinit-probe for all of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/lookups.h"
#include "check/machine.h"
#include "probe/prober.h"
#include "system/clock.h"

enum {
	MEMORY = 64 << 20,	/* what NCCL takes for some channels */
	MEMORY_PART = 8,	/* of the memory that the cgroup grants, at most: 1 / 8 */
	SHOWN = 12,		/* devices with a result of their own */
};

static const char open_hint[] =
	"outside the image: this user needs access to /dev/infiniband/uverbs*: docker run "
	"--device=/dev/infiniband; node admin: mode 0666 (rdma-core's udev rules), or check the "
	"driver's messages for this device";

/* What it said. NULL where there is no libibverbs. */
static const struct ri_prober *probe(const struct ri_checking *checking)
{
	static struct ri_prober prober;
	static bool ran;
	const struct ri_library *library = &ri_check_rdma_core(checking)->verbs;
	struct ri_group_limit group;
	uint64_t bytes = MEMORY;

	if (library->path == NULL || ran)
		return library->path == NULL ? NULL : &prober;
	if (ri_group_limit_find(&group, RI_GROUP_MEMORY, checking->host, checking->arena) &&
		group.number / MEMORY_PART < MEMORY)
		bytes = group.number / MEMORY_PART;
	ri_prober_run(&prober, checking, "verbs", library->path, bytes,
		ri_now_us() + RI_PROBER_MS * 1000);
	ran = true;
	return &prober;
}

static void say_device(struct ri_checking *checking, const struct ri_probe_device *device)
{
	/* IBV_LINK_LAYER_... */
	static const char *const layers[] = { "", ", InfiniBand", ", Ethernet" };
	RI_TEXT(text, 200);
	size_t active = 0;

	ri_text_addf(&text, "can be opened");
	if (device->firmware[0] != '\0')
		ri_text_addf(&text, ", firmware %s", device->firmware);
	for (size_t i = 0; i < device->port_count; i++) {
		const struct ri_probe_port *port = &device->ports[i];
		uint64_t rate = ri_link_rate(port->width, port->speed);

		if (!port->answer.ok) {
			ri_text_addf(&text, "; port %u: %s", port->number,
				strerror((int)port->answer.error));
			continue;
		}
		ri_text_addf(&text, "; port %u %s%s", port->number, ri_port_state_name(port->state),
			port->layer < sizeof(layers) / sizeof(layers[0]) ? layers[port->layer]
									 : "");
		if (port->state == RI_PORT_ACTIVE && rate > 0)
			ri_text_addf(&text, ", %g Gb/s", (double)rate / 1000);
		if (port->lid != 0)
			ri_text_addf(&text, ", LID %" PRIu32, port->lid);
		active += port->state == RI_PORT_ACTIVE;
	}
	if (active > 0) {
		ri_check_pass(checking, device->name, "%s", text.bytes);
		return;
	}
	ri_check_lack(checking, RI_CODE_IB_VERBS_PORT, device->name, "%s", text.bytes);
	ri_check_hint(checking, "see ib.port");
}

static void judge_devices(struct ri_checking *checking, const struct ri_probe *said)
{
	struct ri_row closed = { .count = 0 }, more = { .count = 0 };
	size_t shown = 0;
	uint64_t error = 0;

	/* those that cannot be opened, in a row; the first error stands for all */
	for (size_t i = 0; i < said->device_count; i++) {
		if (said->devices[i].answer.ok)
			continue;
		error = closed.count == 0 ? said->devices[i].answer.error : error;
		ri_row_add(&closed, said->devices[i].name);
	}
	if (closed.count > 0) {
		ri_ib_say_bad(checking, RI_CODE_IB_VERBS_OPEN, ri_row_end(&closed),
			"seen by libibverbs, but cannot be opened: %s", strerror((int)error));
		ri_check_asked(checking, ri_ib_demand(checking));
	}
	for (size_t i = 0; i < said->device_count; i++) {
		if (!said->devices[i].answer.ok)
			continue;
		if (shown++ < SHOWN)
			say_device(checking, &said->devices[i]);
		else
			ri_row_add(&more, said->devices[i].name);
	}
	if (more.count > 0)
		ri_check_pass(checking, ri_row_end(&more), "can be opened");
}

/* Nothing that it could open: fine where the kernel has none either. */
static void judge_none(struct ri_checking *checking, const struct ri_probe *said)
{
	const struct ri_rdma_core *core = ri_check_rdma_core(checking);
	size_t count = ri_ib_look(checking)->count;
	char release[40] = "";

	if (core->release != 0)
		snprintf(release, sizeof(release), " (rdma-core %" PRIu64 ")", core->release);
	if (count == 0) {
		ri_check_pass(checking, core->verbs.path,
			"can be loaded%s; there is no adapter to open", release);
		return;
	}
	if (said->list.ok)
		ri_ib_say_bad(checking, RI_CODE_IB_VERBS_NONE, core->verbs.path,
			"finds none of the %zu adapters that sysfs shows%s", count, release);
	else
		ri_ib_say_bad(checking, RI_CODE_IB_VERBS_NONE, core->verbs.path,
			"cannot list adapters: %s", strerror((int)said->list.error));
	ri_check_asked(checking, ri_ib_demand(checking));
	ri_check_hint(checking, "see ib.uverbs (their device files) and ib.provider (what "
		"libibverbs loads for them)");
}

static void check_verbs(struct ri_checking *checking)
{
	const struct ri_library *library;
	const struct ri_prober *prober;
	char what[200];

	if (!checking->asked && ri_ib_look(checking)->count == 0) {
		ri_check_skip(checking, "libibverbs.so.1", "no RDMA adapter is here");
		return;
	}
	library = &ri_check_rdma_core(checking)->verbs;
	prober = probe(checking);
	if (prober == NULL) {
		if (ri_prober_says_lost(what, sizeof(what), library) ||
			ri_ib_look(checking)->count > 0)
			ri_check_lack(checking, RI_CODE_IB_VERBS_MISSING, "libibverbs.so.1",
				"%s", what);
		else
			ri_check_unprobed(checking, "libibverbs.so.1", what);
	} else if (!ri_prober_judge(checking, prober, library, RI_CODE_IB_VERBS_CRASHED,
		RI_CODE_IB_VERBS_HUNG)) {
		ri_check_asked(checking, ri_ib_demand(checking));
	} else if (!prober->said.load.ok) {
		ri_ib_say_bad(checking, RI_CODE_IB_VERBS_UNLOADED, library->path,
			"cannot be loaded: %.200s", prober->said.text);
		ri_check_asked(checking, ri_ib_demand(checking));
		ri_check_hint(checking, "inside the image: install it again, with all libraries "
			"that it needs; \"ldd\" shows which one is missing");
	} else if (prober->said.listed == 0) {
		judge_none(checking, &prober->said);
	} else {
		judge_devices(checking, &prober->said);
	}
}

const struct ri_check ri_check_ib_verbs = {
	.summary = "the image's libibverbs can be loaded and opens the adapters",
	.reads = "what the image's libibverbs finds and opens (ibv_open_device(3), "
		"ibv_query_port(3)), in a separate process that gets two seconds",
	.fails = "the library cannot be loaded, ends that process or does not return, finds no "
		"adapter though sysfs shows some, or cannot open one; unknown without "
		"rankinit-probe. A warning if the job has several nodes",
	.advice = open_hint,
	RI_CHECK_PROBES("verbs", RI_PROBER_CHECK_MS),
	.topics = RI_ABOUT(OFED) | RI_ABOUT(IB),
	.run = check_verbs,
};

static void check_memory(struct ri_checking *checking)
{
	const struct ri_prober *prober = checking->asked || ri_ib_look(checking)->count > 0
		? probe(checking) : NULL;
	const struct ri_probe_memory *memory = prober == NULL ? NULL : &prober->said.refused;
	char size[RI_SIZE_TEXT], soft[RI_SIZE_TEXT], locked[64] = "";
	struct ri_limit limit;
	bool full = memory != NULL && memory->answer.error == ENOMEM;

	if (memory != NULL && memory->answer.given) {
		if (full && ri_machine_limit(checking->host, RI_LIMIT_MEMLOCK, &limit))
			snprintf(locked, sizeof(locked), "; a process may lock %s",
				ri_size_show(soft, limit.soft));
		/* as glibc, and so every program, calls it */
		ri_check_problem(checking, ri_check_is_shared(checking),
			full ? RI_CODE_IB_MEMORY_LOCKED : RI_CODE_IB_MEMORY_REFUSED, memory->device,
			"registering %s fails: %s (errno %" PRIu32 ")%s",
			ri_size_show(size, memory->size), full ? "Cannot allocate memory"
			: strerror((int)memory->answer.error), memory->answer.error, locked);
		ri_check_hint(checking, "%s", full ? ri_memlock_hint : open_hint);
	} else if (prober != NULL && prober->said.registered.answer.ok) {
		ri_check_pass(checking, prober->said.registered.device, "%s can be registered",
			ri_size_show(size, prober->said.registered.size));
	} else {
		ri_check_unprobed(checking, "memory",
			"no adapter was opened to register memory with");
	}
}

const struct ri_check ri_check_ib_memory = {
	.summary = "memory can be registered with the adapters",
	.reads = "ibv_reg_mr(3) of a page with each adapter, and of 64 MiB (less if the cgroup "
		"grants little memory) with one, and RLIMIT_MEMLOCK (setrlimit(2))",
	.fails = "it is refused, which is how too little locked memory shows itself. A warning if "
		"several ranks are here or the job has several nodes",
	.advice = ri_memlock_hint,
	RI_CHECK_PROBES("verbs", RI_PROBER_CHECK_MS),
	RI_CHECK_HOLDS(RI_ABOUT(OFED) | RI_ABOUT(IB)),
	.run = check_memory,
};
