/* SPDX-License-Identifier: Apache-2.0 */
#include "node/devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * CUDA Programming Guide, "CUDA Environment Variables": indices or UUIDs, also
 * their beginnings; unset is all, empty is none, and what cannot be there ends
 * the list. A GPU named twice makes it empty (PyTorch, torch/cuda/__init__.py).
 */
#define VISIBLE "CUDA_VISIBLE_DEVICES"
/*
 * NVIDIA container toolkit, internal/config/image: "none" is the driver without
 * GPUs. "void", empty and lists say nothing about the devices that are there.
 */
#define INJECTED "NVIDIA_VISIBLE_DEVICES"
/*
 * NVIDIA's open kernel modules, kernel-open/nvidia/nv-procfs.c: a folder for
 * each GPU, named by its PCI address. The container toolkit shows only the
 * visible ones, others (CDI, privileged) all of the host: what counts is that
 * /dev/nvidiaN of the minor is there.
 */
#define GPUS "proc/driver/nvidia/gpus"
/* MIG User Guide, "Device Nodes and Capabilities": gpuN/mig/giN/ciN, N the minor. */
#define CAPABILITIES "proc/driver/nvidia/capabilities"

enum { NAMES_SIZE = 16384, MINOR_MAX = 65535, GPU_UUID = 48, GPU_ADDRESS = 20 };

/* A GPU with a device node. */
struct device {
	char address[GPU_ADDRESS];	/* "0000:07:00.0"; empty: unknown */
	char uuid[GPU_UUID];		/* "GPU-..."; empty: unknown */
	uint64_t minor;			/* of /dev/nvidiaN */
	size_t instances;		/* of MIG, as far as they are shown to us */
};

struct devices {
	struct device *list;		/* in the order of the PCI bus, as CUDA counts */
	size_t count;
};

/* Hexadecimal digits from..to of text are followed by this byte. */
static const char *skip_hex(const char *p, size_t least, size_t most, char end)
{
	size_t digits = p == NULL ? 0 : strspn(p, "0123456789abcdefABCDEF");

	return p != NULL && digits >= least && digits <= most && p[digits] == end
		? p + digits + (end != '\0') : NULL;
}

/* The value of a line "KEY: \t value", up to GPU_UUID - 1 bytes of it. */
static bool read_line(const char *text, const char *key, char value[GPU_UUID])
{
	text = ri_proc_field(text, key, ':');
	return text != NULL && ri_sysfile_rest(text, value, GPU_UUID);
}

static bool read_minor(const char *text, uint64_t *out)
{
	return ri_number_read(text, (struct ri_range){ 0, MINOR_MAX }, out, NULL) == RI_NUMBER_OK;
}

/* Those of a GPU, at level 0, or below one of its instances, at level 1. */
static size_t count_instances(struct ri_host *host, const char *folder, int level)
{
	char path[160], names[4096];
	size_t count = 0;

	ri_host_list(host, folder, names, sizeof(names));
	for (const char *name = names; *name != '\0'; name += strlen(name) + 1) {
		snprintf(path, sizeof(path), "%.96s/%.32s", folder, name);
		if (level == 0 && strncmp(name, "gi", 2) == 0)
			count += count_instances(host, path, 1);
		count += level == 1 && strncmp(name, "ci", 2) == 0;
	}
	return count;
}

/* One folder of GPUS; false where there is no such GPU for us. */
static bool read_device(struct ri_host *host, const char *name, struct device *out)
{
	char path[96], text[4096], value[GPU_UUID];

	const char *domain = skip_hex(name, 4, 8, ':');		/* "0000:07:00.0" */

	*out = (struct device){ .minor = 0 };
	if (skip_hex(skip_hex(skip_hex(domain, 2, 2, ':'), 2, 2, '.'), 1, 1, '\0') == NULL)
		return false;
	snprintf(path, sizeof(path), GPUS "/%.*s/information", GPU_ADDRESS, name);
	if (ri_host_read(host, path, text, sizeof(text)) < 0 ||
		!read_line(text, "Device Minor", value) || !read_minor(value, &out->minor))
		return false;
	snprintf(path, sizeof(path), "dev/nvidia%u", (unsigned)out->minor);
	if (!ri_host_has(host, path))
		return false;
	if (read_line(text, "GPU Excluded", value) && strcmp(value, "Yes") == 0)
		return false;
	/* full of '?' until the GPU was used once */
	if (read_line(text, "GPU UUID", value) && strchr(value, '?') == NULL)
		ri_text_copy(out->uuid, sizeof(out->uuid), value);
	ri_text_copy(out->address, sizeof(out->address), name);
	snprintf(path, sizeof(path), CAPABILITIES "/gpu%u/mig", (unsigned)out->minor);
	out->instances = count_instances(host, path, 0);
	return true;
}

