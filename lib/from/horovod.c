/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "horovod": a worker of horovodrun over Gloo. Its rendezvous is the
 * driver's, and speaks Horovod's protocol: no master for anybody else.
 *
 * The cross rank counts the hosts that have this local rank. All hosts have
 * local rank 0, so there it is the node's; elsewhere it is that if no host
 * has fewer ranks than this one, which a worker cannot know for certain.
 */
#include <inttypes.h>

#include "from/reading.h"

#define GLOO "Horovod horovod/runner/gloo_run.py, create_slot_env_vars"
#define HOSTS "Horovod horovod/runner/common/util/hosts.py, get_host_assignments"

static const struct ri_variable reads[] = {
	{ .name = "HOROVOD_RANK", .meaning = "rank", .cite = GLOO },
	{ .name = "HOROVOD_SIZE", .meaning = "world size", .cite = GLOO },
	{ .name = "HOROVOD_LOCAL_RANK", .meaning = "local rank", .cite = GLOO },
	{ .name = "HOROVOD_LOCAL_SIZE", .meaning = "ranks on this node", .cite = GLOO },
	{ .name = "HOROVOD_CROSS_RANK",
	  .meaning = "index of this node among the nodes with this local rank", .cite = HOSTS },
	{ .name = "HOROVOD_CROSS_SIZE", .meaning = "the number of those nodes",
	  .cite = HOSTS },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "HOROVOD_RANK") && ri_source_sees(env, "HOROVOD_SIZE") &&
		ri_source_sees(env, "HOROVOD_LOCAL_RANK") &&
		ri_source_sees(env, "HOROVOD_CROSS_RANK");
}

/* Is it where it would be if every host had as many ranks as this one? */
static bool is_even(const struct ri_reading *reading, uint64_t cross, uint64_t hosts)
{
	uint64_t rank, size, local_rank, local;

	return ri_claim_get(reading, RI_FACT_RANK, &rank) &&
		ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) &&
		ri_claim_get(reading, RI_FACT_LOCAL_RANK, &local_rank) &&
		ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		hosts * local == size && cross * local + local_rank == rank;
}

static void claim_node(struct ri_reading *reading)
{
	uint64_t local_rank, cross, hosts;

	if (ri_reading_number(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK", &cross) &&
		ri_reading_number(reading, RI_FACT_NNODES, "HOROVOD_CROSS_SIZE", &hosts) &&
		ri_claim_get(reading, RI_FACT_LOCAL_RANK, &local_rank) && local_rank > 0) {
		if (!is_even(reading, cross, hosts)) {
			ri_claim_open(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK",
				"HOROVOD_CROSS_RANK skips hosts with fewer ranks");
			return;
		}
		if (hosts > 1)
			ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE,
				RI_CODE_NODE_RANK_ASSUMED, "HOROVOD_CROSS_RANK",
				"%" PRIu64 " is the node's index if every node has as many ranks "
				"as this one", cross);
	}
	ri_claim_number(reading, RI_FACT_NODE_RANK, "HOROVOD_CROSS_RANK");
	ri_claim_filled(reading, RI_FACT_NNODES, "HOROVOD_CROSS_SIZE");
}

static void read_horovod(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "HOROVOD_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "HOROVOD_SIZE");
	ri_claim_number(reading, RI_FACT_LOCAL_RANK, "HOROVOD_LOCAL_RANK");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "HOROVOD_LOCAL_SIZE");
	claim_node(reading);
}

static const struct ri_shape_row rows[] = {
	{ "HOROVOD_RANK", "<rank>", 0 },
	{ "HOROVOD_SIZE", "<world_size>", 0 },
	{ "HOROVOD_LOCAL_RANK", "<local_rank>", 0 },
	{ "HOROVOD_LOCAL_SIZE", "<ranks>", 0 },
	{ "HOROVOD_CROSS_RANK", "<node>", 0 },
	{ "HOROVOD_CROSS_SIZE", "<nodes>", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* The driver ends all workers where one fails. */
static const struct ri_shape shapes[] = {
	{ .name = "horovod", .summary = "horovodrun starts each worker",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 5,
	  .cite = "Horovod horovod/runner/common/util/safe_shell_exec.py, "
		  "GRACEFUL_TERMINATION_TIME_S" },
	{ .name = NULL },
};

const struct ri_source ri_source_horovod = {
	.name = "horovod",
	.summary = "a worker of horovodrun over Gloo",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_horovod,
};
