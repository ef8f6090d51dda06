/* SPDX-License-Identifier: Apache-2.0 */
#include "report/redact.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* How far the end of a quoted or bracketed value is looked for. */
enum { MAX_VALUE = 16384 };

struct scanner {
	const char *text;
	size_t length;
	size_t at;		/* of what is next */
	struct ri_text *out;
};

/* What follows a name: where the value begins, and what it is assigned by. */
struct assignment {
	size_t begin;
	char sign;		/* '=', ':', or ' ' for the word after an option */
	bool quoted_name;
	bool spaced;		/* "name = value" */
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_byte(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' ||
		c == '-' || c == '.';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* The byte at a place, '\n' past the end. */
static char byte(const struct scanner *in, size_t at)
{
	return at < in->length ? in->text[at] : '\n';
}

static bool has_word(struct ri_span name, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= name.length; i++)
		if (strncasecmp(name.at + i, word, length) == 0)
			return true;
	return false;
}

static bool is_word(struct ri_span name, const char *word)
{
	return name.length == strlen(word) && strncasecmp(name.at, word, name.length) == 0;
}

static bool ends_in(struct ri_span name, const char *word)
{
	size_t length = strlen(word);

	return name.length >= length && is_word(ri_span_skip(name, name.length - length), word);
}

bool ri_redact_is_secret(struct ri_span name)
{
	static const char *const words[] = {
		"key", "token", "secret", "sas", "pass", "authorization",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_word(name, words[i]))
			return true;
	return false;
}

/* Signed URLs of Azure, Amazon and Google: ...?sv=1&sig=... */
static bool is_secret_parameter(struct ri_span name)
{
	return is_word(name, "sig") || has_word(name, "signature") ||
		has_word(name, "credential") || ri_redact_is_secret(name);
}

/* The last part of "a.b_c-Dee": Dee. */
static struct ri_span last_word(struct ri_span name)
{
	size_t start = name.length;

