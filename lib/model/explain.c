/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --explain: its parts, and the first of them, who we are. */
#include <inttypes.h>

#include "model/explain_parts.h"

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

static void say_nobody(struct ri_page *page, const struct ri_explain *explain)
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

void ri_explain_summary(struct ri_page *page, const struct ri_explain *explain)
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
		say_nobody(page, explain);
	say_sources(page, explain->topology);
}

void ri_explain_text(const struct ri_explain *explain, struct ri_text *out)
{
	struct ri_page page = { .out = out, .color = explain->color };

	ri_explain_summary(&page, explain);
	ri_explain_facts(&page, explain->topology);
	ri_explain_environment(&page, explain);
	ri_explain_placement(&page, explain);
	ri_explain_command(&page, explain);
	ri_explain_findings(&page, explain);
}
