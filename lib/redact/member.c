/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/member.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool ri_member_is(const struct ri_member *m, const char *word)
{
	return m->name.length == strlen(word) &&
		strncasecmp(m->name.at, word, m->name.length) == 0;
}

/* "&token=x" of an URL, also where that is part of another one; "sig=x&se=1" without it. */
static bool is_parameter(struct ri_scan *in, const struct ri_member *m)
{
	if (ri_member_is(m, "sig") && m->sign == '=' && !m->spaced &&
		ri_scan_is(in, ri_scan_find(in, m->begin,
			m->begin + RI_SCAN_AHEAD, "&% \t\"'"), "&%"))
		return true;
	return m->start > 0 && (ri_is_one_of(in->text[m->start - 1], "?&") ||
		ri_scan_precedes(in, m->start, "%3F") || ri_scan_precedes(in, m->start, "%26"));
}

/* <password>, <db:password type="x">: past the '>', or 0. */
static size_t end_of_tag(struct ri_scan *in, const struct ri_member *m)
{
	size_t at = m->start, end = m->end + RI_SCAN_AHEAD;

	while (at > 0 && m->start - at < 32 && (ri_is_name_byte(ri_scan_byte(in, at - 1)) ||
		ri_scan_byte(in, at - 1) == ':'))
		at--;
	if (at == 0 || ri_scan_byte(in, at - 1) != '<')
		return 0;
	for (at = m->end; at < end && !ri_scan_is(in, at, "<\n/"); at++)
		if (ri_scan_byte(in, at) == '>')
			return at + 1;
	return 0;
}

/* "machine h login me password x", on one line or several. */
static bool is_netrc(struct ri_scan *in, size_t at)
{
	size_t end = at > 128 ? at - 128 : 0;

	while (at > end && ri_is_space(ri_scan_byte(in, at - 1)))
		at--;
	while (at > end && !ri_is_space(ri_scan_byte(in, at - 1)))
		at--;
	while (at > end && ri_is_space(ri_scan_byte(in, at - 1)))
		at--;
	return ri_scan_precedes(in, at, "login") || ri_scan_precedes(in, at, "machine");
}

/* Does the word after the name belong to it, without a sign between? */
static bool takes_word(struct ri_scan *in, const struct ri_member *m, size_t blanks)
{
	static const char *const words[] = {
		"ENV ", "setenv ", "set -x ", "set -gx ", "set -Ux ",
		"configure set ",
	};

	if (m->name.at[0] == '-')
		return !ri_scan_follows(in, m->begin, "--");
	for (size_t i = 0; i < COUNT(words); i++)
		if (ri_scan_precedes(in, m->start, words[i]))
			return true;
	if (ri_member_is(m, "password") && is_netrc(in, m->start))
		return true;
	/* columns */
	return (blanks > 1 || ri_scan_byte(in, m->begin - 1) == '\t') &&
		(memchr(m->name.at, '.', m->name.length) != NULL ||
			(ri_name_is_upper(m->name) &&
				memchr(m->name.at, '_', m->name.length) != NULL));
}

