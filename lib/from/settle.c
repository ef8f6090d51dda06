/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what all sources claim to one set of facts that hold together: which of
 * the claims about a fact it is, and what has to be said of those that lost.
 */
#include "from/from.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/context.h"
#include "model/topology.h"

static bool is_manual(const struct ri_fact *claim)
{
	return claim->strength == RI_STRENGTH_MANUAL;
}

static bool may_win(const struct ri_topology *topology, const struct ri_fact *claim,
	enum ri_fact_id id)
{
	enum ri_fact_group group = ri_fact_group(id);

	if (claim->state != RI_STATE_KNOWN && claim->state != RI_STATE_OPEN)
		return false;
	if (group == RI_GROUP_SHARED || group == RI_GROUP_EXTRA)
		return true;
	if (group == RI_GROUP_TUPLE && topology->scope == RI_SCOPE_NODE)
		return false;
	return claim->origin.source == topology->identity || is_manual(claim);
}

static bool is_better(const struct ri_topology *topology, enum ri_fact_id id,
	const struct ri_fact *claim, const struct ri_fact *best)
{
	const char *identity = topology->identity;

	if (best == NULL || claim->state != best->state)
		return best == NULL || claim->state == RI_STATE_KNOWN;
	if (claim->strength != best->strength)
		return claim->strength > best->strength;
	/* A node's place is one among those that its own source counts. */
	return topology->scope == RI_SCOPE_NODE && id == RI_FACT_NNODES &&
		claim->origin.source == identity && best->origin.source != identity;
}

static bool is_loopback(const struct ri_fact *master)
{
	return ri_loopback_is(master->text, strlen(master->text));
}

/* NULL: no claim may win. reachable: no loopback address, which each node has for itself. */
static struct ri_fact **find_best(const struct ri_topology *topology, struct ri_fact **claims,
	enum ri_fact_id id, bool reachable)
{
	struct ri_fact **best = NULL;

	for (struct ri_fact **at = claims; *at != NULL; at = &(*at)->next)
		if (may_win(topology, *at, id) &&
			is_better(topology, id, *at, best ? *best : NULL) &&
			!(reachable && ((*at)->state != RI_STATE_KNOWN || is_loopback(*at))))
			best = at;
	return best;
}

const struct ri_fact *ri_claims_choose(struct ri_topology *out, struct ri_fact *claims,
	enum ri_fact_id id)
{
	struct ri_fact **best = find_best(out, &claims, id, false), **other = NULL, *winner;
	const struct ri_fact *gave_way = NULL;

	/*
	 * An image's MASTER_ADDR=localhost is each of several nodes itself, and all of them
	 * would wait for each other. The source that knows the master's node is right then.
	 */
	if (best != NULL && id == RI_FACT_MASTER_ADDR && (*best)->state == RI_STATE_KNOWN &&
		(*best)->strength == RI_STRENGTH_STATED && is_loopback(*best) &&
		out->identity != NULL && (*best)->origin.source != out->identity &&
		ri_topology_is_wide(out))
		other = find_best(out, &claims, id, true);
	if (other != NULL) {
		gave_way = *best;
		best = other;
	}
	if (best != NULL) {
		winner = *best;
		*best = winner->next;
		out->facts[id] = *winner;
	}
	out->facts[id].next = claims;
	return gave_way;
}

/* Of a long value the part around its fault, since what is quoted is cut at its end. */
static void quote_fault(const struct ri_fact *claim, struct ri_text *out)
{
	const char *raw = claim->origin.raw;
	RI_TEXT(part, 2 * RI_MAX_QUOTE);
	size_t from = claim->fault_at, length = strlen(raw);

	if (length <= RI_MAX_QUOTE || from < RI_MAX_QUOTE / 2 || from > length) {
		ri_text_add_quoted(out, raw);
		return;
	}
	from -= RI_MAX_QUOTE / 2;
	/* no half of a character */
	while (from > 0 && ((unsigned char)raw[from] & 0xc0) == 0x80)
		from--;
	ri_text_add(&part, "...");
	ri_text_add(&part, raw + from);
	ri_text_add_quoted(out, part.bytes);
}

/* Is the identity made of this fact? */
static bool decides(const struct ri_topology *topology, enum ri_fact_id id)
{
	if (topology->scope == RI_SCOPE_NODE)
		return id == RI_FACT_NODE_RANK || id == RI_FACT_NNODES;
	return ri_fact_group(id) == RI_GROUP_TUPLE;
}

