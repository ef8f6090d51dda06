/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/name.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "redact/scan.h"

enum {
	MAX_NAME = 64,		/* bytes of a name that are looked at, from its end */
	MAX_WORDS = 12,		/* of a value */
	RANDOM_RUN = 8,		/* letters and digits in a row */
	LONG_RUN = 16,
};

enum kind {
	NONE, WEAK, MANY, PART, TOKEN, PHRASE, HEADER, NOTHING, NEUTRAL,
	LATER, HARMLESS, SENTENCE,
};

static const struct {
	enum kind kind;
	const char *words;
} rows[] = {
#define RI_WORDS(kind, words) { kind, words },
#include "redact/redact.def"
};

static const struct {
	const char *start;
	size_t length;
	size_t least;
	const char *more;
} forms[] = {
#define RI_FORM(start, least, more, source) { start, sizeof(start) - 1, least, more },
#include "redact/redact.def"
};

static const struct {
	const char *word;
	size_t length;
} cores[] = {
#define RI_CORE(word) { word, sizeof(word) - 1 },
#include "redact/redact.def"
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The words of a name, without what stands between them. */
struct words {
	char bytes[MAX_NAME];
	bool starts[MAX_NAME];	/* of a word */
	size_t length;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* The next word of a row. */
static bool next_word(const char **words, struct ri_span *word)
{
	*words += **words == ' ';
	*word = (struct ri_span){ *words, strcspn(*words, " ") };
	*words += word->length;
	return word->length > 0;
}

static bool is_listed(enum kind kind, struct ri_span value)
{
	struct ri_span word;

	for (size_t i = 0; i < COUNT(rows); i++)
		for (const char *words = rows[i].words; rows[i].kind == kind &&
			next_word(&words, &word);)
			if (word.length == value.length &&
				strncasecmp(word.at, value.at, value.length) == 0)
				return true;
	return false;
}

bool ri_name_is_upper(struct ri_span name)
{
	bool upper = false;

	for (size_t i = 0; i < name.length; i++) {
		if (ri_is_letter(name.at[i]) && !is_upper(name.at[i]))
			return false;
		upper = upper || is_upper(name.at[i]);
	}
	return upper;
}

bool ri_name_is_compound(struct ri_span name)
{
	return memchr(name.at, '_', name.length) != NULL ||
		memchr(name.at, '.', name.length) != NULL;
}

/* "aB", "ABc" at its 'B', "a1" and "1a". */
static bool begins_word(struct ri_span name, size_t i)
{
	char before = name.at[i - 1], c = name.at[i];

	if (is_digit(before) != is_digit(c))
		return true;
	if (!is_upper(c))
		return false;
	return !is_upper(before) || (i + 1 < name.length && ri_is_letter(name.at[i + 1]) &&
		!is_upper(name.at[i + 1]));
}

static void split(struct ri_span name, struct words *out)
{
	bool start = true;

	out->length = 0;
	if (name.length > MAX_NAME)
		name = ri_span_skip(name, name.length - MAX_NAME);
	for (size_t i = 0; i < name.length; i++) {
		char c = name.at[i];

		if (!ri_is_letter(c) && !is_digit(c)) {
			start = true;
			continue;
		}
		out->starts[out->length] = start || begins_word(name, i);
		out->bytes[out->length++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
		start = false;
	}
}

/* Asked of every word of a text, so it is quick. */
static bool has_core(const struct words *words)
{
	for (size_t at = 0; at < words->length; at++)
		for (size_t i = 0; i < COUNT(cores); i++)
			if (words->bytes[at] == cores[i].word[0] &&
				cores[i].length <= words->length - at &&
				memcmp(words->bytes + at, cores[i].word, cores[i].length) == 0)
				return true;
	return false;
}

bool ri_name_mentions(struct ri_span name)
{
	struct words words;

	split(name, &words);
	return has_core(&words);
}

static size_t last_start(const struct words *words)
{
	size_t start = words->length;

	while (start > 0 && !words->starts[start - 1])
		start--;
	return start == 0 ? 0 : start - 1;
}

/* Does the name end in this word, as a row has it? */
static bool ends_in(const struct words *words, struct ri_span end, bool anywhere)
{
	size_t start = words->length - end.length;

	return end.length <= words->length && (anywhere || words->starts[start]) &&
		memcmp(words->bytes + start, end.at, end.length) == 0;
}

/* The longest that the name ends in; where it begins. */
static enum kind find_end(const struct words *words, size_t *begin)
{
	enum kind kind = NONE;
	size_t longest = 0;
	struct ri_span end;

	for (size_t i = 0; i < COUNT(rows); i++)
		for (const char *list = rows[i].words; rows[i].kind < LATER &&
			next_word(&list, &end);) {
			bool anywhere = end.at[0] == '*';

			end = ri_span_skip(end, anywhere);
			if (end.length > longest && ends_in(words, end, anywhere)) {
				longest = end.length;
				kind = rows[i].kind;
			}
		}
	*begin = words->length - longest;
	return kind;
}

static enum ri_secrecy secrecy_of_kind(enum kind kind, bool prefixed, bool upper)
{
	static const enum ri_secrecy alone[LATER] = {
		[WEAK] = RI_SECRECY_WEAK,
		[MANY] = RI_SECRECY_WEAK,
		[PART] = RI_SECRECY_WEAK,
		[TOKEN] = RI_SECRECY_TOKEN,
		[PHRASE] = RI_SECRECY_PHRASE,
		[HEADER] = RI_SECRECY_HEADER,
	};

	if (prefixed && (kind == PART || (kind == WEAK && upper)))
		return RI_SECRECY_TOKEN;
	return alone[kind];
}

/* The last word counts, or the one before those that say nothing of it. */
enum ri_secrecy ri_secrecy_of(struct ri_span name)
{
	bool upper = ri_name_is_upper(name);
	struct words words;
	size_t begin, start;
	enum kind kind;

	split(name, &words);
	if (!has_core(&words))
		return RI_SECRECY_NONE;
	/* fs.azure.account.key.ACCOUNT.blob.core.windows.net of Hadoop's ABFS driver */
	if (memmem(words.bytes, words.length, "azureaccountkey", 15) != NULL)
		return RI_SECRECY_TOKEN;
	while (words.length > 0) {
		kind = find_end(&words, &begin);
		start = last_start(&words);
		if (kind != NONE && kind != NEUTRAL)
			return secrecy_of_kind(kind, begin > 0, upper);
		if (kind == NONE && !is_digit(words.bytes[words.length - 1]) &&
			(!upper || is_listed(LATER,
				(struct ri_span){ words.bytes + start, words.length - start })))
			return RI_SECRECY_NONE;
		words.length = start;
		/* of these only what is unmistakable: KEY_TYPE, AUTH_SOCK, TOKENS_SEEN */
		if (kind == NONE && !is_digit(words.bytes[start])) {
			kind = find_end(&words, &begin);
			if (kind == WEAK || kind == MANY || kind == PART)
				return RI_SECRECY_NONE;
		}
	}
	return RI_SECRECY_NONE;
}

/* Up to a blank; *rest is what follows. */
static struct ri_span take_word(struct ri_span *rest)
{
	struct ri_span word;
	size_t length = 0;

	*rest = ri_span_trim_start(*rest);
	while (length < rest->length && !ri_is_space(rest->at[length]))
		length++;
	word = (struct ri_span){ rest->at, length };
	*rest = ri_span_skip(*rest, length);
	return word;
}

/* 3, -1.5e-4, 409,600, 12_345, 1.2M, 50%, 0:30:00, 3/5, 0x55d0 */
static bool is_number(struct ri_span value)
{
	size_t i = 0;

	if (ri_span_starts(value, "0x") || ri_span_starts(value, "0X")) {
		for (i = 2; i < value.length; i++)
			if (memchr("0123456789abcdefABCDEF", value.at[i], 22) == NULL)
				return false;
		return value.length <= 18;
	}
	while (i < value.length && memchr("+-.", value.at[i], 3) != NULL)
		i++;
	if (i == value.length || !is_digit(value.at[i]))
		return false;
	while (i < value.length && (is_digit(value.at[i]) ||
		memchr(".,_:/", value.at[i], 5) != NULL))
		i++;
	if (i + 1 < value.length && (value.at[i] == 'e' || value.at[i] == 'E'))
		for (i += 1; i < value.length && memchr("+-0123456789", value.at[i], 12);)
			i++;
	while (i < value.length && memchr("kKMGTBbisxmuh%", value.at[i], 14) != NULL)
		i++;
	return i == value.length;
}

/* No letters: stars, "~", "<", "###", bytes that are no ASCII */
static bool is_marks(struct ri_span value)
{
	for (size_t i = 0; i < value.length; i++)
		if (ri_is_letter(value.at[i]) || is_digit(value.at[i]))
			return false;
	return true;
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
		return next == '{' || next == '(' || (ri_is_letter(next) &&
			(ri_name_is_upper(inner) || ri_secrecy_of(inner) != RI_SECRECY_NONE));
	if (first == '%' && memchr("sdr", next, 3) != NULL)
		return true;
	if (first == '{' || first == '%')
		return next == '{' || next == '(' || last == '}';
	if (first == '<')
		return (ri_is_letter(next) || memchr("/|", next, 2) != NULL) &&
			memchr(value.at, '>', value.length) != NULL;
	return (first == '[' && last == ']' && ri_name_is_upper(value)) ||
		ri_span_starts(value, "\xe2\x96\x81") || ri_span_starts(value, "\xc4\xa0");
}

/* "/etc/x", "./x", "~/x", "https://host": of words, as base64 is not. */
static bool is_path(struct ri_span value)
{
	if (memmem(value.at, value.length, "://", 3) != NULL)
		return true;
	return (value.at[0] == '/' || ri_span_starts(value, "./") ||
		ri_span_starts(value, "~/")) && !ri_value_is_random(value) &&
		value.at[value.length - 1] != '=' && memchr(value.at, '+', value.length) == NULL;
}

bool ri_value_is_plain(struct ri_span value)
{
	while (value.length > 0 && memchr(",.;:!?", value.at[value.length - 1], 6) != NULL)
		value.length--;
	for (size_t i = 0; i < value.length; i++)
		if (!ri_is_letter(value.at[i]) && value.at[i] != '\'' && value.at[i] != '-')
			return false;
	return value.length > 0 && value.length < LONG_RUN;
}

bool ri_value_is_random(struct ri_span value)
{
	size_t run = 0, changes = 0;
	bool digits = false, letters = false;

	for (size_t i = 0; i < value.length; i++) {
		bool digit = is_digit(value.at[i]);

		if (!digit && !ri_is_letter(value.at[i])) {
			run = changes = 0;
			digits = letters = false;
			continue;
		}
		changes += run > 0 && digit != is_digit(value.at[i - 1]);
		digits = digits || digit;
		letters = letters || !digit;
		run++;
		if (digits && letters && ((run >= RANDOM_RUN && changes > 1) || run >= LONG_RUN))
			return true;
	}
	return false;
}

bool ri_value_is_sentence(struct ri_span value, size_t least)
{
	struct ri_span rest = value, word;
	size_t count = 0, found = 0;

	for (; count < MAX_WORDS && (word = take_word(&rest)).length > 0; count++) {
		if (count < 2 && !ri_value_is_plain(word))
			return false;
		while (word.length > 0 && memchr(",.;:", word.at[word.length - 1], 4) != NULL)
			word.length--;
		found += is_listed(SENTENCE, word);
	}
	return count > 1 && found >= least;
}

bool ri_secrecy_hides(enum ri_secrecy secrecy, struct ri_span value)
{
	value = ri_span_trim_start(ri_span_trim_end(value));
	if (secrecy == RI_SECRECY_NONE || value.length == 0 || is_number(value) ||
		is_marks(value) || (is_placeholder(value) && !ri_value_is_random(value)) ||
		is_listed(HARMLESS, value))
		return false;
	if (secrecy == RI_SECRECY_WEAK)
		return ri_value_is_random(value);
	return secrecy == RI_SECRECY_HEADER || !is_path(value);
}

size_t ri_secret_form(struct ri_span text)
{
	for (size_t i = 0; i < COUNT(forms); i++) {
		size_t start = forms[i].length, end = start;
		bool digit = false, marks = false;

		if (text.length == 0 || text.at[0] != forms[i].start[0] ||
			!ri_span_starts(text, forms[i].start))
			continue;
		for (; end < text.length; end++) {
			char c = text.at[end];

			if (!ri_is_letter(c) && !is_digit(c) &&
				(c == '\0' || strchr(forms[i].more, c) == NULL))
				break;
			digit = digit || is_digit(c);
			marks = marks || !ri_is_letter(c);
		}
		if (end - start >= forms[i].least && (digit || !marks))
			return end;
	}
	return 0;
}
