/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rules.h"

#include <inttypes.h>

#include "base/text.h"

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

/* What an option states never gives way silently; what is found gives way to it. */
static bool is_stated(const struct ri_topology *topology, const struct rule *rule)
{
	return topology->facts[rule->fact].strength == RI_STRENGTH_MANUAL;
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

int ri_rules_check(struct ri_topology *topology, const struct ri_context *context,
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
		if (is_stated(topology, rule))
			return ri_fail(err, RI_CODE_OPTION_CONFLICT, subject, "%s", text.bytes);
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, rule->code, subject,
			"%s; %s is not used", text.bytes, ri_fact_name(rule->fact));
		topology->facts[rule->fact].state = RI_STATE_BROKEN;
	}
	return 0;
}