/* Must the launch be refused without this claim? It is not one by hand: those are always needed. */
static bool is_needed(const struct ri_topology *topology, const struct ri_fact *claim,
	enum ri_fact_id id)
{
	if (topology->identity == NULL || topology->facts[id].state == RI_STATE_KNOWN)
		return false;
	if (decides(topology, id))
		return claim->origin.source == topology->identity;
	return id == RI_FACT_MASTER_ADDR;
}

/*
 * A broken claim is a finding, or RI_CODE_ENV_VALUE where no other claim says
 * what it should have; by hand it is RI_CODE_OPTION_VALUE.
 */
static int report_broken(const struct ri_topology *topology, enum ri_fact_id id,
	const struct ri_context *context, struct ri_error *err)
{
	const struct ri_fact *claim = topology->facts[id].next;
	char option[32];

	for (; claim != NULL; claim = claim->next) {
		RI_TEXT(text, RI_QUOTE_SIZE + 128);

		if (claim->state != RI_STATE_BROKEN)
			continue;
		ri_text_add(&text, "the value is ");
		quote_fault(claim, &text);
		ri_text_add(&text, ", expected ");
		if (claim->reason != NULL)
			ri_text_add(&text, claim->reason);
		else
			ri_text_addf(&text, "a whole number from %" PRIu64 " to %" PRIu64,
				ri_fact_range(id).min, ri_fact_range(id).max);
		if (is_manual(claim))
			return ri_fail(err, RI_CODE_OPTION_VALUE, claim->origin.variable, "%s",
				text.bytes);
		if (is_needed(topology, claim, id)) {
			ri_fail(err, RI_CODE_ENV_VALUE, claim->origin.variable, "%s", text.bytes);
			ri_text_copy(option, sizeof(option), ri_fact_name(id));
			for (char *at = option; (at = strchr(at, '_')) != NULL;)
				*at = '-';
			return ri_fail_hint(err, "correct it where the job is started, or state "
				"it with --%s", option);
		}
		ri_warn(context->findings, RI_CODE_ENV_IGNORED, claim->origin.variable,
			"%s; it is not used", text.bytes);
	}
	return 0;
}

static bool differs(const struct ri_fact *a, const struct ri_fact *b)
{
	return a->text != NULL ? strcmp(a->text, b->text) != 0 : a->number != b->number;
}

/*
 * The user's own MASTER_ADDR or MASTER_PORT wins. Say so where the
 * orchestrator says something else, and where it had to be put right. Those
 * of the identity's own launcher are what the others have to follow.
 */
static void report_stated(const struct ri_topology *topology, enum ri_fact_id id,
	struct ri_findings *findings)
{
	const struct ri_fact *fact = &topology->facts[id];
	const char *variable = fact->origin.variable, *kept;

	if (fact->state != RI_STATE_KNOWN || fact->strength != RI_STRENGTH_STATED)
		return;
	kept = fact->text != NULL ? fact->text : fact->origin.raw;
	if (strcmp(kept, fact->origin.raw) != 0)
		ri_finding_hint(ri_warn(findings, RI_CODE_ENV_REPAIRED, variable,
			"%s becomes \"%s\"", RI_QUOTED(fact->origin.raw), kept),
			"expected one host without brackets, blanks or port");
	/* Of one node "localhost" is as good as any name; of several it has given way. */
	if (fact->origin.source == topology->identity || (id == RI_FACT_MASTER_ADDR &&
		is_loopback(fact) && ri_topology_knows(topology, RI_FACT_NNODES)))
		return;
	for (const struct ri_fact *lost = fact->next; lost != NULL; lost = lost->next) {
		if (lost->state != RI_STATE_KNOWN || lost->strength != RI_STRENGTH_SAID ||
			!differs(fact, lost))
			continue;
		ri_warn(findings, RI_CODE_ENV_DIFFERS, variable, "%s is kept, though %s is %s",
			RI_QUOTED(kept), lost->origin.variable, RI_QUOTED(lost->origin.raw));
	}
}

/*
 * Another source takes this process for another rank. That is a matter of
 * course where one launcher runs inside another one, whose world is smaller;
 * it is not where both count as many ranks, or where somebody set RANK.
 */
