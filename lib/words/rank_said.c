/* SPDX-License-Identifier: Apache-2.0 */
#include "words/rank_said.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/signals.h"
#include "base/text.h"

static const struct {
	int number;
	const char *word;
} signals[] = {
#define RI_SAID(launcher_, in_, then_, what_, shape_, seen_, source_)
#define RI_LABEL(level_, labels_, shape_, source_)
#define RI_SIGNAL_WORD(number_, word_) { number_, word_ },
#include "words/launcher_words.def"
#undef RI_SAID
#undef RI_LABEL
#undef RI_SIGNAL_WORD
};

const struct ri_rank_said ri_rank_unsaid = {
	.rank = -1, .local_rank = -1, .exit_code = -1, .signal = -1,
};

/* "SIGKILL", "Segmentation fault (core dumped)". */
static int signal_of(struct ri_span name)
{
	static const char core[] = " (core dumped)";
	char text[32];

	if (ri_span_ends(name, core))
		name.length -= sizeof(core) - 1;
	if (name.length >= sizeof(text))
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)name.length, name.at);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(text, signals[i].word) == 0)
			return signals[i].number;
	return strncmp(text, "SIG", 3) == 0 ? ri_signal_read(text) : -1;
}

static bool take_text(char what, struct ri_span *rest, struct ri_rank_said *out)
{
	const char *stops = what == 'a' ? "(" : what == 'h' ? ":),": ":)";
	struct ri_span word = *rest;
	size_t length = 0;

	while (length < word.length && !ri_is_space(word.at[length]) &&
		strchr(stops, word.at[length]) == NULL)
		length++;
	if (strchr("htwa", what) != NULL)
		word.length = length;
	*rest = ri_span_skip(*rest, word.length);
	if (what == 'n')
		out->signal = signal_of(word);
	else if (what == 'm')
		out->message = word;
	else if (what == 'a')
		out->actor = word;
	else if (what != 'w')
		*(what == 'h' ? &out->host : what == 't' ? &out->ranks : &out->error_file) = word;
	return what == 'n' ? out->signal > 0 : what == 'm' || word.length > 0;
}

static bool take(char what, struct ri_span *rest, struct ri_rank_said *out)
{
	bool negative = what == 'e' && ri_span_starts(*rest, "-");
	bool is_signal = what == 's' || negative, is_code = what == 'x' || what == 'e';
	int64_t most = is_signal ? RI_SIGNAL_MAX : is_code ? UINT8_MAX : INT32_MAX;
	uint64_t number;
	size_t length;

	if (strchr("rlpexsd", what) == NULL)
		return take_text(what, rest, out);
	*rest = ri_span_trim_start(ri_span_skip(*rest, negative));
	length = ri_digits_of(*rest, &number);
	if (length == 0 || number > (uint64_t)most)
		return false;
	*rest = ri_span_skip(*rest, length);
	if (is_signal || is_code)
		*(is_signal ? &out->signal : &out->exit_code) = (int)number;
	else if (what != 'd')
		*(what == 'r' ? &out->rank : what == 'l' ? &out->local_rank : &out->pid) =
			(int64_t)number;
	return true;
}

/*
 * '*': up to the first of what stands behind it in the shape, before the next '*' or '%'. What
 * stands at the shape's end has to be at the line's.
 */
static bool skip_any(struct ri_span *rest, const char *shape)
{
	size_t length = strcspn(shape, "*%");
	const char *at = rest->at + rest->length - length;

	if (length > rest->length)
		return false;
	if (shape[length] != '\0')
		at = memmem(rest->at, rest->length, shape, length);
	if (at == NULL)
		return false;
	*rest = ri_span_skip(*rest, (size_t)(at - rest->at));
	return true;
}

bool ri_said_fits(struct ri_span line, const char *shape, struct ri_rank_said *out)
{
	*out = ri_rank_unsaid;
	while (*shape != '\0') {
		char c = *shape++;

		if (c == '*') {
			if (!skip_any(&line, shape))
				return false;
		} else if (c == '%') {
			if (!take(*shape++, &line, out))
				return false;
		} else if (line.length == 0 || line.at[0] != c) {
			return false;
		} else {
			line = ri_span_skip(line, 1);
		}
	}
	return line.length == 0;
}
