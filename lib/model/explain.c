/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of --explain: the summary, every fact with its origin and the candidates
 * that it beat, what becomes of the environment, what would run, and what is wrong.
 */
#include "model/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/json.h"
#include "redact/redact.h"

/* Where columns begin. */
enum {
	AT_LABEL = 2,		/* a name or a label */
	AT_TEXT = 11,		/* what stands beside a short label */
	AT_VALUE = 20,		/* of a fact; AT_SOURCE, AT_VARIABLE: where it comes from */
	AT_SOURCE = 38,
	AT_VARIABLE = 51,
	AT_EDIT = 4,		/* a variable that is set or removed, and its value */
	AT_EDIT_VALUE = 32,
	AT_NEXT = 6,		/* where the command goes on in another line */
};

enum {
	ANY_VALUE = RI_MAX_NAME + RI_QUOTE_SIZE,
	CARET = 36,		/* columns of a value before the byte at fault, at most */
	NAME_MAX_COLUMNS = 46,	/* of a variable, so that some of its value is seen */
	WORDS_MAX = 200,	/* words of the command that are shown */
	RANKS_MAX = 32,		/* ranks whose environment is shown */
};

static void label(struct ri_page *page, const char *name)
{
	ri_page_go(page, AT_LABEL);
	ri_page_show_as(page, RI_LOOK_DIM, name);
	ri_page_go(page, AT_TEXT);
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
	bool known = ri_topology_knows(topology, id);
	uint64_t value;

	ri_page_paint(page, known ? RI_LOOK_BOLD : RI_LOOK_YELLOW);
	for (const char *name = ri_fact_name(id); *name != '\0'; name++)
		ri_page_showf(page, "%c", *name == '_' ? ' ' : *name);
	if (!ri_topology_get(topology, id, &value))
		ri_page_show(page, " unknown");
	else if (count > 1)
		ri_page_showf(page, "s %" PRIu64 " to %" PRIu64, value, value + count - 1);
	else
		ri_page_showf(page, " %" PRIu64, value);
	if (known && ri_topology_get(topology, size, &value))
		ri_page_showf(page, " of %" PRIu64, value);
	ri_page_paint(page, RI_LOOK_PLAIN);
}

static void say_who(struct ri_page *page, const struct ri_topology *topology, size_t count)
{
	uint64_t value;

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
	label(page, "master");
	if (!ri_topology_knows(topology, RI_FACT_MASTER_ADDR)) {
		ri_page_show_as(page, RI_LOOK_YELLOW, "unknown");
		ri_page_end_line(page);
		return;
	}
	ri_page_show_as(page, RI_LOOK_BOLD, topology->facts[RI_FACT_MASTER_ADDR].text);
	if (ri_topology_get(topology, RI_FACT_MASTER_PORT, &value))
		ri_page_showf(page, ", port %" PRIu64, value);
	if (ri_topology_get(topology, RI_FACT_RANK, &value) && value == 0)
		ri_page_show(page, count > 1 ? ", the first of these" : ", this rank");
	else if (topology->scope == RI_SCOPE_NODE &&
		ri_topology_get(topology, RI_FACT_NODE_RANK, &value) && value == 0)
		ri_page_show(page, ", this node");
	ri_page_end_line(page);
}

static void say_no_rank(struct ri_page *page, const struct ri_explain *explain)
{
	label(page, "who");
	if (explain->off != NULL) {
		ri_page_fold(page, explain->off, AT_TEXT);
		return;
	}
	ri_page_show_as(page, RI_LOOK_BOLD,
		explain->topology->source_count == 0 ? "no orchestrator was found"
						     : "the rank of this process is unknown");
	ri_page_end_line(page);
	if (explain->err->code == RI_CODE_NONE) {
		label(page, "result");
		ri_page_fold(page, "a plain init: no variable is set for frameworks",
			AT_TEXT);
	}
	label(page, "searched");
	ri_page_fold(page, explain->looked_for, AT_TEXT);
}

