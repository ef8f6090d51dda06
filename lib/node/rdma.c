/* SPDX-License-Identifier: Apache-2.0 */
#include "node/devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "node/node.h"

#define CLASS "sys/class/infiniband"
/* Linux drivers/infiniband/core/device.c: 1, or 0 where rdma-system(8) set "exclusive". */
#define SHARED "sys/module/ib_core/parameters/netns_mode"
/* Kernel documentation, ABI/stable/sysfs-class-infiniband: ibdev and dev of each uverbsN. */
#define VERBS "sys/class/infiniband_verbs"
/* rdma-core libibverbs/init.c: RDMA_CDEV_DIR. */
#define NODES "/dev/infiniband"

enum {
	NAMES_SIZE = 16384,
	NAME_SIZE = 64,		/* IB_DEVICE_NAME_MAX, include/rdma/ib_verbs.h */
	PATH_SIZE = 256,
	VERBS_NAME = 32,
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

const char *ri_port_state_name(uint64_t state)
{
	static const char *const names[] = { "unknown", "DOWN", "INIT", "ARMED", "ACTIVE",
		"ACTIVE_DEFER" };

	return state < RI_ARRAY_SIZE(names) ? names[state] : names[0];
}

bool ri_hca_has(const struct ri_hca *hca, enum ri_link link)
{
	for (size_t i = 0; i < hca->count; i++)
		if (hca->ports[i].link == link)
			return true;
	return false;
}

/* What a port's folder says; name: of the device. */
static void read_port(struct ri_host *host, const char *name, struct ri_port *port)
{
	static const char *const links[] = {
		[RI_LINK_INFINIBAND] = "InfiniBand", [RI_LINK_ETHERNET] = "Ethernet",
		[RI_LINK_OTHER] = "Unknown",
	};
	char path[PATH_SIZE], line[64];
	uint64_t manager = 0;
	int at = snprintf(path, sizeof(path), CLASS "/%.*s/ports/%u/", NAME_SIZE, name,
		port->number);
	size_t room = sizeof(path) - (size_t)at;

	ri_text_copy(path + at, room, "link_layer");
	ri_sysfile_line(host, path, line, sizeof(line));
	for (unsigned i = RI_LINK_INFINIBAND; i <= RI_LINK_OTHER; i++)
		if (strcmp(line, links[i]) == 0)
			port->link = (enum ri_link)i;
	ri_text_copy(path + at, room, "state");
	ri_sysfile_number(host, path, &port->state);
	ri_text_copy(path + at, room, "phys_state");
	ri_sysfile_number(host, path, &port->phys);
	ri_text_copy(path + at, room, "rate");
	if (ri_sysfile_line(host, path, line, sizeof(line)))
		port->rate = ri_rate_read(line);
	ri_text_copy(path + at, room, "sm_lid");
	/* "0x800b" and nothing else */
	if (ri_sysfile_line(host, path, line, sizeof(line)) && strncmp(line, "0x", 2) == 0 &&
		line[2 + ri_hex_read(line + 2, &manager)] == '\0')
		port->manager = manager;
}

/* Linux drivers/infiniband/core/sysfs.c: the ports of an adapter are numbered from 1 on. */
static void read_ports(struct ri_hca *hca, struct ri_host *host)
{
	char path[PATH_SIZE];

	for (; hca->count < RI_MAX_HCA_PORTS; hca->count++) {
		struct ri_port *port = &hca->ports[hca->count];

		port->number = (unsigned)hca->count + 1;
		snprintf(path, sizeof(path), CLASS "/%.*s/ports/%u", NAME_SIZE, hca->name,
			port->number);
		if (!ri_host_has(host, path))
			return;
		read_port(host, hca->name, port);
	}
}

/*
 * Names of the folder, mlx5_ib2 before mlx5_ib10; a longer one than the kernel makes is no
 * device's.
 */
static size_t sort_names(const char *names, const char **sorted)
{
	size_t count = 0;

	for (; *names != '\0' && count < RI_MAX_HCAS; names += strlen(names) + 1) {
		size_t at = count;

		if (strlen(names) >= NAME_SIZE)
			continue;
		for (; at > 0 && strverscmp(names, sorted[at - 1]) < 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = names;
		count++;
	}
	return count;
}

void ri_hcas_find(struct ri_hcas *out, struct ri_host *host, struct ri_arena *arena)
{
	const char *sorted[RI_MAX_HCAS];
	char names[NAMES_SIZE], path[PATH_SIZE], shared[16], target[RI_PATH_SIZE];
	struct ri_hcas found = { .error = 0 };
	const char *driver;
	size_t count;

	if (ri_host_list(host, CLASS, names, sizeof(names)) < 0)
		found.error = errno;
	ri_sysfile_line(host, SHARED, shared, sizeof(shared));
	found.exclusive = strcmp(shared, "N") == 0 || strcmp(shared, "0") == 0;
	count = sort_names(names, sorted);
	found.list = ri_arena_array(arena, count, sizeof(*found.list));
	*out = (struct ri_hcas){ .error = ENOMEM };
	if (found.list == NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		struct ri_hca *hca = &found.list[found.count];

		/* Enroot's hook fills an empty folder with links; one may lead nowhere */
		snprintf(path, sizeof(path), CLASS "/%.*s/ports", NAME_SIZE, sorted[i]);
		if (!ri_host_has(host, path))
			continue;
		/* devices made of software, like rxe, have no other below them */
		snprintf(path, sizeof(path), CLASS "/%.*s/device/driver", NAME_SIZE, sorted[i]);
		if (ri_host_link(host, path, target, sizeof(target)) <= 0)
			target[0] = '\0';
		driver = ri_path_name(target);
		*hca = (struct ri_hca){
			.name = ri_arena_copy(arena, sorted[i], strlen(sorted[i])),
			.driver = ri_arena_copy(arena, driver, strlen(driver)),
		};
		if (hca->name == NULL || hca->driver == NULL)
			return;
		read_ports(hca, host);
		found.count++;
	}
	*out = found;
}

/* One entry of VERBS: whose is it, and can its node be opened? */
static void read_verbs(struct ri_hcas *all, struct ri_host *host, const char *name)
{
	char path[PATH_SIZE], line[128];
	struct ri_hca *hca = NULL;
	uint64_t high, low;
	dev_t number = 0;
	size_t digits;

	snprintf(path, sizeof(path), VERBS "/%.*s/ibdev", VERBS_NAME, name);
	if (!ri_sysfile_line(host, path, line, sizeof(line)))
		return;
	for (size_t i = 0; i < all->count && hca == NULL; i++)
		if (strcmp(all->list[i].name, line) == 0)
			hca = &all->list[i];
	if (hca == NULL)
		return;
	snprintf(hca->node, sizeof(hca->node), NODES "/%.*s", VERBS_NAME, name);
	hca->error = ri_host_node(host, hca->node, &number);
	/* "231:192" */
	snprintf(path, sizeof(path), VERBS "/%.*s/dev", VERBS_NAME, name);
	ri_sysfile_line(host, path, line, sizeof(line));
	digits = ri_digits_read(line, &high);
	hca->stale = number != 0 && digits > 0 && line[digits] == ':' &&
		ri_digits_read(line + digits + 1, &low) > 0 && high <= 0xfff && low <= 0xfffff &&
		number != makedev((unsigned)high, (unsigned)low);
}

void ri_hcas_open(struct ri_hcas *hcas, struct ri_host *host)
{
	char names[NAMES_SIZE];

	ri_host_list(host, VERBS, names, sizeof(names));
	for (size_t i = 0; i < hcas->count; i++)
		hcas->list[i].error = ENODEV;
	for (const char *name = names; *name != '\0'; name += strlen(name) + 1)
		if (strncmp(name, "uverbs", 6) == 0 && strlen(name) < VERBS_NAME)
			read_verbs(hcas, host, name);
}

/*
 * Linux drivers/net/ethernet/mellanox/mlx5/core: DRIVER_VERSION was "3.0-1",
 * then "5.0-0", until 5.10; since then the module has no version. Some
 * distributions give every module the kernel's release. OFED's are MAJOR.MINOR-
 * and a number with dots: "4.9-0.1.7", "25.10-1.2.8" (MLNX_OFED release notes).
 */
enum ri_ofed_kind ri_ofed_judge(const char *version, const char *release)
{
	uint64_t number;
	size_t major = ri_digits_read(version, &number);
	size_t minor = version[major] != '.' ? 0 : ri_digits_read(version + major + 1, &number);
	const char *build = major == 0 || minor == 0 ? "" : version + major + 1 + minor;

	return build[0] == '-' && strchr(build, '.') != NULL && strcmp(version, release) != 0
		? RI_OFED_MELLANOX : RI_OFED_INBOX;
}

void ri_ofed_read(struct ri_ofed *out, struct ri_host *host)
{
	char path[64], release[128];

	*out = (struct ri_ofed){ .kind = RI_OFED_NONE,
		.module = ri_host_has(host, "sys/module/mlx5_core") ? "mlx5_core"
			: ri_host_has(host, "sys/module/mlx4_core") ? "mlx4_core" : NULL };
	if (out->module == NULL)
		return;
	snprintf(path, sizeof(path), "sys/module/%s/version", out->module);
	ri_sysfile_line(host, path, out->version, sizeof(out->version));
	ri_sysfile_line(host, "proc/sys/kernel/osrelease", release, sizeof(release));
	out->kind = ri_ofed_judge(out->version, release);
	/* the layer that lets OFED's drivers run on older kernels; only OFED has it */
	if (ri_host_has(host, "sys/module/mlx_compat"))
		out->kind = RI_OFED_MELLANOX;
}

const char *ri_ofed_name(const struct ri_ofed *ofed)
{
	uint64_t series = 0;

	/* 24.10 was the last series that came under both names */
	ri_digits_read(ofed->version, &series);
	if (series == 0 || series == 24)
		return "MLNX_OFED or DOCA-OFED";
	return series < 24 ? "MLNX_OFED" : "DOCA-OFED";
}
