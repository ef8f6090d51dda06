/* SPDX-License-Identifier: Apache-2.0 */
/* Every fact with its origin, and the candidates that it beat. */
#include <inttypes.h>
#include <string.h>

#include "model/explain_parts.h"

/* Where the columns of the table begin. */
enum { AT_VALUE = 20, AT_SOURCE = 38, AT_VARIABLE = 51 };

enum { ANY_VALUE = RI_MAX_NAME + RI_QUOTE_SIZE };

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

/* Is it news that nobody speaks of a fact of this group? */
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

void ri_explain_facts(struct ri_page *page, const struct ri_topology *topology)
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
