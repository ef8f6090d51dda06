/* SPDX-License-Identifier: Apache-2.0 */
#include "from/from.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "from/identity.h"
#include "from/reading.h"
#include "model/wishes.h"

#define RI_SOURCE(name) extern const struct ri_source ri_source_##name;
#include "from/sources.def"
#undef RI_SOURCE

static const struct ri_source *const sources[] = {
#define RI_SOURCE(name) &ri_source_##name,
#include "from/sources.def"
#undef RI_SOURCE
};

enum { SOURCE_COUNT = sizeof(sources) / sizeof(sources[0]) };

const struct ri_source *ri_source_at(size_t index)
{
	return index < SOURCE_COUNT ? sources[index] : NULL;
}

static const struct ri_source *find_source(const char *name)
{
	const struct ri_source *source;

	for (size_t i = 0; name != NULL && (source = ri_source_at(i)) != NULL; i++)
		if (strcmp(source->name, name) == 0)
			return source;
	return NULL;
}

bool ri_source_manages(const char *identity)
{
	const struct ri_source *source = find_source(identity);

	return source != NULL && source->manages;
}

bool ri_source_is_mpi(const char *identity)
{
	const struct ri_source *source = find_source(identity);

	return source != NULL && source->mpi;
}

static bool is_manual(const struct ri_fact *claim)
{
	return claim->origin.source == ri_source_manual.name;
}

static bool is_asked_for(const struct ri_source *source, const struct ri_wishes *wishes)
{
	return wishes != NULL && wishes->source.value != NULL &&
		strcmp(wishes->source.value, source->name) == 0;
}

static bool is_there(const struct ri_source *source, const struct ri_env *env,
	const struct ri_wishes *wishes)
{
	if (source->detect == NULL)
		return ri_wishes_subject(wishes) != NULL;
	return source->detect(env) || (source->hidden && is_asked_for(source, wishes));
}

/* Is there a launcher that says who this process is, by what tells it apart? */
static bool has_rank(const struct ri_env *env, const struct ri_wishes *wishes)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sources[i]->identity == RI_SCOPE_PROCESS && !sources[i]->unsigned_tuple &&
			ri_wishes_allow_source(wishes, sources[i]->name) &&
			is_there(sources[i], env, wishes))
			return true;
	return false;
}

unsigned ri_sources_want(const struct ri_env *env, const struct ri_wishes *wishes)
{
	const unsigned place =
		RI_WANTS_PLACE | RI_WANTS_FILES | RI_WANTS_PROC | RI_WANTS_NAME;
	unsigned wants = 0;

	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if ((sources[i]->wants & ~wants) != 0 && is_there(sources[i], env, wishes))
			wants |= sources[i]->wants;
	if (ri_wishes_state_hosts(wishes))
		return wants | place;
	if ((wants & RI_WANTS_PLACE) == 0)
		return wants;
	return has_rank(env, wishes)
		? wants & ~(unsigned)RI_WANTS_PLACE
		: wants | place;
}

static int note_source(struct ri_topology *out, struct ri_reading *reading, const char **names)
{
	size_t before = reading->claim_count;

	reading->source->read(reading);
	if (reading->err->code != RI_CODE_NONE)
		return -1;
	if (reading->claim_count > before)
		names[out->source_count++] = reading->source->name;
	if (ri_identity_takes(reading))
		reading->identity = reading->source;
	return 0;
}

static int read_sources(struct ri_topology *out, struct ri_reading *reading)
{
	const char **names = NULL;

	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (!is_there(sources[i], reading->context->env, reading->context->wishes))
			continue;
		if (names == NULL)
			names = ri_arena_array(reading->context->arena, SOURCE_COUNT,
				sizeof(*names));
		if (names == NULL)
			return ri_fail(reading->err, RI_CODE_MEMORY, sources[i]->name,
				"no memory left to read this source");
		out->sources = names;
		reading->source = sources[i];
		if (note_source(out, reading, names) < 0)
			return -1;
	}
	return 0;
}

