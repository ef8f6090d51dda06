/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drivers of RDMA adapters: whose the kernel runs, whether they reach GPUs' memory, and the
 * user's side. NCCL loads libibverbs by name, libibverbs loads a provider by name, and where one of
 * them is missing or does not fit, programs find no device and go by sockets without a word.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/lookups.h"
#include "check/machine.h"
#include "probe/prober.h"
#include "system/clock.h"

/* --- in the kernel ---------------------------------------------------------- */

static void check_ofed(struct ri_checking *checking)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_OFED);
	const struct ri_hcas *hcas = ri_ib_look(checking);
	const char *driver = hcas->count == 0 ? "" : hcas->list[0].driver;
	bool mellanox = hcas->count == 0;
	struct ri_ofed ofed;
	char what[128];

	/* OFED is for the adapters of one maker alone */
	for (size_t i = 0; i < hcas->count; i++)
		mellanox |= strncmp(hcas->list[i].driver, "mlx", 3) == 0 ||
			strncmp(hcas->list[i].name, "mlx", 3) == 0;
	ri_ofed_read(&ofed, checking->host);
	snprintf(what, sizeof(what), "the kernel's own driver%s%s",
		ofed.version[0] == '\0' ? "" : ", version ", ofed.version);
	if (ofed.kind == RI_OFED_NONE && hcas->count == 0 && demand == NULL) {
		ri_check_skip(checking, "/sys/module", "no RDMA device is here");
	} else if (ofed.kind == RI_OFED_NONE && mellanox) {
		ri_check_unknown(checking, RI_CODE_IB_OFED_UNKNOWN, "/sys/module",
			"neither mlx5_core nor mlx4_core is shown");
		ri_check_advise(checking);
	} else if (ofed.kind == RI_OFED_NONE && demand == NULL) {
		ri_check_skip(checking, hcas->list[0].name, "is not from Mellanox");
	} else if (ofed.kind == RI_OFED_NONE) {
		ri_check_lack(checking, RI_CODE_IB_OFED_OTHER, hcas->list[0].name,
			"is not from Mellanox%s%s", driver[0] == '\0' ? "" : ", its driver is ",
			driver);
		ri_check_expected(checking, "MLNX_OFED or DOCA-OFED (%s)", demand->subject);
		ri_check_hint(checking, "outside the image: a machine with Mellanox adapters; if "
			"these are enough, request ib.uverbs and ib.libs instead of ofed");
	} else if (ofed.kind == RI_OFED_MELLANOX) {
		ri_check_pass(checking, ofed.module, "the driver of %s %s", ri_ofed_name(&ofed),
			ofed.version);
	} else if (demand == NULL) {
		ri_check_pass(checking, ofed.module, "%s", what);
	} else {
		ri_check_lack(checking, RI_CODE_IB_OFED_INBOX, ofed.module,
			"%s, not that of OFED", what);
		ri_check_expected(checking, "MLNX_OFED or DOCA-OFED (%s)", demand->subject);
	}
}

const struct ri_check ri_check_ib_ofed = {
	.summary = "the kernel runs the driver of Mellanox OFED",
	.reads = "/sys/module/mlx5_core/version or mlx4_core's, /sys/module/mlx_compat, "
		"/proc/sys/kernel/osrelease (MLNX_OFED release notes, Linux "
		"drivers/net/ethernet/mellanox)",
	.fails = "OFED is requested and the driver is the kernel's own, or the adapters are not "
		"from Mellanox; unknown if no driver is shown",
	.advice = "node admin: install DOCA-OFED (MLNX_OFED before 2025) on the host, an image "
		"cannot bring a driver (Azure: an HPC image, AmlCompute has it); if the kernel's "
		"own driver is enough, request ib instead of ofed (ib.uverbs and ib.libs for "
		"Ethernet)",
	RI_CHECK_HOLDS(RI_ABOUT(OFED)),
	.holds_unknown = true,
	.because = "ib.dev",
	.run = check_ofed,
};

static void check_peermem(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	const struct ri_nvidia *nvidia = ri_check_nvidia(checking);
	const char *way = ri_peer_memory_find(nvidia, checking->host);

	if (!nvidia->driver || hcas->count == 0 || ri_ib_count(hcas, RI_LINK_INFINIBAND) == 0) {
		ri_check_skip(checking, "nvidia_peermem",
			"this node lacks NVIDIA GPUs or InfiniBand");
	} else if (way != NULL) {
		ri_check_pass(checking, way, way[0] == '/' ? "adapters access GPU memory directly"
			: "the open kernel modules and this kernel do not need nvidia_peermem");
	} else {
		ri_check_lack(checking, RI_CODE_IB_PEERMEM_ABSENT, "nvidia_peermem",
			"is not loaded: data between GPUs of two nodes is copied through the "
			"memory of both, several times slower");
	}
}

