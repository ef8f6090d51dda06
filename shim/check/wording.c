/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of our own about what checks found, beside a launch. */
#include <stdio.h>
#include <string.h>

#include "check/print.h"
#include "system/log.h"

enum { SUMMED = 8, FIRST = 110 };

void ri_check_text(const struct ri_check_result *result, char out[RI_CHECK_TEXT])
{
	snprintf(out, RI_CHECK_TEXT, "%s%s%s", result->text, result->expected[0] == '\0' ? ""
		: "; expected ", result->expected);
}

static enum ri_level level_of(const struct ri_check_result *result)
{
	if (result->unfit)
		return RI_LEVEL_ERROR;
	return result->status == RI_CHECK_WARN || result->status == RI_CHECK_FAIL ||
			(result->status == RI_CHECK_UNKNOWN && result->problem)
		? RI_LEVEL_WARNING
		: RI_LEVEL_NOTE;
}

/* Not one of many that a single line stands for, and not merely unknown without harm. */
static bool is_said(const struct ri_check_result *result)
{
	return ri_check_was_begun(result) && result->status != RI_CHECK_PASS &&
		result->status != RI_CHECK_SKIP &&
		(result->status != RI_CHECK_UNKNOWN || result->problem || result->unfit);
}

/* Does it say something that matters no less than this? */
static bool says_as_much(const struct ri_check_report *report, const char *id,
	const struct ri_check_result *result)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *cause = &report->items[i];

		if (strcmp(ri_check_id(cause), id) == 0 && is_said(cause) &&
			level_of(cause) >= level_of(result))
			return true;
	}
	return false;
}

const char *ri_check_cause(const struct ri_check_report *report,
	const struct ri_check_result *result)
{
	const char *id = is_said(result) ? ri_check_at(result->check)->because : NULL;

	while (id != NULL && !says_as_much(report, id, result)) {
		size_t number = 0;

		while (strcmp(ri_check_ids()[number], id) != 0)
			number++;
		id = ri_check_at(number)->because;
	}
	return id;
}

/*
 * The checks that were not begun, required ones or the others, in one
 * sentence with the reason of the first. Returns that one, NULL: there is none.
 */
static const struct ri_check_result *sum_unbegun(const struct ri_check_report *report, bool unfit,
	char text[RI_CHECK_TEXT])
{
	const struct ri_check_result *first = NULL;
	struct ri_text list;
	size_t count = 0;

	ri_text_init(&list, text, RI_CHECK_TEXT);
	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];

		if (ri_check_was_begun(result) || result->unfit != unfit)
			continue;
		if (count++ == 0)
			first = result;
		if (count <= SUMMED)
			ri_text_addf(&list, "%s%s", count == 1 ? "" : ", ", ri_check_id(result));
	}
	if (count > SUMMED)
		ri_text_addf(&list, " and %zu more", count - SUMMED);
	if (first != NULL)
		ri_text_addf(&list, ": %s", first->text);
	return first;
}

/* A result that is said, or the first of all checks that were not begun. */
struct told {
	size_t next;	/* 0 at first */
	const struct ri_check_result *result;
	const char *subject;
	char text[RI_CHECK_TEXT];
};

/* Each that is said, but for what follows from another; the checks that were not begun last. */
static bool tell_next(const struct ri_check_report *report, struct told *out)
{
	while (out->next < report->count) {
		out->result = &report->items[out->next++];
		if (!is_said(out->result) || ri_check_cause(report, out->result) != NULL)
			continue;
		out->subject = out->result->subject;
		ri_check_text(out->result, out->text);
		return true;
	}
	while (out->next < report->count + 2) {
		bool unfit = out->next++ == report->count;

		out->subject = unfit ? "--require" : "--checks";
		out->result = sum_unbegun(report, unfit, out->text);
		if (out->result != NULL)
			return true;
	}
	return false;
}

/* "SUBJECT: TEXT; HINT [code]" */
static void add_line(struct ri_text *out, const struct told *told)
{
	const char *hint = told->result->hint;

	ri_text_addf(out, "%s: %s%s%s [%s]", told->subject, told->text, hint[0] == '\0' ? "" : "; ",
		hint, ri_code_name((enum ri_code)told->result->code));
}

void ri_check_log(const struct ri_check_report *report)
{
	struct told told = { .next = 0 };
	char line[2 * RI_CHECK_TEXT];
	struct ri_text out;

	while (tell_next(report, &told)) {
		ri_text_init(&out, line, sizeof(line));
		add_line(&out, &told);
		ri_log(level_of(told.result), "%s", line);
	}
	if (report->dropped > 0)
		ri_log(RI_LEVEL_WARNING, "%zu more check results are not shown [%s]",
			report->dropped, ri_code_name(RI_CODE_CHECK_FLOOD));
}

void ri_check_words(const struct ri_check_report *report, struct ri_text *out)
{
	struct told told = { .next = 0 };

	while (tell_next(report, &told)) {
		if (!told.result->unfit)
			continue;
		add_line(out, &told);
		ri_text_add(out, "\n");
	}
}

void ri_check_explain(const struct ri_check_report *report, struct ri_findings *findings)
{
	struct told told = { .next = 0 };

	while (tell_next(report, &told))
		if (level_of(told.result) != RI_LEVEL_NOTE)
			ri_finding_hint(ri_findings_add(findings, told.result->unfit
				? RI_SEVERITY_ERROR : RI_SEVERITY_WARNING,
				(enum ri_code)told.result->code, told.subject, "%s", told.text),
				"%s", told.result->hint);
}

/* The first of them in words, and the ids of the others. */
const char *ri_check_reasons(const struct ri_check_report *report, char out[RI_CHECK_REASONS])
{
	const struct ri_check_result *last = NULL;
	struct ri_text text;
	size_t count = 0;

	ri_text_init(&text, out, RI_CHECK_REASONS);
	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];
		/* what stands before it goes on about consequences, and not too much of that */
		size_t length = strcspn(result->text, ";");

		if (!result->unfit || (last != NULL && last->check == result->check) ||
			ri_check_cause(report, result) != NULL)
			continue;
		last = result;
		if (count++ == 0)
			ri_text_addf(&text, ": %s (%s: %.*s%s%.40s)", ri_check_id(result),
				result->subject, length > FIRST ? FIRST : (int)length, result->text,
				result->expected[0] == '\0' ? "" : "; expected ",
				result->expected);
		else if (count <= SUMMED)
			ri_text_addf(&text, ", %s", ri_check_id(result));
	}
	if (count > SUMMED)
		ri_text_addf(&text, " and %zu more", count - SUMMED);
	return out;
}
