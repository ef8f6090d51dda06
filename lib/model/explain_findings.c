/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong, with a caret below the byte at fault. */
#include <string.h>

#include "model/explain_parts.h"

enum { CARET = 36 };	/* columns of a value before the byte at fault, at most */

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

static bool is_printable(char byte)
{
	return byte >= ' ' && byte < 0x7f;
}

/* One byte of a value; what is not plain ASCII as \xNN, so that columns are known. */
static void show_byte(struct ri_page *page, char byte)
{
	char text[8];
	struct ri_text shown;

	ri_text_init(&shown, text, sizeof(text));
	if (is_printable(byte))
		ri_text_add_bytes(&shown, &byte, 1);
	else
		ri_text_addf(&shown, "\\x%02x", (unsigned char)byte);
	ri_page_show(page, text);
}

static size_t byte_columns(char byte)
{
	return is_printable(byte) ? 1 : 4;
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

	ri_page_go(page, RI_EXPLAIN_TEXT + 2);
	ri_page_show(page, i > 0 ? "..." : "");
	caret = page->column + before;
	for (; raw[i] != '\0' && ri_page_room(page) > 7; i++) {
		if (i == at)
			ri_page_paint(page, RI_LOOK_RED);
		show_byte(page, raw[i]);
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

static void say_error(struct ri_page *page, const struct ri_topology *topology,
	const struct ri_error *err)
{
	struct ri_finding finding = { .severity = RI_SEVERITY_ERROR, .code = err->code };

	ri_text_copy(finding.subject, sizeof(finding.subject), err->subject);
	ri_text_copy(finding.text, sizeof(finding.text), err->text);
	ri_text_copy(finding.hint, sizeof(finding.hint), err->hint);
	say_finding(page, topology, &finding);
}

static void say_dropped(struct ri_page *page, size_t dropped)
{
	char bytes[64];
	struct ri_text text;

	if (dropped == 0)
		return;
	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_addf(&text, "and %zu more", dropped);
	ri_page_fold(page, bytes, RI_EXPLAIN_TEXT);
}

void ri_explain_findings(struct ri_page *page, const struct ri_explain *explain)
{
	const struct ri_findings *findings = explain->findings;

	if (findings->count == 0 && explain->err->code == RI_CODE_NONE)
		return;
	ri_page_title(page, "Findings");
	if (explain->err->code != RI_CODE_NONE)
		say_error(page, explain->topology, explain->err);
	for (int severity = RI_SEVERITY_ERROR; severity >= RI_SEVERITY_NOTE; severity--)
		for (size_t i = 0; i < findings->count; i++)
			if (findings->items[i].severity == (enum ri_severity)severity)
				say_finding(page, explain->topology, &findings->items[i]);
	say_dropped(page, findings->dropped);
}
