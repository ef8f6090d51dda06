/* SPDX-License-Identifier: Apache-2.0 */
#include "check/runner.h"

#include <stdio.h>
#include <string.h>

#include "model/explain.h"
#include "system/log.h"

static const char *id_of(const struct ri_check_result *result)
{
	return ri_check_ids()[result->check];
}

/* --- lines of our own, beside a launch -------------------------------------- */

enum { SUMMED = 8, FIRST = 110, TEXT = 768 };

/* "has 64 MiB; expected at least 1 GiB" */
static void make_text(const struct ri_check_result *result, char out[TEXT])
{
	snprintf(out, TEXT, "%s%s%s", result->text, result->expected[0] == '\0' ? ""
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

/* The id of the check that found what this follows from: lines have that one, tables both. */
static const char *find_cause(const struct ri_check_report *report,
	const struct ri_check_result *result)
{
	const char *id = is_said(result) ? ri_check_at(result->check)->because : NULL;

	while (id != NULL) {
		size_t number = 0;

		/* it counts where it says something that matters no less than this */
		for (size_t i = 0; i < report->count; i++)
			if (strcmp(id_of(&report->items[i]), id) == 0 &&
				is_said(&report->items[i]) &&
				level_of(&report->items[i]) >= level_of(result))
				return id;
		while (strcmp(ri_check_ids()[number], id) != 0)
			number++;
		id = ri_check_at(number)->because;
	}
	return NULL;
}

/*
 * The checks that were not begun, required ones or the others, in one
 * sentence with the reason of the first. Returns that one, NULL: there is none.
 */
static const struct ri_check_result *sum_unbegun(const struct ri_check_report *report, bool unfit,
	char text[TEXT])
{
	const struct ri_check_result *first = NULL;
	struct ri_text list = ri_text_of(text, TEXT);
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];

		if (ri_check_was_begun(result) || result->unfit != unfit)
			continue;
		if (count++ == 0)
			first = result;
		if (count <= SUMMED)
			ri_text_addf(&list, "%s%s", count == 1 ? "" : ", ", id_of(result));
	}
	if (count > SUMMED)
		ri_text_addf(&list, " and %zu more", count - SUMMED);
	if (first != NULL)
		ri_text_addf(&list, ": %s", first->text);
	return first;
}

/* A result that is said, or the first of all checks that were not begun. */
struct notice {
	size_t next;	/* 0 at first */
	const struct ri_check_result *result;
	const char *subject;
	char text[TEXT];
};

/* Each that is said, but for what follows from another; the checks that were not begun last. */
static bool next_notice(const struct ri_check_report *report, struct notice *out)
{
	while (out->next < report->count) {
		out->result = &report->items[out->next++];
		if (!is_said(out->result) || find_cause(report, out->result) != NULL)
			continue;
		out->subject = out->result->subject;
		make_text(out->result, out->text);
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
static void add_line(struct ri_text *out, const struct notice *notice)
{
	const char *hint = notice->result->hint;

	ri_text_addf(out, "%s: %s%s%s [%s]", notice->subject, notice->text,
		hint[0] == '\0' ? "" : "; ", hint,
		ri_code_name((enum ri_code)notice->result->code));
}

void ri_check_log(const struct ri_check_report *report)
{
	struct notice notice = { .next = 0 };

	while (next_notice(report, &notice)) {
		RI_TEXT(line, 2 * TEXT);

		add_line(&line, &notice);
		ri_log(level_of(notice.result), "%s", line.bytes);
	}
	if (report->dropped > 0)
		ri_log(RI_LEVEL_WARNING, "%zu more check results are not shown [%s]",
			report->dropped, ri_code_name(RI_CODE_CHECK_FLOOD));
}

void ri_check_words(const struct ri_check_report *report, struct ri_text *out)
{
	struct notice notice = { .next = 0 };

	while (next_notice(report, &notice)) {
		if (!notice.result->unfit)
			continue;
		add_line(out, &notice);
		ri_text_add(out, "\n");
	}
}

void ri_check_explain(const struct ri_check_report *report, struct ri_findings *findings)
{
	struct notice notice = { .next = 0 };

	while (next_notice(report, &notice))
		if (level_of(notice.result) != RI_LEVEL_NOTE)
			ri_finding_hint(ri_findings_add(findings, notice.result->unfit
				? RI_SEVERITY_ERROR : RI_SEVERITY_WARNING,
				(enum ri_code)notice.result->code, notice.subject, "%s",
				notice.text), "%s", notice.result->hint);
}

/* The first of them in words, and the ids of the others. */
const char *ri_check_reasons(const struct ri_check_report *report, char out[RI_CHECK_REASONS])
{
	const struct ri_check_result *last = NULL;
	struct ri_text text = ri_text_of(out, RI_CHECK_REASONS);
	size_t count = 0;

	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];
		/* what stands before it goes on about consequences, and not too much of that */
		size_t length = strcspn(result->text, ";");

		if (!result->unfit || (last != NULL && last->check == result->check) ||
			find_cause(report, result) != NULL)
			continue;
		last = result;
		if (count++ == 0)
			ri_text_addf(&text, ": %s (%s: %.*s%s%.40s)", id_of(result),
				result->subject, length > FIRST ? FIRST : (int)length, result->text,
				result->expected[0] == '\0' ? "" : "; expected ",
				result->expected);
		else if (count <= SUMMED)
			ri_text_addf(&text, ", %s", id_of(result));
	}
	if (count > SUMMED)
		ri_text_addf(&text, " and %zu more", count - SUMMED);
	return out;
}

