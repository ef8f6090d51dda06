/* SPDX-License-Identifier: Apache-2.0 */
#include "node/place.h"

#include <inttypes.h>
#include <stdio.h>

#include "node/devices.h"

/* OpenMP specification, "OMP_NUM_THREADS"; MKL, BLAS and PyTorch obey it too. */
#define THREADS "OMP_NUM_THREADS"

int ri_budget_find(struct ri_budget *out, const struct ri_node *node, struct ri_error *err)
{
	bool known = node->affinity != NULL;
	struct ri_cpus online;
	uint64_t granted;

	if (known)
		out->cpus = *node->affinity;
	/*
	 * What a recorded machine would have answered: the mask of the status file may hold CPUs
	 * that are offline, sched_getaffinity(2) leaves them out (kernel documentation,
	 * ABI/testing/sysfs-devices-system-cpu).
	 */
	if (!known && !node->host->live) {
		known = ri_cpus_read_allowed(node->host, "proc/self/status", &out->cpus);
		if (ri_cpus_read_file(node->host, "sys/devices/system/cpu/online", &online)) {
			if (!known)
				out->cpus = online;
			known = ri_cpus_and(&out->cpus, &online) > 0;
		}
	}
	out->count = known ? ri_cpus_size(&out->cpus) : 0;
	if (out->count == 0)
		return ri_fail(err, RI_CODE_CPU_UNKNOWN, "CPUs",
			"cannot tell which CPUs may be used here");
	ri_group_limit_find(&out->quota, RI_GROUP_CPU, node->host, node->arena);
	granted = out->quota.number / 1000;
	out->usable = granted == 0 ? 1 : granted < out->count ? granted : out->count;
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

/* The NUMA nodes that have some of our CPUs, by number. */
struct numa {
	struct ri_cpus *list;	/* what is ours of each */
	size_t count;		/* 0: the machine does not say */
};

/* Kernel documentation, ABI/stable/sysfs-devices-node. */
static int find_numa(struct numa *out, const struct ri_node *node, const struct ri_cpus *ours,
	struct ri_error *err)
{
	struct ri_cpus online, cpus;
	char path[64];

	*out = (struct numa){ .count = 0 };
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

struct search {
	const struct ri_place_wish *wish;
	const struct ri_place_ranks *ranks;
	const struct ri_node *node;
	struct ri_placement *out;
	struct ri_budget budget;
	struct ri_gpus gpus;
	struct ri_error *err;
};

static bool wants_places(const struct ri_place_wish *wish)
{
	return wish->bind != RI_BIND_NONE || wish->gpu_bind != RI_GPU_BIND_NONE;
}

static bool wants_threads(const struct ri_place_wish *wish, const struct ri_place_ranks *ranks)
{
	return wish->omp == RI_OMP_AUTO && ranks->ours && ranks->count > 1;
}

bool ri_placement_asks(const struct ri_place_wish *wish, const struct ri_place_ranks *ranks)
{
	return wants_places(wish) || wants_threads(wish, ranks);
}

/*
 * The GPU of a rank: the one of its local rank. A launcher may have given each
 * rank its own: then there is one.
 */
static const struct ri_gpu *gpu_of(const struct search *search, size_t rank)
{
	const struct ri_gpus *gpus = &search->gpus;

	if (gpus->count == 1 && !search->ranks->ours)
		return gpus->list;
	return rank < gpus->count ? &gpus->list[rank] : NULL;
}

static int give_gpus(struct search *search)
{
	const char *subject = search->wish->gpu_subject;
	const struct ri_gpu *gpu;

	if (search->gpus.others != NULL) {
		ri_fail(search->err, RI_CODE_GPU_UNKNOWN, search->gpus.others,
			"there are GPUs, but rankinit assigns only those at /dev/nvidia0 and so "
			"on");
		return ri_fail_hint(search->err, "leave %s out", subject);
	}
	for (size_t i = 0; i < search->out->count; i++) {
		gpu = gpu_of(search, i);
		if (gpu == NULL) {
			ri_fail(search->err, RI_CODE_PLACEMENT_REFUSED, subject,
				"each rank needs a GPU of its own, but only %zu of %zu would have "
				"one",
				search->gpus.count, search->out->count);
			return ri_fail_hint(search->err,
				"start as many ranks as there are GPUs, or leave it out");
		}
		search->out->list[i].gpu = gpu->name;
	}
	return 0;
}

/* A GPU may be far from all CPUs that are ours, even where these are of one node. */
static int bind_to_numa(struct search *search)
{
	enum { OUTSIDE, HIDDEN, ALONE, REASONS };
	static const char *const why[] = {
		[OUTSIDE] = "rankinit may not use the CPUs local to its GPU",
		[HIDDEN] = "cannot tell which CPUs are local to its GPU",
		[ALONE] = "cannot tell what NUMA nodes the machine has",
	};
	/* ranks that are not bound for a reason */
	size_t counts[REASONS] = { 0 }, first[REASONS] = { 0 };
	const struct ri_cpus *ours = &search->budget.cpus;
	struct numa numa;

	if (find_numa(&numa, search->node, ours, search->err) < 0)
		return -1;
	for (size_t i = 0; i < search->out->count; i++) {
		struct ri_place *place = &search->out->list[i];
		const struct ri_gpu *gpu = gpu_of(search, i);
		bool known = gpu != NULL &&
			ri_gpu_cpus(search->node->host, gpu, &place->cpus);
		unsigned reason = REASONS;

		if (known && ri_cpus_and(&place->cpus, ours) == 0)
			reason = OUTSIDE;
		else if (known)
			place->bound = !ri_cpus_equal(&place->cpus, ours);
		else if (numa.count != 1 && (gpu != NULL || numa.count == 0))
			reason = gpu != NULL ? HIDDEN : ALONE;
		else if (numa.count > 1)
			*place = (struct ri_place){ numa.list[i % numa.count], true, place->gpu };
		if (reason < REASONS && counts[reason]++ == 0)
			first[reason] = i;
	}
	if (numa.count == 1)
		ri_note(search->node->findings, RI_CODE_PLACEMENT_KEPT, search->wish->bind_subject,
			"all CPUs here belong to one NUMA node");
	for (unsigned i = 0; i < REASONS; i++)
		if (counts[i] > 0)
			ri_warn(search->node->findings, RI_CODE_PLACEMENT_KEPT,
				search->wish->bind_subject,
				"%zu of %zu ranks are not bound, the first is local rank %zu: %s",
				counts[i], search->out->count, first[i], why[i]);
	return 0;
}

/* CPUs for each rank, where some share theirs. */
static size_t smallest_share(const struct ri_placement *placement, size_t share)
{
	for (size_t i = 0; placement->list != NULL && i < placement->count; i++) {
		const struct ri_place *place = &placement->list[i];
		size_t sharers = 0, own;

		if (!place->bound)
			continue;
		for (size_t j = 0; j < placement->count; j++)
			sharers += placement->list[j].bound &&
				ri_cpus_equal(&placement->list[j].cpus, &place->cpus);
		own = ri_cpus_size(&place->cpus) / sharers;
		share = own < share ? own : share;
	}
	return share == 0 ? 1 : share;
}

static int set_threads(struct search *search)
{
	const struct ri_budget *budget = &search->budget;
	const char *there = ri_env_get(search->node->env, THREADS);
	bool granted = budget->usable < budget->count;
	size_t threads;

	if (!wants_threads(search->wish, search->ranks) || (there != NULL && there[0] != '\0'))
		return 0;
	threads = smallest_share(search->out, budget->usable / search->out->count);
	search->out->threads = ri_arena_format(search->node->arena, "%zu", threads);
	if (search->out->threads == NULL)
		return ri_fail(search->err, RI_CODE_MEMORY, THREADS, "no memory left to set it");
	ri_note(search->node->findings, RI_CODE_OMP_THREADS, THREADS, "is set to %zu: %" PRIu64
		" CPUs%s%s for %zu ranks", threads, budget->usable, granted
		? " of time, as granted by " : "", granted ? budget->quota.path : "",
		search->out->count);
	return 0;
}

static int place(struct search *search)
{
	const struct ri_place_wish *wish = search->wish;
	struct ri_error unknown = RI_ERROR_INIT;
	bool must = wish->bind != RI_BIND_NONE;

	if ((wish->gpu_bind != RI_GPU_BIND_NONE || wish->bind == RI_BIND_NUMA) &&
		ri_gpus_find(&search->gpus, search->node, search->err) < 0)
		return -1;
	if (wish->gpu_bind != RI_GPU_BIND_NONE && give_gpus(search) < 0)
		return -1;
	/* without CPUs to count there is nothing to bind to; threads alone refuse nothing */
	if (ri_budget_find(&search->budget, search->node, must ? search->err : &unknown) < 0)
		return must ? -1 : 0;
	if (wish->bind == RI_BIND_NUMA && bind_to_numa(search) < 0)
		return -1;
	return set_threads(search);
}

int ri_placement_find(struct ri_placement *out, const struct ri_place_wish *wish,
	const struct ri_place_ranks *ranks, const struct ri_node *node, struct ri_error *err)
{
	struct search search = {
		.wish = wish, .ranks = ranks, .node = node, .out = out, .err = err,
	};

	*out = (struct ri_placement){ .count = ranks->count };
	if (wish->omp == RI_OMP_STATED) {
		out->threads = ri_arena_format(node->arena, "%" PRIu64, wish->threads);
		if (out->threads == NULL)
			return ri_fail(err, RI_CODE_MEMORY, THREADS, "no memory left to set it");
	}
	if (!ri_placement_asks(wish, ranks))
		return 0;
	if (out->count > RI_MAX_CPUS)
		return ri_fail(err, RI_CODE_PLACEMENT_REFUSED, "CPUs",
			"%zu ranks are too many to place, the limit is %d", out->count,
			RI_MAX_CPUS);
	if (wants_places(wish))
		out->list = ri_arena_array(node->arena, out->count, sizeof(*out->list));
	if (wants_places(wish) && out->list == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "CPUs", "no memory left to place the ranks");
	return place(&search);
}

const struct ri_place *ri_placement_of(const struct ri_placement *placement, uint64_t local_rank)
{
	return placement->list == NULL || local_rank >= placement->count
		? NULL : &placement->list[local_rank];
}

int ri_placement_write(const struct ri_placement *placement, uint64_t local_rank,
	struct ri_env_edits *edits, struct ri_arena *arena, struct ri_error *err)
{
	const struct ri_place *own = ri_placement_of(placement, local_rank);
	const struct ri_env_edit threads = { .name = THREADS, .value = placement->threads };
	const struct ri_env_edit gpu = {
		.name = "CUDA_VISIBLE_DEVICES", .value = own == NULL ? NULL : own->gpu,
	};

	if (threads.value != NULL && ri_env_edits_add(edits, threads, arena, err) < 0)
		return -1;
	return gpu.value == NULL ? 0 : ri_env_edits_add(edits, gpu, arena, err);
}
