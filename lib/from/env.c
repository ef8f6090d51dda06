/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "env": what is there by the names that torch.distributed reads
 * itself, without a variable that tells who set it: Composer, a container hook, a
 * user, an image. The master stands above what other sources say, because a
 * user who sets MASTER_ADDR wants that one. The ranks stand below a
 * launcher's, unless their world is larger: then they were made inside of it.
 *
 * RANK and WORLD_SIZE without LOCAL_RANK may count nodes, and no rank is made
 * of them. Where NPROC_PER_NODE stands beside all four they do for certain:
 * Alibaba's PAI-DLC and Baidu's AIHC tell their nodes so what to start. In
 * Kubernetes the four count the pods of a PyTorchJob whose operator sets no PET_
 * variables: each is a node of a launcher, or one rank. A LOCAL_RANK that lists
 * devices is a pod's of Ascend's operator.
 * NODE_RANK and a count of nodes beside MASTER_ADDR describe a node by their names,
 * whatever RANK and WORLD_SIZE count: RunPod's WORLD_SIZE counts GPUs.
 */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "from/reading.h"

#define RUNPOD "docs.runpod.io, Instant Clusters, Configuration reference"
#define ASCEND "hiascend.com, MindCluster, Ascend Operator environment variables, PyTorch"
#define SPUR "ROCm/spur pull request 793"
#define HOOK "Enroot conf/hooks/extra/50-slurm-pytorch.sh"
#define OPERATOR "Kubeflow pytorch-operator pkg/controller.v1/pytorch/pod.go, setClusterSpec"

/* Has a source that knows who set it taken RANK for this fact? */
static bool is_taken(const struct ri_reading *reading, enum ri_fact_id id)
{
	const struct ri_fact *claim = reading->claims[id];

	while (claim != NULL &&
		(claim->origin.variable == NULL || strcmp(claim->origin.variable, "RANK") != 0))
		claim = claim->next;
	return claim != NULL;
}

/* Do they count nodes, if anything says so? */
static bool may_be_of_node(const struct ri_reading *reading, uint64_t *rank, uint64_t *size)
{
	const struct ri_env *env = reading->context->env;

	return reading->identity == NULL && !ri_source_sees_text(env, "LOCAL_RANK") &&
		ri_source_sees_text(env, "MASTER_ADDR") &&
		ri_source_sees_text(env, "MASTER_PORT") &&
		ri_reading_number(reading, RI_FACT_NODE_RANK, "RANK", rank) &&
		ri_reading_number(reading, RI_FACT_NNODES, "WORLD_SIZE", size) && *rank < *size;
}

/* Has no source so far said anything of who we are, or of nodes? */
static bool is_unspoken(const struct ri_reading *reading)
{
	static const enum ri_fact_id ids[] = {
		RI_FACT_RANK, RI_FACT_NODE_RANK, RI_FACT_NNODES, RI_FACT_HOSTS, RI_FACT_ROLE,
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(ids); i++)
		if (reading->claims[ids[i]] != NULL)
			return false;
	return reading->identity == NULL;
}

/* Is the variable absent, or that number? */
static bool agrees(const struct ri_reading *reading, enum ri_fact_id id, const char *variable,
	uint64_t number)
{
	uint64_t other;

	return !ri_source_sees_text(reading->context->env, variable) ||
		(ri_reading_number(reading, id, variable, &other) && other == number);
}

/*
 * A pod of a PyTorchJob without PET_ variables? What else is set to count nodes or
 * processes must not speak against it.
 */
static bool is_of_pod(const struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	uint64_t rank, size;

	return is_unspoken(reading) && ri_env_get(env, "KUBERNETES_SERVICE_HOST") != NULL &&
		!ri_source_sees_text(env, "LOCAL_WORLD_SIZE") &&
		may_be_of_node(reading, &rank, &size) && size > 1 &&
		agrees(reading, RI_FACT_NODE_RANK, "NODE_RANK", rank) &&
		agrees(reading, RI_FACT_NNODES, "NNODES", size) &&
		agrees(reading, RI_FACT_NNODES, "NUM_NODES", size) &&
		agrees(reading, RI_FACT_NNODES, "NODE_COUNT", size);
}