static void report_other_tuples(const struct ri_topology *topology, struct ri_findings *findings)
{
	const struct ri_fact *rank = &topology->facts[RI_FACT_RANK];
	const struct ri_fact *size = &topology->facts[RI_FACT_WORLD_SIZE], *other;
	/* where ranks are started here, theirs follow from the node's place */
	const char *by = rank->origin.variable == NULL ? topology->identity
						       : rank->origin.variable;
	bool inside;

	for (const struct ri_fact *lost = rank->next; lost != NULL; lost = lost->next) {
		other = size->next;
		while (other != NULL && other->origin.source != lost->origin.source)
			other = other->next;
		if (lost->state != RI_STATE_KNOWN || other == NULL ||
			other->state != RI_STATE_KNOWN ||
			(lost->number == rank->number && other->number == size->number))
			continue;
		inside = size->number > other->number &&
			strcmp(lost->origin.variable, "RANK") != 0;
		ri_findings_add(findings, inside ? RI_SEVERITY_NOTE : RI_SEVERITY_WARNING,
			RI_CODE_ENV_DIFFERS, lost->origin.variable, "%" PRIu64 " of %" PRIu64
			" is not used: according to %s this is rank %" PRIu64 " of %" PRIu64,
			lost->number, other->number, by, rank->number, size->number);
	}
}

/* Findings about claims that say something else than the fact, and about who gave way. */
static void report_lost(const struct ri_topology *topology, const struct ri_fact *gave_way,
	struct ri_findings *findings)
{
	const struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR], *lost;
	bool of_node = topology->scope == RI_SCOPE_NODE;
	bool said = fact->state == RI_STATE_KNOWN && fact->strength == RI_STRENGTH_SAID;

	if (!of_node)
		report_other_tuples(topology, findings);
	/* A rank stated by hand is lost where only the node is known. */
	for (enum ri_fact_id id = 0; of_node && id < RI_FACT_COUNT; id++) {
		lost = topology->facts[id].next;
		if (ri_fact_group(id) == RI_GROUP_TUPLE && lost != NULL && is_manual(lost))
			ri_warn(findings, RI_CODE_SOURCE_INCOMPLETE, lost->origin.variable,
				"is not used: %s identifies the node but not the rank",
				topology->identity);
	}
	if (gave_way != NULL)
		ri_warn(findings, RI_CODE_ENV_DIFFERS, gave_way->origin.variable,
			"%s becomes \"%s\", from %s: the old value makes each node its own master",
			RI_QUOTED(gave_way->origin.raw), fact->text, fact->origin.variable);
	/* two names of one platform's master that name two of them */
	for (lost = fact->next; said && lost != NULL; lost = lost->next)
		if (lost->state == RI_STATE_KNOWN && lost->strength == RI_STRENGTH_SAID &&
			differs(fact, lost))
			ri_warn(findings, RI_CODE_ENV_DIFFERS, lost->origin.variable,
				"%s is not used: %s is %s", RI_QUOTED(lost->text),
				fact->origin.variable, RI_QUOTED(fact->text));
	report_stated(topology, RI_FACT_MASTER_ADDR, findings);
	report_stated(topology, RI_FACT_MASTER_PORT, findings);
}

/* Is it what an outer layer says of a job of several nodes? */
static bool is_outer(const char *identity, const struct ri_fact *claim)
{
	return claim->state == RI_STATE_KNOWN && claim->strength < RI_STRENGTH_STATED &&
		claim->origin.source != identity;
}

/* All ranks are here: what an outer layer says of several nodes and their master is not used. */
static void leave_outer(struct ri_reading *reading)
{
	static const enum ri_fact_id left[] = {
		RI_FACT_NNODES, RI_FACT_HOSTS, RI_FACT_MASTER_ADDR,
	};
	const char *identity = reading->identity->name;
	struct ri_fact *claim;
	bool several = false;

	/* the first two count nodes */
	for (size_t i = 0; i < 2; i++)
		for (claim = reading->claims[left[i]]; claim != NULL; claim = claim->next)
			several |= is_outer(identity, claim) && claim->number > 1;
	for (size_t i = 0; several && i < RI_ARRAY_SIZE(left); i++)
		for (claim = reading->claims[left[i]]; claim != NULL; claim = claim->next) {
			if (!is_outer(identity, claim))
				continue;
			claim->state = RI_STATE_OPEN;
			claim->text = NULL;
			claim->reason = "all ranks are on this node, but this value is about "
				"several nodes";
		}
}

