/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of --explain: the summary, every fact with its origin and the candidates
 * that it beat, the changes (explain_changes.c), and what is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/explain_changes.h"

/* Where the columns of the table begin. */
enum { AT_VALUE = 20, AT_SOURCE = 38, AT_VARIABLE = 51 };

enum { ANY_VALUE = RI_MAX_NAME + RI_QUOTE_SIZE };

enum { CARET = 36 };	/* columns of a value before the byte at fault, at most */

static void label(struct ri_page *page, const char *name)
{
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_show_as(page, RI_LOOK_DIM, name);
	ri_page_go(page, RI_EXPLAIN_TEXT);
}

/*
 * "rank 13 of 16", without the size where that is unknown; of several that
 * count on from it "ranks 8 to 15 of 16".
 */
static void say_places(struct ri_page *page, const struct ri_topology *topology,
	enum ri_fact_id id, size_t count)
{
	enum ri_fact_id size = id == RI_FACT_RANK ? RI_FACT_WORLD_SIZE
		: id == RI_FACT_NODE_RANK	  ? RI_FACT_NNODES
						  : RI_FACT_LOCAL_WORLD_SIZE;
	char bytes[96];
	struct ri_text text;
	uint64_t value;

	ri_text_init(&text, bytes, sizeof(bytes));
	for (const char *name = ri_fact_name(id); *name != '\0'; name++)
		ri_text_add_bytes(&text, *name == '_' ? " " : name, 1);
	if (!ri_topology_get(topology, id, &value)) {
		ri_text_add(&text, " unknown");
		ri_page_show_as(page, RI_LOOK_YELLOW, bytes);
		return;
	}
	ri_text_addf(&text, "%s %" PRIu64, count > 1 ? "s" : "", value);
	if (count > 1)
		ri_text_addf(&text, " to %" PRIu64, value + count - 1);
	if (ri_topology_get(topology, size, &value))
		ri_text_addf(&text, " of %" PRIu64, value);
	ri_page_show_as(page, RI_LOOK_BOLD, bytes);
}

static void say_master(struct ri_page *page, const struct ri_topology *topology, size_t count)
{
	char bytes[64];
	struct ri_text text;
	uint64_t value;

	label(page, "master");
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR)) {
		ri_page_show_as(page, RI_LOOK_YELLOW, "unknown");
		ri_page_end_line(page);
		return;
	}
	ri_page_show_as(page, RI_LOOK_BOLD, topology->facts[RI_FACT_MASTER_ADDR].text);
	ri_text_init(&text, bytes, sizeof(bytes));
	if (ri_topology_get(topology, RI_FACT_MASTER_PORT, &value))
		ri_text_addf(&text, ", port %" PRIu64, value);
	if (ri_topology_get(topology, RI_FACT_RANK, &value) && value == 0)
		ri_text_add(&text, count > 1 ? ", the first of these" : ", this rank");
	else if (topology->scope == RI_SCOPE_NODE &&
		ri_topology_get(topology, RI_FACT_NODE_RANK, &value) && value == 0)
		ri_text_add(&text, ", this node");
	ri_page_show(page, bytes);
	ri_page_end_line(page);
}

static void say_who(struct ri_page *page, const struct ri_topology *topology, size_t count)
{
	label(page, "who");
	if (topology->scope == RI_SCOPE_PROCESS) {
		say_places(page, topology, RI_FACT_RANK, count);
		ri_page_end_line(page);
		label(page, "where");
	}
	say_places(page, topology, RI_FACT_NODE_RANK, 1);
	if (topology->scope == RI_SCOPE_PROCESS) {
		ri_page_show(page, ", ");
		say_places(page, topology, RI_FACT_LOCAL_RANK, count);
	}
	ri_page_end_line(page);
	say_master(page, topology, count);
}

static void say_no_rank(struct ri_page *page, const struct ri_explain *explain)
{
	label(page, "who");
	if (explain->off != NULL) {
		ri_page_fold(page, explain->off, RI_EXPLAIN_TEXT);
		return;
	}
	ri_page_show_as(page, RI_LOOK_BOLD,
		explain->topology->source_count == 0 ? "no orchestrator was found"
						     : "the rank of this process is unknown");
	ri_page_end_line(page);
	if (explain->err->code == RI_CODE_NONE) {
		label(page, "result");
		ri_page_fold(page, "a plain init: no variable is set for frameworks",
			RI_EXPLAIN_TEXT);
	}
	label(page, "searched");
	ri_page_fold(page, explain->looked_for, RI_EXPLAIN_TEXT);
}