/* --- a table, and JSON ------------------------------------------------------ */

enum { ID_COLUMN = 9, TEXT_COLUMN = 28, WHOLE = 768, WORDS = 4096 };

static const struct {
	const char *name;
	enum ri_look look;
} statuses[] = {
	[RI_CHECK_PASS] = { "pass", RI_LOOK_GREEN }, [RI_CHECK_NOTE] = { "note", RI_LOOK_PLAIN },
	[RI_CHECK_WARN] = { "warn", RI_LOOK_YELLOW }, [RI_CHECK_FAIL] = { "fail", RI_LOOK_RED },
	[RI_CHECK_UNKNOWN] = { "unknown", RI_LOOK_YELLOW },
	[RI_CHECK_SKIP] = { "skip", RI_LOOK_DIM },
};

/* One column of words, which begins in the line as it stands. */
static void fold(struct ri_page *page, const char *before, const char *text)
{
	char words[WHOLE];

	snprintf(words, sizeof(words), "%s%s", before, text);
	for (char *p = words; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
	ri_page_go(page, TEXT_COLUMN);
	ri_page_fold(page, words, TEXT_COLUMN);
}

/* Is all that a check says that it found nothing of its kind? Then its id says enough. */
static bool is_folded(const struct ri_check_result *result)
{
	return result->status == RI_CHECK_SKIP && !ri_log_shows(RI_LEVEL_NOTE);
}

/* Those that only a machine answers, or the others, and what there is to say of all of them. */
static void print_folded(struct ri_page *page, const struct ri_check_report *report,
	bool beyond_image, const char *text)
{
	const char *comma = "";
	RI_TEXT(list, WORDS);

	for (size_t i = 0; i < report->count; i++) {
		if (!is_folded(&report->items[i]) ||
			(report->items[i].code == RI_CODE_CHECK_IMAGE) != beyond_image)
			continue;
		ri_text_addf(&list, "%s%s", comma, id_of(&report->items[i]));
		comma = ", ";
	}
	if (list.length == 0)
		return;
	ri_text_add(&list, text);
	ri_page_show_as(page, statuses[RI_CHECK_SKIP].look, statuses[RI_CHECK_SKIP].name);
	ri_page_fold(page, list.bytes, ID_COLUMN);
}

static void print_sum(struct ri_page *page, const struct ri_check_report *report)
{
	unsigned counts[RI_CHECK_STATUS_COUNT] = { 0 };
	const char *comma = "", *fit = "fit";
	uint64_t us = 0;

	for (size_t i = 0; i < report->count; i++) {
		counts[report->items[i].status]++;
		if (report->items[i].code == RI_CODE_CHECK_IMAGE)
			fit = "fit, as far as an image tells";
		if (i == 0 || report->items[i].check != report->items[i - 1].check)
			us += report->items[i].us;
	}
	ri_page_end_line(page);
	for (unsigned i = 0; i < RI_CHECK_STATUS_COUNT; i++) {
		if (counts[i] == 0)
			continue;
		ri_text_addf(page->out, "%s%u %s", comma, counts[i], statuses[i].name);
		comma = ", ";
	}
	if (report->dropped > 0)
		ri_text_addf(page->out, "%s%zu not shown", comma, report->dropped);
	ri_text_addf(page->out, " in %.1f ms: ", (double)us / 1000);
	ri_page_show_as(page, report->unfit ? RI_LOOK_RED : RI_LOOK_GREEN,
		report->unfit ? "not fit" : fit);
	ri_page_end_line(page);
}

void ri_check_print_text(const struct ri_check_report *report, struct ri_text *out, bool color)
{
	struct ri_page page = { .out = out, .color = color, .whole = true };
	char subject[RI_CHECK_SUBJECT + 2];
	bool folds = false;	/* no, where nothing would be shown then */

	if (report->count == 0) {
		ri_text_add(out, "no checks were run\n");
		return;
	}
	for (size_t i = 0; i < report->count; i++)
		folds |= !is_folded(&report->items[i]);
	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];

		if (folds && is_folded(result))
			continue;
		ri_page_show_as(&page, statuses[result->status].look,
			statuses[result->status].name);
		ri_page_go(&page, ID_COLUMN);
		ri_page_show(&page, id_of(result));
		snprintf(subject, sizeof(subject), "%s: ", result->subject);
		fold(&page, subject, result->text);
		if (result->expected[0] != '\0')
			fold(&page, "expected ", result->expected);
		if (result->hint[0] != '\0')
			fold(&page, "", result->hint);
	}
	if (folds) {
		print_folded(&page, report, true, ": not to be known from an image");
		print_folded(&page, report, false, ": nothing to look at here (-v says why)");
	}
	for (size_t i = 0; report->facts != NULL && i < report->facts->count; i++) {
		ri_page_show_as(&page, RI_LOOK_PLAIN, "fact");
		ri_page_go(&page, ID_COLUMN);
		ri_page_show(&page, report->facts->items[i].name);
		fold(&page, "", report->facts->items[i].value);
	}
	print_sum(&page, report);
}

