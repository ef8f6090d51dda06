/* SPDX-License-Identifier: Apache-2.0 */
#include "node/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "node/hierarchy.h"

bool ri_cpus_read_allowed(struct ri_host *host, const char *path, struct ri_cpus *out)
{
	static const char key[] = "\nCpus_allowed_list:";
	char text[16384], *list;

	if (ri_host_read(host, path, text, sizeof(text)) < 0)
		return false;
	list = strstr(text, key);
	if (list == NULL)
		return false;
	list += strlen(key);
	list[strcspn(list, "\n")] = '\0';
	return ri_cpus_read(list, out);
}

/*
 * What a recorded machine would have answered: the mask of the status file may
 * hold CPUs that are offline, sched_getaffinity(2) leaves them out (kernel
 * documentation, ABI/testing/sysfs-devices-system-cpu).
 */
static bool find_recorded(struct ri_host *host, struct ri_cpus *out)
{
	bool allowed = ri_cpus_read_allowed(host, "proc/self/status", out);
	struct ri_cpus online;

	if (!ri_cpus_read_file(host, "sys/devices/system/cpu/online", &online))
		return allowed;
	if (!allowed)
		*out = online;
	return ri_cpus_and(out, &online) > 0;
}

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

int ri_budget_find(struct ri_budget *out, const struct ri_node *node, struct ri_error *err)
{
	bool known = node->affinity != NULL;
	uint64_t granted;

	if (known)
		out->cpus = *node->affinity;
	else if (!node->host->live)
		known = find_recorded(node->host, &out->cpus);
	out->count = known ? ri_cpus_size(&out->cpus) : 0;
	if (out->count == 0)
		return ri_fail(err, RI_CODE_CPU_UNKNOWN, "CPUs",
			"cannot tell which CPUs may be used here");
	ri_quota_find(&out->quota, node);
	granted = out->quota.milli / 1000;
	out->usable = out->count;
	if (out->quota.milli != 0 && granted < out->usable)
		out->usable = granted == 0 ? 1 : granted;
	return 0;
}

int ri_cpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err)
{
	struct ri_budget budget;

	if (ri_budget_find(&budget, node, err) < 0)
		return -1;
	*count = budget.usable;
	return 0;
}
