/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command makes of who we are: a launcher's node, or the ranks that are started here.
 * For these a node without a rank is taken for a job's one process on it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "model/context.h"

static bool get(const struct ri_context *context, const char *variable, uint64_t *out)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };
	const char *value = ri_env_get(context->env, variable);

	return value != NULL && ri_number_read(value, range, out, NULL) == RI_NUMBER_OK;
}

/* Does a variable say that rank 0 is on another machine, or may be? */
static bool names_master(const struct ri_context *context)
{
	const char *value = ri_env_get(context->env, "MASTER_ADDR");

	return value != NULL && value[0] != '\0' && !ri_is_service_link(value) &&
		!ri_loopback_is(value, strlen(value));
}

/*
 * WORLD_SIZE by itself may be anybody's; with a rank or a master it counts others. Beside a
 * rank it may count as many as are started here: a left-over of this machine.
 */
static bool counts_others(const struct ri_context *context, uint64_t here)
{
	uint64_t rank, world;
	bool ranked = get(context, "RANK", &rank);

	if (!get(context, "WORLD_SIZE", &world) || world < 2)
		return false;
	if (ranked && rank < world && (rank > 0 || (here > 0 && world != here)))
		return true;
	return here > 0 && world > here && (ranked || names_master(context));
}

static void add(struct ri_text *out, const char **first, const struct ri_context *context,
	const char *variable)
{
	ri_text_addf(out, "%s%s=%s", *first == NULL ? "" : ", ", variable,
		ri_env_get(context->env, variable));
	if (*first == NULL)
		*first = variable;
}

/*
 * Add those variables that speak of other nodes, "NODE_RANK=1, NNODES=2", where here ranks
 * are about to start on this one; 0: not known. Returns the first one's name, NULL for none.
 * A launcher of ranks that is not told of them makes each node a job of its own.
 */
static const char *find_signs(const struct ri_context *context, uint64_t here, struct ri_text *out)
{
	static const struct { const char *name; uint64_t least; } signs[] = {
		{ "NODE_RANK", 1 }, { "NNODES", 2 }, { "NUM_NODES", 2 }, { "NODE_COUNT", 2 },
	};
	const char *first = NULL;
	uint64_t number, place;
	/* the names beside NNODES are not those of a launch alone: a graph has nodes, too */
	bool of_launch = get(context, "NODE_RANK", &place) || names_master(context);

	for (size_t i = 0; i < RI_ARRAY_SIZE(signs); i++)
		if (get(context, signs[i].name, &number) && number >= signs[i].least &&
			(of_launch || strcmp(signs[i].name, "NNODES") == 0))
			add(out, &first, context, signs[i].name);
	if (first != NULL || !counts_others(context, here))
		return first;
	add(out, &first, context, "WORLD_SIZE");
	if (get(context, "RANK", &number))
		add(out, &first, context, "RANK");
	return first;
}

static int refuse_variable(const char *variable, const char *text, struct ri_error *err)
{
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, variable, "%s", text);
	return ri_fail_hint(err, "state --node-rank and --nnodes; for a job of this node alone, "
		"--nnodes=1");
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
	uint64_t world, rank;
	RI_TEXT(text, 160);
	const char *sign;

	if (get(context, "WORLD_SIZE", &world) && world > 1 && get(context, "RANK", &rank))
		return refuse_variable("RANK", "it may be that of a node or of a process, because "
			"LOCAL_RANK is not set, and WORLD_SIZE is more than 1", err);
	ri_text_add(&text, "there are other nodes according to ");
	sign = find_signs(context, context->fan_out, &text);
	if (sign != NULL) {
		ri_text_add(&text, ", and no source tells which one this is");
		return refuse_variable(sign, text.bytes, err);
	}
	for (; said != NULL; said = said->next)
		if (said->state == RI_STATE_KNOWN && said->number > 0)
			return refuse_variable(said->origin.variable == NULL
					? ri_fact_name(RI_FACT_NODE_RANK)
					: said->origin.variable,
				"this is not the first node, but the number of nodes is "
				"unknown", err);
	return 0;
}

/* Nothing usable says how many nodes there are: one, unless something speaks against it. */
static int assume_one_node(struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *broken = ri_fact_find_broken(&topology->facts[RI_FACT_NNODES]);
	uint64_t node;

	if (broken == NULL)
		broken = ri_fact_find_broken(&topology->facts[RI_FACT_HOSTS]);
	/* of an option's value others say more */
	if (broken != NULL && broken->strength != RI_STRENGTH_MANUAL) {
		ri_fail(err, RI_CODE_ENV_VALUE, broken->origin.variable,
			"its value cannot be used, so the number of nodes is unknown");
		return ri_fail_hint(err, "correct it where the job is started, or state --nnodes");
	}
	if (ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && node > 0) {
		ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE,
			ri_topology_subject(topology, RI_FACT_NODE_RANK),
			"this is node %" PRIu64 ", but the number of nodes is unknown", node);
		return ri_fail_hint(err, "state --nnodes");
	}
	ri_topology_derive(topology, RI_FACT_NNODES, 1, 0);
	topology->facts[RI_FACT_NNODES].origin.source = "default";
	return 0;
}