static void say_summary(struct ri_page *page, const struct ri_explain *explain)
{
	const struct ri_topology *topology = explain->topology;
	RI_TEXT(text, 1024);

	ri_page_paint(page, RI_LOOK_BOLD);
	ri_page_showf(page, "rankinit %s", explain->version);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
	if (explain->err->code != RI_CODE_NONE) {
		label(page, "refused");
		ri_page_show_as(page, RI_LOOK_RED, "the launch would be refused, see the findings");
		ri_page_end_line(page);
	}
	if (topology->identity != NULL)
		say_who(page, topology, explain->rank_count);
	else
		say_no_rank(page, explain);
	if (topology->source_count == 0)
		return;
	for (size_t i = 0; i < topology->source_count; i++)
		ri_text_addf(&text, "%s%s", i == 0 ? "" : ", ", topology->sources[i]);
	if (topology->identity != NULL)
		ri_text_addf(&text, "; %s gives the identity", topology->identity);
	label(page, "read");
	ri_page_fold(page, text.bytes, AT_TEXT);
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

/*
 * One line of the table, which begins with a name; two where the value is long. Then comes
 * "openmpi      OMPI_COMM_WORLD_RANK", or "derived from hosts".
 */
static void show_fact(struct ri_page *page, const char *name, enum ri_look look,
	const struct ri_fact *fact, enum ri_fact_id id)
{
	const char *before = " from ";
	RI_TEXT(value, ANY_VALUE);

	name_value(fact, id, &value);
	ri_page_go(page, AT_LABEL);
	ri_page_paint(page, look);
	ri_page_show(page, name);
	ri_page_go(page, AT_VALUE);
	ri_page_show(page, value.bytes);
	ri_page_paint(page, RI_LOOK_PLAIN);
	if (page->column >= AT_SOURCE)
		ri_page_end_line(page);
	ri_page_go(page, AT_SOURCE);
	ri_page_paint(page, RI_LOOK_DIM);
	ri_page_show(page, fact->origin.source);
	if (fact->origin.variable != NULL) {
		ri_page_go(page, AT_VARIABLE);
		ri_page_show(page, fact->origin.variable);
	}
	for (int from = 0; from < RI_FACT_COUNT; from++) {
		if ((fact->origin.from & 1u << from) == 0)
			continue;
		ri_page_showf(page, "%s%s", before, ri_fact_name((enum ri_fact_id)from));
		before = ", ";
	}
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
}

/* A line below a fact, in its column of values. */
static void show_below(struct ri_page *page, const char *name, const char *text)
{
	ri_page_go(page, AT_LABEL + 2);
	ri_page_paint(page, RI_LOOK_DIM);
	ri_page_show(page, name);
	ri_page_go(page, AT_VALUE);
	ri_page_show(page, text);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
}

/* With as many of the hosts as a line holds, or the whole value where the fact is a part of it. */
static void show_known(struct ri_page *page, const struct ri_fact *fact, enum ri_fact_id id)
{
	RI_TEXT(hosts, 2 * RI_PAGE_WIDTH);
	RI_TEXT(value, ANY_VALUE);

	show_fact(page, ri_fact_name(id), RI_LOOK_BOLD, fact, id);
	if (id == RI_FACT_HOSTS) {
		for (uint64_t i = 0; i < fact->number && !hosts.cut; i++)
			ri_text_addf(&hosts, "%s%s", i == 0 ? "" : ", ", fact->list[i]);
		show_below(page, "list", hosts.bytes);
		return;
	}
	name_value(fact, id, &value);
	if (fact->origin.variable != NULL && strcmp(value.bytes, fact->origin.raw) != 0)
		show_below(page, "taken from", RI_QUOTED(fact->origin.raw));
}

static void say_facts(struct ri_page *page, const struct ri_topology *topology)
{
	bool begun = false;

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &topology->facts[id];
		enum ri_fact_group group = ri_fact_group(id);
		bool known = fact->state == RI_STATE_KNOWN;

		/* Was it said, or does a reader want to know that no source gives it? */
		if (fact->state == RI_STATE_ABSENT && fact->next == NULL &&
			(group == RI_GROUP_EXTRA || topology->scope == RI_SCOPE_NONE ||
				(group == RI_GROUP_TUPLE && topology->scope != RI_SCOPE_PROCESS)))
			continue;
		if (!begun)
			ri_page_title(page, "Facts, and where they come from");
		begun = true;
		if (known) {
			show_known(page, fact, id);
		} else {
			ri_page_go(page, AT_LABEL);
			ri_page_show_as(page, RI_LOOK_BOLD, ri_fact_name(id));
			ri_page_go(page, AT_VALUE);
			ri_page_show_as(page, RI_LOOK_YELLOW, "unknown");
			ri_page_end_line(page);
		}
		if (fact->state == RI_STATE_BROKEN)
			show_fact(page, "  unusable", RI_LOOK_RED, fact, id);
		else if (fact->state == RI_STATE_OPEN)
			show_below(page, "undecided", fact->reason);
		for (const struct ri_fact *lost = fact->next; lost != NULL; lost = lost->next)
			if (lost->state == RI_STATE_BROKEN)
				show_fact(page, "  unusable", RI_LOOK_RED, lost, id);
			else
				show_fact(page, known ? "  overrides" : "  not used", RI_LOOK_DIM,
					lost, id);
	}
}