const struct ri_check ri_check_ib_peermem = {
	.summary = "adapters access GPU memory directly",
	.reads = "/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers (where NCCL and UCX "
		"look), /proc/driver/nvidia/version and the kernel's release",
	.fails = "no peer memory module is loaded and dma-buf cannot replace it; at most a warning "
		"if ib or ofed is requested",
	.advice = "node admin: modprobe nvidia-peermem on the host, or use the open kernel "
		"modules with kernel 5.12 or newer, which do not need it",
	RI_CHECK_WISHES(RI_ABOUT(IB) | RI_ABOUT(OFED)),
	.run = check_peermem,
};

/* --- of the image ----------------------------------------------------------- */

static void check_libs(struct ri_checking *checking)
{
	const struct ri_rdma_core *core;
	const struct ri_library *verbs;
	struct ri_library apart;

	if (ri_ib_look(checking)->count == 0 && ri_ib_demand(checking) == NULL) {
		ri_check_skip(checking, "libibverbs.so.1", "no RDMA adapter is here");
		return;
	}
	core = ri_check_rdma_core(checking);
	verbs = &core->verbs;
	if (verbs->path == NULL &&
		ri_loader_find_apart(ri_check_loader(checking), "libibverbs.so.1", &apart)) {
		ri_ib_say_bad(checking, RI_CODE_IB_LIBS_APART, apart.path,
			"is in a folder that the loader does not search");
		ri_check_hint(checking, "inside the image: add its folder to /etc/ld.so.conf.d and "
			"run ldconfig, or add it to LD_LIBRARY_PATH");
	} else if (verbs->path == NULL && verbs->foreign != NULL) {
		ri_ib_say_bad(checking, RI_CODE_IB_LIBS_FOREIGN, verbs->foreign,
			"is for %s, and there is no other libibverbs",
			ri_elf_machine_name(verbs->machine));
	} else if (verbs->path == NULL && verbs->gone != NULL) {
		ri_ib_say_bad(checking, RI_CODE_IB_LIBS_MISSING, verbs->gone,
			"is listed in /etc/ld.so.cache, but missing");
	} else if (verbs->path == NULL) {
		ri_ib_say_bad(checking, RI_CODE_IB_LIBS_MISSING, "libibverbs.so.1",
			"is not in this image: NCCL and MPI use TCP instead");
	} else if (verbs->fault != RI_ELF_OK) {
		ri_ib_say_bad(checking, RI_CODE_IB_LIBS_BROKEN, verbs->path, "%s",
			ri_check_library_fault(verbs));
	} else {
		ri_check_pass(checking, verbs->path, "found by %s",
			ri_library_place_name(verbs->place));
	}
	if (verbs->path != NULL && core->manager.path == NULL) {
		ri_check_note(checking, RI_CODE_IB_LIBS_MISSING, "librdmacm.so.1",
			"is not in this image; UCX and MPI may need it, NCCL does not");
		ri_check_advise(checking);
	}
}

const struct ri_check ri_check_ib_libs = {
	.summary = "programs find libibverbs",
	.reads = "LD_LIBRARY_PATH, /etc/ld.so.cache and the loader's folders (ld.so(8)) for "
		"libibverbs.so.1 and librdmacm.so.1",
	.fails = "an RDMA adapter is here, but libibverbs is missing, damaged, for another "
		"processor, or in a folder that the loader does not search; a warning if the job "
		"has several nodes",
	.advice = "inside the image: apt-get install libibverbs1 ibverbs-providers librdmacm1 "
		"(Fedora, RHEL: libibverbs librdmacm)",
	.runs = RI_CHECK_LAUNCH,
	RI_CHECK_HOLDS(RI_ABOUT(OFED) | RI_ABOUT(IB)),
	.in_image = true,
	.run = check_libs,
};

