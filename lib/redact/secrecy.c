/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/token.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_NAME = 64,		/* bytes of a name that are looked at, from its end */
	MAX_WORDS = 12,		/* of a value */
	RANDOM_RUN = 8,		/* letters and digits in a row */
	LONG_RUN = 16,
};

static const struct {
	enum ri_secrecy kind;
	struct ri_span words;
} rows[] = {
#define RI_WORDS(kind, words) { RI_SECRECY_##kind, { words, sizeof(words) - 1 } },
#include "redact/redact.def"
};

static const struct {
	const char *start;
	size_t least;
	const char *more;
} forms[] = {
#define RI_FORM(start, least, more, source) { start, least, more },
#include "redact/redact.def"
};

static const char *const cores[] = {
#define RI_CORE(word) word,
#include "redact/redact.def"
};

static bool is_letter(char c)
{
	return isalpha((unsigned char)c);
}

static size_t count(struct ri_span text, int (*is_kind)(int))
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += is_kind((unsigned char)text.at[i]) != 0;
	return count;
}

/* The first byte from at on that is none of set. */
static size_t past(struct ri_span text, size_t at, const char *set)
{
	while (at < text.length && text.at[at] != '\0' && strchr(set, text.at[at]) != NULL)
		at++;
	return at;
}

/* Without what is of set at its end. */
static struct ri_span trim(struct ri_span text, const char *set)
{
	while (text.length > 0 && past(text, text.length - 1, set) == text.length)
		text.length--;
	return text;
}

/* Take the next word off the text. */
static struct ri_span next_word(struct ri_span *text)
{
	struct ri_span word = ri_span_trim_start(*text);
	size_t length = 0;

	while (length < word.length && !ri_is_space(word.at[length]))
		length++;
	*text = ri_span_skip(word, length);
	word.length = length;
	return word;
}

bool ri_word_is(enum ri_secrecy kind, struct ri_span value)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++) {
		struct ri_span row = rows[i].words, word;

		while (rows[i].kind == kind && (word = next_word(&row)).length > 0)
			if (word.length == value.length &&
				strncasecmp(word.at, value.at, value.length) == 0)
				return true;
	}
	return false;
}

bool ri_name_is_upper(struct ri_span name)
{
	return count(name, islower) == 0 && count(name, isupper) > 0;
}

bool ri_name_mentions(struct ri_span name)
{
	for (size_t at = 0; at < name.length; at++)
		for (size_t i = 0; i < RI_ARRAY_SIZE(cores); i++)
			if ((name.at[at] | ' ') == cores[i][0] &&
				strlen(cores[i]) <= name.length - at &&
				strncasecmp(name.at + at, cores[i], strlen(cores[i])) == 0)
				return true;
	return false;
}

/* "_a", "aB", "ABc" at its 'B', "a1" and "1a". */
static bool begins_word(struct ri_span name, size_t i)
{
	char before = i == 0 ? '_' : name.at[i - 1], c = name.at[i];

	if (is_letter(c) == is_letter(before) && ri_is_digit(c) == ri_is_digit(before))
		return isupper((unsigned char)c) && (!isupper((unsigned char)before) ||
			(i + 1 < name.length && islower((unsigned char)name.at[i + 1])));
	return is_letter(c) || ri_is_digit(c);
}

/* Where the word begins that the name ends in, '_' and the like left out, or SIZE_MAX. */
static size_t find_end(struct ri_span name, struct ri_span word)
{
	size_t at = name.length, left = word.length;

	while (at > 0 && left > 0 && word.at[left - 1] != '*') {
		char c = name.at[--at];

		if (!is_letter(c) && !ri_is_digit(c))
			continue;
		if (tolower((unsigned char)c) != word.at[--left])
			return SIZE_MAX;
	}
	if (left == 0 ? begins_word(name, at) : left == 1 && word.at[0] == '*')
		return at;
	return SIZE_MAX;
}

/* What the longest word of the rows says that the name ends in; where it begins. */
static enum ri_secrecy kind_of(struct ri_span name, size_t *begin)
{
	enum ri_secrecy kind = RI_SECRECY_NONE;

	*begin = name.length;
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows) && rows[i].kind <= RI_SECRECY_NEUTRAL; i++) {
		struct ri_span row = rows[i].words, word;

		while ((word = next_word(&row)).length > 0) {
			size_t at = find_end(name, word);

			if (at >= *begin)
				continue;
			*begin = at;
			kind = rows[i].kind;
		}
	}
	return kind;
}

/* The last word counts, or the one before those that say nothing of it. */
enum ri_secrecy ri_secrecy_of(struct ri_span name)
{
	bool upper, unknown = false;
	enum ri_secrecy kind;
	size_t begin;

	if (name.length > MAX_NAME)
		name = ri_span_skip(name, name.length - MAX_NAME);
	name = ri_span_skip(name, past(name, 0, "_-."));
	if (!ri_name_mentions(name))
		return RI_SECRECY_NONE;
	/* fs.azure.account.key.ACCOUNT.blob.core.windows.net of Hadoop's ABFS driver */
	if (ri_span_has(name, "azure.account.key"))
		return RI_SECRECY_TOKEN;
	upper = ri_name_is_upper(name);
	for (; name.length > 0; name.length--) {
		if (!isalnum((unsigned char)name.at[name.length - 1]))
			continue;
		kind = kind_of(name, &begin);
		if (kind >= RI_SECRECY_TOKEN && kind <= RI_SECRECY_HEADER)
			return kind;
		if (kind == RI_SECRECY_NOTHING)
			break;
		if (kind != RI_SECRECY_NONE && kind != RI_SECRECY_NEUTRAL) {
			if (unknown)
				break;
			return begin > 0 && (kind == RI_SECRECY_PART ||
				(kind == RI_SECRECY_WEAK && upper)) ? RI_SECRECY_TOKEN
								    : RI_SECRECY_WEAK;
		}
		/* GITHUB_TOKEN_RO, but not KEY_RO */
		if (kind == RI_SECRECY_NONE && is_letter(name.at[name.length - 1])) {
			if (!upper)
				break;
			unknown = true;
		}
		while (!begins_word(name, name.length - 1))
			name.length--;
	}
	return RI_SECRECY_NONE;
}

