/* SPDX-License-Identifier: Apache-2.0 */
/* "rankinit-blame-1": docs/blame.schema.json has its members. */
#include "blame/sheet.h"

#include "report/class.h"

const char *ri_case_finding_name(enum ri_case_finding finding)
{
	static const char *const names[] = {
		[RI_CASE_WELL] = "none-failed",
		[RI_CASE_STOPPED] = "stopped",
		[RI_CASE_FIRST] = "failed-first",
		[RI_CASE_REFUSED] = "refused",
		[RI_CASE_EVICTED] = "stopped-first",
		[RI_CASE_LEFT] = "left",
		[RI_CASE_HELD] = "held",
		[RI_CASE_SILENT] = "unreported",
		[RI_CASE_TOLD] = "named-by-link",
		[RI_CASE_NOBODY] = "unknown",
	};

	return names[finding];
}

static void put_node(struct ri_sheet *sheet, const char *name, const struct ri_witness *witness)
{
	ri_sheet_open(sheet, name, '{');
	ri_sheet_number(sheet, "node", witness->node);
	ri_sheet_string(sheet, "host", witness->host);
	ri_sheet_string(sheet, "file", witness->file);
	ri_sheet_close(sheet, '}');
}

static void put_suspect(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_case_suspect *suspect)
{
	const struct ri_witness *witness = suspect->witness;
	const struct ri_witness_rank *rank = suspect->rank;
	const struct ri_witness_autopsy *autopsy = suspect->seen ? &witness->autopsy : NULL;
	bool failed = c->finding == RI_CASE_FIRST && witness->failure.class != RI_CLASS_NONE;

	ri_sheet_open(sheet, NULL, '{');
	ri_sheet_number(sheet, "node", witness->node);
	ri_sheet_string(sheet, "host", witness->host);
	ri_sheet_number(sheet, "rank", ri_case_rank(suspect));
	ri_sheet_number(sheet, "local_rank", rank == NULL ? -1 : rank->local_rank);
	ri_sheet_string(sheet, "class", failed ? ri_class_name(witness->failure.class) : NULL);
	ri_sheet_string(sheet, "how", failed ? witness->failure.how : NULL);
	ri_sheet_string(sheet, "did", autopsy == NULL ? NULL : autopsy->did);
	ri_sheet_time(sheet, "at", suspect->at);
	ri_sheet_open(sheet, "reason", '[');
	for (size_t i = 0; (failed || c->finding == RI_CASE_REFUSED) &&
		i < witness->failure.line_count; i++)
		ri_sheet_string(sheet, NULL, witness->failure.lines[i]);
	for (size_t i = 0; autopsy != NULL && i < autopsy->line_count; i++)
		ri_sheet_string(sheet, NULL, autopsy->lines[i]);
	ri_sheet_close(sheet, ']');
	ri_sheet_number(sheet, "exit_status", witness->exit_status);
	ri_sheet_string(sheet, "life", suspect->life == RI_CASE_EARLIER_LIFE ? "earlier" :
		suspect->life == RI_CASE_LATER_LIFE ? "later" : NULL);
	ri_sheet_string(sheet, "file", witness->file);
	ri_sheet_close(sheet, '}');
}

static void put_suspects(struct ri_sheet *sheet, const struct ri_case *c)
{
	ri_sheet_string(sheet, "finding", ri_case_finding_name(c->finding));
	ri_sheet_open(sheet, "suspects", '[');
	for (size_t i = 0; i < c->suspect_count; i++)
		put_suspect(sheet, c, &c->suspects[i]);
	ri_sheet_close(sheet, ']');
	ri_sheet_number(sheet, "more_suspects", (int64_t)c->more_suspects);
	ri_sheet_open(sheet, "link", '{');
	ri_sheet_number(sheet, "node", c->verdict_node);
	ri_sheet_string(sheet, "verdict", c->verdict == NULL ? NULL : c->verdict->verdict);
	ri_sheet_bool(sheet, "differs", c->verdicts_differ);
	ri_sheet_close(sheet, '}');
}

static void put_victims(struct ri_sheet *sheet, const struct ri_case_victims *victims)
{
	ri_sheet_open(sheet, "victims", '{');
	ri_sheet_number(sheet, "ranks", (int64_t)victims->ranks);
	ri_sheet_number(sheet, "nodes", (int64_t)victims->nodes);
	ri_sheet_number(sheet, "lost", (int64_t)victims->lost);
	ri_sheet_number(sheet, "stopped", (int64_t)victims->stopped);
	ri_sheet_number(sheet, "failed", (int64_t)victims->failed);
	ri_sheet_close(sheet, '}');
}