/* A variable's value in so many columns, without secrets. */
static void show_value(struct ri_page *page, const char *name, const char *value, size_t columns)
{
	RI_TEXT(text, 4 * RI_PAGE_WIDTH + 1);

	ri_redact_value(&text, name, value);
	ri_page_show_in(page, columns, text.bytes);
}

/* A line for what the edit does, where it does anything: + sets, ~ changes, - removes. */
static bool say_edit(struct ri_page *page, const struct ri_env *env,
	const struct ri_env_edits *edits, const struct ri_env_edit *edit)
{
	const struct ri_env_entry *entry = ri_env_find(env, edit->name);
	bool sets = edit->value != NULL, there = entry != NULL;
	const char *old = there ? ri_env_entry_value(entry) : NULL;

	if (ri_env_edits_find(edits, edit->name) != edit || (!sets && !there))
		return false;
	ri_page_go(page, AT_LABEL);
	ri_page_paint(page, !sets ? RI_LOOK_RED : there ? RI_LOOK_YELLOW : RI_LOOK_GREEN);
	ri_page_show(page, !sets ? "-" : there ? "~" : "+");
	ri_page_go(page, AT_EDIT);
	ri_page_show_in(page, NAME_MAX_COLUMNS, edit->name);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_go(page, AT_EDIT_VALUE);
	if (there) {
		ri_page_paint(page, RI_LOOK_DIM);
		show_value(page, edit->name, old == NULL ? "no value" : *old == '\0' ? "\"\"" : old,
			ri_page_room(page) / (sets ? 2 : 1));
		ri_page_paint(page, RI_LOOK_PLAIN);
	}
	if (there && sets)
		ri_page_show(page, " -> ");
	if (sets)
		show_value(page, edit->name, edit->value, RI_PAGE_WIDTH);
	if (there && entry->next != 0)
		ri_page_show(page, " (was set twice)");
	ri_page_end_line(page);
	return true;
}

/* All of the first rank; of another one, which has edits of its own, what differs from these. */
static void say_edits(struct ri_page *page, const struct ri_explain *explain,
	const struct ri_env_edits *edits)
{
	const struct ri_env_edits *first = explain->ranks[0].edits;
	bool any = false;

	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];
		const struct ri_env_edit *same = edits == first ? NULL
			: ri_env_edits_find(first, edit->name);

		if (same == NULL || (same->value == NULL || edit->value == NULL
			? same->value != edit->value : strcmp(same->value, edit->value) != 0))
			any |= say_edit(page, explain->env, edits, edit);
	}
	if (!any)
		ri_page_fold(page, explain->err->code == RI_CODE_NONE ? "no changes"
			: "not determined, because the launch is refused", AT_LABEL);
}