/* Of a list of hosts alone it is worth saying why it does not help. */
static void report_unused(const struct ri_topology *made, const struct ri_context *context)
{
	const struct ri_fact *hosts = &made->facts[RI_FACT_HOSTS];
	struct ri_finding *finding;

	if (hosts->state == RI_STATE_KNOWN && is_manual(hosts)) {
		finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
			RI_CODE_SOURCE_INCOMPLETE, hosts->origin.variable,
			"nothing says which of its %" PRIu64 " hosts this is, so it is not used: "
			"the name and the addresses of this machine pick none of them, or more "
			"than one", hosts->number);
		ri_finding_hint(finding, "state --node-rank");
		return;
	}
	finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_SOURCE_INCOMPLETE, ri_wishes_subject(context->wishes),
		"nothing says which rank or node this is, so what is stated is not used");
	ri_finding_hint(finding, "state --rank, --world-size, --local-rank and "
				 "--local-world-size, or --node-rank and --nnodes");
}

/* What the user asked for needs an identity. */
static int check_identity(const struct ri_topology *made, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_wishes *wishes = context->wishes;

	if (made->identity != NULL || wishes == NULL)
		return 0;
	if (wishes->source.value != NULL &&
		(context->fan_out == 0 ||
			!ri_wishes_allow_source(wishes, ri_source_manual.name))) {
		ri_fail(err, RI_CODE_SOURCE_ABSENT, wishes->source.subject,
			"%s does not say which rank this is", wishes->source.value);
		return ri_fail_hint(err, "rankinit --list=sources shows what it reads");
	}
	if (ri_wishes_subject(wishes) != NULL && context->fan_out == 0)
		report_unused(made, context);
	return 0;
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

/* Take the winner out of the claims; the others become those that lost. */
static void settle(struct ri_topology *out, struct ri_fact *claims, enum ri_fact_id id)
{
	struct ri_fact **best = NULL, *winner;

	for (struct ri_fact **at = &claims; *at != NULL; at = &(*at)->next)
		if (may_win(out, *at, id) && is_better(out, id, *at, best ? *best : NULL))
			best = at;
	if (best != NULL) {
		winner = *best;
		*best = winner->next;
		out->facts[id] = *winner;
	}
	out->facts[id].next = claims;
}

/* "the value is "3x", expected a whole number from 1 to 65535" */
static void explain_broken(const struct ri_fact *claim, enum ri_fact_id id, struct ri_text *out)
{
	ri_text_add(out, "the value is ");
	ri_text_add_quoted(out, claim->origin.raw);
	ri_text_add(out, ", expected ");
	ri_fact_expect(claim, id, out);
}

/* Is the identity made of this fact? */
static bool is_of_identity(const struct ri_topology *topology, enum ri_fact_id id)
{
	if (topology->scope == RI_SCOPE_NODE)
		return id == RI_FACT_NODE_RANK || id == RI_FACT_NNODES;
	return ri_fact_group(id) == RI_GROUP_TUPLE;
}

static bool is_needed(const struct ri_topology *topology, const struct ri_fact *claim,
	enum ri_fact_id id)
{
	if (is_manual(claim))
		return true;
	if (topology->identity == NULL || topology->facts[id].state == RI_STATE_KNOWN)
		return false;
	if (is_of_identity(topology, id))
		return claim->origin.source == topology->identity;
	return id == RI_FACT_MASTER_ADDR;
}

static int hint_at_option(enum ri_fact_id id, struct ri_error *err)
{
	char option[32];

	ri_text_copy(option, sizeof(option), ri_fact_name(id));
	for (char *p = option; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return ri_fail_hint(err, "put it right where the job is started, or state it with --%s",
		option);
}

/* A broken value is an error where nothing else says what it should have. */
static int report_broken(const struct ri_topology *topology, enum ri_fact_id id,
	const struct ri_context *context, struct ri_error *err)
{
	const struct ri_fact *claim = topology->facts[id].next;
	char bytes[RI_QUOTE_SIZE + 128];
	struct ri_text text;

	for (; claim != NULL; claim = claim->next) {
		if (claim->state != RI_STATE_BROKEN)
			continue;
		ri_text_init(&text, bytes, sizeof(bytes));
		explain_broken(claim, id, &text);
		if (is_needed(topology, claim, id)) {
			ri_fail(err, is_manual(claim) ? RI_CODE_OPTION_VALUE : RI_CODE_ENV_VALUE,
				claim->origin.variable, "%s", text.bytes);
			return is_manual(claim) ? -1 : hint_at_option(id, err);
		}
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, RI_CODE_ENV_IGNORED,
			claim->origin.variable, "%s; it is not used", text.bytes);
	}
	return 0;
}

static bool is_loopback(const struct ri_fact *master)
{
	return ri_is_loopback((struct ri_slice){ master->text, strlen(master->text) });
}

static bool differs(const struct ri_fact *a, const struct ri_fact *b)
{
	return a->text != NULL ? strcmp(a->text, b->text) != 0 : a->number != b->number;
}

/* Of one node "localhost" is as good as any name; of several it has given way. */
static bool is_here(const struct ri_topology *topology, enum ri_fact_id id)
{
	return id == RI_FACT_MASTER_ADDR && is_loopback(&topology->facts[id]) &&
		ri_topology_knows(topology, RI_FACT_NNODES);
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
	char raw[RI_QUOTE_SIZE], other[RI_QUOTE_SIZE];

	if (fact->state != RI_STATE_KNOWN || fact->strength != RI_STRENGTH_STATED)
		return;
	kept = fact->text != NULL ? fact->text : fact->origin.raw;
	ri_quote(raw, sizeof(raw), fact->origin.raw);
	if (strcmp(kept, fact->origin.raw) != 0)
		ri_finding_hint(ri_findings_add(findings, RI_SEVERITY_WARNING,
			RI_CODE_ENV_REPAIRED, variable, "%s becomes \"%s\"", raw, kept),
			"it takes one host without brackets, blanks or port");
	if (fact->origin.source == topology->identity || is_here(topology, id))
		return;
	for (const struct ri_fact *lost = fact->next; lost != NULL; lost = lost->next) {
		if (lost->state != RI_STATE_KNOWN || lost->strength != RI_STRENGTH_SAID ||
			!differs(fact, lost))
			continue;
		ri_quote(other, sizeof(other), lost->origin.raw);
		ri_quote(raw, sizeof(raw), kept);
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS, variable,
			"%s stays, though %s is %s", raw, lost->origin.variable, other);
	}
}