static int find_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	uint64_t nodes, hosts;

	if (!ri_topology_knows(topology, RI_FACT_NNODES) &&
		ri_topology_get(topology, RI_FACT_HOSTS, &hosts))
		ri_topology_derive(topology, RI_FACT_NNODES, hosts, RI_FROM(HOSTS));
	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes)) {
		/* Each of the ranks would take itself for that one process, or for a job. */
		if (ri_topology_is_beside(topology)) {
			ri_fail(err, RI_CODE_LAUNCH_ROLE,
				ri_topology_subject(topology, RI_FACT_ROLE),
				"%s requests %" PRIu64 " ranks, but this is the task \"%s\" "
				"%" PRIu64 ", one process without a rank",
				context->wishes->nproc.subject, context->fan_out, role->text,
				role->number);
			return ri_fail_hint(err, "leave %s out here; for a job of this node alone, "
				"--nnodes=1", context->wishes->nproc.subject);
		}
		return refuse_signs_of_nodes(topology, context, err) < 0 ? -1
			: assume_one_node(topology, err);
	}
	if (nodes == 1 || ri_topology_knows(topology, RI_FACT_NODE_RANK))
		return 0;
	ri_fail(err, RI_CODE_LAUNCH_INCOMPLETE, ri_topology_subject(topology, RI_FACT_NNODES),
		"there are %" PRIu64 " nodes, but rankinit cannot tell which of them this "
			"is", nodes);
	return ri_fail_hint(err, "state --node-rank; for a job of this node alone, --nnodes=1");
}

int ri_topology_adopt_node(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_wishes *wishes = context->wishes;

	/* A rank by hand is no node's, and must not be taken for one. */
	for (enum ri_fact_id id = 0; id <= RI_FACT_LOCAL_WORLD_SIZE; id++) {
		if (wishes->facts[id].value == NULL)
			continue;
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->facts[id].subject,
			"%s starts the ranks here and numbers them from the node's index",
			wishes->nproc.subject);
		return ri_fail_hint(err, "state --node-rank and --nnodes instead");
	}
	if (find_node(topology, context, err) < 0)
		return -1;
	if (!ri_topology_knows(topology, RI_FACT_NODE_RANK))
		ri_topology_derive(topology, RI_FACT_NODE_RANK, 0, RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_RANK, topology->facts[RI_FACT_NODE_RANK].number,
		RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, topology->facts[RI_FACT_NNODES].number,
		RI_FROM(NNODES));
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(NODE_RANK));
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, 1, RI_FROM(NNODES));
	return 0;
}

/* starter: who starts all ranks of a node, "torchrun" or "--nproc-per-node". */
static int refuse(const struct ri_topology *topology, const char *starter, enum ri_fact_id id,
	struct ri_error *err)
{
	uint64_t number = topology->facts[id].number;

	ri_fail(err, RI_CODE_LAUNCH_RANKS, ri_topology_subject(topology, id),
		"%s starts all ranks of a node, but %s starts the command more than once on one "
		"node: %s is %"
		PRIu64, starter, topology->identity, ri_fact_name(id), number);
	return -1;
}

static int check_one_each(const struct ri_topology *topology, const char *starter,
	struct ri_error *err)
{
	uint64_t world, value;

	if (ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &value) && value > 1)
		return refuse(topology, starter, RI_FACT_LOCAL_WORLD_SIZE, err);
	/* Where no process is the second one of its node, each has its own. */
	if (ri_topology_get(topology, RI_FACT_LOCAL_RANK, &value) && value > 0)
		return refuse(topology, starter, RI_FACT_LOCAL_RANK, err);
	/* Here it is alone, elsewhere it cannot be. */
	if (ri_topology_get(topology, RI_FACT_NNODES, &value) &&
		ri_topology_get(topology, RI_FACT_WORLD_SIZE, &world) && value < world)
		return refuse(topology, starter, RI_FACT_NNODES, err);
	return 0;
}

/* even: where no source says it of the node, take nodes as equally filled and in order. */
static void settle(struct ri_topology *topology, enum ri_fact_id id, enum ri_fact_id from,
	bool even)
{
	const struct ri_fact *fact = &topology->facts[id];
	uint64_t number = topology->facts[from].number;
	unsigned by = 1u << from;

	if (fact->state == RI_STATE_KNOWN && fact->number == number)
		return;
	if (fact->state != RI_STATE_KNOWN && even &&
		number / topology->facts[RI_FACT_LOCAL_WORLD_SIZE].number == number)
		by |= RI_FROM(LOCAL_WORLD_SIZE);
	ri_topology_derive(topology, id, number, by);
}

