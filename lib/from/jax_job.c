/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "jax_job": a pod of Kubeflow's JAXJob (training operator 1) or of a
 * JAX TrainJob (trainer 2), with one process in each pod. The names of the
 * first are anybody's, so all three have to be there.
 */
#include <string.h>

#include "from/reading.h"

#define OPERATOR "Kubeflow training-operator v1.9 pkg/controller.v1/jax/envvar.go"
#define TRAINER "Kubeflow trainer pkg/runtime/framework/plugins/jax/jax.go"

static const struct ri_variable reads[] = {
	{ .name = "JAX_PROCESS_ID", .meaning = "index of this pod", .cite = TRAINER },
	{ .name = "JAX_NUM_PROCESSES", .meaning = "pods of the job", .cite = TRAINER },
	{ .name = "JAX_COORDINATOR_ADDRESS", .meaning = "host:port of pod 0", .cite = TRAINER },
	{ .name = "PROCESS_ID", .meaning = "index of this pod", .cite = OPERATOR },
	{ .name = "NUM_PROCESSES", .meaning = "pods of the job", .cite = OPERATOR },
	{ .name = "COORDINATOR_ADDRESS", .meaning = "the host of pod 0", .cite = OPERATOR },
	{ .name = "COORDINATOR_PORT", .meaning = "the port of pod 0", .cite = OPERATOR },
	{ .name = NULL },
};

static bool is_of_trainer(const struct ri_env *env)
{
	return ri_source_sees_text(env, "JAX_PROCESS_ID") &&
		ri_source_sees_text(env, "JAX_NUM_PROCESSES");
}

static bool detect(const struct ri_env *env)
{
	return is_of_trainer(env) ||
		(ri_source_sees_text(env, "PROCESS_ID") &&
			ri_source_sees_text(env, "NUM_PROCESSES") &&
			ri_source_sees_text(env, "COORDINATOR_ADDRESS"));
}

/* Claim host and, where there is one, port of a variable that has both. */
static void claim_endpoint(struct ri_reading *reading, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_endpoint endpoint;
	struct ri_fact *claim;

	ri_claim_host(reading, RI_FACT_MASTER_ADDR, variable);
	if (raw == NULL ||
		!ri_endpoint_read((struct ri_slice){ raw, strlen(raw) }, &endpoint) ||
		endpoint.port == 0)
		return;
	claim = ri_claim(reading, RI_FACT_MASTER_PORT, variable);
	if (claim != NULL)
		claim->number = endpoint.port;
}

static void read_jax_job(struct ri_reading *reading)
{
	if (is_of_trainer(reading->context->env)) {
		ri_claim_number(reading, RI_FACT_NODE_RANK, "JAX_PROCESS_ID");
		ri_claim_number(reading, RI_FACT_NNODES, "JAX_NUM_PROCESSES");
		claim_endpoint(reading, "JAX_COORDINATOR_ADDRESS");
		return;
	}
	ri_claim_number(reading, RI_FACT_NODE_RANK, "PROCESS_ID");
	ri_claim_number(reading, RI_FACT_NNODES, "NUM_PROCESSES");
	ri_claim_filled(reading, RI_FACT_MASTER_PORT, "COORDINATOR_PORT");
	claim_endpoint(reading, "COORDINATOR_ADDRESS");
}

static const struct ri_shape_row rows[] = {
	{ "PROCESS_ID", "<node>", 0 },
	{ "NUM_PROCESSES", "<nodes>", 0 },
	{ "COORDINATOR_ADDRESS", "<master>", 0 },
	{ "COORDINATOR_PORT", "<master_port>", 0 },
	{ .name = NULL },
};

static const struct ri_shape_row trainjob[] = {
	{ "JAX_PROCESS_ID", "<node>", 0 },
	{ "JAX_NUM_PROCESSES", "<nodes>", 0 },
	{ "JAX_COORDINATOR_ADDRESS", "<master>:<master_port>", 0 },
	{ .name = NULL },
};

/* CleanPodPolicy is None by default; a TrainJob is a JobSet. */
static const struct ri_shape shapes[] = {
	{ .name = "jax_job", .summary = "a JAXJob starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 6666, .grace_s = 30, .goes_on = true,
	  .succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
	  .cite = "Kubeflow training-operator v1.9 pkg/apis/kubeflow.org/v1/jax_defaults.go; "
		  RI_SHAPE_POD },
	{ .name = "jax_job_trainjob", .summary = "a JAX TrainJob starts a pod for each node",
	  .scope = RI_SCOPE_NODE, .rows = trainjob, .port = 29500, .grace_s = 30,
	  .succeeded = "Complete", .failed = "Failed", .stopped = "Failed",
	  .cite = "Kubeflow trainer pkg/apis/trainer/v1alpha1/trainjob_types.go; " RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_jax_job = {
	.name = "jax_job",
	.summary = "pod of a Kubeflow JAXJob or JAX TrainJob: a node with one process",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_jax_job,
};