/* A domain past ffff has more digits, and comes later. */
static bool comes_before(const struct device *a, const struct device *b)
{
	size_t length_a = strlen(a->address), length_b = strlen(b->address);
	int order = length_a != length_b ? (length_a > length_b) - (length_a < length_b)
		: strcmp(a->address, b->address);

	return order == 0 ? a->minor < b->minor : order < 0;
}

static void find_devices(struct devices *out, const struct ri_node *node)
{
	char names[NAMES_SIZE];
	bool listed = ri_host_list(node->host, GPUS, names, sizeof(names)) > 0;

	/* a sandbox like gVisor has the nodes alone, and that of the driver with those of GPUs */
	if (!listed && ri_host_has(node->host, "dev/nvidiactl"))
		ri_host_list(node->host, "dev", names, sizeof(names));
	for (const char *name = names; *name != '\0' && out->count < RI_MAX_GPUS;
		name += strlen(name) + 1) {
		struct device device = { .minor = 0 };
		size_t at = out->count;

		/* else only /dev shows it: "nvidia7" */
		if (listed ? !read_device(node->host, name, &device)
			   : strncmp(name, "nvidia", 6) != 0 || name[6] < '0' || name[6] > '9' ||
				!read_minor(name + 6, &device.minor))
			continue;
		for (; at > 0 && comes_before(&device, &out->list[at - 1]); at--)
			out->list[at] = out->list[at - 1];
		out->list[at] = device;
		out->count++;
	}
}

/* What one word of VISIBLE makes of the list. */
enum word { TAKEN, ENDS, FAILS };

struct search {
	const struct ri_node *node;
	struct devices devices;
	struct ri_gpus *out;
	struct ri_error *err;
};

static enum word fail(const struct search *search, const char *word, const char *why)
{
	ri_fail(search->err, RI_CODE_ENV_VALUE, VISIBLE, "%s %s", RI_QUOTED(word), why);
	ri_fail_hint(search->err, "expected indices, as 0,1, or identifiers, as GPU-8932f937");
	return FAILS;
}

static enum word end(const struct search *search, const char *word, const char *why)
{
	struct ri_error *finding = ri_warn(search->node->findings, RI_CODE_GPU_VISIBLE, VISIBLE,
		"%s %s: CUDA ends the list there, so %zu of %zu GPUs are used", RI_QUOTED(word),
		why, search->out->count, search->devices.count);

	ri_finding_hint(finding, "list GPUs that this container has, or unset it");
	return ENDS;
}

static enum word take(struct search *search, const char *name, const struct device *device)
{
	struct ri_gpus *out = search->out;
	const char *address = device == NULL || device->address[0] == '\0' ? NULL : device->address;

	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->list[i].name, name) == 0 ||
			(!out->instances && address != NULL && out->list[i].address == address))
			return fail(search, name,
				"is listed twice, and CUDA shows no GPU at all then");
	if (out->count == RI_MAX_GPUS)
		return end(search, name, "exceeds the number of GPUs that rankinit can count");
	out->list[out->count++] = (struct ri_gpu){ .name = name, .address = address };
	return TAKEN;
}

static enum word take_uuid(struct search *search, const char *word)
{
	const struct device *found = NULL;
	bool unknown = false;

	for (size_t i = 0; i < search->devices.count; i++) {
		const struct device *device = &search->devices.list[i];

		unknown |= device->uuid[0] == '\0';
		if (strncmp(device->uuid, word, strlen(word)) != 0)
			continue;
		if (found != NULL)
			return fail(search, word, "is the prefix of several identifiers");
		found = device;
	}
	if (found == NULL && !unknown)
		return end(search, word, "is not the identifier of a GPU here");
	return take(search, word, found);
}

/* "MIG-UUID", or "MIG-GPU-UUID/3/0" of drivers before 470: the GPU, its instances. */
static enum word take_instance(struct search *search, const char *word)
{
	const char *parent = word + strlen("MIG-");
	const struct device *found = NULL;

	if (search->devices.count == 1)
		found = search->devices.list;
	for (size_t i = 0; i < search->devices.count && found == NULL; i++) {
		const char *uuid = search->devices.list[i].uuid;

		if (uuid[0] != '\0' && strncmp(parent, uuid, strlen(uuid)) == 0)
			found = &search->devices.list[i];
	}
	search->out->instances = true;
	return take(search, word, found);
}

