/* SPDX-License-Identifier: Apache-2.0 */
#include "check/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check/lookups.h"
#include "check/machine.h"
#include "redact/redact.h"

enum {
	NAME_MOST = 64,
	VALUE_SIZE = 256,
	TEXT_SIZE = 4096,
	NAMES_SIZE = 16384,
	MTU_MOST = 32,		/* interfaces: a host's own network may have hundreds */
};

struct finder {
	struct ri_node_facts *out;
	const struct ri_node_facts_plan *plan;
	struct ri_host *host;
	const char *name;	/* of the row whose turn it is */
};

/* NAME=value: the value may be secret by the name, or by its form, as a password in an URL is. */
static void add_named(struct finder *finder, const char *name, const char *value)
{
	struct ri_node_fact *fact = &finder->out->items[finder->out->count];
	struct ri_arena *arena = finder->plan->checking.arena;
	RI_TEXT(word, NAME_MOST + 2 * VALUE_SIZE);
	const char *end;

	if (finder->out->count == RI_NODE_FACTS || value == NULL || value[0] == '\0' ||
		strlen(name) > NAME_MOST)
		return;
	ri_text_addf(&word, "%s=", name);
	ri_text_add_bytes(&word, value, strnlen(value, VALUE_SIZE - 1));
	ri_redact_word_in_place(word.bytes, word.size);
	end = word.bytes + strlen(name) + 1;
	fact->name = ri_arena_copy(arena, name, strlen(name));
	fact->value = strncmp(word.bytes, name, strlen(name)) != 0 || end[-1] != '=' ? NULL
		: ri_arena_copy(arena, end, strlen(end));
	finder->out->count += fact->name != NULL && fact->value != NULL;
}

