/* SPDX-License-Identifier: Apache-2.0 */
#include "node/infiniband.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "node/sysfile.h"

#define CLASS "sys/class/infiniband"
/* Linux drivers/infiniband/core/device.c: 1, or 0 where rdma-system(8) set "exclusive". */
#define SHARED "sys/module/ib_core/parameters/netns_mode"

enum {
	NAMES_SIZE = 16384,
	NAME_SIZE = 64,		/* IB_DEVICE_NAME_MAX, include/rdma/ib_verbs.h */
	PATH_SIZE = 256,
	RATE_MAX = 1000000,	/* Gb/s */
};

uint64_t ri_rate_read(const char *text)
{
	uint64_t whole, tenth = 0;
	size_t digits = ri_digits_read(text, &whole);

	if (digits == 0 || whole > RATE_MAX)
		return 0;
	text += digits;
	/* Linux drivers/infiniband/core/sysfs.c writes "2.5", never more digits */
	if (text[0] == '.' && text[1] >= '0' && text[1] <= '9') {
		tenth = (uint64_t)(text[1] - '0');
		text += 2;
	}
	return strncmp(text, " Gb/sec", 7) == 0 ? whole * 1000 + tenth * 100 : 0;
}

/* Linux drivers/infiniband/core/sysfs.c, rate_show: "(4X NDR)" */
uint64_t ri_lanes_read(const char *text)
{
	const char *open = strchr(text, '(');
	uint64_t lanes;
	size_t digits = open == NULL ? 0 : ri_digits_read(open + 1, &lanes);

	return digits > 0 && open[1 + digits] == 'X' && lanes <= 12 ? lanes : 0;
}

const char *ri_port_state_name(uint64_t state)
{
	static const char *const names[] = { "unknown", "DOWN", "INIT", "ARMED", "ACTIVE",
		"ACTIVE_DEFER" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : names[0];
}

bool ri_hca_has(const struct ri_hca *hca, enum ri_link link)
{
	for (size_t i = 0; i < hca->count; i++)
		if (hca->ports[i].link == link)
			return true;
	return false;
}

static enum ri_link read_link(struct ri_host *host, const char *path)
{
	char line[32];

	ri_sysfile_line(host, path, line, sizeof(line));
	if (strcmp(line, "InfiniBand") == 0)
		return RI_LINK_INFINIBAND;
	if (strcmp(line, "Ethernet") == 0)
		return RI_LINK_ETHERNET;
	return strcmp(line, "Unknown") == 0 ? RI_LINK_OTHER : RI_LINK_UNKNOWN;
}

/* What a port's folder says; name: of the device. */
static void read_port(struct ri_host *host, const char *name, struct ri_port *port)
{
	char path[PATH_SIZE], line[64];
	int at = snprintf(path, sizeof(path), CLASS "/%.*s/ports/%u/", NAME_SIZE, name,
		port->number);
	size_t room = sizeof(path) - (size_t)at;

	ri_text_copy(path + at, room, "link_layer");
	port->link = read_link(host, path);
	ri_text_copy(path + at, room, "state");
	ri_sysfile_number(host, path, &port->state);
	ri_text_copy(path + at, room, "phys_state");
	ri_sysfile_number(host, path, &port->phys);
	ri_text_copy(path + at, room, "rate");
	if (ri_sysfile_line(host, path, line, sizeof(line)))
		port->rate = ri_rate_read(line);
	port->lanes = ri_lanes_read(line);
	ri_text_copy(path + at, room, "sm_lid");
	ri_sysfile_hex(host, path, &port->manager);
}

static int read_ports(struct ri_hca *hca, struct ri_host *host, struct ri_arena *arena)
{
	char path[PATH_SIZE], names[4096];
	const char *name = names;
	uint64_t number;
	long left;

	hca->ports = ri_arena_array(arena, RI_MAX_HCA_PORTS, sizeof(*hca->ports));
	if (hca->ports == NULL)
		return -1;
	snprintf(path, sizeof(path), CLASS "/%.*s/ports", NAME_SIZE, hca->name);
	for (left = ri_host_list(host, path, names, sizeof(names)); left > 0; left--) {
		struct ri_port port = { .number = 0 };
		size_t at = hca->count;
		/* not "01": the folder of that name would be 1's */
		bool taken = name[0] != '0' && ri_digits_read(name, &number) == strlen(name) &&
			number < 256 && at < RI_MAX_HCA_PORTS;

		name += strlen(name) + 1;
		if (!taken)
			continue;
		port.number = (unsigned)number;
		read_port(host, hca->name, &port);
		for (; at > 0 && hca->ports[at - 1].number > port.number; at--)
			hca->ports[at] = hca->ports[at - 1];
		hca->ports[at] = port;
		hca->count++;
	}
	return 0;
}

/* Devices made of software, like rxe, have no other below them. */
static const char *read_driver(struct ri_host *host, const char *name, struct ri_arena *arena)
{
	char path[PATH_SIZE], driver[NAME_SIZE];

	snprintf(path, sizeof(path), CLASS "/%.*s/device/driver", NAME_SIZE, name);
	ri_sysfile_link(host, path, driver, sizeof(driver));
	return ri_arena_copy(arena, driver, strlen(driver));
}

static const char *read_netdev(struct ri_host *host, const char *name, struct ri_arena *arena)
{
	char path[PATH_SIZE], names[1024];

	snprintf(path, sizeof(path), CLASS "/%.*s/device/net", NAME_SIZE, name);
	if (ri_host_list(host, path, names, sizeof(names)) <= 0)
		return "";
	return ri_arena_copy(arena, names, strlen(names));
}

static int read_hca(struct ri_hca *out, struct ri_host *host, const char *name,
	struct ri_arena *arena)
{
	char path[PATH_SIZE];

	*out = (struct ri_hca){ .name = ri_arena_copy(arena, name, strlen(name)) };
	if (out->name == NULL)
		return -1;
	snprintf(path, sizeof(path), CLASS "/%.*s/node_type", NAME_SIZE, name);
	ri_sysfile_number(host, path, &out->type);
	out->driver = read_driver(host, name, arena);
	out->netdev = read_netdev(host, name, arena);
	return out->driver == NULL || out->netdev == NULL ? -1 : read_ports(out, host, arena);
}

/* Enroot's hook fills an empty folder with links; one may lead nowhere. */
static bool is_device(struct ri_host *host, const char *name)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), CLASS "/%.*s/ports", NAME_SIZE, name);
	return ri_host_has(host, path);
}