/* Past "str = " of "token: str = 'x'". */
static size_t skip_type(struct ri_scan *in, size_t at)
{
	static const char *const types[] = {
		"str =", "bytes =", "string =", "SecretStr =", "Optional[str] =", "str | None =",
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if (ri_scan_follows(in, at, types[i]))
			return ri_scan_skip_blanks(in, at + strlen(types[i]));
	return at;
}

static bool find_assigned(struct ri_scan *in, struct ri_member *m, size_t at)
{
	char sign = ri_scan_byte(in, at);

	if (ri_scan_follows(in, at, "%3D") || ri_scan_follows(in, at, "%3A")) {
		m->sign = ri_scan_follows(in, at, "%3D") ? '=' : ':';
		m->begin = at + 3;
		return true;
	}
	if (ri_is_one_of(sign, "?:+") && ri_scan_byte(in, at + 1) == '=')
		sign = ri_scan_byte(in, ++at);
	if ((sign != '=' && sign != ':') || (sign == ':' && ri_scan_byte(in, at + 1) == ':'))
		return false;
	m->sign = sign;
	/* ":=", "==", "=>" */
	m->begin = at;
	while (ri_scan_is(in, at, "=:>") && at < m->end + RI_SCAN_AHEAD)
		at++;
	/* a comparison in code, "token += x", "tokens[token] = x" */
	if ((ri_scan_follows(in, m->begin, "==") || (at > 1 && in->text[m->begin - 1] == '+') ||
			(!m->quoted && ri_scan_byte(in, m->end) == ']')) &&
		ri_scan_quote_at(in, ri_scan_skip_blanks(in, at)).kind == 0)
		return false;
	m->begin = ri_scan_skip_blanks(in, at);
	if (sign == ':' && !m->quoted)
		m->begin = skip_type(in, m->begin);
	return true;
}

/* The sign of a table's cell, or 0. */
static size_t width_of_bar(struct ri_scan *in, size_t at)
{
	if (ri_scan_byte(in, at) == '|')
		return 1;
	return ri_scan_follows(in, at, "\xe2\x94\x82") ? 3 : 0;
}

bool ri_member_find_sign(struct ri_scan *in, struct ri_member *m)
{
	size_t at = m->end, closed, next;

	for (unsigned i = 0; i < 4; i++, at = next) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at);

		next = quote.kind != 0 ? at + quote.width : ri_scan_skip_colour(in, at);
		next += next == at && ri_scan_byte(in, at) == ']';
		m->quoted = m->quoted || quote.kind != 0;
	}
	closed = at;
	at = ri_scan_skip_blanks(in, at);
	m->spaced = at > closed;
	m->begin = at;
	if (find_assigned(in, m, at))
		return true;
	if (ri_scan_byte(in, at) == ',' && m->quoted) {
		m->sign = ',';
		m->begin = ri_scan_skip_blanks(in, at + 1);
		return ri_scan_quote_at(in, ri_scan_skip_prefix(in, m->begin)).kind != 0;
	}
	next = end_of_tag(in, m);
	if (next > 0) {
		m->sign = '>';
		m->begin = next;
		return true;
	}
	if (!m->spaced || ri_scan_byte(in, at) == '\n')
		return false;
	next = width_of_bar(in, at);
	m->sign = next > 0 ? '|' : ' ';
	if (ri_scan_follows(in, at, "is ") || ri_scan_follows(in, at, "is: ")) {
		m->sign = 'i';
		next = sizeof("is");
	}
	if (m->sign == ' ')
		return takes_word(in, m, at - closed);
	m->begin = ri_scan_skip_blanks(in, at + next);
	return true;
}

/* The name in a value: "HF_TOKEN" of "name": "HF_TOKEN". */
static enum ri_secrecy secrecy_in(struct ri_scan *in, const struct ri_member *m)
{
	size_t begin = ri_scan_skip_prefix(in, m->begin), end;

	begin += ri_scan_quote_at(in, begin).width * (ri_scan_quote_at(in, begin).kind != 0);
	for (end = begin; end < begin + 128 && ri_is_name_byte(ri_scan_byte(in, end));)
		end++;
	return ri_secrecy_of(ri_scan_span(in, begin, end));
}

static bool names_other(const struct ri_member *m)
{
	return ri_member_is(m, "name") || ri_member_is(m, "key");
}

bool ri_member_of_pair(const struct ri_member *m)
{
	return names_other(m) || ri_member_is(m, "value");
}

