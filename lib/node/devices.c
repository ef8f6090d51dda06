/* SPDX-License-Identifier: Apache-2.0 */
#include "node/devices.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

/*
 * NVIDIA's open kernel modules, kernel-open/nvidia/nv-procfs.c: a folder for
 * each GPU, named by its PCI address. The container toolkit shows only the
 * visible ones, others (CDI, privileged) all of the host: what counts is that
 * /dev/nvidiaN of the minor is there.
 */
#define GPUS "proc/driver/nvidia/gpus"
/* MIG User Guide, "Device Nodes and Capabilities": gpuN/mig/giN/ciN, N the minor. */
#define CAPABILITIES "proc/driver/nvidia/capabilities"

enum { NAMES_SIZE = 16384, MINOR_MAX = 65535 };

/* Hexadecimal digits from..to of text are followed by this byte. */
static const char *skip_hex(const char *p, size_t least, size_t most, char end)
{
	size_t digits = p == NULL ? 0 : strspn(p, "0123456789abcdefABCDEF");

	return p != NULL && digits >= least && digits <= most && p[digits] == end
		? p + digits + (end != '\0') : NULL;
}

/* "0000:07:00.0" */
static bool is_address(const char *name)
{
	const char *p = skip_hex(skip_hex(skip_hex(name, 4, 8, ':'), 2, 2, ':'), 2, 2, '.');

	return skip_hex(p, 1, 1, '\0') != NULL;
}

/* The value of a line "KEY: \t value", up to size - 1 bytes of it. */
static bool read_line(const char *text, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		line += length + 1;
		line += strspn(line, " \t");
		length = strcspn(line, "\n");
		while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL)
			length--;
		if (length >= size)
			return false;
		memcpy(value, line, length);
		value[length] = '\0';
		return true;
	}
	return false;
}

static bool read_minor(const char *text, uint64_t *out)
{
	const struct ri_range range = { 0, MINOR_MAX };

	return ri_number_read(text, range, out, NULL) == RI_NUMBER_OK;
}

static bool has_node(struct ri_host *host, uint64_t minor)
{
	char path[32];

	snprintf(path, sizeof(path), "dev/nvidia%u", (unsigned)minor);
	return ri_host_has(host, path);
}

/* The entries of a folder whose name starts like this. */
static size_t count_like(struct ri_host *host, const char *path, const char *start)
{
	char names[NAMES_SIZE];
	const char *name = names;
	size_t count = 0;

	for (long left = ri_host_list(host, path, names, sizeof(names)); left > 0; left--) {
		count += strncmp(name, start, strlen(start)) == 0;
		name += strlen(name) + 1;
	}
	return count;
}

static size_t count_instances(struct ri_host *host, uint64_t minor)
{
	char folder[96], path[160], names[4096];
	const char *name = names;
	size_t count = 0;

	snprintf(folder, sizeof(folder), CAPABILITIES "/gpu%u/mig", (unsigned)minor);
	for (long left = ri_host_list(host, folder, names, sizeof(names)); left > 0; left--) {
		snprintf(path, sizeof(path), "%s/%.32s", folder, name);
		if (strncmp(name, "gi", 2) == 0)
			count += count_like(host, path, "ci");
		name += strlen(name) + 1;
	}
	return count;
}

/* One folder of GPUS; false where there is no such GPU for us. */
static bool read_device(struct ri_host *host, const char *name, struct ri_device *out)
{
	char path[96], text[4096], value[RI_GPU_UUID];

	*out = (struct ri_device){ .minor = 0 };
	snprintf(path, sizeof(path), GPUS "/%.*s/information", RI_GPU_ADDRESS, name);
	if (ri_host_read(host, path, text, sizeof(text)) < 0)
		return false;
	if (!read_line(text, "Device Minor", value, sizeof(value)) ||
		!read_minor(value, &out->minor) || !has_node(host, out->minor))
		return false;
	if (read_line(text, "GPU Excluded", value, sizeof(value)) && strcmp(value, "Yes") == 0)
		return false;
	/* full of '?' until the GPU was used once */
	if (read_line(text, "GPU UUID", value, sizeof(value)) && strchr(value, '?') == NULL)
		ri_text_copy(out->uuid, sizeof(out->uuid), value);
	ri_text_copy(out->address, sizeof(out->address), name);
	out->instances = count_instances(host, out->minor);
	return true;
}

/* Only /dev shows it: "nvidia7". */
static bool read_node(const char *name, struct ri_device *out)
{
	static const char start[] = "nvidia";

	*out = (struct ri_device){ .minor = 0 };
	return strncmp(name, start, sizeof(start) - 1) == 0 &&
		strchr("0123456789", name[sizeof(start) - 1]) != NULL &&
		read_minor(name + sizeof(start) - 1, &out->minor);
}

/* A domain past ffff has more digits, and comes later. */
static bool comes_before(const struct ri_device *a, const struct ri_device *b)
{
	size_t length_a = strlen(a->address), length_b = strlen(b->address);
	int order = strcmp(a->address, b->address);

	if (length_a != length_b)
		return length_a < length_b;
	return order == 0 ? a->minor < b->minor : order < 0;
}

static void insert(struct ri_devices *devices, const struct ri_device *device)
{
	size_t at = devices->count;

	if (at == RI_MAX_GPUS)
		return;
	for (; at > 0 && comes_before(device, &devices->list[at - 1]); at--)
		devices->list[at] = devices->list[at - 1];
	devices->list[at] = *device;
	devices->count++;
}

int ri_devices_find(struct ri_devices *out, const struct ri_node *node, struct ri_error *err)
{
	char names[NAMES_SIZE];
	const char *name = names;
	struct ri_device device;
	long left = ri_host_list(node->host, GPUS, names, sizeof(names));
	bool listed = left > 0;

	out->count = 0;
	out->list = ri_arena_array(node->arena, RI_MAX_GPUS, sizeof(*out->list));
	if (out->list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "GPUs", "no memory left for a list of them");
	/* a sandbox like gVisor has the nodes alone, and that of the driver with those of GPUs */
	if (!listed && ri_host_has(node->host, "dev/nvidiactl"))
		left = ri_host_list(node->host, "dev", names, sizeof(names));
	for (; left > 0; left--, name += strlen(name) + 1)
		if (listed ? is_address(name) && read_device(node->host, name, &device)
			   : read_node(name, &device))
			insert(out, &device);
	return 0;
}