static void say_sources(struct ri_page *page, const struct ri_topology *topology)
{
	char bytes[1024];
	struct ri_text text;

	if (topology->source_count == 0)
		return;
	ri_text_init(&text, bytes, sizeof(bytes));
	for (size_t i = 0; i < topology->source_count; i++)
		ri_text_addf(&text, "%s%s", i == 0 ? "" : ", ", topology->sources[i]);
	if (topology->identity != NULL)
		ri_text_addf(&text, "; %s gives the identity", topology->identity);
	label(page, "read");
	ri_page_fold(page, bytes, RI_EXPLAIN_TEXT);
}

static void say_summary(struct ri_page *page, const struct ri_explain *explain)
{
	ri_page_paint(page, RI_LOOK_BOLD);
	ri_page_show(page, "rankinit ");
	ri_page_show(page, explain->version);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
	if (explain->err->code != RI_CODE_NONE) {
		label(page, "refused");
		ri_page_show_as(page, RI_LOOK_RED, "the launch would be refused, see the findings");
		ri_page_end_line(page);
	}
	if (explain->topology->identity != NULL)
		say_who(page, explain->topology, explain->rank_count);
	else
		say_no_rank(page, explain);
	say_sources(page, explain->topology);
}

/* The value of a fact in a few words. */
static void name_value(const struct ri_fact *fact, enum ri_fact_id id, struct ri_text *out)
{
	if (fact->state == RI_STATE_OPEN)
		ri_text_add(out, "?");
	else if (fact->text != NULL)
		ri_text_add(out, fact->text);
	else if (id == RI_FACT_HOSTS && fact->number > 0)
		ri_text_addf(out, "%" PRIu64 " host%s", fact->number, fact->number == 1 ? "" : "s");
	else if (fact->state == RI_STATE_BROKEN && fact->number == 0 &&
		fact->origin.variable != NULL)
		ri_text_add_quoted(out, fact->origin.raw);
	else
		ri_text_addf(out, "%" PRIu64, fact->number);
}

/* "openmpi      OMPI_COMM_WORLD_RANK", "derived from hosts" */
static void show_origin(struct ri_page *page, const struct ri_origin *origin)
{
	const char *before = " from ";

	ri_page_show(page, origin->source);
	if (origin->variable != NULL) {
		ri_page_go(page, AT_VARIABLE);
		ri_page_show(page, origin->variable);
	}
	for (int id = 0; id < RI_FACT_COUNT; id++) {
		if ((origin->from & 1u << id) == 0)
			continue;
		ri_page_show(page, before);
		ri_page_show(page, ri_fact_name((enum ri_fact_id)id));
		before = ", ";
	}
}

/* What stands before a value, and how it looks. */
struct heading {
	const char *name;
	enum ri_look look;
};

/* One line of the table; two where the value is long. */
static void show_fact(struct ri_page *page, struct heading heading, const struct ri_fact *fact,
	enum ri_fact_id id)
{
	char bytes[ANY_VALUE];
	struct ri_text value;

	ri_text_init(&value, bytes, sizeof(bytes));
	name_value(fact, id, &value);
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_paint(page, heading.look);
	ri_page_show(page, heading.name);
	ri_page_go(page, AT_VALUE);
	ri_page_show(page, bytes);
	ri_page_paint(page, RI_LOOK_PLAIN);
	if (page->column >= AT_SOURCE)
		ri_page_end_line(page);
	ri_page_go(page, AT_SOURCE);
	ri_page_paint(page, RI_LOOK_DIM);
	show_origin(page, &fact->origin);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
}

/* A line below a fact, in its column of values. */
static void show_below(struct ri_page *page, const char *name, const char *text)
{
	ri_page_go(page, RI_EXPLAIN_LABEL + 2);
	ri_page_paint(page, RI_LOOK_DIM);
	ri_page_show(page, name);
	ri_page_go(page, AT_VALUE);
	ri_page_show(page, text);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
}

