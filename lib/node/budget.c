/* SPDX-License-Identifier: Apache-2.0 */
#include "node/budget.h"

#include <string.h>

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