static enum word take_word(struct search *search, const char *word, bool last)
{
	const struct ri_range range = { 0, UINT64_MAX };
	uint64_t index;

	if (word[0] == '-' || (word[0] == '\0' && last))
		return ENDS;
	if (word[0] == '\0')
		return end(search, word, "names no GPU");
	if (search->devices.count == 0)
		return end(search, word, "is not here");
	if (strncmp(word, "GPU-", 4) == 0)
		return take_uuid(search, word);
	if (strncmp(word, "MIG-", 4) == 0)
		return take_instance(search, word);
	if (ri_number_read(word, range, &index, NULL) != RI_NUMBER_OK)
		return fail(search, word, "is neither the index nor the identifier of a GPU");
	if (index >= search->devices.count)
		return end(search, word, "is not the index of a GPU here");
	return take(search, word, &search->devices.list[index]);
}

/* The words of VISIBLE, in a copy that is cut. */
static int take_visible(struct search *search, const char *value)
{
	char *rest = ri_arena_copy(search->node->arena, value, strlen(value));
	enum word done = TAKEN;

	if (rest == NULL)
		return ri_fail(search->err, RI_CODE_MEMORY, VISIBLE, "no memory left to read it");
	while (done == TAKEN && rest != NULL) {
		char *word = rest + strspn(rest, " \t"), *stop = word + strcspn(word, ",");

		rest = *stop == ',' ? stop + 1 : NULL;
		while (stop > word && (stop[-1] == ' ' || stop[-1] == '\t'))
			stop--;
		*stop = '\0';
		done = take_word(search, word, rest == NULL);
	}
	return done == FAILS ? -1 : 0;
}

const struct ri_gpu_node *ri_gpu_node_find(struct ri_host *host, bool others)
{
	static const struct ri_gpu_node nodes[] = {
		{ "/dev/nvidiactl", "NVIDIA GPUs" }, { "/dev/kfd", "AMD GPUs" },
		{ "/dev/dxg", "GPUs under WSL" }, { "/dev/nvgpu", "a Tegra GPU" },
		{ "/dev/nvhost-ctrl", "a Tegra GPU" },
	};

	for (size_t i = others ? 1 : 0; i < RI_ARRAY_SIZE(nodes); i++)
		if (ri_host_has(host, nodes[i].path))
			return &nodes[i];
	return NULL;
}

int ri_gpus_find(struct ri_gpus *out, const struct ri_node *node, struct ri_error *err)
{
	struct search search = { .node = node, .out = out, .err = err };
	const struct ri_gpu_node *other = NULL;
	const char *visible = ri_env_get(node->env, VISIBLE);
	const char *injected = ri_env_get(node->env, INJECTED);
	size_t parts = 0;

	*out = (struct ri_gpus){ .count = 0 };
	if (injected != NULL && strcmp(injected, "none") == 0)
		return 0;
	out->list = ri_arena_array(node->arena, RI_MAX_GPUS, sizeof(*out->list));
	search.devices.list = ri_arena_array(node->arena, RI_MAX_GPUS, sizeof(struct device));
	if (out->list == NULL || search.devices.list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "GPUs", "no memory left for a list of them");
	find_devices(&search.devices, node);
	if (visible != NULL && take_visible(&search, visible) < 0)
		return -1;
	for (size_t i = 0; visible == NULL && i < search.devices.count; i++) {
		const char *name = ri_arena_format(node->arena, "%zu", i);

		if (name == NULL)
			return ri_fail(err, RI_CODE_MEMORY, "GPUs",
				"no memory left for their names");
		take(&search, name, &search.devices.list[i]);
	}
	for (size_t i = 0; i < search.devices.count; i++)
		parts += search.devices.list[i].instances;
	out->hidden = visible != NULL &&
		out->count < (out->instances ? parts : search.devices.count);
	/* MIG User Guide, "CUDA visible devices": the first, unless it is told another one */
	if (parts > 0 && !out->instances && out->count > 0) {
		out->count = 1;
		ri_finding_hint(ri_warn(node->findings, RI_CODE_GPU_VISIBLE, VISIBLE,
			"%zu MIG instances are here: a process sees only one of them", parts),
			"list them by the names of nvidia-smi -L (MIG-...), and give each rank its "
			"own with --gpu-bind=single");
	}
	if (search.devices.count == 0)
		other = ri_gpu_node_find(node->host, true);
	out->others = other == NULL ? NULL : other->path;
	return 0;
}