static void judge_provider(struct ri_checking *checking, const char *driver)
{
	const struct ri_rdma_core *core = ri_check_rdma_core(checking);
	const char *name = ri_provider_for(driver);
	const struct ri_provider *provider = ri_rdma_core_provider(core, name);

	if (provider == NULL)
		ri_ib_say_bad(checking, RI_CODE_IB_PROVIDER_MISSING, name, "there is no "
			"lib%.20s-rdmav%" PRIu64 ".so in %.100s for adapters of the driver %.30s",
			name, core->abi, core->folder, driver);
	else if (core->abi != 0 && provider->abi != core->abi)
		ri_ib_say_bad(checking, RI_CODE_IB_PROVIDER_ABI, name, "is of private interface %"
			PRIu64 " (rdmav%" PRIu64 "), but libibverbs of %" PRIu64 ": it is never "
			"loaded", provider->abi, provider->abi, core->abi);
	else if (!ri_rdma_core_configured(core, name))
		ri_ib_say_bad(checking, RI_CODE_IB_PROVIDER_UNNAMED, name, "no file in %.100s "
			"names it: libibverbs never loads it", core->config);
	else
		ri_check_pass(checking, name, "fits libibverbs and the driver %s", driver);
}

static void check_provider(struct ri_checking *checking)
{
	const struct ri_rdma_core *core = ri_check_rdma_core(checking);
	const struct ri_hcas *hcas = ri_ib_look(checking);

	if (core->verbs.path == NULL || core->verbs.fault != RI_ELF_OK) {
		ri_check_skip(checking, "libibverbs.so.1", "no libibverbs is here to load a "
			"provider");
		return;
	}
	for (size_t i = 0; i < hcas->count; i++) {
		const struct ri_hca *hca = &hcas->list[i];
		size_t first = 0;

		/* adapters of one driver have one provider */
		while (strcmp(hcas->list[first].driver, hca->driver) != 0)
			first++;
		if (first == i && hca->driver[0] != '\0')
			judge_provider(checking, hca->driver);
		else if (first == i)
			ri_check_unknown(checking, RI_CODE_IB_PROVIDER_UNKNOWN, hca->name,
				"sysfs does not show its driver");
	}
	if (!ri_rdma_core_mixed(core))
		return;
	ri_check_lack(checking, RI_CODE_IB_PROVIDER_MIXED, core->folder,
		"contains providers of several private interfaces, and so of two releases");
	ri_check_hint(checking, "inside the image: keep the packages of one release, of the "
		"distribution or of MLNX_OFED");
}

const struct ri_check ri_check_ib_provider = {
	.summary = "libibverbs has a provider for the adapters",
	.reads = "the driver of each device in /sys/class/infiniband; lib*-rdmav*.so beside "
		"libibverbs and the version IBVERBS_PRIVATE of its symbols; "
		"/etc/libibverbs.d/*.driver (rdma-core libibverbs/dynamic_driver.c)",
	.fails = "the provider for a driver is missing, has another private interface, or is not "
		"named in a file; a warning if the job has several nodes",
	.advice = "inside the image: apt-get install ibverbs-providers of the same release as "
		"libibverbs1, and do not overwrite it with another copy",
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_ib_needs_device,
	RI_CHECK_HOLDS(RI_ABOUT(OFED) | RI_ABOUT(IB)),
	.holds_unknown = true,
	.run = check_provider,
};

/* --- libibverbs at work, in one run of rankinit-probe ----------------------- */

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
			port->layer < RI_ARRAY_SIZE(layers) ? layers[port->layer]
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
	char locked[64] = "";
	struct ri_limit limit;
	bool full = memory != NULL && memory->answer.error == ENOMEM;

	if (memory != NULL && memory->answer.given) {
		if (full && ri_machine_limit(checking->host, RI_LIMIT_MEMLOCK, &limit))
			snprintf(locked, sizeof(locked), "; a process may lock %s",
				RI_SIZE_SHOWN(limit.soft));
		/* as glibc, and so every program, calls it */
		ri_check_problem(checking, ri_check_is_shared(checking),
			full ? RI_CODE_IB_MEMORY_LOCKED : RI_CODE_IB_MEMORY_REFUSED, memory->device,
			"registering %s fails: %s (errno %" PRIu32 ")%s",
			RI_SIZE_SHOWN(memory->size), full ? "Cannot allocate memory"
			: strerror((int)memory->answer.error), memory->answer.error, locked);
		ri_check_hint(checking, "%s", full ? ri_memlock_hint : open_hint);
	} else if (prober != NULL && prober->said.registered.answer.ok) {
		ri_check_pass(checking, prober->said.registered.device, "%s can be registered",
			RI_SIZE_SHOWN(prober->said.registered.size));
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
