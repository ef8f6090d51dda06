/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line is something; what is found of the last words lies in the text, without an end; and
 * what they say of the end is read.
 */
#include "words/words.h"
#include "fuzz.h"

static void check_inside(struct ri_span text, struct ri_span span)
{
	if (span.length == 0)
		return;
	CHECK(span.length <= text.length && span.at >= text.at);
	CHECK(span.at + span.length <= text.at + text.length);
	CHECK(memchr(span.at, '\n', span.length) == NULL);
	CHECK(memchr(span.at, '\r', span.length) == NULL);
}

static void check_line(struct ri_span line)
{
	struct ri_span trimmed = ri_line_trim(line);

	check_inside(line, trimmed);
	check_inside(line, ri_line_last_state(line));
	CHECK(ri_line_kind(line) <= RI_LINE_LAST);
	if (ri_noise_hides(line))
		CHECK(ri_noise_is(line));
	if (trimmed.length == 0)
		CHECK(ri_line_kind(line) == RI_LINE_NOTE);
}

static void check_words(struct ri_span text, const struct ri_last_words *words)
{
	CHECK(words->count <= RI_LAST_WORDS);
	for (size_t i = 0; i < words->count; i++)
		check_inside(text, words->lines[i]);
}

static void check_said(struct ri_span text, bool has_traceback)
{
	struct ri_words said;

	ri_words_read(text, &said);
	CHECK(said.has_traceback == has_traceback);
	if (!has_traceback)
		CHECK(said.loss == NULL && said.workers_loss == NULL);
	if (said.has_calls)
		CHECK(fuzz_is_printable(said.calls[0].op) && fuzz_is_printable(said.calls[1].op));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_span text = { bytes, size }, rest = text, line, lines[RI_LAST_LINES];
	struct ri_traceback traceback;
	struct ri_last_words words;
	bool has_traceback;
	size_t count;

	while (ri_span_line(&rest, &line))
		check_line(line);
	has_traceback = ri_traceback_find(text, &traceback);
	ri_last_words_find(text, NULL, RI_TELLING_WORD, 0, &words);
	check_words(text, &words);
	if (has_traceback) {
		ri_last_words_find(text, &traceback, RI_TELLING_WORD, 0, &words);
		check_words(text, &words);
	}
	check_said(text, has_traceback);
	count = ri_last_lines_find(text, lines);
	CHECK(count <= RI_LAST_LINES);
	for (size_t i = 0; i < count; i++)
		check_inside(text, lines[i]);
	free(bytes);
	return 0;
}