/* mlx5_ib2 before mlx5_ib10. */
static bool comes_before(const char *a, const char *b)
{
	size_t stem_a = strcspn(a, "0123456789"), stem_b = strcspn(b, "0123456789");

	while (stem_a == stem_b && strncmp(a, b, stem_a) == 0 && a[stem_a] != '\0') {
		size_t digits_a = strspn(a + stem_a, "0123456789");
		size_t digits_b = strspn(b + stem_b, "0123456789");

		if (digits_a != digits_b)
			return digits_a < digits_b;
		if (strncmp(a + stem_a, b + stem_b, digits_a) != 0)
			break;
		a += stem_a + digits_a;
		b += stem_b + digits_b;
		stem_a = strcspn(a, "0123456789");
		stem_b = strcspn(b, "0123456789");
	}
	return strcmp(a, b) < 0;
}

/* Names of the folder, in order; a longer one than the kernel makes is no device's. */
static size_t sort_names(const char *names, long left, const char **sorted)
{
	size_t count = 0;

	for (; left > 0 && count < RI_MAX_HCAS; left--, names += strlen(names) + 1) {
		size_t at = count;

		if (strlen(names) >= NAME_SIZE)
			continue;
		for (; at > 0 && comes_before(names, sorted[at - 1]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = names;
		count++;
	}
	return count;
}

int ri_hcas_find(struct ri_hcas *out, struct ri_host *host, struct ri_arena *arena,
	struct ri_error *err)
{
	const char *sorted[RI_MAX_HCAS];
	char names[NAMES_SIZE], shared[16];
	long left = ri_host_list(host, CLASS, names, sizeof(names));
	size_t found;

	*out = (struct ri_hcas){ .error = left < 0 ? errno : 0 };
	ri_sysfile_line(host, SHARED, shared, sizeof(shared));
	out->exclusive = strcmp(shared, "N") == 0 || strcmp(shared, "0") == 0;
	found = sort_names(names, left, sorted);
	out->list = ri_arena_array(arena, found, sizeof(*out->list));
	if (out->list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "HCAs", "no memory left for a list of them");
	for (size_t i = 0; i < found; i++) {
		if (!is_device(host, sorted[i]))
			continue;
		if (read_hca(&out->list[out->count], host, sorted[i], arena) < 0)
			return ri_fail(err, RI_CODE_MEMORY, "HCAs",
				"no memory left for a list of them");
		out->count++;
	}
	return 0;
}

bool ri_port_counter(struct ri_host *host, const struct ri_hca *hca, const struct ri_port *port,
	const char *name, uint64_t *out)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), CLASS "/%.*s/ports/%u/counters/%s", NAME_SIZE, hca->name,
		port->number, name);
	return ri_sysfile_number(host, path, out);
}

size_t ri_port_pkeys(struct ri_host *host, const struct ri_hca *hca, const struct ri_port *port,
	uint16_t *keys)
{
	char path[PATH_SIZE];
	size_t count = 0;
	uint64_t key;

	/* a switch's table has 128 rows, all but the first few 0 */
	for (unsigned i = 0; i < RI_MAX_PKEYS; i++) {
		snprintf(path, sizeof(path), CLASS "/%.*s/ports/%u/pkeys/%u", NAME_SIZE,
			hca->name, port->number, i);
		if (ri_sysfile_hex(host, path, &key) && key != 0 &&
			key <= UINT16_MAX)
			keys[count++] = (uint16_t)key;
	}
	return count;
}
