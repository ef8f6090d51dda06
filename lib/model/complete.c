/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the facts that were read. */
#include <inttypes.h>

#include "model/rules.h"
#include "model/topology.h"
#include "model/wishes.h"

enum {
	/*
	 * torchrun's static default, and what most scripts write (PyTorch,
	 * torch/distributed/run.py, --master-port).
	 */
	DEFAULT_PORT = 29500,
};

/* The identity's tuple: known by the time that anything is derived. */
static uint64_t of(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].number;
}

/* A candidate that was said, but in a way that cannot be used; or NULL. */
static const struct ri_fact *find_broken(const struct ri_fact *fact)
{
	const struct ri_fact *lost = fact->next;

	while (lost != NULL && lost->state != RI_STATE_BROKEN)
		lost = lost->next;
	return lost;
}

static void derive_nnodes(struct ri_topology *topology)
{
	uint64_t local, hosts;

	if (ri_topology_knows(topology, RI_FACT_NNODES))
		return;
	if (topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) &&
		local == of(topology, RI_FACT_WORLD_SIZE))
		ri_topology_derive(topology, RI_FACT_NNODES, 1,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	else if (ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
}

/* How many ranks each node has if all have the same; 0 where that is open. */
static uint64_t share(const struct ri_topology *topology, unsigned *from)
{
	uint64_t size = of(topology, RI_FACT_WORLD_SIZE), nodes, node;
	uint64_t below = of(topology, RI_FACT_RANK) - of(topology, RI_FACT_LOCAL_RANK);

	*from = RI_FROM(WORLD_SIZE) | RI_FROM(NNODES);
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		return size % nodes == 0 ? size / nodes : 0;
	*from = RI_FROM(RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(NODE_RANK);
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) || node == 0 || below < node)
		return 0;
	return below % node == 0 && size % (below / node) == 0 ? below / node : 0;
}

/*
 * Why the fact is not what somebody said: "slurm does not say " and what, or
 * what became of what was said.
 */
static void explain_lack(const struct ri_topology *topology, enum ri_fact_id id,
	const char *what, struct ri_text *out)
{
	const struct ri_fact *fact = &topology->facts[id];

	if (fact->state == RI_STATE_OPEN)
		ri_text_add(out, fact->reason);
	else if (fact->state == RI_STATE_BROKEN)
		ri_text_addf(out, "%s is not used", ri_topology_subject(topology, id));
	else
		ri_text_addf(out, "%s does not say %s", topology->identity, what);
}

/*
 * Some launchers do not say how many ranks this node has. The nodes are taken
 * for equally filled, in order, where that is what the other facts are like.
 */
static void derive_local_size(struct ri_topology *topology, struct ri_findings *findings)
{
	uint64_t rank = of(topology, RI_FACT_RANK), size = of(topology, RI_FACT_WORLD_SIZE);
	char bytes[160];
	struct ri_text lack;
	uint64_t local, node;
	unsigned from;

	if (ri_topology_knows(topology, RI_FACT_LOCAL_WORLD_SIZE) ||
		rank < of(topology, RI_FACT_LOCAL_RANK))
		return;
	if (size == 1) {
		ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(WORLD_SIZE));
		return;
	}
	local = share(topology, &from);
	if (local == 0 || rank % local != of(topology, RI_FACT_LOCAL_RANK) ||
		(ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && rank / local != node))
		return;
	ri_text_init(&lack, bytes, sizeof(bytes));
	explain_lack(topology, RI_FACT_LOCAL_WORLD_SIZE, "how many ranks this node has", &lack);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, local, from);
	ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_LOCAL_SIZE_ASSUMED,
		"LOCAL_WORLD_SIZE", "%s: %" PRIu64 " rests on every node having as many", bytes,
		local);
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES, size / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
}

/* Does nothing that is known speak against equally filled nodes, in order? */
static bool may_be_even(const struct ri_topology *topology)
{
	uint64_t local, nodes;

	/* Evidence that does not decide, or a node count that broke a rule. */
	if (!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) ||
		topology->facts[RI_FACT_NODE_RANK].state == RI_STATE_OPEN ||
		topology->facts[RI_FACT_NNODES].state == RI_STATE_BROKEN)
		return false;
	if (of(topology, RI_FACT_WORLD_SIZE) % local != 0 ||
		of(topology, RI_FACT_RANK) % local != of(topology, RI_FACT_LOCAL_RANK))
		return false;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) &&
		nodes != of(topology, RI_FACT_WORLD_SIZE) / local)
		return false;
	return !ri_topology_get(topology, RI_FACT_HOSTS, &nodes) ||
		nodes == of(topology, RI_FACT_WORLD_SIZE) / local;
}

