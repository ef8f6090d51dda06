/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/words.h"

#include <limits.h>
#include <string.h>

#include "redact/redact.h"
#include "redact/name.h"

enum { MAX_NAMES = 64 };	/* in a word: one with more of them is some text */

static struct ri_span span(const char *start, size_t length)
{
	return (struct ri_span){ start, length };
}

/*
 * Where the value of a secret name begins that goes on to the end of the word:
 * "HF_TOKEN=a b", "--env=HF_TOKEN=a b", "+model.api_key=x". 0: nowhere. After a
 * blank or a quote it is some text, and not the word's own.
 */
static size_t find_value(const char *word)
{
	size_t start = 0, end = strlen(word), names = 0;
	enum ri_secrecy secrecy;

	for (size_t i = 0; word[i] != '\0' && strchr(" \t\n\"'`", word[i]) == NULL; i++) {
		if (word[i] != '=')
			continue;
		secrecy = ri_secrecy_of(span(word + start, i - start));
		start = i + 1;
		if (secrecy == RI_SECRECY_NONE)
			continue;
		if (ri_secrecy_hides(secrecy, span(word + start, end - start)))
			return start;
		if (++names == MAX_NAMES)
			break;
	}
	return 0;
}

void ri_redact_value(struct ri_text *out, const char *name, const char *value)
{
	struct ri_span whole = span(value, strlen(value));

	if (ri_secrecy_hides(ri_secrecy_of(span(name, strlen(name))), whole))
		ri_text_add(out, RI_REDACTED);
	else
		ri_redact(out, whole);
}

void ri_redact_word(struct ri_text *out, const char *word)
{
	size_t value = find_value(word);

	if (value == 0) {
		ri_redact(out, (struct ri_span){ word, strlen(word) });
		return;
	}
	ri_text_add_bytes(out, word, value);
	ri_text_add(out, word[value] == '\0' ? "" : RI_REDACTED);
}

void ri_redact_word_in_place(char *word, size_t size)
{
	char copy[PATH_MAX];
	struct ri_text text;

	ri_text_init(&text, copy, size < sizeof(copy) ? size : sizeof(copy));
	ri_redact_word(&text, word);
	memcpy(word, copy, text.length + 1);
}

/* Is the word after it its value, and secret? An option says so, and "--name=" does not. */
static bool hides_next(const char *word, const char *next)
{
	return word[0] == '-' && word[strcspn(word, "= \t\n\"'`")] == '\0' &&
		strncmp(next, "--", 2) != 0 &&
		ri_secrecy_hides(ri_secrecy_of(span(word, strlen(word))), span(next, strlen(next)));
}

char *ri_redact_copy(const char *word, struct ri_arena *arena)
{
	/* a secret of one byte becomes three */
	size_t size = strlen(word) * strlen(RI_REDACTED) + 1;
	char *bytes = ri_arena_alloc(arena, size);
	struct ri_text text;

	if (bytes == NULL)
		return NULL;
	ri_text_init(&text, bytes, size);
	ri_redact_word(&text, word);
	return bytes;
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
				: ri_redact_copy(words[i], arena);
		if (out[i] == NULL)
			return NULL;
	}
	return out;
}
