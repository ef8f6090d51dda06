/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "node/budget.h"
#include "node/hierarchy.h"

/* Microseconds: of a quota up to RI_MAX_CPUS CPUs, and far more. */
static bool read_us(const char *text, uint64_t *out)
{
	const struct ri_range range = { 1, 1000000000000 };

	return ri_number_read(text, range, out, NULL) == RI_NUMBER_OK;
}

/* "max 100000", or "200000 100000" */
static bool read_max(struct ri_host *host, const char *path, uint64_t *quota, uint64_t *period)
{
	char text[64], *blank;

	if (ri_host_read(host, path, text, sizeof(text)) < 0)
		return false;
	blank = strchr(text, ' ');
	if (blank == NULL)
		return false;
	*blank = '\0';
	return read_us(text, quota) && read_us(blank + 1, period);
}

/* A quota of -1, which is no number for us, is none. */
static bool read_cfs(struct ri_host *host, const char *path, uint64_t *quota, uint64_t *period)
{
	char text[64], other[RI_CGROUP_PATH];
	size_t folder = strlen(path) - strlen("cpu.cfs_quota_us");

	if (ri_host_read(host, path, text, sizeof(text)) < 0 || !read_us(text, quota))
		return false;
	snprintf(other, sizeof(other), "%.*scpu.cfs_period_us", (int)folder, path);
	return ri_host_read(host, other, text, sizeof(text)) >= 0 && read_us(text, period);
}

struct search {
	struct ri_host *host;
	struct ri_quota *out;
};

/* The quota of one cgroup, if it is the smallest so far. */
static void take(void *context, const char *folder, bool v2)
{
	const struct search *search = context;
	struct ri_quota *out = search->out;
	char path[RI_CGROUP_PATH];
	uint64_t quota, period, milli;
	int length = snprintf(path, sizeof(path), "%s/%s", folder,
		v2 ? "cpu.max" : "cpu.cfs_quota_us");
	/* the name of the period is a byte longer */
	bool fits = length > 0 && (size_t)length + 1 < sizeof(path);

	if (!fits || !(v2 ? read_max : read_cfs)(search->host, path, &quota, &period))
		return;
	milli = quota * 1000 / period;
	milli = milli == 0 ? 1 : milli;
	if (out->milli != 0 && out->milli <= milli)
		return;
	out->milli = milli;
	ri_text_copy(out->path, sizeof(out->path), path);
}

void ri_quota_find(struct ri_quota *out, const struct ri_node *node)
{
	struct search search = { .host = node->host, .out = out };
	const struct ri_hierarchy hierarchy = {
		.host = node->host, .arena = node->arena, .controller = "cpu",
		.visit = take, .context = &search,
	};

	out->milli = 0;
	out->path[0] = '\0';
	ri_hierarchy_walk(&hierarchy);
}