/*
 * A pod of Ascend's operator: LOCAL_RANK lists its devices, "0,1,2", RANK is the pod's, and
 * WORLD_SIZE counts the devices of all pods. How many nodes are these? 0: it is none.
 */
static uint64_t count_of_devices(const struct ri_reading *reading)
{
	const char *list = ri_reading_get(reading, "LOCAL_RANK");
	uint64_t rank, size, here, number;

	if (list == NULL || !is_unspoken(reading) ||
		!ri_reading_number(reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_WORLD_SIZE", &here) ||
		here < 2)
		return 0;
	for (uint64_t i = 0; i < here; i++) {
		size_t digits = ri_digits_read(list, &number);

		if (digits == 0 || number != i || list[digits] != (i + 1 < here ? ',' : '\0'))
			return 0;
		list += digits + 1;
	}
	return ri_reading_number(reading, RI_FACT_NODE_RANK, "RANK", &rank) &&
			ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
			size % here == 0 && rank < size / here
		? size / here : 0;
}

/*
 * The variable that counts the nodes of which NODE_RANK is one, or NULL. Counts that differ,
 * and a place that is none of them, are left-overs.
 */
static const char *find_node_count(const struct ri_reading *reading)
{
	static const char *const names[] = { "NUM_NODES", "NNODES", "NODE_COUNT" };
	const struct ri_env *env = reading->context->env;
	const char *found = NULL;
	uint64_t place, nodes = 0, other;

	if (reading->identity != NULL || !ri_source_sees_text(env, "MASTER_ADDR") ||
		!ri_reading_number(reading, RI_FACT_NODE_RANK, "NODE_RANK", &place))
		return NULL;
	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++) {
		if (!ri_source_sees_text(env, names[i]))
			continue;
		if (!ri_reading_number(reading, RI_FACT_NNODES, names[i], &other) ||
			(found != NULL && other != nodes))
			return NULL;
		nodes = other;
		if (found == NULL)
			found = names[i];
	}
	return place < nodes ? found : NULL;
}

/*
 * Do RANK and WORLD_SIZE count nodes, though LOCAL_RANK and LOCAL_WORLD_SIZE stand beside them? Of
 * Spur's nodes, whose NPROC_PER_NODE says how many processes each shall start.
 */
static bool counts_nodes(const struct ri_reading *reading)
{
	uint64_t rank, size, node, local, here, asked, nodes;

	if (reading->identity != NULL ||
		!ri_reading_number(reading, RI_FACT_RANK, "RANK", &rank) ||
		!ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) ||
		!ri_reading_number(reading, RI_FACT_NODE_RANK, "NODE_RANK", &node) ||
		!ri_reading_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK", &local) ||
		!ri_reading_number(reading, RI_FACT_NPROC, "LOCAL_WORLD_SIZE", &here) ||
		!ri_reading_number(reading, RI_FACT_NPROC, "NPROC_PER_NODE", &asked) ||
		rank != node || rank >= size || local != 0 || here != asked || here < 2)
		return false;
	/* as ranks there would be fewer than this node has; or the platform counts the nodes */
	return size < here || (ri_reading_number(reading, RI_FACT_NNODES, "SPUR_NNODES", &nodes) &&
		nodes == size);
}

/* Has the one variable the other's value? */
static bool is_copy(const struct ri_env *env, const char *variable, const char *of)
{
	const char *value = ri_env_get(env, variable), *other = ri_env_get(env, of);

	return value != NULL && other != NULL && strcmp(value, other) == 0;
}

/*
 * Enroot's hook makes the three of Slurm's variables in each container, also in that of the batch
 * script: there it is no rank, since srun has started no task.
 */
