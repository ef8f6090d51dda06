/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict is bounded and harmless, and the report is JSON, whatever a rank
 * wrote. Input: its stderr, a line "%%", its file of torch's.
 */
#include <jansson.h>

#include "report/culprit.h"
#include "report/verdict.h"
#include "fuzz.h"

static void check_text(char *text)
{
	unsigned lines = 0;
	char *end;

	for (; *text != '\0'; text = end + 1) {
		end = strchr(text, '\n');
		CHECK(end != NULL);
		*end = '\0';
		CHECK(fuzz_is_printable(text));
		lines++;
	}
	CHECK(lines > 0 && lines <= RI_VERDICT_LINES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_reason reason;
	static struct ri_topology topology;
	static char text[RI_VERDICT_SIZE], document[1 << 24];
	char *tail = fuzz_string(data, size), *file = fuzz_cut_part(tail);
	struct ri_rank_outcome rank = {
		.end = size % 2 == 0 ? RI_END_EXITED : RI_END_SIGNALED, .exit_code = 1, .signal = 6,
		.wrote.tail = { tail, strlen(tail) }, .wrote.cut = size % 3 == 0,
		.wrote.head = size % 5 == 0 ? strlen(tail) / 2 : 0,
		.wrote.torch_error = { file, strlen(file) },
	};
	struct ri_outcome outcome = {
		.topology = &topology, .launch = "process", .ranks = &rank, .count = 1,
	};
	struct ri_report report = { .version = "0", .outcome = &outcome };
	struct ri_text out;
	json_t *object;

	ri_class_find(&rank);
	ri_reason_find(&rank, &reason);
	outcome.reason = &reason;
	CHECK(ri_why_find(&outcome).cause < RI_CAUSE_COUNT);
	CHECK(ri_why_find(&outcome).retry < RI_RETRY_COUNT);
	out = ri_text_of(text, sizeof(text));
	ri_verdict_render(&outcome, &out);
	CHECK(!out.cut);
	check_text(text);
	out = ri_text_of(document, sizeof(document));
	CHECK(ri_report_render(&(struct ri_json){ .escapes = 0 }, &report, &out) == 0);
	object = json_loads(document, 0, NULL);
	CHECK(object != NULL);
	json_decref(object);
	free(tail);
	return 0;
}
