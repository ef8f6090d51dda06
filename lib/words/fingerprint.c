/* SPDX-License-Identifier: Apache-2.0 */
#include "words/read_words.h"

#include <string.h>

#include "base/number.h"

enum { LINES = 512 };	/* that are looked at */

/* What stands behind the word; empty where it does not stand there. */
static struct ri_span after(struct ri_span text, const char *word)
{
	const char *found = text.length == 0 ? NULL
		: memmem(text.at, text.length, word, strlen(word));

	if (found == NULL)
		return (struct ri_span){ text.at, 0 };
	return ri_span_skip(text, (size_t)(found - text.at) + strlen(word));
}

static bool is_of_name(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		c == '_';
}

static bool is_of_shape(char c)
{
	return (c >= '0' && c <= '9') || c == ',' || c == ' ';
}

/* The bytes that belong to it, as many as there is room for. */
static void copy(char *out, size_t size, struct ri_span text, bool (*is_of)(char))
{
	size_t length = 0;

	while (length + 1 < size && length < text.length && is_of(text.at[length])) {
		out[length] = text.at[length];
		length++;
	}
	out[length] = '\0';
}

/* "Rank 7 is running collective: CollectiveFingerPrint(...)", up to the other one's. */
static bool read_call(struct ri_span text, struct ri_fingerprint *out)
{
	static const char running[] = " is running collective: CollectiveFingerPrint";
	size_t digits;

	*out = (struct ri_fingerprint){ .sequence = 0 };
	digits = ri_digits_of(text, &out->rank);
	text = ri_span_skip(text, digits);
	if (digits == 0 || !ri_span_starts(text, running))
		return false;
	/* "(SequenceNumber=101, OpType=REDUCE, TensorShape=[1], ...)"; a barrier has no shape */
	text = ri_span_skip(text, sizeof(running) - 1);
	copy(out->op, sizeof(out->op), after(text, "OpType="), is_of_name);
	out->has_sequence = ri_digits_of(after(text, "(SequenceNumber="), &out->sequence) > 0;
	copy(out->shape, sizeof(out->shape), after(text, ", TensorShape=["), is_of_shape);
	return out->op[0] != '\0';
}

static bool read_line(struct ri_span line, struct ri_fingerprint out[2])
{
	struct ri_span own = after(line, "Detected mismatch between collectives on ranks. Rank ");
	struct ri_span other = after(own, ", but Rank ");
	struct ri_fingerprint calls[2];

	own.length -= other.length;
	if (!read_call(own, &calls[0]) || !read_call(other, &calls[1]))
		return false;
	memcpy(out, calls, sizeof(calls));
	return true;
}

bool ri_fingerprints_find(struct ri_span text, struct ri_fingerprint out[2])
{
	struct ri_span line;

	for (int i = 0; i < LINES && ri_span_last_line(&text, &line); i++)
		if (read_line(line, out))
			return true;
	return false;
}