static bool is_of_script(const struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	uint64_t size;

	if (!ri_source_sees(env, "SLURM_JOB_ID") || !ri_source_sees(env, "PYTORCH_VERSION") ||
		ri_source_sees_slurm_task(env) || !is_copy(env, "RANK", "SLURM_PROCID") ||
		!is_copy(env, "WORLD_SIZE", "SLURM_NTASKS") ||
		!is_copy(env, "LOCAL_RANK", "SLURM_LOCALID") ||
		!ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) || size < 2)
		return false;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_ENV_IGNORED, "RANK",
		"is not used: a hook of the container made it of SLURM_PROCID, but this is the "
		"batch script, and srun has started no task"),
		"start the ranks: srun --ntasks=%" PRIu64 " rankinit -- COMMAND; a program that "
		"starts its ranks itself needs RANK, WORLD_SIZE and LOCAL_RANK unset", size);
	return true;
}

/*
 * RANK is the node's. nproc is the variable that counts its ranks; NULL: none does, and the
 * command may be the one rank.
 */
static void claim_node(struct ri_reading *reading, const char *nproc)
{
	const struct ri_command *command = reading->context->command;
	/* is the command its node's one rank? a shell or a script may well start a launcher */
	bool one_rank = reading->context->fan_out == 0 && command->mode == RI_MODE_PROCESS &&
		(command->is_python || command->stated);

	ri_claim_number(reading, RI_FACT_NODE_RANK, "RANK");
	ri_claim_number(reading, RI_FACT_NNODES, "WORLD_SIZE");
	if (nproc != NULL) {
		ri_claim_number(reading, RI_FACT_NPROC, nproc);
	} else if (one_rank) {
		ri_claim_number(reading, RI_FACT_RANK, "RANK");
		ri_claim_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE");
		ri_claim_value(reading, RI_FACT_LOCAL_RANK, "RANK", 0);
		ri_claim_value(reading, RI_FACT_LOCAL_WORLD_SIZE, "RANK", 1);
	}
}

static void read_env(struct ri_reading *reading)
{
	static const struct {
		enum ri_fact_id id;
		const char *variable;
	} tuple[] = {
		{ RI_FACT_RANK, "RANK" }, { RI_FACT_WORLD_SIZE, "WORLD_SIZE" },
		{ RI_FACT_LOCAL_RANK, "LOCAL_RANK" },
	};
	const struct ri_env *env = reading->context->env;
	uint64_t nodes, rank, size;
	const char *count;

	if (is_taken(reading, RI_FACT_RANK))
		return;
	ri_claim_weigh(ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_ADDR"),
		RI_STRENGTH_STATED);
	ri_claim_weigh(ri_claim_filled(reading, RI_FACT_MASTER_PORT, "MASTER_PORT"),
		RI_STRENGTH_STATED);
	if (is_taken(reading, RI_FACT_NODE_RANK))
		return;
	nodes = count_of_devices(reading);
	if (nodes > 0) {
		ri_claim_number(reading, RI_FACT_NODE_RANK, "RANK");
		ri_claim_value(reading, RI_FACT_NNODES, "WORLD_SIZE", nodes);
		ri_claim_number(reading, RI_FACT_NPROC, "LOCAL_WORLD_SIZE");
		return;
	}
	if (counts_nodes(reading)) {
		claim_node(reading, "NPROC_PER_NODE");
		return;
	}
	if (is_of_script(reading))
		return;
	/* Without LOCAL_RANK they may count nodes. */
	if (ri_source_sees_text(env, "LOCAL_RANK") &&
		(ri_source_sees_text(env, "RANK") || ri_source_sees_text(env, "WORLD_SIZE"))) {
		for (size_t i = 0; i < RI_ARRAY_SIZE(tuple); i++)
			ri_claim_number(reading, tuple[i].id, tuple[i].variable);
		ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_WORLD_SIZE");
		ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK");
		return;
	}
	if (may_be_of_node(reading, &rank, &size) &&
		ri_reading_number(reading, RI_FACT_NPROC, "NPROC_PER_NODE", &nodes)) {
		claim_node(reading, "NPROC_PER_NODE");
		return;
	}
	count = find_node_count(reading);
	if (count != NULL) {
		ri_claim_number(reading, RI_FACT_NODE_RANK, "NODE_RANK");
		ri_claim_number(reading, RI_FACT_NNODES, count);
		ri_claim_gpus(reading, RI_FACT_NPROC, "NUM_TRAINERS");
	} else if (is_of_pod(reading)) {
		claim_node(reading, NULL);
		return;
	}
	/* No identity, but a number that is none is worth a warning. */
	for (size_t i = 0; i < RI_ARRAY_SIZE(tuple); i++)
		if (!ri_reading_number(reading, tuple[i].id, tuple[i].variable, &nodes))
			ri_claim_filled(reading, tuple[i].id, tuple[i].variable);
}

