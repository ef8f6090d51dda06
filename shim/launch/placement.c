/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/placement.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "system/own_proc.h"

static struct ri_place_ranks count_ranks(const struct ri_placing_job *job, uint64_t *own)
{
	struct ri_place_ranks ranks = { .count = job->started, .ours = job->started > 0 };

	*own = 0;
	if (!ranks.ours &&
		(!ri_topology_get(job->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks.count) ||
			!ri_topology_get(job->topology, RI_FACT_LOCAL_RANK, own))) {
		ranks.count = 1;
		*own = 0;
	}
	return ranks;
}

void ri_placing_look(struct ri_node *node, struct ri_cpus *mask)
{
	*mask = (struct ri_cpus){ { 0 } };
	node->affinity = NULL;
	if (node->host->live &&
		sched_getaffinity(0, sizeof(*mask), (cpu_set_t *)(void *)mask->words) == 0)
		node->affinity = mask;
}

/*
 * mpirun, srun and their like bind a rank before they start it, and a share of
 * its share would be wrong: then we have fewer CPUs than the launcher itself.
 */
static bool is_bound(const struct ri_place_ranks *ranks, struct ri_host *host)
{
	struct ri_cpus own, outer;
	char path[40];

	if (ranks->ours || ranks->count == 1 || !host->live || !ri_proc_is_ours(getpid()))
		return false;
	snprintf(path, sizeof(path), "proc/%d/status", (int)getppid());
	return ri_cpus_read_allowed(host, "proc/self/status", &own) &&
		ri_cpus_read_allowed(host, path, &outer) && !ri_cpus_equal(&own, &outer);
}

static void refuse_bind(const struct ri_placing_job *job, enum ri_severity severity,
	const char *subject, const char *why)
{
	ri_findings_add(job->node.findings, severity, RI_CODE_PLACEMENT_KEPT, subject, "%s", why);
}

/* Of a launcher, the number of threads alone makes sense, and of mpirun not even that. */
static void limit_to_launcher(const struct ri_placing_job *job, struct ri_place_wish *wish)
{
	static const char why[] = "the command starts the ranks itself, so all of them would get "
				  "the same setting";

	if (wish->bind != RI_BIND_NONE)
		refuse_bind(job, RI_SEVERITY_WARNING, wish->bind_subject, why);
	if (wish->gpu_bind != RI_GPU_BIND_NONE)
		refuse_bind(job, RI_SEVERITY_WARNING, wish->gpu_subject, why);
	if (wish->omp == RI_OMP_STATED && job->mode == RI_MODE_NONE)
		refuse_bind(job, RI_SEVERITY_WARNING, wish->omp_subject,
			"the command starts the whole job, and rankinit sets nothing for it");
	wish->bind = RI_BIND_NONE;
	wish->gpu_bind = RI_GPU_BIND_NONE;
	if (job->mode == RI_MODE_NONE)
		wish->omp = RI_OMP_KEEP;
}

int ri_placing_prepare(struct ri_placing *out, const struct ri_placing_job *job,
	struct ri_error *err)
{
	struct ri_place_ranks ranks = count_ranks(job, &out->own);
	struct ri_place_wish wish = job->options->place;
	struct ri_node node = job->node;
	struct ri_cpus mask;

	out->placement = (struct ri_placement){ .count = 0 };
	if (wish.bind == RI_BIND_NONE && wish.gpu_bind == RI_GPU_BIND_NONE &&
		wish.omp != RI_OMP_STATED && !ri_placement_asks(&wish, &ranks))
		return 0;
	if (job->mode == RI_MODE_NODE || job->mode == RI_MODE_NONE)
		limit_to_launcher(job, &wish);
	if (wish.bind != RI_BIND_NONE && is_bound(&ranks, node.host)) {
		refuse_bind(job, RI_SEVERITY_NOTE, wish.bind_subject,
			"the launcher has already bound this rank");
		wish.bind = RI_BIND_NONE;
	}
	if (ri_placement_asks(&wish, &ranks))
		ri_placing_look(&node, &mask);
	return ri_placement_find(&out->placement, &wish, &ranks, &node, err);
}

const struct ri_cpus *ri_placing_cpus(const struct ri_placing *placing, uint64_t index)
{
	const struct ri_place *place = ri_placement_of(&placing->placement, placing->own + index);

	return place != NULL && place->bound ? &place->cpus : NULL;
}

void ri_placing_explain(const struct ri_placing *placing, uint64_t index,
	struct ri_explained_rank *rank, struct ri_arena *arena)
{
	const struct ri_place *place = ri_placement_of(&placing->placement, placing->own + index);
	const struct ri_cpus *cpus = ri_placing_cpus(placing, index);
	char bytes[1024];
	struct ri_text text;

	if (place != NULL)
		rank->gpu = place->gpu;
	if (cpus == NULL)
		return;
	ri_text_init(&text, bytes, sizeof(bytes));
	ri_cpus_add(&text, cpus);
	rank->cpus = ri_arena_copy(arena, bytes, text.length);
}

int ri_nproc_count(struct ri_options *options, struct ri_node *node, struct ri_error *err)
{
	struct ri_wishes *wishes = &options->wishes;
	bool by_cpu = options->nproc == RI_NPROC_CPU;
	uint64_t found = 0;
	struct ri_cpus mask;

	if (options->nproc == RI_NPROC_STATED)
		return 0;
	if (by_cpu)
		ri_placing_look(node, &mask);
	if ((by_cpu ? ri_cpus_count : ri_gpus_count)(node, &found, err) < 0)
		return -1;
	if (found == 0 && options->nproc == RI_NPROC_AUTO)
		found = 1;
	if (found == 0) {
		ri_fail(err, RI_CODE_NPROC_NONE, wishes->nproc.subject,
			"no GPU is visible here, so there is none to start a rank for");
		return ri_fail_hint(err, "give this container its GPUs (docker run --gpus all; "
					 "CUDA_VISIBLE_DEVICES), or state a number");
	}
	if (found > RI_MAX_LOCAL)
		return ri_fail(err, RI_CODE_OPTION_VALUE, wishes->nproc.subject,
			"%s means %d ranks here, more than the %d allowed on one node",
			wishes->nproc.value, (int)found, RI_MAX_LOCAL);
	wishes->nproc_count = found;
	return 0;
}
