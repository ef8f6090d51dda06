/* SPDX-License-Identifier: Apache-2.0 */
/* What is found lies in the text, and what is one line has no end of one. */
#include "fuzz.h"
#include "words/words.h"

static void check_inside(struct ri_span text, struct ri_span span)
{
	CHECK(span.length <= text.length);
	CHECK(span.length == 0 || span.at >= text.at);
	CHECK(span.length == 0 || span.at + span.length <= text.at + text.length);
}

static void check_line(struct ri_span text, struct ri_span span)
{
	check_inside(text, span);
	CHECK(span.length == 0 || memchr(span.at, '\n', span.length) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_span text = { bytes, size };
	struct ri_traceback found;

	if (ri_traceback_find(text, &found)) {
		check_inside(text, found.whole);
		check_inside(found.whole, found.more);
		check_line(text, found.prefix);
		check_line(found.whole, found.last);
		check_line(found.whole, found.member);
		check_line(found.whole, found.file);
		check_line(found.whole, found.line);
		check_line(found.whole, found.function);
		check_line(found.whole, found.cause);
		check_line(found.whole, found.cause_at);
		check_line(text, found.before);
		check_inside(text, found.before_more);
		check_line(text, found.before_prefix);
		check_line(found.whole, found.wrapper);
		check_line(found.whole, found.at);
		check_line(found.whole, found.own);
		check_inside(found.whole, found.frames);
		CHECK(found.whole.length > 0);
		for (size_t i = 0; i < found.line.length; i++)
			CHECK(found.line.at[i] >= '0' && found.line.at[i] <= '9');
	}
	free(bytes);
	return 0;
}
