/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "kubeflow_pytorch": a pod of a PyTorchJob (training operator 1) or of
 * a TrainJob (trainer 2). PET_* are the defaults of torchrun's options, and
 * the pod is a node: the launcher of its processes gives them ranks.
 *
 * A PyTorchJob sets RANK and WORLD_SIZE as well, but RANK is the pod's index
 * and WORLD_SIZE counts processes where their number is known. So neither is
 * anybody's rank, and MASTER_ADDR and MASTER_PORT are left to source "env":
 * older operators told the first pod "localhost". A TrainJob sets none of them.
 */
#include <string.h>

#include "from/quartet.h"

#define OPERATOR "Kubeflow training-operator v1.9 pkg/controller.v1/pytorch"
#define TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/torch/torch.go"

static const struct ri_variable reads[] = {
	{ .name = "PET_NNODES", .meaning = "nodes; MIN:MAX of an elastic job gives no number",
	  .cite = OPERATOR "/envvar.go, elastic.go; " TRAINER },
	{ .name = "PET_NODE_RANK", .meaning = "index of this node; may be empty",
	  .cite = OPERATOR "/envvar.go; " TRAINER },
	{ .name = "PET_NPROC_PER_NODE", .meaning = "processes to start, if it is a number",
	  .cite = OPERATOR "/envvar.go; " TRAINER },
	{ .name = "PET_MASTER_ADDR", .meaning = "the host of node 0",
	  .cite = OPERATOR "/master.go; " TRAINER },
	{ .name = "PET_MASTER_PORT", .meaning = "port on which rank 0 listens",
	  .cite = OPERATOR "/master.go; " TRAINER },
	{ .name = "RANK", .meaning = "the pod's index, if LOCAL_RANK is absent or comes from the "
		"image",
	  .cite = OPERATOR "/envvar.go" },
	{ .name = "WORLD_SIZE", .meaning = "only to see whether it counts processes of all pods",
	  .cite = OPERATOR "/envvar.go" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "PET_NNODES") && ri_source_sees(env, "PET_NODE_RANK");
}

/* An elastic job's nodes come and go, and torchrun gives out their ranks. */
static bool is_elastic(struct ri_reading *reading)
{
	if (strchr(ri_reading_get(reading, "PET_NNODES"), ':') == NULL)
		return false;
	ri_claim_open(reading, RI_FACT_NNODES, "PET_NNODES", "the job is elastic");
	return true;
}

/* Words such as "auto" are torchrun's to understand. */
static void claim_processes(struct ri_reading *reading)
{
	static const char *const words[] = { "auto", "cpu", "gpu", "xpu" };
	const char *raw = ri_reading_get(reading, "PET_NPROC_PER_NODE");

	for (size_t i = 0; raw != NULL && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(raw, words[i]) == 0)
			return;
	ri_claim_filled(reading, RI_FACT_NPROC, "PET_NPROC_PER_NODE");
}

/*
 * Is LOCAL_RANK an image's? The others are still the operator's then: RANK is
 * the pod's, and WORLD_SIZE counts processes that no launcher has started yet.
 */
static bool is_of_image(const struct ri_reading *reading)
{
	uint64_t rank, size, local_rank, node, nodes, processes;

	return !ri_source_sees_text(reading->context->env, "LOCAL_WORLD_SIZE") &&
		ri_reading_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK", &local_rank) &&
		ri_reading_number(reading, RI_FACT_RANK, "RANK", &rank) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
		ri_reading_number(reading, RI_FACT_NODE_RANK, "PET_NODE_RANK", &node) &&
		ri_reading_number(reading, RI_FACT_NNODES, "PET_NNODES", &nodes) &&
		ri_reading_number(reading, RI_FACT_NPROC, "PET_NPROC_PER_NODE", &processes) &&
		local_rank == 0 && rank == node && processes > 1 && size == nodes * processes;
}

static void claim_node(struct ri_reading *reading)
{
	ri_claim_filled(reading, RI_FACT_NNODES, "PET_NNODES");
	ri_claim_filled(reading, RI_FACT_NODE_RANK, "PET_NODE_RANK");
	/* the pod's own process reads this, and not a rank that was started in it */
	if (reading->identity == NULL &&
		(!ri_quartet_sees(reading->context->env) || is_of_image(reading)))
		ri_claim_filled(reading, RI_FACT_NODE_RANK, "RANK");
}

static void read_kubeflow_pytorch(struct ri_reading *reading)
{
	if (!is_elastic(reading))
		claim_node(reading);
	claim_processes(reading);
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "PET_MASTER_ADDR");
	ri_claim_filled(reading, RI_FACT_MASTER_PORT, "PET_MASTER_PORT");
}

static const struct ri_shape_row rows[] = {
	{ "PET_NNODES", "<nodes>", 0 },
	{ "PET_NODE_RANK", "<node>", 0 },
	{ "PET_NPROC_PER_NODE", "<ranks>", 0 },
	{ "PET_MASTER_ADDR", "<master>", 0 },
	{ "PET_MASTER_PORT", "<master_port>", 0 },
	{ "MASTER_ADDR", "<master>", 0 },
	{ "MASTER_PORT", "<master_port>", 0 },
	{ "RANK", "<node>", 0 },
	{ "WORLD_SIZE", "<world_size>", 0 },
	{ .name = NULL },
};

static const struct ri_shape_row trainjob[] = {
	{ "PET_NNODES", "<nodes>", 0 },
	{ "PET_NODE_RANK", "<node>", 0 },
	{ "PET_NPROC_PER_NODE", "<ranks>", 0 },
	{ "PET_MASTER_ADDR", "<master>", 0 },
	{ "PET_MASTER_PORT", "<master_port>", 0 },
	{ .name = NULL },
};

/* CleanPodPolicy is None by default; a TrainJob is a JobSet, where one pod ends all. */

static const struct ri_shape shapes[] = {
	{ .name = "kubeflow_pytorch", .summary = "a PyTorchJob starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 23456, .grace_s = 30, .goes_on = true,
	  .succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
	  .cite = "Kubeflow training-operator v1.9 pkg/apis/kubeflow.org/v1/pytorch_defaults.go, "
		  "common_types.go; " RI_SHAPE_POD },
	{ .name = "kubeflow_trainjob", .summary = "a TrainJob starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = trainjob, .port = 29500, .grace_s = 30,
	  .succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
	  .cite = "Kubeflow trainer pkg/apis/trainer/v1alpha1/trainjob_types.go; " RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_kubeflow_pytorch = {
	.name = "kubeflow_pytorch",
	.summary = "pod of a Kubeflow PyTorchJob or TrainJob: a node, and its master",
	.identity = RI_SCOPE_NODE,
	.traits = RI_TRAIT_ASKS_RANKS,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_kubeflow_pytorch,
};