/* With one process on each node, that process's rank is the node's. */
static int adapt_to_launcher(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_launcher *launcher = context->command->launcher;
	const struct ri_range counts = { 2, RI_MAX_RANKS };
	const char *nodes = NULL;
	uint64_t number;
	bool even;

	if (launcher != NULL && launcher->reads_pet)
		nodes = ri_context_told(context, "--nnodes", "PET_NNODES");
	/* unless torchrun says itself that each process is a node, by as many nodes as these */
	if ((nodes == NULL || ri_number_read(nodes, counts, &number, NULL) != RI_NUMBER_OK ||
		number != topology->facts[RI_FACT_WORLD_SIZE].number) &&
		check_one_each(topology, ri_command_name(context->command), err) < 0)
		return ri_fail_hint(err, "start one process on each node: %s; or use "
			"--launch=process", ri_topology_once(topology));
	even = !ri_topology_knows(topology, RI_FACT_NODE_RANK) &&
		ri_topology_may_be_even(topology);
	settle(topology, RI_FACT_NODE_RANK, RI_FACT_RANK, even);
	settle(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE, even);
	return 0;
}

/*
 * What the process was is what its node is from now on, with the same origin,
 * unless the user says of the node itself what it is.
 */
static void take_over(struct ri_topology *topology, enum ri_fact_id id, enum ri_fact_id from)
{
	const unsigned tuple = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
		RI_FROM(LOCAL_WORLD_SIZE);
	struct ri_fact *fact = &topology->facts[id], *old = &topology->facts[from];

	if (fact->state == RI_STATE_KNOWN &&
		(fact->strength == RI_STRENGTH_MANUAL ||
			(fact->number == old->number && (fact->origin.from & tuple) == 0)))
		return;
	fact->state = RI_STATE_KNOWN;
	fact->strength = old->strength;
	fact->number = old->number;
	fact->origin = old->origin;
}