/* What the user asked for needs an identity. Of a list of hosts it is worth saying why not. */
static int check_identity(const struct ri_topology *made, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_wishes *wishes = context->wishes;
	const struct ri_fact *hosts = &made->facts[RI_FACT_HOSTS];
	bool listed = hosts->state == RI_STATE_KNOWN && is_manual(hosts);
	struct ri_findings *findings = context->findings;

	if (made->identity != NULL)
		return 0;
	if (wishes->source.value != NULL &&
		(context->fan_out == 0 || !ri_wishes_allow_source(wishes, RI_BY_HAND))) {
		ri_fail(err, RI_CODE_SOURCE_ABSENT, wishes->source.subject,
			"%s gives no rank for this process", wishes->source.value);
		return ri_fail_hint(err, "rankinit --list=sources shows what rankinit reads");
	}
	if (listed && hosts->number == 1) {
		ri_finding_hint(ri_warn(findings, RI_CODE_SOURCE_INCOMPLETE, hosts->origin.variable,
			"its one host is not this machine, by name or address, %s",
			context->fan_out != 0 ? "and all ranks of the job start here"
			: "so the list is not used"), "for several nodes write all hosts in one "
			"value, in quotes where commas end one: \"RANKINIT_HOSTS=node0,node1\"");
		return 0;
	}
	/* of several hosts a rankinit that starts ranks refuses the launch */
	if (ri_wishes_subject(wishes) == NULL || context->fan_out != 0)
		return 0;
	if (listed)
		ri_finding_hint(ri_warn(findings, RI_CODE_SOURCE_INCOMPLETE, hosts->origin.variable,
			"cannot tell which of its %" PRIu64 " hosts this machine is, so the list "
			"is not used: the name and the addresses of this machine match none of "
			"them, or more than one", hosts->number), "state --node-rank");
	else
		ri_finding_hint(ri_warn(findings, RI_CODE_SOURCE_INCOMPLETE,
			ri_wishes_subject(wishes), "cannot tell which rank or node this process "
			"is, so this option is not used"), "state --rank, --world-size, "
			"--local-rank and --local-world-size, or --node-rank and --nnodes");
	return 0;
}

/* A rankinit that starts ranks says by that who they are: it is one of the sources. */
static int adopt_node(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	const char **names;

	if (ri_topology_adopt_node(out, context, err) < 0)
		return -1;
	out->identity = RI_BY_HAND;
	out->scope = RI_SCOPE_PROCESS;
	out->traits = RI_TRAIT_BY_HAND;
	if (out->source_count > 0 && strcmp(out->sources[0], RI_BY_HAND) == 0)
		return 0;
	names = ri_arena_array(context->arena, out->source_count + 1, sizeof(*names));
	if (names == NULL)
		return ri_fail(err, RI_CODE_MEMORY, RI_BY_HAND,
			"no memory left to read this source");
	names[0] = RI_BY_HAND;
	for (size_t i = 0; i < out->source_count; i++)
		names[i + 1] = out->sources[i];
	out->sources = names;
	out->source_count++;
	return 0;
}

int ri_claims_settle(struct ri_topology *out, struct ri_reading *reading)
{
	const char *teller = out->identity;
	int status;

	if (ri_wishes_refuse_all(reading->context->wishes))
		return 0;
	if (out->scope == RI_SCOPE_PROCESS && ri_identity_is_on_one_node(reading))
		leave_outer(reading);
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (id != RI_FACT_MASTER_ADDR)
			ri_claims_choose(out, reading->claims[id], id);
	/* How to start once on each node: the identity says it, or else who tells of nodes. */
	if (teller == NULL)
		teller = out->facts[ri_topology_knows(out, RI_FACT_NNODES)
			? RI_FACT_NNODES : RI_FACT_HOSTS].origin.source;
	out->once = ri_source_of(teller)->once;
	status = check_identity(out, reading->context, reading->err);
	if (status == 0 && reading->adopts)
		status = adopt_node(out, reading->context, reading->err);
	/* Which master wins depends on whether there are several nodes, so it comes last. */
	reading->gave_way = ri_claims_choose(out, reading->claims[RI_FACT_MASTER_ADDR],
		RI_FACT_MASTER_ADDR);
	if (status < 0 || out->identity == NULL)
		return status;
	/* the identity must be whole before anything can be made of it */
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (decides(out, id)) {
			reading->reported |= 1u << id;
			if (report_broken(out, id, reading->context, reading->err) < 0)
				return -1;
		}
	report_lost(out, reading->gave_way, reading->context->findings);
	return ri_topology_count(out, reading->context, reading->err);
}

int ri_claims_report(const struct ri_topology *topology, struct ri_reading *reading)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if ((reading->reported >> id & 1) == 0 &&
			report_broken(topology, id, reading->context, reading->err) < 0)
			return -1;
	return 0;
}