/* The best candidate that lost and is not each node itself. */
static struct ri_fact *find_reachable(const struct ri_topology *topology)
{
	struct ri_fact *best = NULL;

	for (struct ri_fact *lost = topology->facts[RI_FACT_MASTER_ADDR].next; lost != NULL;
		lost = lost->next)
		if (lost->state == RI_STATE_KNOWN && !is_loopback(lost) &&
			is_better(topology, RI_FACT_MASTER_ADDR, lost, best))
			best = lost;
	return best;
}

/*
 * An image's MASTER_ADDR=localhost is each of several nodes itself, and all of
 * them would wait for each other. Who knows the master's node is right then.
 */
static void replace_loopback(struct ri_topology *topology, struct ri_findings *findings)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_ADDR], stated = *fact, *best;
	char old[RI_QUOTE_SIZE];

	if (fact->state != RI_STATE_KNOWN || fact->strength != RI_STRENGTH_STATED ||
		fact->origin.source == topology->identity || !is_loopback(fact) ||
		!ri_topology_is_wide(topology))
		return;
	best = find_reachable(topology);
	if (best == NULL)
		return;
	/* They change places. */
	*fact = *best;
	fact->next = stated.next;
	stated.next = best->next;
	*best = stated;
	ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_ENV_DIFFERS,
		stated.origin.variable, "%s becomes \"%s\", by %s: it is this machine on each of "
		"the nodes", ri_quote(old, sizeof(old), stated.origin.raw), fact->text,
		fact->origin.variable);
}

static const struct ri_fact *find_lost(
	const struct ri_topology *topology, enum ri_fact_id id, const char *source)
{
	const struct ri_fact *lost = topology->facts[id].next;

	while (lost != NULL && lost->origin.source != source)
		lost = lost->next;
	return lost != NULL && lost->state == RI_STATE_KNOWN ? lost : NULL;
}

/*
 * Another source takes this process for another rank. That is a matter of
 * course where one launcher runs inside another one, whose world is smaller;
 * it is not where both count as many ranks, or where somebody set RANK.
 */