/* The whole value where the fact is only a part of it. */
static void show_raw(struct ri_page *page, const struct ri_fact *fact, enum ri_fact_id id)
{
	char raw[RI_QUOTE_SIZE], bytes[ANY_VALUE];
	struct ri_text value;

	ri_text_init(&value, bytes, sizeof(bytes));
	name_value(fact, id, &value);
	if (fact->origin.variable != NULL && strcmp(bytes, fact->origin.raw) != 0)
		show_below(page, "taken from", ri_quote(raw, sizeof(raw), fact->origin.raw));
}

/* As many of the hosts as a line holds. */
static void show_hosts(struct ri_page *page, const struct ri_fact *fact)
{
	char bytes[2 * RI_PAGE_WIDTH];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	for (uint64_t i = 0; i < fact->number && !text.cut; i++)
		ri_text_addf(&text, "%s%s", i == 0 ? "" : ", ", fact->list[i]);
	show_below(page, "list", bytes);
}

static void show_known(struct ri_page *page, const struct ri_fact *fact, enum ri_fact_id id)
{
	struct heading heading = { .name = ri_fact_name(id), .look = RI_LOOK_BOLD };

	show_fact(page, heading, fact, id);
	if (id == RI_FACT_HOSTS)
		show_hosts(page, fact);
	else
		show_raw(page, fact, id);
}

static void show_unknown(struct ri_page *page, const struct ri_fact *fact, enum ri_fact_id id)
{
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_show_as(page, RI_LOOK_BOLD, ri_fact_name(id));
	ri_page_go(page, AT_VALUE);
	ri_page_show_as(page, RI_LOOK_YELLOW, "unknown");
	ri_page_end_line(page);
	if (fact->state == RI_STATE_BROKEN)
		show_fact(page, (struct heading){ "  unusable", RI_LOOK_RED }, fact, id);
	else if (fact->state == RI_STATE_OPEN)
		show_below(page, "undecided", fact->reason);
}

static void show_losers(struct ri_page *page, const struct ri_fact *fact, enum ri_fact_id id)
{
	const char *word = fact->state == RI_STATE_KNOWN ? "  overrides" : "  not used";

	for (const struct ri_fact *lost = fact->next; lost != NULL; lost = lost->next) {
		struct heading heading = { .name = word, .look = RI_LOOK_DIM };

		if (lost->state == RI_STATE_BROKEN)
			heading = (struct heading){ "  unusable", RI_LOOK_RED };
		show_fact(page, heading, lost, id);
	}
}

/* Does a reader want to know that no source gives a fact of this group? */
static bool is_missed(const struct ri_topology *topology, enum ri_fact_group group)
{
	return group != RI_GROUP_EXTRA && topology->scope != RI_SCOPE_NONE &&
		(group != RI_GROUP_TUPLE || topology->scope == RI_SCOPE_PROCESS);
}

static bool is_worth_a_line(const struct ri_topology *topology, enum ri_fact_id id)
{
	const struct ri_fact *fact = &topology->facts[id];

	return fact->state != RI_STATE_ABSENT || fact->next != NULL ||
		is_missed(topology, ri_fact_group(id));
}

static void say_facts(struct ri_page *page, const struct ri_topology *topology)
{
	bool begun = false;

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &topology->facts[id];

		if (!is_worth_a_line(topology, id))
			continue;
		if (!begun)
			ri_page_title(page, "Facts, and where they come from");
		begun = true;
		if (fact->state == RI_STATE_KNOWN)
			show_known(page, fact, id);
		else
			show_unknown(page, fact, id);
		show_losers(page, fact, id);
	}
}

/*
 * The candidate that was read from this variable and cannot be used. One that
 * has a number was read well, and broke a rule: no byte of it is at fault.
 */
static const struct ri_fact *find_broken(const struct ri_topology *topology, const char *variable)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &topology->facts[id];

		for (; fact != NULL; fact = fact->next)
			if (fact->state == RI_STATE_BROKEN && fact->number == 0 &&
				fact->origin.variable != NULL &&
				strcmp(fact->origin.variable, variable) == 0)
				return fact;
	}
	return NULL;
}