static void put_attempt(struct ri_sheet *sheet, const char *name,
	const struct ri_case_attempt *attempt, bool lists)
{
	const struct ri_witness *one = attempt->witnesses[0];

	ri_sheet_open(sheet, name, '{');
	ri_sheet_string(sheet, "id", one->job);
	ri_sheet_number(sheet, "attempt", one->attempt);
	ri_sheet_number(sheet, "nodes", one->nodes);
	ri_sheet_number(sheet, "ranks", one->world);
	ri_sheet_number(sheet, "reports", (int64_t)attempt->count);
	ri_sheet_time(sheet, "began", attempt->began);
	ri_sheet_time(sheet, "ended", attempt->ended);
	if (lists) {
		ri_sheet_open(sheet, "files", '[');
		for (size_t i = 0; i < attempt->count; i++)
			ri_sheet_string(sheet, NULL, attempt->witnesses[i]->file);
		ri_sheet_close(sheet, ']');
	}
	ri_sheet_close(sheet, '}');
}

/* Pairs of a first and a last number. */
static void put_missing(struct ri_sheet *sheet, const char *name, const struct ri_case_roll *roll)
{
	size_t end;

	ri_sheet_open(sheet, name, '[');
	for (size_t i = 0; roll->missing > 0 && i < roll->all; i = end + 1) {
		for (end = i; end < roll->all && ri_case_is_missing(roll, end); end++)
			;
		if (end == i)
			continue;
		ri_sheet_open(sheet, NULL, '[');
		ri_sheet_number(sheet, NULL, (int64_t)i);
		ri_sheet_number(sheet, NULL, (int64_t)end - 1);
		ri_sheet_close(sheet, ']');
	}
	ri_sheet_close(sheet, ']');
}

static void put_oddities(struct ri_sheet *sheet, const struct ri_case *c)
{
	ri_sheet_open(sheet, "differs", '[');
	for (size_t i = 0; i < c->oddity_count; i++) {
		const struct ri_case_oddity *oddity = &c->oddities[i];

		ri_sheet_open(sheet, NULL, '{');
		ri_sheet_string(sheet, "fact", oddity->fact);
		ri_sheet_string(sheet, "value", oddity->value);
		ri_sheet_open(sheet, "nodes", '[');
		for (size_t k = 0; k < oddity->count; k++)
			put_node(sheet, NULL, oddity->who[k]);
		ri_sheet_close(sheet, ']');
		ri_sheet_string(sheet, "usual", oddity->usual);
		ri_sheet_number(sheet, "usual_nodes", (int64_t)oddity->usual_count);
		ri_sheet_close(sheet, '}');
	}
	ri_sheet_close(sheet, ']');
}

static void put_rest(struct ri_sheet *sheet, const struct ri_case *c)
{
	ri_sheet_open(sheet, "other_attempts", '[');
	for (size_t i = 1; i < c->attempt_count; i++)
		put_attempt(sheet, NULL, &c->attempts[i], true);
	ri_sheet_close(sheet, ']');
	ri_sheet_open(sheet, "skipped", '[');
	for (size_t i = 0; i < c->skip_count; i++) {
		ri_sheet_open(sheet, NULL, '{');
		ri_sheet_string(sheet, "file", c->skips[i].file);
		ri_sheet_string(sheet, "why", c->skips[i].why);
		ri_sheet_close(sheet, '}');
	}
	ri_sheet_close(sheet, ']');
}

void ri_case_json(const struct ri_case *c, const char *version, struct ri_sheet *sheet)
{
	ri_sheet_open(sheet, NULL, '{');
	ri_sheet_string(sheet, "schema", "rankinit-blame-1");
	ri_sheet_string(sheet, "version", version);
	put_suspects(sheet, c);
	put_victims(sheet, &c->victims);
	put_attempt(sheet, "job", &c->attempts[0], false);
	ri_sheet_open(sheet, "missing", '{');
	put_missing(sheet, "nodes", &c->nodes);
	put_missing(sheet, "ranks", &c->ranks);
	ri_sheet_close(sheet, '}');
	put_oddities(sheet, c);
	put_rest(sheet, c);
	ri_sheet_close(sheet, '}');
	ri_sheet_addf(sheet, "\n");
}