const struct ri_source ri_source_env = {
	.name = "env",
	.summary = "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or NODE_RANK and "
		"NUM_NODES, if already set",
	.identity = RI_SCOPE_PROCESS | RI_SCOPE_NODE,
	.unsigned_tuple = true,
	.of_container = true,
	.traits = RI_TRAIT_ANYBODYS,
	.reads = RI_READS(
		RI_QUARTET_READS(RI_ONE_SEEN),
		{ "NODE_RANK", "index of this node", .value = "<node>",
		  .cite = "Lightning src/lightning/fabric/plugins/environments/lightning.py; "
		  "Composer composer/cli/launcher.py; " RUNPOD },
		{ "NUM_NODES", "nodes, if NODE_RANK and MASTER_ADDR are set", .cite = RUNPOD },
		{ "NNODES", "the same",
		  .cite = "docs.nvidia.com/dgx-cloud/lepton, Batch Jobs, Templates" },
		{ "NODE_COUNT", "the same", .cite = "Azure ML, Distributed GPU training guide" },
		{ "NUM_TRAINERS", "processes to start on each node, beside those", .cite = RUNPOD },
		{ "NPROC_PER_NODE",
		  "processes to start; if it is set and LOCAL_RANK is not, RANK and WORLD_SIZE "
		  "count nodes", .cite = "Alibaba Cloud PAI-DLC, General environment variables" },
		{ "LOCAL_RANK", "a list, as 0,1: the pod's devices, beside its RANK",
		  .cite = ASCEND },
		{ "SPUR_NNODES", "nodes; as many as WORLD_SIZE: that counts nodes", .cite = SPUR },
		{ "PYTORCH_VERSION",
		  "a container of Enroot's: in a batch script of Slurm RANK is none",
		  .cite = HOOK },
		{ "KUBERNETES_SERVICE_HOST",
		  "a pod: if LOCAL_RANK is not set, RANK and WORLD_SIZE of 2 or more count the "
		  "pods of a PyTorchJob",
		  .cite = OPERATOR "; kubernetes.io/docs/concepts/services-networking/service" }),
	/* Composer ends the processes of its own node; what the others do is not known. */
	RI_SHAPES(
		{ RI_SHAPE_OF(env, PROCESS),
		  .summary = "Composer or another launcher starts each process",
		  .grace_s = 30,
		  .goes_on = true, RI_CITE("Composer composer/cli/launcher.py, CLEANUP_TIMEOUT") },
		{ .name = "env_nodes", .summary = "PAI-DLC or AIHC starts a container on each node",
		  .scope = RI_SCOPE_NODE, .port = 23456, .grace_s = 30,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "RANK", "<node>" },
			{ "WORLD_SIZE", "<nodes>" },
			{ "NPROC_PER_NODE", "<ranks>" }),
		  RI_CITE("Alibaba Cloud PAI-DLC, General environment variables; " RI_SHAPE_POD) },
		{ .name = "env_pytorchjob",
		  .summary = "a PyTorchJob without PET_ variables starts a pod for each node",
		  .scope = RI_SCOPE_NODE, .port = 23456, .grace_s = 30,
		  .beside = ri_shape_states_master,
		  /*
		   * The first pod would be told localhost. On one machine that is another address
		   * than the one that the others are told.
		   */
		  .rows = RI_SHAPE_ROWS(
			{ "KUBERNETES_SERVICE_HOST", "10.96.0.1" },
			{ "RANK", "<node>" },
			{ "WORLD_SIZE", "<nodes>" }),
		  .goes_on = true,
		  .succeeded = "Succeeded", .failed = "Failed", .stopped = "Failed",
		  RI_CITE("Kubeflow pytorch-operator pkg/apis/pytorch/v1/defaults.go, types.go; "
			RI_SHAPE_POD) },
		{ .name = "env_runpod",
		  .summary = "RunPod or Mithril starts a container on each node",
		  .scope = RI_SCOPE_NODE, .port = 29400, .grace_s = 10,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "NODE_RANK", "<node>" },
			{ "NUM_NODES", "<nodes>" },
			{ "NUM_TRAINERS", "<ranks>" },
			{ "WORLD_SIZE", "<world_size>" }),
		  .goes_on = true, RI_CITE(RUNPOD) }),
	.read = read_env,
};