/* One byte of a value; what is not plain ASCII is \xNN, so that columns are known. */
static size_t byte_columns(char byte)
{
	return byte >= ' ' && byte < 0x7f ? 1 : 4;
}

/* Where the part of the value begins that is shown before the fault; *columns of it. */
static size_t find_start(const char *raw, size_t at, size_t *columns)
{
	*columns = 0;
	while (at > 0 && *columns + byte_columns(raw[at - 1]) <= CARET)
		*columns += byte_columns(raw[--at]);
	return at;
}

/* The value, or the part around the fault, and a caret below it. */
static void show_caret(struct ri_page *page, const char *raw, size_t at)
{
	size_t before, caret, i = find_start(raw, at, &before);
	char byte[8];

	ri_page_go(page, RI_EXPLAIN_TEXT + 2);
	ri_page_show(page, i > 0 ? "..." : "");
	caret = page->column + before;
	for (; raw[i] != '\0' && ri_page_room(page) > 7; i++) {
		if (i == at)
			ri_page_paint(page, RI_LOOK_RED);
		snprintf(byte, sizeof(byte), byte_columns(raw[i]) == 1 ? "%c" : "\\x%02x",
			(unsigned char)raw[i]);
		ri_page_show(page, byte);
		if (i == at)
			ri_page_paint(page, RI_LOOK_PLAIN);
	}
	ri_page_show(page, raw[i] != '\0' ? "..." : "");
	ri_page_end_line(page);
	ri_page_go(page, caret);
	ri_page_show_as(page, RI_LOOK_RED, "^");
	ri_page_end_line(page);
}

static void say_finding(struct ri_page *page, const struct ri_topology *topology,
	const struct ri_finding *finding)
{
	static const enum ri_look looks[] = {
		[RI_SEVERITY_NOTE] = RI_LOOK_DIM,
		[RI_SEVERITY_WARNING] = RI_LOOK_YELLOW,
		[RI_SEVERITY_ERROR] = RI_LOOK_RED,
	};
	const struct ri_fact *broken = find_broken(topology, finding->subject);

	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_show_as(page, looks[finding->severity], ri_severity_name(finding->severity));
	ri_page_go(page, RI_EXPLAIN_TEXT);
	ri_page_show_as(page, RI_LOOK_BOLD, finding->subject);
	ri_page_paint(page, RI_LOOK_DIM);
	ri_page_show(page, " [");
	ri_page_show(page, ri_code_name(finding->code));
	ri_page_show(page, "]");
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
	ri_page_fold(page, finding->text, RI_EXPLAIN_TEXT);
	if (broken != NULL)
		show_caret(page, broken->origin.raw, broken->fault_at);
	if (finding->hint[0] != '\0')
		ri_page_fold(page, finding->hint, RI_EXPLAIN_TEXT);
}

static void say_findings(struct ri_page *page, const struct ri_explain *explain)
{
	const struct ri_findings *findings = explain->findings;
	const struct ri_finding refusal = ri_finding_of_error(explain->err);
	char dropped[64];

	if (findings->count == 0 && explain->err->code == RI_CODE_NONE)
		return;
	ri_page_title(page, "Findings");
	if (explain->err->code != RI_CODE_NONE)
		say_finding(page, explain->topology, &refusal);
	for (int severity = RI_SEVERITY_ERROR; severity >= RI_SEVERITY_NOTE; severity--)
		for (size_t i = 0; i < findings->count; i++)
			if (findings->items[i].severity == (enum ri_severity)severity)
				say_finding(page, explain->topology, &findings->items[i]);
	if (findings->dropped > 0) {
		snprintf(dropped, sizeof(dropped), "and %zu more", findings->dropped);
		ri_page_fold(page, dropped, RI_EXPLAIN_TEXT);
	}
}

void ri_explain_text(const struct ri_explain *explain, struct ri_text *out)
{
	struct ri_page page = { .out = out, .color = explain->color };

	say_summary(&page, explain);
	say_facts(&page, explain->topology);
	ri_explain_changes(&page, explain);
	say_findings(&page, explain);
}