static void report_other_tuples(const struct ri_topology *topology, struct ri_findings *findings)
{
	const struct ri_fact *rank = &topology->facts[RI_FACT_RANK];
	const struct ri_fact *size = &topology->facts[RI_FACT_WORLD_SIZE];

	for (const struct ri_fact *lost = rank->next; lost != NULL; lost = lost->next) {
		const struct ri_fact *other =
			find_lost(topology, RI_FACT_WORLD_SIZE, lost->origin.source);
		bool larger = other != NULL && size->number > other->number;

		if (lost->state != RI_STATE_KNOWN || other == NULL ||
			(lost->number == rank->number && other->number == size->number))
			continue;
		ri_findings_add(findings,
			larger && strcmp(lost->origin.variable, "RANK") != 0
				? RI_SEVERITY_NOTE
				: RI_SEVERITY_WARNING,
			RI_CODE_ENV_DIFFERS, lost->origin.variable,
			"%" PRIu64 " of %" PRIu64 " is not used: by %s this is rank %" PRIu64
			" of %" PRIu64,
			lost->number, other->number, rank->origin.variable, rank->number,
			size->number);
	}
}

/* A rank stated by hand is lost where only the node is known. */
static void report_lost_ranks(const struct ri_topology *topology, struct ri_findings *findings)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *lost = topology->facts[id].next;

		if (ri_fact_group(id) != RI_GROUP_TUPLE || lost == NULL || !is_manual(lost))
			continue;
		ri_findings_add(findings, RI_SEVERITY_WARNING, RI_CODE_SOURCE_INCOMPLETE,
			lost->origin.variable,
			"is not used: %s says which node this is, and not which rank",
			topology->identity);
	}
}

/* The identity must be whole before anything can be derived from it. */
static int complete(struct ri_topology *made, const struct ri_context *context,
	struct ri_error *err)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (is_of_identity(made, id) && report_broken(made, id, context, err) < 0)
			return -1;
	if (made->scope == RI_SCOPE_NODE)
		report_lost_ranks(made, context->findings);
	else
		report_other_tuples(made, context->findings);
	replace_loopback(made, context->findings);
	report_stated(made, RI_FACT_MASTER_ADDR, context->findings);
	report_stated(made, RI_FACT_MASTER_PORT, context->findings);
	return ri_topology_complete(made, context, err);
}

/* Is this a node for whoever starts ranks here? One process beside the ranks is the task itself. */
static bool may_adopt(const struct ri_topology *topology, const struct ri_context *context)
{
	return context->fan_out != 0 && !ri_topology_is_launcher(topology) &&
		(context->fan_out > 1 || !ri_topology_is_beside(topology) ||
			ri_topology_knows(topology, RI_FACT_NNODES));
}

/* Who starts ranks here says by that who they are: it is one of the sources. */
static int adopt_node(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	const char **names, *own = ri_source_manual.name;

	if (ri_topology_adopt_node(out, context, err) < 0)
		return -1;
	out->identity = own;
	out->scope = RI_SCOPE_PROCESS;
	if (out->source_count > 0 && out->sources[0] == own)
		return 0;
	names = ri_arena_array(context->arena, out->source_count + 1, sizeof(*names));
	if (names == NULL)
		return ri_fail(err, RI_CODE_MEMORY, own, "no memory left to read this source");
	names[0] = own;
	for (size_t i = 0; i < out->source_count; i++)
		names[i + 1] = out->sources[i];
	out->sources = names;
	out->source_count++;
	return 0;
}

int ri_topology_read(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_reading reading = { .context = context, .err = err };
	int status;

	*out = (struct ri_topology){ .identity = NULL };
	if (ri_wishes_refuse_all(context->wishes))
		return 0;
	status = read_sources(out, &reading);
	if (status == 0)
		ri_identity_settle(out, &reading);
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		settle(out, reading.claims[id], id);
	if (status < 0 || check_identity(out, context, err) < 0)
		return -1;
	if (out->identity == NULL && may_adopt(out, context) && adopt_node(out, context, err) < 0)
		return -1;
	if (out->identity != NULL && complete(out, context, err) < 0)
		return -1;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if ((out->identity == NULL || !is_of_identity(out, id)) &&
			report_broken(out, id, context, err) < 0)
			return -1;
	return 0;
}