/*
 * Source "pid1": the environment of this container's first process. mpirun
 * starts ranks over ssh, and sshd drops what the container was given; the
 * rank then knows itself, but not where rank 0 listens.
 *
 * Only the rendezvous is taken. What process 1 says of itself is about
 * another process.
 */

#define ENVIRON "/proc/1/environ"

/* Whether there is a rank that came over ssh shows only when it is read. */
static bool sees_ranks_over_ssh(const struct ri_env *env)
{
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		if ((*at)->over_ssh && ri_source_is_seen(*at, env))
			return true;
	return false;
}

/* What the file holds, cut into strings, which end in '\0' each. */
static char **read_strings(struct ri_reading *reading)
{
	char *bytes = ri_reading_allocate(reading, RI_MAX_FILE, 1);
	long length = bytes == NULL ? 0
		: ri_host_read(reading->context->host, ENVIRON, bytes, RI_MAX_FILE);
	size_t count = 0;
	char **strings;

	/* Of another user, hidden, too long: then it gives no facts. */
	if (length <= 0)
		return NULL;
	for (long i = 0; i < length; i++)
		count += bytes[i] == '\0';
	strings = ri_reading_allocate(reading, count + 2, sizeof(*strings));
	if (strings == NULL)
		return NULL;
	count = 0;
	for (char *at = bytes; at < bytes + length; at += strlen(at) + 1)
		strings[count++] = at;
	return strings;
}

static void read_pid1(struct ri_reading *reading)
{
	static const enum ri_fact_id taken[] = {
		RI_FACT_MASTER_ADDR, RI_FACT_MASTER_PORT, RI_FACT_HOSTS,
	};
	struct ri_context context = *reading->context;
	struct ri_reading other = {
		.context = &context, .source = reading->source, .err = reading->err,
		.identity = reading->identity,
	};
	const struct ri_fact *master = reading->claims[RI_FACT_MASTER_ADDR];
	struct ri_env env;
	char **strings;

	/* Has anybody but mpirun itself, which can only guess, said who the master is? */
	while (master != NULL && (master->state != RI_STATE_KNOWN ||
		master->strength == RI_STRENGTH_DEFAULT))
		master = master->next;
	if (master != NULL || context.host == NULL || reading->identity == NULL ||
		!reading->identity->over_ssh || ri_identity_is_on_one_node(reading) ||
		ri_host_proc(context.host) != RI_PROC_OURS)
		return;
	strings = read_strings(reading);
	if (strings == NULL || ri_env_init(&env, strings, context.arena, reading->err) < 0)
		return;
	context.env = &env;
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		if ((*at)->of_container && ri_source_is_seen(*at, &env))
			ri_source_read(*at, &other);
	for (size_t i = 0; i < RI_ARRAY_SIZE(taken); i++) {
		struct ri_fact **end = &reading->claims[taken[i]];

		while (*end != NULL)
			end = &(*end)->next;
		*end = other.claims[taken[i]];
		for (; *end != NULL; end = &(*end)->next)
			reading->claim_count++;
	}
}

const struct ri_source ri_source_pid1 = {
	.name = "pid1",
	.summary = "the master of an MPI job, from the environment of process 1",
	.reads = RI_READS(
		{ ENVIRON,
		  "what the container was given: variables that name the master or the nodes, "
		  "such as MASTER_ADDR, LWS_LEADER_ADDRESS and AZ_BATCH_MASTER_NODE",
		  .cite = "proc(5)" }),
	.detect = sees_ranks_over_ssh,
	.read = read_pid1,
};
