/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold between the facts; and how many nodes there are, and ranks on this
 * one, where that follows.
 */
#include <inttypes.h>

#include "base/text.h"
#include "model/derive.h"

struct rule {
	enum ri_code code;
	enum ri_fact_id fact;
	enum ri_fact_id other;
	bool (*holds)(const struct ri_topology *topology, uint64_t value, uint64_t other);
	const char *words;
};

static bool below(const struct ri_topology *topology, uint64_t value, uint64_t other)
{
	(void)topology;
	return value < other;
}

static bool at_most(const struct ri_topology *topology, uint64_t value, uint64_t other)
{
	(void)topology;
	return value <= other;
}

static bool equal(const struct ri_topology *topology, uint64_t value, uint64_t other)
{
	(void)topology;
	return value == other;
}

static bool leaves_each_node_a_rank(
	const struct ri_topology *topology, uint64_t value, uint64_t other)
{
	uint64_t local, elsewhere;

	if (!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local))
		return value <= other;
	if (local > other)
		return true;
	elsewhere = other - local;
	return value - 1 <= elsewhere && (value == 1) == (elsewhere == 0);
}

static const struct rule rules[] = {
#define RI_RULE(code_, fact_, other_, holds_, words_) \
	{ .code = RI_CODE_##code_, .fact = RI_FACT_##fact_, .other = RI_FACT_##other_, \
	  .holds = holds_, .words = words_ },
#include "model/rules.def"
#undef RI_RULE
};

static bool is_broken(const struct ri_topology *topology, const struct rule *rule)
{
	uint64_t value, other;

	return ri_topology_get(topology, rule->fact, &value) &&
		ri_topology_get(topology, rule->other, &other) &&
		!rule->holds(topology, value, other);
}

/* Without what the identity is made of there is none. */
static bool is_fatal(const struct ri_topology *topology, const struct rule *rule)
{
	if (topology->scope == RI_SCOPE_NODE)
		return rule->fact == RI_FACT_NODE_RANK;
	return ri_fact_group(rule->fact) == RI_GROUP_TUPLE &&
		ri_fact_group(rule->other) == RI_GROUP_TUPLE;
}

/* "rank is 16 (OMPI_COMM_WORLD_RANK)" */
static void describe(const struct ri_topology *topology, enum ri_fact_id id, struct ri_text *out)
{
	ri_text_addf(out, "%s is %" PRIu64, ri_fact_name(id), topology->facts[id].number);
	if (topology->facts[id].origin.variable != NULL)
		ri_text_addf(out, " (%s)", topology->facts[id].origin.variable);
}

/*
 * Hold the facts against rules.def. A broken rule within the tuple is an
 * error; elsewhere the first fact of the rule becomes absent, with a finding.
 */
static int check(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		const char *subject = ri_topology_subject(topology, rule->fact);
		char bytes[256];
		struct ri_text text;

		if (!is_broken(topology, rule))
			continue;
		ri_text_init(&text, bytes, sizeof(bytes));
		describe(topology, rule->fact, &text);
		ri_text_add(&text, " and ");
		describe(topology, rule->other, &text);
		ri_text_addf(&text, ", but %s", rule->words);
		if (is_fatal(topology, rule))
			return ri_fail(err, rule->code, subject, "%s", text.bytes);
		/* what an option states never gives way silently; what is found gives way to it */
		if (topology->facts[rule->fact].strength == RI_STRENGTH_MANUAL)
			return ri_fail(err, RI_CODE_OPTION_CONFLICT, subject, "%s", text.bytes);
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, rule->code, subject,
			"%s; %s is not used", text.bytes, ri_fact_name(rule->fact));
		topology->facts[rule->fact].state = RI_STATE_BROKEN;
	}
	return 0;
}

/* The identity's tuple: known by the time that anything is derived. */
static uint64_t of(const struct ri_topology *topology, enum ri_fact_id id)
{
	return topology->facts[id].number;
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
 * Some launchers do not say how many ranks this node has. The nodes are taken
 * for equally filled, in order, where that is what the other facts are like.
 */
static void derive_local_size(struct ri_topology *topology, const struct ri_context *context)
{
	uint64_t rank = of(topology, RI_FACT_RANK), size = of(topology, RI_FACT_WORLD_SIZE);
	char bytes[160];
	struct ri_text missing;
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
	ri_text_init(&missing, bytes, sizeof(bytes));
	ri_topology_explain_missing(topology, RI_FACT_LOCAL_WORLD_SIZE,
		"the number of ranks on this node", &missing);
	ri_topology_derive(topology, RI_FACT_LOCAL_WORLD_SIZE, local, from);
	/* where ranks are started here there are as many as was asked for */
	if (context->fan_out == 0)
		ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_LOCAL_SIZE_ASSUMED,
			"LOCAL_WORLD_SIZE", "%s: %" PRIu64 " is right if every node has as many",
			bytes, local);
	if (!ri_topology_knows(topology, RI_FACT_NNODES))
		ri_topology_derive(topology, RI_FACT_NNODES, size / local,
			RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
}

int ri_topology_count(struct ri_topology *topology, const struct ri_context *context,
	struct ri_error *err)
{
	/* Twice: what is dropped may be derived, and what is derived must hold. */
	if (check(topology, context, err) < 0)
		return -1;
	derive_nnodes(topology);
	if (topology->scope == RI_SCOPE_PROCESS) {
		derive_local_size(topology, context);
		derive_nnodes(topology);
	}
	return check(topology, context, err);
}