/* Below what was said of so many ranks. */
static void say_others(struct ri_page *page, const struct ri_explain *explain)
{
	if (explain->rank_count > RANKS_MAX)
		ri_page_fold(page, "and so on for the other ranks", AT_LABEL);
}

static void say_environment(struct ri_page *page, const struct ri_explain *explain)
{
	ri_page_title(page, "Environment of the command");
	say_edits(page, explain, explain->ranks[0].edits);
	for (size_t i = 1; i < explain->rank_count && i < RANKS_MAX; i++) {
		ri_page_go(page, AT_LABEL);
		ri_page_showf(page, "rank %" PRId64 " differs in", explain->ranks[i].rank);
		ri_page_end_line(page);
		say_edits(page, explain, explain->ranks[i].edits);
	}
	say_others(page, explain);
}

/* "rank 3, GPU 3, CPUs 8-15"; nothing, where no rank has a place of its own. */
static void say_placement(struct ri_page *page, const struct ri_explain *explain)
{
	bool any = false;

	for (size_t i = 0; i < explain->rank_count && i < RANKS_MAX; i++) {
		const struct ri_explained_rank *rank = &explain->ranks[i];

		if (rank->cpus == NULL && rank->gpu == NULL)
			continue;
		if (!any)
			ri_page_title(page, "Placement");
		any = true;
		ri_page_go(page, AT_LABEL);
		ri_page_show(page, "rank");
		if (rank->rank >= 0)
			ri_page_showf(page, " %" PRId64, rank->rank);
		if (rank->gpu != NULL) {
			ri_page_show(page, ", GPU ");
			ri_page_show_as(page, RI_LOOK_BOLD, rank->gpu);
		}
		if (rank->cpus != NULL) {
			ri_page_show(page, ", CPUs ");
			ri_page_show_as(page, RI_LOOK_BOLD, rank->cpus);
		}
		ri_page_end_line(page);
	}
	if (any)
		say_others(page, explain);
}

/* A word of the command, quoted as for a shell where it needs to be. */
static void say_word(struct ri_page *page, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_@%+=:,./-";
	bool is_plain = *word != '\0' && word[strspn(word, plain)] == '\0';
	const char *quote = is_plain ? "" : strchr(word, '\'') == NULL ? "'" : "\"";
	RI_TEXT(text, 4 * RI_PAGE_WIDTH);
	size_t columns;

	ri_text_add(&text, quote);
	/* the quotes, and a blank and a backslash at the end of the line */
	columns = ri_text_add_shown(&text, word, RI_PAGE_WIDTH - AT_NEXT - 4);
	columns += 2 * strlen(quote);
	ri_text_add(&text, quote);
	if (page->column > AT_LABEL && columns + 3 > ri_page_room(page)) {
		ri_text_add(page->out, " \\");
		ri_page_end_line(page);
		ri_page_go(page, AT_NEXT);
	} else if (page->column > AT_LABEL) {
		ri_page_go(page, 0);
	}
	ri_text_add(page->out, text.bytes);
	page->column += columns;
}