/* 3, -1.5e-4, 409,600, 12_345, 1.2M, 50%, 0:30:00, 3/5, 0x55d0 */
static bool is_number(struct ri_span value)
{
	size_t i = past(value, 0, "+-.");

	if (ri_span_starts(value, "0x") || ri_span_starts(value, "0X"))
		return value.length <= 18 &&
			past(value, 2, "0123456789abcdefABCDEF") == value.length;
	if (i == value.length || !ri_is_digit(value.at[i]))
		return false;
	i = past(value, i, "0123456789.,_:/");
	if (i + 1 < value.length && (value.at[i] == 'e' || value.at[i] == 'E'))
		i = past(value, i + 1, "+-0123456789");
	return past(value, i, "kKMGTBbisxmuh%") == value.length;
}

/*
 * $HF_TOKEN, ${x}, $(x), {{ x }}, {token}, <pad>, %(x)s, %s, [PAD], and the blanks of
 * SentencePiece (U+2581) and of GPT-2's tokens (U+0120)
 */
static bool is_placeholder(struct ri_span value)
{
	char first = value.at[0], next = value.length > 1 ? value.at[1] : '\0';
	char last = value.at[value.length - 1];
	struct ri_span inner = ri_span_skip(value, 1);

	if (first == '$')
		return next == '{' || next == '(' || (is_letter(next) &&
			(ri_name_is_upper(inner) || ri_secrecy_of(inner) != RI_SECRECY_NONE));
	if (first == '{' || first == '%')
		return next == '{' || next == '(' || last == '}' ||
			(first == '%' && (next == 's' || next == 'd' || next == 'r'));
	if (first == '<')
		return (is_letter(next) || next == '/' || next == '|') && ri_span_has(value, ">");
	return (first == '[' && last == ']' && ri_name_is_upper(value)) ||
		ri_span_starts(value, "\xe2\x96\x81") || ri_span_starts(value, "\xc4\xa0");
}

/* "/etc/x", "./x", "~/x", "https://host": of words, as base64 is not. */
static bool is_path(struct ri_span value)
{
	size_t dots = past(value, 0, ".~");

	return ri_span_has(value, "://") || (dots < 2 && dots < value.length &&
		value.at[dots] == '/' && !ri_value_is_random(value) &&
		!ri_span_ends(value, "=") && !ri_span_has(value, "+"));
}

bool ri_value_is_plain(struct ri_span value)
{
	value = trim(value, ",.;:!?");
	for (size_t i = 0; i < value.length; i++)
		if (!is_letter(value.at[i]) && value.at[i] != '\'' && value.at[i] != '-')
			return false;
	return value.length > 0 && value.length < LONG_RUN;
}

bool ri_value_is_random(struct ri_span value)
{
	size_t run = 0, changes = 0;

	for (size_t i = 0; i < value.length; i++) {
		if (!is_letter(value.at[i]) && !ri_is_digit(value.at[i])) {
			run = changes = 0;
			continue;
		}
		changes += run > 0 && ri_is_digit(value.at[i]) != ri_is_digit(value.at[i - 1]);
		run++;
		if ((run >= RANDOM_RUN && changes > 1) || (run >= LONG_RUN && changes > 0))
			return true;
	}
	return false;
}

bool ri_value_is_sentence(struct ri_span value, size_t least)
{
	size_t words = 0, found = 0;
	struct ri_span word;

	for (; words < MAX_WORDS && (word = next_word(&value)).length > 0; words++) {
		if (words < 2 && !ri_value_is_plain(word))
			return false;
		found += ri_word_is(RI_SECRECY_SENTENCE, trim(word, ",.;:"));
	}
	return words > 1 && found >= least;
}

bool ri_secrecy_hides(enum ri_secrecy secrecy, struct ri_span value)
{
	value = ri_span_trim_start(ri_span_trim_end(value));
	if (secrecy == RI_SECRECY_NONE || count(value, isalnum) == 0 || is_number(value) ||
		(is_placeholder(value) && !ri_value_is_random(value)) ||
		ri_word_is(RI_SECRECY_HARMLESS, value))
		return false;
	if (secrecy == RI_SECRECY_WEAK)
		return ri_value_is_random(value);
	return secrecy == RI_SECRECY_HEADER || !is_path(value);
}

size_t ri_secret_form(struct ri_span text)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(forms); i++) {
		size_t start = strlen(forms[i].start), end = start;
		struct ri_span rest;

		if (text.at[0] != forms[i].start[0] || !ri_span_starts(text, forms[i].start))
			continue;
		while (end < text.length && (isalnum((unsigned char)text.at[end]) ||
			past(text, end, forms[i].more) > end))
			end++;
		rest = (struct ri_span){ text.at + start, end - start };
		if (rest.length >= forms[i].least &&
			(count(rest, isdigit) > 0 || count(rest, isalpha) == rest.length))
			return end;
	}
	return 0;
}
