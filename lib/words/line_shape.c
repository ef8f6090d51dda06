/* SPDX-License-Identifier: Apache-2.0 */
#include "words/line_shape.h"

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
#define RI_SIGNAL_WORD(number_, word_) { number_, word_ },
#include "words/launcher_words.def"
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

static bool fits_byte(char shape, char c)
{
	return shape == '~' ? c >= '0' && c <= '9' : c == shape;
}

static bool stands_at(const char *at, const char *piece, size_t length)
{
	size_t i = 0;

	while (i < length && fits_byte(piece[i], at[i]))
		i++;
	return i == length;
}

/* The first place of a piece in a line that is not shorter; or NULL. */
static const char *find_piece(struct ri_span line, const char *piece, size_t length)
{
	const char *end = line.at + line.length - length + 1;

	for (const char *at = line.at; at < end; at++) {
		if (length > 0 && piece[0] != '~')
			at = memchr(at, piece[0], (size_t)(end - at));
		if (at == NULL || stands_at(at, piece, length))
			return at;
	}
	return NULL;
}

/*
 * Piece by piece: what stands between two of '*' and '%' is looked for once. Its first place leaves
 * most to what follows, so no other place would do where this one does not.
 */
const char *ri_shape_fits(struct ri_span line, const char *shape, struct ri_rank_said *out)
{
	const char *first = NULL, *at;

	/* most lines differ from most shapes in the first byte */
	if (*shape != '*' && *shape != '%' && line.length > 0 && !fits_byte(*shape, line.at[0]))
		return NULL;
	if (out != NULL)
		*out = ri_rank_unsaid;
	for (;;) {
		bool any = *shape == '*', ends;
		size_t length = 0;

		shape += any;
		while (shape[length] != '\0' && shape[length] != '*' &&
			(out == NULL || shape[length] != '%'))
			length++;
		ends = shape[length] == '\0';
		if (length > line.length)
			return NULL;
		if (any && !ends)
			at = find_piece(line, shape, length);
		else
			at = any ? line.at + line.length - length : line.at;
		if (at == NULL || !stands_at(at, shape, length))
			return NULL;
		if (first == NULL && (length > 0 || ends))
			first = at;
		line = ri_span_skip(line, (size_t)(at - line.at) + length);
		shape += length;
		if (ends)
			return line.length == 0 ? first : NULL;
		if (*shape == '%') {
			if (!take(shape[1], &line, out))
				return NULL;
			shape += 2;
		}
	}
}
