/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/redact.h"

#include <limits.h>
#include <string.h>

#include "redact/token.h"

enum { MAX_NAMES = 64 };	/* in a word: one with more of them is some text */

void ri_redact_value(struct ri_text *out, const char *name, const char *value)
{
	if (ri_secrecy_hides(ri_secrecy_of(ri_span_of(name)), ri_span_of(value)))
		ri_text_add(out, RI_REDACTED);
	else
		ri_redact(out, ri_span_of(value));
}

/*
 * Where the value of a secret name begins that goes on to the end of the word:
 * "HF_TOKEN=a b", "--env=HF_TOKEN=a b", "+model.api_key=x". 0: nowhere. After a
 * blank or a quote it is some text, and not the word's own.
 */
static size_t find_value(const char *word)
{
	size_t start = 0, end;

	for (unsigned names = 0; names < MAX_NAMES; names++) {
		end = start + strcspn(word + start, "= \t\n\"'`");
		if (word[end] != '=')
			break;
		if (ri_secrecy_hides(ri_secrecy_of((struct ri_span){ word + start, end - start }),
			ri_span_of(word + end + 1)))
			return end + 1;
		start = end + 1;
	}
	return 0;
}

void ri_redact_word(struct ri_text *out, const char *word)
{
	size_t value = find_value(word);

	if (value == 0) {
		ri_redact(out, ri_span_of(word));
		return;
	}
	ri_text_add_bytes(out, word, value);
	ri_text_add(out, RI_REDACTED);
}

void ri_redact_word_in_place(char *word, size_t size)
{
	char copy[PATH_MAX];
	struct ri_text text = ri_text_of(copy, size < sizeof(copy) ? size : sizeof(copy));

	ri_redact_word(&text, word);
	memcpy(word, copy, text.length + 1);
}

static char *copy_word(const char *word, struct ri_arena *arena)
{
	/* a secret of one byte becomes three */
	size_t size = strlen(word) * strlen(RI_REDACTED) + 1;
	char *bytes = ri_arena_alloc(arena, size);
	struct ri_text text;

	if (bytes == NULL)
		return NULL;
	text = ri_text_of(bytes, size);
	ri_redact_word(&text, word);
	return bytes;
}

/* Is the word after it its value, and secret? An option says so, and "--name=" does not. */
static bool hides_next(const char *word, const char *next)
{
	return word[0] == '-' && word[strcspn(word, "= \t\n\"'`")] == '\0' &&
		strncmp(next, "--", 2) != 0 &&
		ri_secrecy_hides(ri_secrecy_of(ri_span_of(word)), ri_span_of(next));
}

char **ri_redact_words(char *const *words, struct ri_arena *arena)
{
	size_t count = 0;
	char **out;
	bool hidden = false;

	while (words[count] != NULL)
		count++;
	out = ri_arena_array(arena, count + 1, sizeof(*out));
	for (size_t i = 0; out != NULL && i < count; i++) {
		hidden = i > 0 && !hidden && hides_next(words[i - 1], words[i]);
		out[i] = hidden ? ri_arena_copy(arena, RI_REDACTED, strlen(RI_REDACTED))
				: copy_word(words[i], arena);
		if (out[i] == NULL)
			return NULL;
	}
	return out;
}