	while (start > 0 && !is_one_of(name.at[start - 1], "._-"))
		start--;
	return ri_span_skip(name, start);
}

/*
 * "name: value" is how people write as well, and "KeyError: 'x'" is what the
 * verdict is about: there the name has to end in a word that means a secret.
 */
static bool is_secret_label(const struct scanner *in, struct ri_span name, size_t value)
{
	static const char *const ends[] = {
		"key", "keys", "token", "tokens", "secret", "secrets", "sas", "pass", "passwd",
		"password", "passphrase", "passcode", "authorization",
	};
	struct ri_span word = last_word(name);
	size_t length = 0;

	if (is_word(name, "key") || is_word(name, "keys") ||
		(name.length > word.length && is_word(word, "key") &&
			word.at[-1] == '.')) {
		/* "missing key: x" names what is missing; real keys are long */
		while (!ri_is_space(byte(in, value + length)))
			length++;
		return length >= 20;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends_in(word, ends[i]))
			return true;
	return false;
}

static void copy(struct scanner *in, size_t end)
{
	if (end > in->length)
		end = in->length;
	if (end > in->at)
		ri_text_add_bytes(in->out, in->text + in->at, end - in->at);
	in->at = end > in->at ? end : in->at;
}

/* Replace what stands up to end, if that is anything. */
static void hide(struct scanner *in, size_t end)
{
	if (end > in->length)
		end = in->length;
	if (end <= in->at)
		return;
	ri_text_add(in->out, RI_REDACTED);
	in->at = end;
}

static size_t end_of_line(const struct scanner *in, size_t at)
{
	while (byte(in, at) != '\n')
		at++;
	return at;
}

static size_t end_of_word(const struct scanner *in, size_t at)
{
	while (!ri_is_space(byte(in, at)))
		at++;
	return at;
}

/* Backslashes before a quote: text in text has one, a level deeper three. */
static size_t count_backslashes(const struct scanner *in, size_t at)
{
	size_t count = 0;

	while (byte(in, at + count) == '\\')
		count++;
	return count;
}

/* Where the quote after depth backslashes is matched, or SIZE_MAX. */
static size_t find_closing(const struct scanner *in, size_t at, char quote, size_t depth)
{
	size_t end = at + MAX_VALUE < in->length ? at + MAX_VALUE : in->length, count;

	while (at < end) {
		count = count_backslashes(in, at);
		if (byte(in, at + count) == quote && count <= depth)
			return at;
		at += count + 1;
	}
	return SIZE_MAX;
}

/* b'...', rb"...": letters before a quote. */
static size_t skip_string_prefix(const struct scanner *in, size_t at)
{
	size_t start = at;

	while (at < start + 2 && is_one_of(lower(byte(in, at)), "bruf"))
		at++;
	return is_quote(byte(in, at)) ? at : start;
}

/* Hide what stands in quotes, and keep these. Returns false where it has none. */
static bool hide_quoted(struct scanner *in, size_t begin)
{
	size_t at = skip_string_prefix(in, begin), depth = count_backslashes(in, at), end;
	char quote = byte(in, at + depth);

	if (!is_quote(quote))
		return false;
	/* Python's long strings */
	if (depth == 0 && byte(in, at + 1) == quote && byte(in, at + 2) == quote)
		at += 2;
	copy(in, at + depth + 1);
	end = find_closing(in, in->at, quote, depth);
	hide(in, end == SIZE_MAX ? end_of_line(in, in->at) : end);
	return true;
}

/* Where the bracket that opens at at is closed, or the end of its line. */
static size_t end_of_brackets(const struct scanner *in, size_t at)
{
	size_t end = at + MAX_VALUE < in->length ? at + MAX_VALUE : in->length, depth = 0;

	for (size_t i = at; i < end; i++) {
		if (is_one_of(in->text[i], "([{"))
			depth++;
		else if (is_one_of(in->text[i], ")]}") && --depth == 0)
			return i + 1;
	}
	return end_of_line(in, at);
}

/* After a name in quotes: up to what ends the member of an object. */
static size_t end_of_member(const struct scanner *in, size_t at)
{
	while (byte(in, at) != '\n' && !is_one_of(byte(in, at), ",}])"))
		at++;
	return at;
}

/* A line of env(1), of a shell's export, of an .ini file: all of it. */
static bool is_whole_line(const struct scanner *in, struct ri_span name, bool spaced)
{
	static const char *const words[] = { "export ", "declare -x ", "ENV " };
	size_t start = (size_t)(name.at - in->text), length;
	bool upper = true;

	for (size_t i = 0; i < name.length; i++)
		upper = upper && (name.at[i] < 'a' || name.at[i] > 'z');
	if (start == 0 || in->text[start - 1] == '\n')
		return upper || spaced;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		length = strlen(words[i]);
		if (start >= length && memcmp(name.at - length, words[i], length) == 0)
			return true;
	}
	return false;
}

/* Of an URL: ...?name=value&name=value */
static bool is_parameter(const struct scanner *in, struct ri_span name)
{
	return is_word(name, "sig") ||
		(name.at > in->text && (name.at[-1] == '?' || name.at[-1] == '&'));
}

static size_t end_of_bare(const struct scanner *in, struct ri_span name,
	const struct assignment *found)
{
	size_t at = found->begin;

	if (found->sign == ':')
		return found->quoted_name ? end_of_member(in, at) : end_of_line(in, at);
	if (found->sign == '=' && is_parameter(in, name)) {
		while (!ri_is_space(byte(in, at)) && !is_quote(byte(in, at)) && byte(in, at) != '&')
			at++;
		return at;
	}
	if (found->sign == '=' && is_whole_line(in, name, found->spaced))
		return end_of_line(in, at);
	return end_of_word(in, at);
}

static void hide_value(struct scanner *in, struct ri_span name, const struct assignment *found)
{
	char first = byte(in, found->begin);

	copy(in, found->begin);
	if (first == '\n' || hide_quoted(in, found->begin))
		return;
	if (is_one_of(first, "([{"))
		hide(in, end_of_brackets(in, found->begin));
	else
		hide(in, end_of_bare(in, name, found));
}