static void assume_even(struct ri_topology *topology, struct ri_findings *findings)
{
	uint64_t local = of(topology, RI_FACT_LOCAL_WORLD_SIZE);
	struct ri_finding *finding;
	char bytes[160];
	struct ri_text lack;

	ri_text_init(&lack, bytes, sizeof(bytes));
	explain_lack(topology, RI_FACT_NODE_RANK, "which node this is", &lack);
	ri_topology_derive(topology, RI_FACT_NODE_RANK, of(topology, RI_FACT_RANK) / local,
		RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES,
			of(topology, RI_FACT_WORLD_SIZE) / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	finding = ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_NODE_RANK_ASSUMED,
		"NODE_RANK", "%s: %" PRIu64 " rests on every node having %" PRIu64
		" ranks, in order", bytes, of(topology, RI_FACT_NODE_RANK), local);
	ri_finding_hint(finding, "this is wrong for uneven or round-robin placement");
}

static void derive_node_rank(struct ri_topology *topology, struct ri_findings *findings)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_NODE_RANK];
	uint64_t nodes;

	if (fact->state == RI_STATE_KNOWN)
		return;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1)
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	else if (may_be_even(topology))
		assume_even(topology, findings);
	else if (of(topology, RI_FACT_RANK) == of(topology, RI_FACT_LOCAL_RANK))
		/* All ranks below this one are here, rank 0 among them. */
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0,
			RI_FROM(RANK) | RI_FROM(LOCAL_RANK));
	else
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_NODE_RANK_ABSENT,
			"NODE_RANK", "nothing tells for certain which node this is%s%s",
			fact->state == RI_STATE_OPEN ? ": " : "",
			fact->state == RI_STATE_OPEN ? fact->reason : "");
}

/*
 * Is it that of nodes which the user has left out, by an option that says one?
 * The hosts have given way to it by then.
 */
static bool is_of_other_nodes(const struct ri_topology *topology, const struct ri_fact *master)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	return nodes->strength == RI_STRENGTH_MANUAL && nodes->number == 1 &&
		topology->facts[RI_FACT_HOSTS].state == RI_STATE_BROKEN &&
		master->strength < RI_STRENGTH_STATED;
}

static void derive_master(struct ri_topology *topology, struct ri_findings *findings)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR];
	struct ri_finding *finding;
	uint64_t nodes;

	if (fact->state == RI_STATE_KNOWN && !is_of_other_nodes(topology, fact))
		return;
	if (ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1) {
		if (fact->state == RI_STATE_OPEN && fact->text != NULL) {
			/* The node itself, for any node: here that is the one. */
			fact->state = RI_STATE_KNOWN;
			return;
		}
		ri_topology_derive(topology, RI_FACT_MASTER_ADDR, 0, RI_FROM(NNODES));
		fact->text = "127.0.0.1";
	} else if (find_broken(fact) == NULL) {
		/* A broken one is worse than none: whoever read it refuses. */
		finding = ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_MASTER_ABSENT,
			"MASTER_ADDR", "nothing tells where rank 0 of this job runs%s%s",
			fact->state == RI_STATE_OPEN ? ": " : "",
			fact->state == RI_STATE_OPEN ? fact->reason : "");
		ri_finding_hint(finding, "set MASTER_ADDR to that host, the same on all ranks");
	}
}

static void derive_port(struct ri_topology *topology)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_PORT];

	if (fact->state == RI_STATE_KNOWN)
		return;
	ri_topology_derive(topology, RI_FACT_MASTER_PORT, DEFAULT_PORT, 0);
	fact->origin.source = "default";
}

/* A rank by hand is no node's, and must not be taken for one. */
static int refuse_stated_ranks(const struct ri_wishes *wishes, struct ri_error *err)
{
	for (enum ri_fact_id id = RI_FACT_RANK; wishes != NULL && id <= RI_FACT_LOCAL_WORLD_SIZE;
		id++) {
		if (wishes->facts[id].value == NULL)
			continue;
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->facts[id].subject,
			"%s starts the ranks here, so theirs follow from the node's",
			wishes->nproc.subject);
		return ri_fail_hint(err, "state --node-rank and --nnodes instead");
	}
	return 0;
}

/* Does the variable hold a number of at least min? */
static bool holds(const struct ri_context *context, const char *variable, uint64_t min)
{
	const struct ri_range range = { min, RI_MAX_RANKS };
	const char *value = ri_env_get(context->env, variable);
	uint64_t number;

	return value != NULL && ri_number_read(value, range, &number, NULL) == RI_NUMBER_OK;
}

