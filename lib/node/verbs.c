/* SPDX-License-Identifier: Apache-2.0 */
#include "node/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/number.h"
#include "node/sysfile.h"

/* Kernel documentation, ABI/stable/sysfs-class-infiniband: ibdev and dev of each uverbsN. */
#define CLASS "sys/class/infiniband_verbs"
/* rdma-core libibverbs/init.c: RDMA_CDEV_DIR. */
#define NODES "/dev/infiniband"

enum { NAMES_SIZE = 16384, NAME_SIZE = 32, PATH_SIZE = 128 };

static struct ri_verbs *find(const struct ri_verbs_all *all, const char *hca)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->list[i].hca, hca) == 0)
			return &all->list[i];
	return NULL;
}

/* "231:192"; 0 where it is not said. */
static dev_t read_number(struct ri_host *host, const char *name)
{
	char path[PATH_SIZE], line[32];
	uint64_t high, low;
	size_t digits;

	snprintf(path, sizeof(path), CLASS "/%.*s/dev", NAME_SIZE, name);
	ri_sysfile_line(host, path, line, sizeof(line));
	digits = ri_digits_read(line, &high);
	if (digits == 0 || line[digits] != ':' || ri_digits_read(line + digits + 1, &low) == 0 ||
		high > 0xfff || low > 0xfffff)
		return 0;
	return makedev((unsigned)high, (unsigned)low);
}

/* One entry of CLASS: whose is it, and can its node be opened? */
static void look(struct ri_verbs_all *all, struct ri_host *host, const char *name)
{
	char path[PATH_SIZE], hca[128];
	struct ri_verbs *verbs;
	dev_t expected, number = 0;

	snprintf(path, sizeof(path), CLASS "/%.*s/ibdev", NAME_SIZE, name);
	if (!ri_sysfile_line(host, path, hca, sizeof(hca)))
		return;
	verbs = find(all, hca);
	if (verbs == NULL)
		return;
	snprintf(verbs->node, sizeof(verbs->node), NODES "/%.*s", NAME_SIZE, name);
	verbs->error = ri_host_node(host, verbs->node, &number);
	expected = read_number(host, name);
	verbs->stale = number != 0 && expected != 0 && number != expected;
}

int ri_verbs_find(struct ri_verbs_all *out, const struct ri_hcas *hcas,
	const struct ri_node *node, struct ri_error *err)
{
	char names[NAMES_SIZE];
	const char *name = names;
	long left = ri_host_list(node->host, CLASS, names, sizeof(names));

	*out = (struct ri_verbs_all){ .count = 0 };
	out->list = ri_arena_array(node->arena, hcas->count, sizeof(*out->list));
	if (out->list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "HCAs", "no memory left for their nodes");
	for (; out->count < hcas->count; out->count++)
		out->list[out->count] = (struct ri_verbs){ .error = ENODEV,
			.hca = hcas->list[out->count].name };
	for (; left > 0; left--, name += strlen(name) + 1)
		if (strncmp(name, "uverbs", 6) == 0 && strlen(name) < NAME_SIZE)
			look(out, node->host, name);
	return 0;
}
