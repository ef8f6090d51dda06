/* SPDX-License-Identifier: Apache-2.0 */
#include "check/print.h"

#include <stdio.h>

#include "check/node_facts.h"
#include "model/page.h"
#include "system/log.h"

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
	char words[WORDS];
	struct ri_text list;
	const char *comma = "";

	ri_text_init(&list, words, sizeof(words));
	for (size_t i = 0; i < report->count; i++) {
		if (!is_folded(&report->items[i]) ||
			(report->items[i].code == RI_CODE_CHECK_IMAGE) != beyond_image)
			continue;
		ri_text_addf(&list, "%s%s", comma, ri_check_id(&report->items[i]));
		comma = ", ";
	}
	if (list.length == 0)
		return;
	ri_text_add(&list, text);
	ri_page_show_as(page, statuses[RI_CHECK_SKIP].look, statuses[RI_CHECK_SKIP].name);
	ri_page_go(page, ID_COLUMN);
	ri_page_fold(page, words, ID_COLUMN);
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
		ri_page_show(&page, ri_check_id(result));
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

static json_t *describe(struct ri_json *json, const struct ri_check_report *report,
	const struct ri_check_result *result)
{
	const char *cause = ri_check_cause(report, result);
	json_t *object = json_object();
	char text[RI_CHECK_TEXT];

	ri_check_text(result, text);
	ri_json_put(json, object, "id", json_string(ri_check_id(result)));
	ri_json_put(json, object, "status", json_string(statuses[result->status].name));
	ri_json_put(json, object, "code", result->code == RI_CODE_NONE ? json_null()
		: json_string(ri_code_name((enum ri_code)result->code)));
	ri_json_put(json, object, "subject", ri_json_string(json, result->subject, "subject"));
	ri_json_put(json, object, "text", ri_json_string(json, text, "text"));
	ri_json_put(json, object, "expected", result->expected[0] == '\0' ? json_null()
		: ri_json_string(json, result->expected, "expected"));
	ri_json_put(json, object, "hint", result->hint[0] == '\0' ? json_null()
		: ri_json_string(json, result->hint, "hint"));
	ri_json_put(json, object, "because_of", cause == NULL ? json_null() : json_string(cause));
	ri_json_put(json, object, "ms", json_real((double)result->us / 1000));
	return object;
}

json_t *ri_check_json(struct ri_json *json, const struct ri_check_report *report)
{
	json_t *object = json_object(), *list = json_array(), *named;
	const struct ri_node_facts *facts = report->facts;

	for (size_t i = 0; i < report->count; i++)
		ri_json_append(json, list, describe(json, report, &report->items[i]));
	ri_json_put(json, object, "schema", json_string("rankinit-check-1"));
	ri_json_put(json, object, "fit", json_boolean(!report->unfit));
	ri_json_put(json, object, "checks", list);
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