static void say_command(struct ri_page *page, const struct ri_explain *explain)
{
	char *const *first = explain->ranks[0].argv;
	char title[64];

	snprintf(title, sizeof(title), "Command (launch mode %s)", explain->launch);
	ri_page_title(page, title);
	if (first == NULL) {
		ri_page_go(page, AT_LABEL);
		ri_page_show_as(page, RI_LOOK_YELLOW, "no command was given, and a launch needs "
			"one");
		ri_page_end_line(page);
		return;
	}
	/* once where it is the same for all */
	for (size_t rank = 0; rank < explain->rank_count && rank < RANKS_MAX; rank++) {
		char *const *argv = explain->ranks[rank].argv;
		size_t same = 0;

		while (argv != NULL && argv[same] != NULL && first[same] != NULL &&
			strcmp(argv[same], first[same]) == 0)
			same++;
		if (argv == NULL || (rank > 0 && argv[same] == first[same]))
			continue;
		ri_page_go(page, AT_LABEL);
		for (size_t i = 0; argv[i] != NULL && i <= WORDS_MAX; i++)
			say_word(page, i < WORDS_MAX ? argv[i] : "...");
		ri_page_end_line(page);
	}
	say_others(page, explain);
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

/* The value, or the part around the fault, and a caret below it. */
static void show_caret(struct ri_page *page, const char *raw, size_t at)
{
	size_t before = 0, caret, i = at;

	while (i > 0 && before + byte_columns(raw[i - 1]) <= CARET)
		before += byte_columns(raw[--i]);
	ri_page_go(page, AT_TEXT + 2);
	ri_page_show(page, i > 0 ? "..." : "");
	caret = page->column + before;
	for (; raw[i] != '\0' && ri_page_room(page) > 7; i++) {
		if (i == at)
			ri_page_paint(page, RI_LOOK_RED);
		ri_page_showf(page, byte_columns(raw[i]) == 1 ? "%c" : "\\x%02x",
			(unsigned char)raw[i]);
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
	const struct ri_error *finding)
{
	static const enum ri_look looks[] = {
		[RI_SEVERITY_NOTE] = RI_LOOK_DIM,
		[RI_SEVERITY_WARNING] = RI_LOOK_YELLOW,
		[RI_SEVERITY_ERROR] = RI_LOOK_RED,
	};
	const struct ri_fact *broken = find_broken(topology, finding->subject);

	ri_page_go(page, AT_LABEL);
	ri_page_show_as(page, looks[finding->severity], ri_severity_name(finding->severity));
	ri_page_go(page, AT_TEXT);
	ri_page_show_as(page, RI_LOOK_BOLD, finding->subject);
	ri_page_paint(page, RI_LOOK_DIM);
	ri_page_showf(page, " [%s]", ri_code_name(finding->code));
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_end_line(page);
	ri_page_fold(page, finding->text, AT_TEXT);
	if (broken != NULL)
		show_caret(page, broken->origin.raw, broken->fault_at);
	if (finding->hint[0] != '\0')
		ri_page_fold(page, finding->hint, AT_TEXT);
}

static void say_findings(struct ri_page *page, const struct ri_explain *explain)
{
	const struct ri_findings *findings = explain->findings;

	if (findings->count == 0 && explain->err->code == RI_CODE_NONE)
		return;
	ri_page_title(page, "Findings");
	if (explain->err->code != RI_CODE_NONE)
		say_finding(page, explain->topology, explain->err);
	for (int severity = RI_SEVERITY_ERROR; severity >= RI_SEVERITY_NOTE; severity--)
		for (size_t i = 0; i < findings->count; i++)
			if (findings->items[i].severity == (enum ri_severity)severity)
				say_finding(page, explain->topology, &findings->items[i]);
	if (findings->dropped > 0) {
		ri_page_go(page, AT_TEXT);
		ri_page_showf(page, "and %zu more", findings->dropped);
		ri_page_end_line(page);
	}
}

void ri_explain_text(const struct ri_explain *explain, struct ri_text *out)
{
	struct ri_page page = { .out = out, .color = explain->color };

	say_summary(&page, explain);
	say_facts(&page, explain->topology);
	say_environment(&page, explain);
	say_placement(&page, explain);
	say_command(&page, explain);
	say_findings(&page, explain);
}

/* What a variable is set to, without secrets, under its name, which is foreign text, too. */
static void put_variable(struct ri_json *json, json_t *object, const struct ri_env_edit *edit)
{
	struct ri_span name = ri_span_of(edit->name);
	struct ri_span set = ri_span_of(edit->value);
	json_t *value = ri_json_redacted(json, set, ri_secrecy_of(name), edit->name);
	json_t *key = ri_json_string(json, edit->name, "set");

	/* a name is missing where memory ran out */
	ri_json_put(json, object, json_string_value(key), value);
	json_decref(key);
}

static json_t *describe_rank(struct ri_json *json, const struct ri_explained_rank *rank)
{
	json_t *set = json_object(), *unset = json_array(), *argv = json_array();

	for (size_t i = 0; i < rank->edits->count; i++) {
		const struct ri_env_edit *edit = &rank->edits->items[i];

		if (ri_env_edits_find(rank->edits, edit->name) != edit)
			continue;
		if (edit->value != NULL)
			put_variable(json, set, edit);
		else
			ri_json_append(json, unset, ri_json_string(json, edit->name, "unset"));
	}
	for (char *const *word = rank->argv; word != NULL && *word != NULL; word++)
		ri_json_append(json, argv, ri_json_string(json, *word, "argv"));
	return RI_JSON_OBJECT(json, { "rank", ri_json_number(rank->rank) },
		{ "local_rank", ri_json_number(rank->local_rank) },
		{ "set", set }, { "unset", unset }, { "argv", argv },
		{ "cpus", ri_json_string(json, rank->cpus, "cpus") },
		{ "gpu", ri_json_string(json, rank->gpu, "gpu") });
}

static void add_finding(struct ri_json *json, json_t *list, const struct ri_error *finding)
{
	ri_json_append(json, list, RI_JSON_OBJECT(json,
		{ "severity", json_string(ri_severity_name(finding->severity)) },
		{ "code", json_string(ri_code_name(finding->code)) },
		{ "subject", ri_json_string(json, finding->subject, "findings") },
		{ "text", ri_json_string(json, finding->text, "findings") },
		{ "hint", ri_json_string(json, finding->hint, "findings") }));
}

/* Of all that has been described by then. */
static json_t *list_findings(struct ri_json *json, const struct ri_explain *explain)
{
	struct ri_error escapes = {
		.severity = RI_SEVERITY_NOTE,
		.code = RI_CODE_OUTPUT_ESCAPED,
	};
	json_t *list = json_array();

	/* what refuses the launch is the first finding */
	if (explain->err->code != RI_CODE_NONE)
		add_finding(json, list, explain->err);
	for (size_t i = 0; i < explain->findings->count; i++)
		add_finding(json, list, &explain->findings->items[i]);
	if (json->escapes == 0)
		return list;
	ri_text_copy(escapes.subject, sizeof(escapes.subject), json->escaped);
	snprintf(escapes.text, sizeof(escapes.text),
		"is not UTF-8: \\xNN stands for a byte, and each backslash is doubled; %zu such "
		"strings in all", json->escapes);
	add_finding(json, list, &escapes);
	return list;
}

int ri_explain_json(const struct ri_explain *explain, struct ri_text *out)
{
	static const char *const scopes[] = {
		[RI_SCOPE_PROCESS] = "process", [RI_SCOPE_NODE] = "node",
	};
	const struct ri_topology *topology = explain->topology;
	struct ri_json json = { .escapes = 0 };
	json_t *facts = ri_json_topology(&json, topology), *findings;
	json_t *sources = json_array(), *ranks = json_array();

	for (size_t i = 0; i < topology->source_count; i++)
		ri_json_append(&json, sources, json_string(topology->sources[i]));
	for (size_t i = 0; i < explain->rank_count; i++)
		ri_json_append(&json, ranks, describe_rank(&json, &explain->ranks[i]));
	findings = list_findings(&json, explain);
	return ri_json_end(&json, RI_JSON_OBJECT(&json,
		{ "schema", json_string("rankinit-explain-1") },
		{ "version", json_string(explain->version) },
		{ "identity", ri_json_string(&json, topology->identity, "identity") },
		{ "scope", ri_json_string(&json, scopes[topology->scope], "scope") },
		{ "sources", sources }, { "launch", json_string(explain->launch) },
		{ "topology", facts }, { "ranks", ranks }, { "findings", findings }),
		JSON_INDENT(2), out);
}