/* null, where it is empty. */
static json_t *text_or_null(struct ri_json *json, const char *text)
{
	return text[0] == '\0' ? json_null() : ri_json_string(json, text, "checks");
}

json_t *ri_check_json(struct ri_json *json, const struct ri_check_report *report)
{
	json_t *object, *list = json_array(), *named;
	const struct ri_node_facts *facts = report->facts;

	for (size_t i = 0; i < report->count; i++) {
		const struct ri_check_result *result = &report->items[i];
		char text[TEXT];

		make_text(result, text);
		ri_json_append(json, list, RI_JSON_OBJECT(json,
			{ "id", json_string(id_of(result)) },
			{ "status", json_string(statuses[result->status].name) },
			{ "code", result->code == RI_CODE_NONE ? json_null()
				: json_string(ri_code_name((enum ri_code)result->code)) },
			{ "subject", ri_json_string(json, result->subject, "checks") },
			{ "text", ri_json_string(json, text, "checks") },
			{ "expected", text_or_null(json, result->expected) },
			{ "hint", text_or_null(json, result->hint) },
			{ "because_of", ri_json_string(json, find_cause(report, result),
				"checks") },
			{ "ms", json_real((double)result->us / 1000) }));
	}
	object = RI_JSON_OBJECT(json, { "schema", json_string("rankinit-check-1") },
		{ "fit", json_boolean(!report->unfit) }, { "checks", list });
	if (facts == NULL)
		return object;
	named = json_object();
	for (size_t i = 0; i < facts->count; i++)
		ri_json_put(json, named, facts->items[i].name,
			ri_json_string(json, facts->items[i].value, facts->items[i].name));
	ri_json_put(json, object, "facts", named);
	return object;
}

/* Whether --check runs it where --checks does not name it, and whether a launch does. */
static const char *const runs_of[][2] = {
	[RI_CHECK_ASKED] = { "default", "asked" }, [RI_CHECK_LAUNCH] = { "default", "launch" },
	[RI_CHECK_DEEP] = { "deep", "launch" }, [RI_CHECK_EXTRA] = { "extra", "asked" },
};

void ri_check_list(struct ri_text *out)
{
	const struct ri_check *check;

	for (size_t i = 0; (check = ri_check_at(i)) != NULL; i++) {
		const char *comma = "";

		ri_text_addf(out, "%s\t%s\t%s\t%s\t", ri_check_ids()[i], check->summary,
			runs_of[check->runs][0], runs_of[check->runs][1]);
		for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
			if ((check->topics & 1u << topic) == 0)
				continue;
			ri_text_addf(out, "%s%s", comma,
				ri_topic_name((enum ri_topic)topic));
			comma = ",";
		}
		ri_text_addf(out, "%s\t%s\t%s\t%s%s%s\n", check->topics == 0 ? "-" : "",
			check->reads, check->fails, check->advice,
			check->in_slurm == NULL ? "" : "; in a job of Slurm's: ",
			check->in_slurm == NULL ? "" : check->in_slurm);
	}
}