/* The first of the ranks that are started here. */
static int fan_out(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_given *stated = &context->wishes->nproc;
	uint64_t count = context->fan_out, nodes;

	if (topology->scope == RI_SCOPE_PROCESS) {
		if (check_one_each(topology, stated->subject, err) < 0)
			return ri_fail_hint(err, "start one process on each node: %s; or leave %s "
				"out", ri_topology_once(topology), stated->subject);
		take_over(topology, RI_FACT_NODE_RANK, RI_FACT_RANK);
		take_over(topology, RI_FACT_NNODES, RI_FACT_WORLD_SIZE);
	}
	topology->scope = RI_SCOPE_PROCESS;
	nodes = topology->facts[RI_FACT_NNODES].number;
	if (nodes > RI_MAX_RANKS / count)
		return ri_fail(err, RI_CODE_OPTION_VALUE, stated->subject,
			"%" PRIu64 " ranks on each of %" PRIu64 " nodes are more than the %d that "
			"a job may have", count, nodes, RI_MAX_RANKS);
	ri_topology_derive(topology, RI_FACT_WORLD_SIZE, nodes * count,
		RI_FROM(NNODES) | RI_FROM(LOCAL_WORLD_SIZE));
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, count, 0);
	topology->facts[RI_FACT_LOCAL_WORLD_SIZE].strength = RI_STRENGTH_MANUAL;
	topology->facts[RI_FACT_LOCAL_WORLD_SIZE].origin = (struct ri_origin){
		.source = RI_BY_HAND, .variable = stated->subject, .raw = stated->value,
	};
	ri_topology_derive(topology, RI_FACT_LOCAL_RANK, 0, RI_FROM(LOCAL_WORLD_SIZE));
	ri_topology_derive(topology, RI_FACT_RANK,
		topology->facts[RI_FACT_NODE_RANK].number * count,
		RI_FROM(NODE_RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	return 0;
}

/* How many ranks it starts by all that is known; 0: not known. */
static uint64_t count_here(const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	uint64_t count;

	if (context->wishes->nproc_count != 0)
		return context->wishes->nproc_count;
	if (ri_command_ranks(command, 1, &count) || get(context, "PET_NPROC_PER_NODE", &count))
		return count;
	return ri_launcher_is_torchruns(command->launcher) &&
			!ri_command_has(command, "--nproc-per-node", NULL) &&
			ri_env_get(context->env, "PET_NPROC_PER_NODE") == NULL
		? 1 : 0;
}

/* What a source has of this node's place and does not use, and why. */
static void add_open_place(const struct ri_topology *topology, struct ri_text *out)
{
	const struct ri_fact *said = topology->facts[RI_FACT_NODE_RANK].next;

	for (; said != NULL; said = said->next)
		if (said->state == RI_STATE_OPEN && said->origin.variable != NULL)
			ri_text_addf(out, "; %s is not used: %s", said->origin.variable,
				said->reason);
}

/* "set NODE_RANK and NNODES on each node, or ": those of three that are not there. */
static void add_missing(const struct ri_context *context, struct ri_text *out)
{
	static const char *const names[] = { "NODE_RANK", "NNODES", "MASTER_ADDR" };

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (ri_env_get(context->env, names[i]) == NULL)
			ri_text_addf(out, "%s%s", out->length == 0 ? "set " : " and ", names[i]);
	ri_text_add(out, out->length == 0 ? "" : " on each node, or ");
}

/*
 * RI_CODE_LAUNCH_SPLIT, unless a source knows of nodes or of a role, an option states another
 * fact than the hosts, or the launcher is told of nodes by its own words.
 */
static int refuse_split(const struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_fact *hosts = &topology->facts[RI_FACT_HOSTS];
	const struct ri_command *command = context->command;
	RI_TEXT(text, 384);
	RI_TEXT(missing, 64);
	uint64_t here, world, nodes = 0;
	const char *subject;
	bool listed;

	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	listed = hosts->state == RI_STATE_KNOWN && hosts->strength == RI_STRENGTH_MANUAL &&
		hosts->number > 1 && nodes != 1;
	if (command->mode != RI_MODE_NODE || command->launcher == NULL ||
		ri_wishes_refuse_all(context->wishes) ||
		ri_topology_knows(topology, RI_FACT_ROLE) ||
		/* where a source knows that there are nodes a finding says what to do there */
		(!listed && (ri_wishes_subject(context->wishes) != NULL || nodes != 0 ||
			hosts->state == RI_STATE_KNOWN)) ||
		/* told by words or variables of its own, or that there are none */
		ri_meeting_is_here(command, context->env) || ri_command_tells_nodes(command) ||
		ri_meeting_is_told(command, context->env) || command->launcher->needs_no_nodes ||
		(command->launcher->reads_pet && ri_env_get(context->env, "PET_NNODES") != NULL))
		return 0;
	here = count_here(context);
	subject = listed ? hosts->origin.variable : find_signs(context, here, &text);
	if (listed)
		ri_text_addf(&text, "its %" PRIu64 " hosts, and this machine is none of them, "
			"by name or address, or more than one", hosts->number);
	if (subject == NULL) {
		/* It may be another machine's, or a left-over; torchrun overwrites it. */
		if (here > 0 && get(context, "WORLD_SIZE", &world) && world > here)
			ri_warn(context->findings, RI_CODE_ENV_DIFFERS, "WORLD_SIZE", "%" PRIu64
				" is not used: %s starts %" PRIu64
				" rank%s here and knows of no other node", world,
				command->launcher->name, here, here == 1 ? "" : "s");
		return 0;
	}
	add_open_place(topology, &text);
	add_missing(context, &missing);
	ri_fail(err, RI_CODE_LAUNCH_SPLIT, subject,
		"%s would start a job of this node alone, but there are other nodes according to "
		"%s", command->launcher->name, text.bytes);
	return ri_fail_hint(err, "%sstate --node-rank, --nnodes and --master-addr; for a job of "
		"this node alone, use %s%s", missing.bytes,
		ri_launcher_is_torchruns(command->launcher) ? command->launcher->name : "",
		ri_launcher_is_torchruns(command->launcher) ? " --nnodes=1" : "--source=none");
}

int ri_topology_adapt(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_command *command = context->command;
	const struct ri_launcher *launcher = command->launcher;

	if (topology->identity == NULL)
		return refuse_split(topology, context, err);
	if (context->fan_out != 0)
		return fan_out(topology, context, err);
	/* An identity of the node is what a launcher wants. */
	if (command->mode != RI_MODE_NODE || topology->scope == RI_SCOPE_NODE ||
		ri_meeting_is_here(command, context->env))
		return 0;
	/*
	 * A server, which takes no place or count from the environment: a node may have
	 * several, and where one spans nodes, --nnodes on its line says so.
	 */
	if (launcher != NULL && launcher->needs_no_nodes && !launcher->reads_pet &&
		!launcher->counts && !ri_command_mentions(command, "--nnodes"))
		return 0;
	return adapt_to_launcher(topology, context, err);
}

void ri_topology_go_to(struct ri_topology *topology, uint64_t local_rank)
{
	struct ri_fact *local = &topology->facts[RI_FACT_LOCAL_RANK];

	topology->facts[RI_FACT_RANK].number += local_rank - local->number;
	local->number = local_rank;
}
