/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of other machines, with a line "%%" between them: whatever they say, the page has
 * nothing that a terminal could take for a command and no line that one of their strings began,
 * the document is JSON, and each rank that they name is in one of the reports.
 */
#include <jansson.h>

#include "blame/reports.h"
#include "fuzz.h"

enum { PARTS = 16, ROOM = 4 << 20, STRINGS = 64 };

static const char forged[] = "rank 9";
static char written[ROOM];

static void check_json(void)
{
	json_t *document = json_loads(written, 0, NULL);

	CHECK(json_is_object(document));
	CHECK(strchr(written, 0x1b) == NULL && strchr(written, 0x7f) == NULL);
	json_decref(document);
}

static void check_page(void)
{
	for (char *line = written, *end; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if (*end == '\n')
			*end++ = '\0';
		CHECK(fuzz_is_printable(line));
		CHECK(strncmp(line, forged, strlen(forged)) != 0);
	}
}

/* Let one string of the document, chosen by *left, go on with a line like ours. */
static void forge(json_t *part, size_t *left)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_string(part) && (*left)-- == 0) {
		value = json_sprintf("%s\n%s", json_string_value(part), forged);
		if (value != NULL)
			json_string_set(part, json_string_value(value));
		json_decref(value);
	}
	json_array_foreach(part, i, value)
		forge(value, left);
	json_object_foreach(part, name, value)
		forge(value, left);
}

static void check_suspects(const struct ri_reports *job)
{
	CHECK(job->suspect_count <= RI_REPORTS_SUSPECTS);
	for (size_t i = 0; i < job->suspect_count; i++) {
		const struct ri_suspect *suspect = &job->suspects[i];
		bool found = false;

		for (size_t k = 0; k < job->attempts[0].count; k++)
			found |= job->attempts[0].reports[k] == suspect->report;
		CHECK(found);
		CHECK(suspect->rank == NULL || (suspect->rank >= suspect->report->ranks &&
			suspect->rank < suspect->report->ranks + suspect->report->count));
		CHECK(!suspect->seen || suspect->report->autopsy.did != NULL);
		CHECK(!suspect->seen || suspect->report->world < 0 ||
			ri_suspect_rank(suspect) < suspect->report->world);
	}
}

static void check_reports(struct ri_reports *job)
{
	size_t split = 0;

	for (size_t i = 0; i < job->attempt_count; i++)
		split += job->attempts[i].count;
	/* copies are skipped */
	CHECK(split <= job->count && job->attempts[0].count > 0);
	CHECK(split == job->count || job->skip_count > 0);
	CHECK(job->nodes.missing <= job->nodes.all && job->ranks.missing <= job->ranks.all);
	check_suspects(job);
}

static void add_part(struct ri_reports *job, const char *text, size_t chosen)
{
	json_t *document = json_loads(text, 0, NULL);
	char *copy = NULL;

	if (document != NULL) {
		forge(document, &chosen);
		copy = json_dumps(document, 0);
		json_decref(document);
	}
	if (copy == NULL)
		copy = fuzz_string(text, strlen(text));

	ri_reports_add(job, "report.json", copy, strlen(copy));
	free(copy);
}

static void check_answers(struct ri_reports *job)
{
	struct ri_text out;

	CHECK(ri_reports_judge(job) == 0);
	check_reports(job);
	out = ri_text_of(written, ROOM);
	ri_reports_add_page(&out, job);
	CHECK(!out.cut);
	check_page();
	out = ri_text_of(written, ROOM);
	if (ri_reports_add_json(&out, job, "0") == 0)
		check_json();
}

/* Once as they are, and once with a string of each that is forged. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_reports job;

	json_object_seed(1);
	for (int round = 0; round < 2; round++) {
		char *text = fuzz_string(data, size), *part = text, *rest;

		CHECK(ri_reports_begin(&job, PARTS) == 0);
		for (size_t i = 0; i < PARTS && (i == 0 || *part != '\0'); i++, part = rest) {
			rest = fuzz_cut_part(part);
			add_part(&job, part, round == 0 ? SIZE_MAX : (size + i) % STRINGS);
		}
		if (job.count > 0)
			check_answers(&job);
		ri_arena_release(&job.arena);
		free(text);
	}
	return 0;
}