/* {"value": "x", "name": "HF_TOKEN"} */
static enum ri_secrecy find_name_after(struct ri_scan *in, size_t at)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	size_t end = quote.kind == 0 ? SIZE_MAX : ri_scan_closing(in, at + quote.width, quote);

	at = end == SIZE_MAX ? at : end;
	end = at + RI_SCAN_AHEAD < in->length ? at + RI_SCAN_AHEAD : in->length;
	for (; at < end && ri_scan_byte(in, at) != '}'; at++) {
		struct ri_member m = { .start = at, .end = at };

		if (ri_scan_byte(in, at) == '\n' &&
			ri_scan_byte(in, ri_scan_skip_blanks(in, at + 1)) == '-')
			break;
		if (!ri_is_letter(ri_scan_byte(in, at)))
			continue;
		while (m.end < end && ri_is_name_byte(ri_scan_byte(in, m.end)))
			m.end++;
		m.name = ri_scan_span(in, m.start, m.end);
		if (names_other(&m) && ri_member_find_sign(in, &m) &&
			secrecy_in(in, &m) > RI_SECRECY_WEAK)
			return secrecy_in(in, &m);
		at = m.end - 1;
	}
	return RI_SECRECY_NONE;
}

/*
 * PASS=x of an environment, {"pass": "x1"}: others pass forward, or pass a test.
 * auth=("me", "x") of Python's requests.
 */
static bool is_login(struct ri_scan *in, const struct ri_member *m)
{
	struct ri_scan_quote quote;
	size_t begin, end;

	if (ri_member_is(m, "auth") && m->sign == '=')
		return ri_scan_byte(in, m->begin) == '(';
	if (!ri_member_is(m, "pass"))
		return false;
	if (m->sign == '=' && !m->spaced && ri_name_is_upper(m->name))
		return true;
	quote = ri_scan_quote_at(in, m->begin);
	begin = m->begin + quote.width;
	end = ri_scan_find(in, begin, begin + RI_SCAN_AHEAD, " \"'`");
	return m->sign == ':' && quote.kind != 0 && ri_scan_byte(in, end) != ' ' &&
		!ri_value_is_plain(ri_scan_span(in, begin, end));
}

void ri_member_judge(struct ri_scan *in, struct ri_member *m)
{
	enum ri_secrecy named;
	size_t from = m->start;

	if (is_login(in, m) || (m->secrecy == RI_SECRECY_WEAK && is_parameter(in, m) &&
			(ri_member_is(m, "sig") || m->name.length > 8)))
		m->secrecy = RI_SECRECY_TOKEN;
	/* "API key: x", "cache key: x" */
	if (ri_member_is(m, "key") && !m->quoted && m->start > 1 &&
		in->text[m->start - 1] == ' ' && ri_is_letter(in->text[m->start - 2])) {
		while (m->end - from < sizeof("subscription key") && from > 0 &&
			(from == m->start || ri_is_name_byte(ri_scan_byte(in, from - 1))))
			from--;
		m->secrecy = ri_secrecy_of(ri_scan_span(in, from, m->end));
	}
	if (names_other(m) && m->sign != ',') {
		named = secrecy_in(in, m);
		if (named > RI_SECRECY_WEAK || ri_member_is(m, "name")) {
			in->named = named > RI_SECRECY_WEAK ? named : RI_SECRECY_NONE;
			in->named_at = m->end;
		}
	} else if (ri_member_is(m, "value") && m->secrecy == RI_SECRECY_NONE) {
		if (m->start - in->named_at > 2 * RI_SCAN_AHEAD)
			in->named = RI_SECRECY_NONE;
		m->secrecy = in->named != RI_SECRECY_NONE ? in->named
							  : find_name_after(in, m->begin);
		in->named = RI_SECRECY_NONE;
	}
}

/* ",name=" or ";name=" ends a value that has no quotes. */
static bool is_next_member(struct ri_scan *in, size_t at)
{
	size_t end = at + 1;

	while (end < at + 64 && ri_is_name_byte(ri_scan_byte(in, end)))
		end++;
	return end > at + 1 && (ri_scan_byte(in, end) == '=' || ri_scan_follows(in, end, "%3D"));
}