int ri_gpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err)
{
	struct ri_gpus gpus;

	if (ri_gpus_find(&gpus, node, err) < 0)
		return -1;
	if (gpus.others != NULL) {
		ri_fail(err, RI_CODE_GPU_UNKNOWN, gpus.others,
			"there are GPUs, but rankinit counts only those at /dev/nvidia0 and so on");
		return ri_fail_hint(err, "state their number: --nproc-per-node=8");
	}
	*count = gpus.count;
	return 0;
}

/*
 * Kernel documentation, ABI/testing/sysfs-bus-pci: without a node (-1) the
 * list holds every CPU and tells nothing.
 */
bool ri_gpu_cpus(struct ri_host *host, const struct ri_gpu *gpu, struct ri_cpus *out)
{
	const struct ri_range range = { 0, RI_MAX_CPUS };
	char path[96], text[32];
	uint64_t number;

	if (gpu->address == NULL)
		return false;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%.20s/numa_node", gpu->address);
	if (ri_host_read(host, path, text, sizeof(text)) >= 0 &&
		ri_number_read(text, range, &number, NULL) != RI_NUMBER_OK)
		return false;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%.20s/local_cpulist", gpu->address);
	return ri_cpus_read_file(host, path, out) && ri_cpus_size(out) > 0;
}

/* --- the driver ------------------------------------------------------------ */

/* Digits and dots that begin a word: "580.95.05"; 0 where it is no version. */
static size_t version_length(const char *word)
{
	size_t length = strspn(word, "0123456789.");
	bool dot = memchr(word, '.', length) != NULL;

	return dot && strspn(word, "0123456789") > 0 && word[length - 1] != '.' &&
		strchr(" \t\n", word[length]) != NULL ? length : 0;
}

/*
 * NVIDIA's open kernel modules, kernel-open/nvidia/nv-procfs.c, "NVRM version:
 * NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...";
 * the closed ones write "NVIDIA UNIX x86_64 Kernel Module  535.161.08 ...".
 */
bool ri_nvidia_version(const char *text, struct ri_nvidia *out)
{
	const char *line = strstr(text, "NVRM version:");
	const char *word = line == NULL ? NULL : strstr(line, "Kernel Module");
	const char *end = word == NULL ? NULL : line + strcspn(line, "\n"), *open;

	for (; word < end; word += strcspn(word, " \t\n")) {
		size_t length;

		word += strspn(word, " \t");
		length = version_length(word);
		if (length == 0 || length >= sizeof(out->version))
			continue;
		snprintf(out->version, sizeof(out->version), "%.*s", (int)length, word);
		open = strstr(line, " Open ");
		out->open = open != NULL && open < word;
		return true;
	}
	return false;
}

void ri_nvidia_read(struct ri_nvidia *out, struct ri_host *host)
{
	char text[4096];

	*out = (struct ri_nvidia){ .driver = ri_host_has(host, "proc/driver/nvidia") };
	out->control = ri_host_node(host, "dev/nvidiactl", NULL);
	/* a launch looks for it on every machine: what goes with it is not there without it */
	if (!out->driver && out->control == ENOENT)
		return;
	if (ri_host_read(host, "proc/driver/nvidia/version", text, sizeof(text)) > 0)
		ri_nvidia_version(text, out);
	out->memory = ri_host_has(host, "dev/nvidia-uvm");
}

const char *ri_peer_memory_find(const struct ri_nvidia *nvidia, struct ri_host *host)
{
	/* NCCL src/transport/net_ib/gdr.cc, and UCX src/uct/ib/base/ib_md.c: where they look */
	static const char *const paths[] = {
		"/sys/module/nvidia_peermem/version", "/sys/kernel/mm/memory_peers/nv_mem/version",
		"/sys/kernel/mm/memory_peers/nv_mem_nc/version",
		"/sys/kernel/mm/memory_peers/nvidia-peermem/version", "/sys/module/nv_peer_mem",
		"/sys/module/nvidia_peermem",
	};
	char release[128];

	for (size_t i = 0; i < RI_ARRAY_SIZE(paths); i++)
		if (ri_host_has(host, paths[i]))
			return paths[i];
	ri_sysfile_line(host, "proc/sys/kernel/osrelease", release, sizeof(release));
	return nvidia->open && ri_version_compare(release, "5.12") >= 0 ? "dma-buf" : NULL;
}
