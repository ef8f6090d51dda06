/* SPDX-License-Identifier: Apache-2.0 */
#include "node/cores.h"

#include <stdio.h>
#include <string.h>

int ri_numa_find(struct ri_numa *out, const struct ri_node *node, const struct ri_cpus *ours,
	struct ri_error *err)
{
	struct ri_cpus online, cpus;
	char path[64];

	*out = (struct ri_numa){ .count = 0 };
	if (!ri_cpus_read_file(node->host, "sys/devices/system/node/online", &online))
		return 0;
	out->list = ri_arena_array(node->arena, ri_cpus_size(&online), sizeof(*out->list));
	if (out->list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "CPUs", "no memory left for the NUMA nodes");
	for (int number = ri_cpus_next(&online, 0); number >= 0;
		number = ri_cpus_next(&online, (unsigned)number + 1)) {
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", number);
		/* one of memory alone has no CPUs */
		if (ri_cpus_read_file(node->host, path, &cpus) && ri_cpus_and(&cpus, ours) > 0)
			out->list[out->count++] = cpus;
	}
	return 0;
}

/* The CPUs of one core: the newer name first, and the one before Linux 5.2. */
static bool read_core(struct ri_host *host, int cpu, struct ri_cpus *out)
{
	static const char *const names[] = { "core_cpus_list", "thread_siblings_list" };
	char path[96];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/%s", cpu,
			names[i]);
		if (ri_cpus_read_file(host, path, out))
			return true;
	}
	return false;
}

/* Move one core from left to the end of the list. */
static void move_core(struct ri_cores *cores, struct ri_cpus *left, const struct ri_cpus *core)
{
	uint16_t end = cores->starts[cores->count];

	for (int cpu = ri_cpus_next(core, 0); cpu >= 0;
		cpu = ri_cpus_next(core, (unsigned)cpu + 1)) {
		cores->cpus[end++] = (uint16_t)cpu;
		ri_cpus_clear(left, (unsigned)cpu);
	}
	cores->starts[++cores->count] = end;
}

/* The cores with a CPU within, which are not in the list yet. */
static void add_cores(struct ri_cores *cores, struct ri_host *host, struct ri_cpus *left,
	const struct ri_cpus *within)
{
	struct ri_cpus core;

	for (int cpu = ri_cpus_next(within, 0); cpu >= 0;
		cpu = ri_cpus_next(within, (unsigned)cpu + 1)) {
		if (!ri_cpus_has(left, (unsigned)cpu))
			continue;
		if (!read_core(host, cpu, &core))
			core = (struct ri_cpus){ { 0 } };
		ri_cpus_set(&core, (unsigned)cpu);
		ri_cpus_and(&core, left);
		move_core(cores, left, &core);
	}
}

int ri_cores_find(struct ri_cores *out, const struct ri_node *node, const struct ri_cpus *ours,
	struct ri_error *err)
{
	size_t size = ri_cpus_size(ours);
	struct ri_cpus left = *ours;
	struct ri_numa numa;

	if (ri_numa_find(&numa, node, ours, err) < 0)
		return -1;
	out->count = 0;
	out->cpus = ri_arena_array(node->arena, size, sizeof(*out->cpus));
	out->starts = ri_arena_array(node->arena, size + 1, sizeof(*out->starts));
	if (out->cpus == NULL || out->starts == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "CPUs", "no memory left for a list of cores");
	for (size_t i = 0; i < numa.count; i++)
		add_cores(out, node->host, &left, &numa.list[i]);
	/* those of no node */
	add_cores(out, node->host, &left, ours);
	return 0;
}

void ri_cores_take(const struct ri_cores *cores, size_t first, size_t last, struct ri_cpus *out)
{
	*out = (struct ri_cpus){ { 0 } };
	for (size_t i = cores->starts[first]; i < cores->starts[last]; i++)
		ri_cpus_set(out, cores->cpus[i]);
}