/* Without what ends a sentence or a list, though not what closes its own bracket. */
static size_t trim(struct ri_scan *in, size_t begin, size_t end)
{
	static const char closing[] = ")]}>", opening[] = "([{<";

	for (; end > begin; end--) {
		const char *found = memchr(closing, ri_scan_byte(in, end - 1), sizeof(closing) - 1);

		if (!ri_is_one_of(in->text[end - 1], ",;:\"'`") && (found == NULL ||
			memchr(in->text + begin, opening[found - closing], end - begin) != NULL))
			break;
	}
	return end;
}

size_t ri_member_word_end(struct ri_scan *in, size_t begin, size_t limit)
{
	size_t at = begin;
	bool assigned = false;

	for (; at < limit && !ri_scan_is(in, at, " \t\r\n\v\f\x1b"); at++) {
		char c = in->text[at];

		if ((ri_is_one_of(c, ",;") || (c == '&' && !assigned)) && is_next_member(in, at))
			break;
		if (ri_scan_quote_at(in, at).kind != 0 && (ri_scan_is(in, at + 1, ",:)]}") ||
			ri_is_space(ri_scan_byte(in, at + 1))))
			break;
		assigned = assigned || c == '=';
	}
	return at == limit && limit < in->length ? at : trim(in, begin, at);
}

size_t ri_member_rest_end(struct ri_scan *in, const struct ri_member *m, size_t limit)
{
	size_t at = m->begin, colour;

	for (; at < limit && ri_scan_byte(in, at) != '\n'; at++)
		if (ri_scan_follows(in, at, "\\r\\n") ||
			(m->secrecy != RI_SECRECY_HEADER && ri_scan_follows(in, at, " #")))
			break;
	for (colour = at; colour > m->begin && at - colour < 16;)
		if (ri_scan_byte(in, --colour) == '\x1b')
			break;
	if (ri_scan_byte(in, colour) == '\x1b' && ri_scan_skip_colour(in, colour) == at)
		at = colour;
	while (at > m->begin && ri_is_space(ri_scan_byte(in, at - 1)))
		at--;
	return at;
}

static size_t end_of_parameter(struct ri_scan *in, size_t at, size_t limit)
{
	while (at < limit && !ri_scan_is(in, at, " \t\r\n&\"'`<>#") &&
		!ri_scan_follows(in, at, "%26"))
		at++;
	return at;
}

static char before_blanks(struct ri_scan *in, size_t at)
{
	size_t end = at > 8 ? at - 8 : 0;

	while (at > end && ri_is_blank(ri_scan_byte(in, at - 1)))
		at--;
	return at == 0 ? '\n' : ri_scan_byte(in, at - 1);
}

bool ri_member_is_rest(struct ri_scan *in, const struct ri_member *m)
{
	if (m->secrecy == RI_SECRECY_HEADER)
		return true;
	return m->secrecy == RI_SECRECY_PHRASE && ri_scan_starts_line(in, m->start) &&
		(m->sign == ':' || (m->sign == '=' && (m->spaced || ri_name_is_upper(m->name))));
}

size_t ri_member_bare_end(struct ri_scan *in, const struct ri_member *m, size_t limit)
{
	struct ri_scan_quote around = ri_scan_quote_before(in, m->start);
	size_t at = m->begin;
	char before = before_blanks(in, m->start);

	if (m->sign == '>')
		return ri_scan_find(in, at, limit, "<");
	if (m->sign == 'i')
		return ri_member_word_end(in, at, limit);
	if (m->sign == '=' && is_parameter(in, m))
		return end_of_parameter(in, at, limit);
	if (around.kind != 0 && !m->quoted) {
		size_t end = ri_scan_closing(in, at, around);

		return end < limit ? end : ri_scan_find(in, at, limit, "");
	}
	if (m->sign == '=' && before == ';')
		return ri_scan_find(in, at, limit, ";\"'");
	if (m->sign == ':' && m->secrecy != RI_SECRECY_HEADER &&
		(m->quoted || before == '{' || before == ','))
		return ri_scan_find(in, at, limit, ",}])");
	if (ri_member_is_rest(in, m))
		return ri_member_rest_end(in, m, limit);
	return ri_member_word_end(in, at, limit);
}