static int refuse_variable(const char *variable, const char *text, struct ri_error *err)
{
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, variable, "%s", text);
	return ri_fail_hint(err, "state --node-rank and --nnodes; of one node alone, --nnodes=1");
}

/* Each of the ranks would take itself for that one process, or for a job of its own. */
static int refuse_beside(const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	if (!ri_topology_is_beside(topology))
		return 0;
	ri_fail(err, RI_CODE_LAUNCH_ROLE, ri_topology_subject(topology, RI_FACT_ROLE),
		"%s asks for %" PRIu64 " ranks, but this is the task \"%s\" %" PRIu64
		", one process without a rank", context->wishes->nproc.subject,
		context->fan_out, role->text, role->number);
	return ri_fail_hint(err, "leave %s out here; for a job of this node alone, --nnodes=1",
		context->wishes->nproc.subject);
}

/*
 * What speaks of other nodes, though no source makes a place among them out of
 * it: each node would start a job of its own. RANK without LOCAL_RANK may well
 * be a node's.
 */
static int refuse_signs_of_nodes(const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err)
{
	const struct ri_fact *said = topology->facts[RI_FACT_NODE_RANK].next;

	if (holds(context, "WORLD_SIZE", 2) && holds(context, "RANK", 0))
		return refuse_variable("RANK", "it may be that of a node or of a process, as "
			"there is no LOCAL_RANK, and WORLD_SIZE is more than 1", err);
	if (holds(context, "NODE_RANK", 1))
		return refuse_variable("NODE_RANK", "nothing says of how many nodes", err);
	if (holds(context, "NNODES", 2))
		return refuse_variable("NNODES", "nothing says which of them this is", err);
	for (; said != NULL; said = said->next)
		if (said->state == RI_STATE_KNOWN && said->number > 0)
			return refuse_variable(said->origin.variable == NULL
					? ri_fact_name(RI_FACT_NODE_RANK)
					: said->origin.variable,
				"this is not the first node, but nothing says of how many", err);
	return 0;
}

/* Nothing usable says how many nodes there are: one, unless something speaks against it. */
static int assume_one_node(struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *broken = find_broken(&topology->facts[RI_FACT_NNODES]);
	uint64_t node;

	if (broken == NULL)
		broken = find_broken(&topology->facts[RI_FACT_HOSTS]);
	/* of an option's value others say more */
	if (broken != NULL && broken->strength != RI_STRENGTH_MANUAL) {
		ri_fail(err, RI_CODE_ENV_VALUE, broken->origin.variable,
			"its value cannot be used, so nothing says how many nodes there are");
		return ri_fail_hint(err, "put it right where the job is started, or state "
					 "--nnodes");
	}
	if (ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && node > 0) {
		ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE,
			ri_topology_subject(topology, RI_FACT_NODE_RANK),
			"this is node %" PRIu64 ", but nothing says of how many", node);
		return ri_fail_hint(err, "state --nnodes");
	}
	ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
	topology->facts[RI_FACT_NNODES].origin.source = "default";
	return 0;
}

static int find_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	uint64_t nodes, hosts;

	if (!ri_topology_knows(topology, RI_FACT_NNODES) &&
		ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		return refuse_beside(topology, context, err) < 0 ||
				refuse_signs_of_nodes(topology, context, err) < 0
			? -1
			: assume_one_node(topology, err);
	if (nodes == 1 || ri_topology_knows(topology, RI_FACT_NODE_RANK))
		return 0;
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, ri_topology_subject(topology, RI_FACT_NNODES),
		"there are %" PRIu64 " nodes, but nothing says which of them this is", nodes);
	return ri_fail_hint(err, "state --node-rank; of one node alone, --nnodes=1");
}

int ri_topology_adopt_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	if (refuse_stated_ranks(context->wishes, err) < 0 ||
		find_node(topology, context, err) < 0)
		return -1;
	if (!ri_topology_knows(topology, RI_FACT_NODE_RANK))
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_RANK, of(topology, RI_FACT_NODE_RANK),
		RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, of(topology, RI_FACT_NNODES),
		RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(NNODES));
	return 0;
}

int ri_topology_complete(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	/* Twice: what is dropped may be derived, and what is derived must hold. */
	if (ri_rules_check(topology, context, err) < 0)
		return -1;
	derive_nnodes(topology);
	if (topology->scope == RI_SCOPE_PROCESS) {
		derive_local_size(topology, context->findings);
		derive_nnodes(topology);
	}
	if (ri_rules_check(topology, context, err) < 0)
		return -1;
	if (topology->scope == RI_SCOPE_PROCESS)
		derive_node_rank(topology, context->findings);
	derive_master(topology, context->findings);
	derive_port(topology);
	return 0;
}