__attribute__((format(printf, 2, 3)))
static void add(struct finder *finder, const char *format, ...)
{
	char value[VALUE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	add_named(finder, finder->name, value);
}

static void add_line(struct finder *finder, const char *path)
{
	char line[VALUE_SIZE];

	if (ri_sysfile_line(finder->host, path, line, sizeof(line)))
		add(finder, "%s", line);
}

static void find_kernel(struct finder *finder)
{
	struct utsname names;

	if (!finder->host->live)
		add_line(finder, "proc/sys/kernel/osrelease");
	else if (uname(&names) == 0)
		add(finder, "%s", names.release);
}

static void find_boot(struct finder *finder)
{
	add_line(finder, "proc/sys/kernel/random/boot_id");
}

/* The version of the driver, or whose modules it has. */
static void find_nvidia(struct finder *finder)
{
	bool modules = strcmp(finder->name, "nvidia_modules") == 0;
	struct ri_nvidia nvidia = { .driver = false };
	char text[TEXT_SIZE];

	if (ri_host_read(finder->host, "proc/driver/nvidia/version", text, sizeof(text)) > 0 &&
		ri_nvidia_version(text, &nvidia))
		add(finder, "%s", !modules ? nvidia.version : nvidia.open ? "open" : "proprietary");
}

/* Without it CUDA ends with error 802; most containers lack its socket, though it runs. */
static void find_fabric_manager(struct finder *finder)
{
	if (!ri_host_has(finder->host, "proc/driver/nvidia"))
		return;
	if (ri_host_has(finder->host, "dev/nvidia-nvswitchctl") ||
		ri_host_has(finder->host, "proc/driver/nvidia-nvswitch/devices"))
		add(finder, "%s", ri_host_has(finder->host, "run/nvidia-fabricmanager/socket")
			? "its socket is here" : "its socket is not here");
}

static void find_rdma_cm(struct finder *finder)
{
	char names[NAMES_SIZE];
	int error;

	if (ri_host_list(finder->host, "sys/class/infiniband", names, sizeof(names)) <= 0)
		return;
	error = ri_host_node(finder->host, "dev/infiniband/rdma_cm", NULL);
	add(finder, "%s", error == 0 ? "can be opened" : strerror(error));
}

static void find_rdma_libraries(struct finder *finder)
{
	const struct ri_rdma_core *core = ri_check_rdma_core(&finder->plan->checking);
	char release[40] = "";
	struct ri_program info;
	bool ofed;

	if (core->verbs.path == NULL)
		return;
	if (core->release != 0)
		snprintf(release, sizeof(release), "rdma-core %" PRIu64 ", ", core->release);
	ofed = ri_program_find(ri_check_loader(&finder->plan->checking)->image, "ofed_info", &info);
	add(finder, "%sprivate interface %" PRIu64 "%s", release, core->abi,
		ofed ? ", with ofed_info of MLNX_OFED or DOCA-OFED" : "");
}

static void find_mpi(struct finder *finder)
{
	const struct ri_mpi *mpi = ri_check_mpi(&finder->plan->checking);
	RI_TEXT(text, VALUE_SIZE);

	for (size_t i = 0; i < mpi->library_count; i++) {
		const struct ri_mpi_library *library = &mpi->libraries[i];

		if (library->file.fault == RI_ELF_OK)
			ri_text_addf(&text, "%s%s%s%s (%s)", text.length == 0 ? "" : ", ",
				ri_mpi_family_name(library->family),
				library->version[0] == '\0' ? "" : " ", library->version,
				library->file.real);
	}
	if (text.length > 0)
		add(finder, "%s", text.bytes);
}

/* The default in the place of the default changes nothing. Open MPI says when it cannot bind. */
static void find_membind(struct finder *finder)
{
	if (finder->host->live)
		add(finder, "%s", syscall(SYS_set_mempolicy, 0, NULL, 0) == 0 ? "allowed"
			: errno == EPERM ? "forbidden (EPERM)" : "forbidden by the kernel");
}

static void find_limit(struct finder *finder)
{
	bool stack = strcmp(finder->name, "stack_limit") == 0;
	struct ri_limit limit;

	if (ri_machine_limit(finder->host, stack ? RI_LIMIT_STACK : RI_LIMIT_CORE, &limit))
		add(finder, "%s", RI_SIZE_SHOWN(limit.soft));
}

/* No more of an interface is read: some of it asks a driver. */
static void find_mtus(struct finder *finder)
{
	enum { LOOPBACK = 772 };	/* ARPHRD_LOOPBACK, linux/if_arp.h */
	char names[NAMES_SIZE], path[NAME_MOST + 32], name[NAME_MOST + 8], value[24];
	const char *interface = names;
	long left = ri_host_list(finder->host, "sys/class/net", names, sizeof(names));

	for (long i = 0; i < left && i < MTU_MOST; i++, interface += strlen(interface) + 1) {
		uint64_t type = LOOPBACK, mtu = 0;

		if (strlen(interface) > NAME_MOST - 4)
			continue;
		snprintf(path, sizeof(path), "sys/class/net/%.*s/type", NAME_MOST,
			interface);
		ri_sysfile_number(finder->host, path, &type);
		snprintf(path, sizeof(path), "sys/class/net/%.*s/mtu", NAME_MOST,
			interface);
		ri_sysfile_number(finder->host, path, &mtu);
		snprintf(name, sizeof(name), "mtu_%.*s", NAME_MOST, interface);
		snprintf(value, sizeof(value), "%" PRIu64, mtu);
		if (type != LOOPBACK && mtu != 0)
			add_named(finder, name, value);
	}
}

static void find_pid1(struct finder *finder)
{
	if (finder->host->live)
		add(finder, "%s", finder->plan->is_init ? "rankinit" : "another program");
}

static void find_user_namespace(struct finder *finder)
{
	struct ri_user_map map;

	if (!ri_machine_user_map(finder->host, &map))
		return;
	if (map.is_whole)
		add(finder, "none");
	else
		add(finder, "user %" PRIu64 " here is user %" PRIu64 " outside", map.inside,
			map.outside);
}

static void find_seccomp(struct finder *finder)
{
	struct ri_status status;

	if (ri_machine_status(finder->host, &status) && status.seccomp >= 0)
		add(finder, "%s", status.seccomp == 0 ? "off" : status.seccomp == 2 ? "filter"
			: "strict");
}

/* What its part for compatibility leaves in the environment says that it has run. */
static void find_entrypoint(struct finder *finder)
{
	if (!ri_host_has(finder->host, "opt/nvidia/nvidia_entrypoint.sh"))
		return;
	if (ri_env_get(finder->plan->checking.env, "_CUDA_COMPAT_STATUS") != NULL)
		add(finder, "has run");
	else if (!ri_host_has(finder->host, "usr/local/cuda/compat"))
		add(finder, "has not run, and has nothing to set");
	else
		add(finder, "was bypassed, so /usr/local/cuda/compat is not used");
}

/* The first that names it, what a container's runtime says before what the image does. */
static void find_image(struct finder *finder)
{
	static const char *const variables[] = {
		"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "SLURM_CONTAINER",
		"NVIDIA_BUILD_ID",
	};
	char text[TEXT_SIZE];
	const char *at;
	size_t count = finder->out->count;

	for (size_t i = 0; i < RI_ARRAY_SIZE(variables); i++) {
		const char *value = ri_env_get(finder->plan->checking.env, variables[i]);

		if (value == NULL || value[0] == '\0')
			continue;
		add(finder, "%s", value);
		return;
	}
	add_line(finder, "IMAGE_INFORMATION");
	if (finder->out->count != count ||
		ri_host_read(finder->host, "etc/os-release", text, sizeof(text)) < 0)
		return;
	/* PRETTY_NAME="value" */
	at = ri_proc_field(text, "PRETTY_NAME", '=');
	if (at != NULL)
		add(finder, "%.*s", (int)strcspn(at + (*at == '"'), "\"\n"), at + (*at == '"'));
}

static void find_nccl(struct finder *finder)
{
	static const struct ri_env_edits none;
	static const char start[] = "NCCL_";
	const struct ri_node_facts_plan *plan = finder->plan;
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env env = { .count = 0 };
	char **all = ri_env_apply(plan->checking.env, plan->edits == NULL ? &none : plan->edits,
		plan->checking.arena, &err);

	if (all == NULL || ri_env_init(&env, all, plan->checking.arena, &err) < 0)
		return;
	for (size_t i = 0; i < env.count; i++) {
		const struct ri_env_entry *entry = &env.entries[i];
		const char *value = ri_env_entry_value(entry);
		char name[NAME_MOST + 1];

		if (value == NULL || entry->name_length > NAME_MOST ||
			strncmp(entry->text, start, sizeof(start) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)entry->name_length, entry->text);
		/* of one that is there twice programs see the first */
		if (ri_env_find(&env, name) == entry)
			add_named(finder, name, value);
	}
}

/* TABLE: every fact, in the order in which they are shown. */
static const struct kind {
	const char *name;
	const char *says, *reads;	/* for the documents */
	void (*find)(struct finder *finder);
	bool looks;		/* into libraries, or at a device file: not for the report */
} kinds[] = {
	{ "kernel", "the kernel's release", "uname(2)", find_kernel, false },
	{ "boot", "the id of this boot, which containers on one machine share",
		"/proc/sys/kernel/random/boot_id (Linux admin-guide/sysctl/kernel.rst)",
		find_boot, false },
	{ "nvidia_driver", "the version of NVIDIA's driver",
		"/proc/driver/nvidia/version (NVIDIA's open kernel modules, "
		"kernel-open/nvidia/nv-procfs.c)", find_nvidia, false },
	{ "nvidia_modules", "whether its kernel modules are open or proprietary",
		"the same file", find_nvidia, false },
	{ "fabric_manager", "with NVSwitches, whether the socket of the fabric manager is here; "
		"without the fabric manager CUDA ends with error 802, but most containers lack "
		"its socket",
		"/dev/nvidia-nvswitchctl, /proc/driver/nvidia-nvswitch, "
		"/run/nvidia-fabricmanager/socket (NVIDIA Fabric Manager User Guide)",
		find_fabric_manager, false },
	{ "rdma_cm", "with RDMA adapters, whether the device file of the connection manager can "
		"be opened; only programs that connect with librdmacm need it",
		"/dev/infiniband/rdma_cm, which is opened and closed (rdma-core librdmacm/cma.c)",
		find_rdma_cm, true },
	{ "rdma_libraries", "which RDMA libraries the image has; they work with the kernel's "
		"drivers and with those of OFED",
		"the name of libibverbs' file, the version IBVERBS_PRIVATE of its symbols, PATH "
		"for ofed_info", find_rdma_libraries, true },
	{ "mpi", "which MPI libraries the image has",
		"symbols, name and surroundings of each library: ompi_version_string, "
		"MPII_Version_string (src/mpi/init), I_MPI_ROOT, pkgconfig/mpich.pc",
		find_mpi, true },
	{ "membind", "whether memory can be bound to NUMA nodes; where it is forbidden, docker "
		"run --cap-add SYS_NICE allows it",
		"set_mempolicy(2) with the default policy, which changes nothing",
		find_membind, true },
	{ "stack_limit", "how large the stack of a process may become; NVIDIA's images recommend "
		"64 MiB, which few programs need", "RLIMIT_STACK (setrlimit(2))",
		find_limit, false },
	{ "core_limit", "how large a core file may become; GPU programs map much memory, so "
		"writing one takes long, and docker run --ulimit core=0 turns them off",
		"RLIMIT_CORE (setrlimit(2))", find_limit, false },
	{ "mtu_INTERFACE", "the MTU of each interface, which all nodes should have in common",
		"mtu in /sys/class/net (Linux ABI/testing/sysfs-class-net)", find_mtus, false },
	{ "pid1", "which program is PID 1; as another program's child, rankinit adopts the "
		"orphans of the command", "the pid of rankinit", find_pid1, false },
	{ "user_namespace", "which user of the host the first user here is, if users are mapped",
		"/proc/self/uid_map (user_namespaces(7))", find_user_namespace, false },
	{ "seccomp", "whether system calls are filtered", "Seccomp in /proc/self/status (proc(5))",
		find_seccomp, false },
	{ "nvidia_entrypoint", "whether the entrypoint of NVIDIA's images has run; to keep it: "
		"ENTRYPOINT [\"/opt/nvidia/nvidia_entrypoint.sh\", \"rankinit\"]",
		"/opt/nvidia/nvidia_entrypoint.sh, /usr/local/cuda/compat, _CUDA_COMPAT_STATUS "
		"(NVIDIA CUDA container images, entrypoint.d)", find_entrypoint, false },
	{ "image", "which image this is",
		"APPTAINER_CONTAINER, SINGULARITY_CONTAINER (apptainer.org, \"Environment and "
		"Metadata\"), SLURM_CONTAINER (slurm.schedmd.com, srun), NVIDIA_BUILD_ID "
		"(nvidia_entrypoint.sh), /IMAGE_INFORMATION (Azure/AzureML-Containers), "
		"PRETTY_NAME in /etc/os-release (os-release(5))", find_image, false },
	{ "NCCL_*", "each NCCL_ variable, in a report those of the first rank, without secrets",
		"the environment", find_nccl, false },
};

void ri_node_facts_find(struct ri_node_facts *out, const struct ri_node_facts_plan *plan)
{
	struct finder finder = { .out = out, .plan = plan, .host = plan->checking.host };

	out->count = 0;
	for (size_t i = 0; i < RI_ARRAY_SIZE(kinds); i++) {
		finder.name = kinds[i].name;
		if (plan->looks || !kinds[i].looks)
			kinds[i].find(&finder);
	}
}

void ri_node_facts_list(struct ri_text *out)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(kinds); i++)
		ri_text_addf(out, "%s\t%s\t%s\t%s\n", kinds[i].name, kinds[i].says,
			kinds[i].looks ? "-" : "report", kinds[i].reads);
}