static size_t skip_blanks(const struct scanner *in, size_t at)
{
	while (byte(in, at) == ' ' || byte(in, at) == '\t')
		at++;
	return at;
}

/* The word after "--name": what may stand between are quotes and a comma. */
static bool find_next_word(const struct scanner *in, size_t at, struct assignment *found)
{
	size_t start = at;

	at = skip_blanks(in, at);
	if (byte(in, at) == ',')
		at = skip_blanks(in, at + 1);
	if (at == start || byte(in, at) == '\n')
		return false;
	*found = (struct assignment){ .begin = at, .sign = ' ' };
	if (is_quote(byte(in, at)))
		at++;
	return byte(in, at) != '-' || byte(in, at + 1) != '-';
}

/* What is assigned to the name that ends at at? */
static bool find_assignment(const struct scanner *in, struct ri_span name, size_t at,
	struct assignment *found)
{
	size_t closed = at;
	bool quoted = false;
	char sign;

	for (; is_quote(byte(in, closed)) || is_one_of(byte(in, closed), "\\])"); closed++)
		quoted |= is_quote(byte(in, closed));
	at = skip_blanks(in, closed);
	sign = byte(in, at);
	if (sign != '=' && sign != ':')
		return name.at[0] == '-' && find_next_word(in, closed, found);
	*found = (struct assignment){ .sign = sign, .spaced = at > closed, .quoted_name = quoted };
	/* ":=", "==", "=>" */
	while (is_one_of(byte(in, at), "=:>"))
		at++;
	found->begin = skip_blanks(in, at);
	return sign == '=' || quoted || is_secret_label(in, name, found->begin);
}

static void take_name(struct scanner *in)
{
	size_t end = in->at;
	struct assignment found;
	struct ri_span name;

	while (end < in->length && is_name_byte(in->text[end]))
		end++;
	name = (struct ri_span){ in->text + in->at, end - in->at };
	if (is_word(name, "Bearer")) {
		copy(in, skip_blanks(in, end));
		hide(in, end_of_word(in, in->at));
		return;
	}
	copy(in, end);
	if ((is_parameter(in, name) ? is_secret_parameter(name) : ri_redact_is_secret(name)) &&
		find_assignment(in, name, end, &found))
		hide_value(in, name, &found);
}

/* "scheme://user:password@host": what stands before the last '@'. */
static void take_authority(struct scanner *in)
{
	size_t found = SIZE_MAX, at;

	copy(in, in->at + 3);
	for (at = in->at; !ri_is_space(byte(in, at)) && !is_quote(byte(in, at)) &&
		!is_one_of(byte(in, at), "/?#<>"); at++)
		if (byte(in, at) == '@')
			found = at;
	if (found != SIZE_MAX)
		hide(in, found);
}

/* "-----BEGIN ... PRIVATE KEY-----": all up to the line that ends it. */
static bool take_private_key(struct scanner *in)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	struct ri_span rest = { in->text + in->at, in->length - in->at }, line = rest;
	const char *last;

	if (!ri_span_starts(rest, begin))
		return false;
	line.length = end_of_line(in, in->at) - in->at;
	if (!has_word(line, "private key"))
		return false;
	last = memmem(rest.at, rest.length, end, sizeof(end) - 1);
	hide(in, last == NULL ? in->length : end_of_line(in, (size_t)(last - in->text)));
	return true;
}

void ri_redact(struct ri_text *out, struct ri_span text)
{
	struct scanner in = { .text = text.at, .length = text.length, .out = out };

	while (in.at < in.length && !out->cut) {
		struct ri_span rest = { in.text + in.at, in.length - in.at };

		if (ri_span_starts(rest, "://"))
			take_authority(&in);
		else if (!is_name_byte(in.text[in.at]))
			copy(&in, in.at + 1);
		else if (!take_private_key(&in))
			take_name(&in);
	}
}
