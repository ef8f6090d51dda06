/* SPDX-License-Identifier: Apache-2.0 */
#include "redact/assignment.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { NEAR = 256 };	/* from a value to the name of it beside it */

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool ri_assignment_is(const struct ri_assignment *m, const char *word)
{
	return m->name.length == strlen(word) &&
		strncasecmp(m->name.at, word, m->name.length) == 0;
}

static char before_blanks(struct ri_scan *in, size_t at)
{
	size_t end = at > 8 ? at - 8 : 0;

	while (at > end && ri_is_blank(ri_scan_byte(in, at - 1)))
		at--;
	return ri_scan_byte(in, at - 1);
}

/* <password>, <db:password type="x">: past the '>', or 0. */
static size_t end_of_tag(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t at = m->start;

	while (m->start - at < 32 && (ri_is_name_byte(ri_scan_byte(in, at - 1)) ||
		ri_scan_byte(in, at - 1) == ':'))
		at--;
	if (ri_scan_byte(in, at - 1) != '<')
		return 0;
	at = ri_scan_find(in, m->end, m->end + RI_SCAN_AHEAD, "</>");
	return ri_scan_byte(in, at) == '>' ? at + 1 : 0;
}

/*
 * Does the word after the name belong to it: --token x, login me password x1, ENV HF_TOKEN x1,
 * token 'x1y2z3w4' is invalid?
 */
static bool takes_word(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t begin = m->begin + ri_scan_quote_at(in, m->begin).width;
	size_t end = ri_scan_find(in, begin, begin + RI_SCAN_AHEAD,
		begin > m->begin ? " \t\x1b=:\"'`" : " \t\x1b=:");
	struct ri_span word = ri_scan_span(in, begin, end);
	bool sure = ri_name_is_upper(m->name) ||
		(m->secrecy >= RI_SECRECY_TOKEN && ri_value_is_random(word));

	if (m->name.at[0] == '-')
		return !ri_scan_follows(in, m->begin, "--");
	if (begin > m->begin)
		return sure;
	return !m->quoted && ri_scan_byte(in, m->begin) != '-' &&
		ri_is_name_byte(ri_scan_byte(in, m->begin)) &&
		(sure || m->secrecy == RI_SECRECY_PHRASE || ri_name_is_compound(m->name)) &&
		!ri_value_is_plain(word);
}

/* Past "str = " of "token: str = 'x'", and past a tag or an anchor of YAML's. */
static size_t skip_type(struct ri_scan *in, size_t at)
{
	static const char *const types[] = {
		"str =", "bytes =", "string =", "SecretStr =", "Optional[str] =", "str | None =",
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if (ri_scan_follows(in, at, types[i]))
			return ri_scan_skip_blanks(in, at + strlen(types[i]));
	if (ri_scan_is(in, at, "!&") && ri_scan_is(in, ri_scan_find(in, at, at + 32, " \t"), " \t"))
		at = ri_scan_skip_blanks(in, ri_scan_find(in, at, at + 32, " \t"));
	return at;
}

static bool find_assigned(struct ri_scan *in, struct ri_assignment *m, size_t at)
{
	size_t sign = at + ri_scan_is(in, at, "?:+") * (ri_scan_byte(in, at + 1) == '=');

	if (ri_scan_follows(in, at, "%3D") || ri_scan_follows(in, at, "%3A")) {
		m->sign = ri_scan_follows(in, at, "%3D") ? '=' : ':';
		m->begin = at + 3;
		return true;
	}
	m->sign = ri_scan_byte(in, sign);
	if (!ri_is_one_of(m->sign, "=:") || ri_scan_follows(in, at, "::"))
		return false;
	/* ":=", "==", "=>" */
	for (at = sign; ri_scan_is(in, at, "=:>") && at < m->end + RI_SCAN_AHEAD;)
		at++;
	m->begin = ri_scan_skip_blanks(in, at);
	if (m->sign == ':' && !m->quoted)
		m->begin = skip_type(in, m->begin);
	return true;
}

bool ri_assignment_find_sign(struct ri_scan *in, struct ri_assignment *m)
{
	size_t at = m->end, closed, next;

	for (unsigned i = 0; i < 4; i++, at = next) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at);

		next = quote.mark != 0 ? at + quote.width : ri_scan_skip_colour(in, at);
		next += next == at && ri_scan_byte(in, at) == ']';
		m->quoted = m->quoted || quote.mark != 0;
	}
	closed = at;
	at = ri_scan_skip_blanks(in, at);
	m->spaced = at > closed;
	m->begin = at;
	next = ri_scan_skip_blanks(in, at + 1);
	if (m->quoted && ri_scan_byte(in, at) == '\n' && ri_scan_byte(in, next) == ':')
		at = next;
	if (find_assigned(in, m, at))
		return true;
	next = end_of_tag(in, m);
	if (m->quoted && ri_scan_byte(in, at) == ',') {
		m->sign = ',';
		m->begin = ri_scan_skip_blanks(in, at + 1);
		return true;
	}
	if (next > 0) {
		m->sign = '>';
		m->begin = next;
		return true;
	}
	if (!m->spaced || ri_scan_byte(in, at) == '\n')
		return false;
	m->sign = ' ';
	next = ri_scan_byte(in, at) == '|' ? 1 : ri_scan_follows(in, at, "\xe2\x94\x82") ? 3 : 0;
	if (next > 0)
		m->sign = '|';
	if (ri_scan_follows(in, at, "is ") || ri_scan_follows(in, at, "is: ")) {
		m->sign = 'i';
		next = sizeof("is");
	}
	m->begin = next == 0 ? at : ri_scan_skip_blanks(in, at + next);
	return next > 0 || takes_word(in, m);
}

/* "&token=x" of an URL, also where that is part of another one. */
static bool is_parameter(struct ri_scan *in, const struct ri_assignment *m)
{
	return m->sign == '=' && (ri_scan_is(in, m->start - 1, "?&") ||
		ri_scan_precedes(in, m->start, "%3F") || ri_scan_precedes(in, m->start, "%26"));
}

/* Does an object, or an item of a list, begin or end here? */
static bool is_edge(struct ri_scan *in, size_t at)
{
	return ri_scan_is(in, at, "{}") ||
		(ri_scan_byte(in, at) == '\n' &&
			ri_scan_byte(in, ri_scan_skip_blanks(in, at + 1)) == '-');
}

/* What a name makes of the "value" beside it: {"name": "HF_TOKEN", "value": "x"}, in any order. */
static enum ri_secrecy secrecy_beside(struct ri_scan *in, const struct ri_assignment *m)
{
	enum ri_secrecy most = RI_SECRECY_NONE, secrecy;
	size_t at = m->start, reach = ri_scan_reach(in, NEAR), end;

	while (at > 0 && m->start - at < reach && !is_edge(in, at - 1))
		at--;
	for (; at < m->start + reach && (at < m->start || !is_edge(in, at)); at = end + 1) {
		for (end = at; ri_is_name_byte(ri_scan_byte(in, end));)
			end++;
		secrecy = ri_secrecy_of(ri_scan_span(in, at, end));
		most = secrecy > most ? secrecy : most;
	}
	return most;
}

/*
 * PASS=x of an environment, {"pass": "x"}: others pass forward, or pass a test.
 * sig=x of a shared access signature. auth=("me", "x") of Python's requests.
 */
static bool is_login(struct ri_scan *in, const struct ri_assignment *m)
{
	if (ri_assignment_is(m, "auth"))
		return m->sign == '=' && ri_scan_byte(in, m->begin) == '(';
	if (ri_assignment_is(m, "sig"))
		return m->sign == '=' && !m->spaced;
	return ri_assignment_is(m, "pass") && ((m->sign == '=' && ri_name_is_upper(m->name)) ||
		(m->sign == ':' && ri_scan_quote_at(in, m->begin).mark != 0));
}

void ri_assignment_judge(struct ri_scan *in, struct ri_assignment *m)
{
	size_t from = m->start;

	if (is_login(in, m) || (m->secrecy == RI_SECRECY_WEAK && is_parameter(in, m)))
		m->secrecy = RI_SECRECY_TOKEN;
	/* "API key: x", "cache key: x" */
	if (ri_assignment_is(m, "key") && !m->quoted &&
		ri_is_letter(ri_scan_byte(in, m->start - 2)) &&
		ri_scan_byte(in, m->start - 1) == ' ') {
		while (m->end - from < sizeof("subscription key") && from > 0 &&
			(from == m->start || ri_is_name_byte(ri_scan_byte(in, from - 1))))
			from--;
		m->secrecy = ri_secrecy_of(ri_scan_span(in, from, m->end));
	}
	if (ri_assignment_is(m, "value"))
		m->secrecy = secrecy_beside(in, m);
}

/* ",name=" or ";name=" ends a value that has no quotes. */
static bool is_next_assignment(struct ri_scan *in, size_t at)
{
	size_t end = at + 1;

	while (end < at + 64 && ri_is_name_byte(ri_scan_byte(in, end)))
		end++;
	return end > at + 1 && (ri_scan_byte(in, end) == '=' || ri_scan_follows(in, end, "%3D"));
}

/* Without what ends a sentence or a list, though not what closes its own bracket. */
static size_t trim(const struct ri_scan *in, size_t begin, size_t end)
{
	static const char closing[] = ")]}>", opening[] = "([{<";

	for (; end > begin; end--) {
		const char *closes = memchr(closing, in->text[end - 1], sizeof(closing) - 1);

		if (!ri_is_one_of(in->text[end - 1], ",;:\"'`") && (closes == NULL ||
			memchr(in->text + begin, opening[closes - closing], end - begin) != NULL))
			break;
	}
	return end;
}

size_t ri_assignment_word_end(struct ri_scan *in, size_t begin, size_t limit)
{
	bool assigned = false;
	size_t at = begin;

	for (; at < limit && !ri_scan_is(in, at, " \t\r\n\v\f\x1b"); at++) {
		char c = ri_scan_byte(in, at);

		if ((ri_is_one_of(c, ",;") || (c == '&' && !assigned)) &&
			is_next_assignment(in, at))
			break;
		if (ri_scan_quote_at(in, at).mark != 0 && (ri_scan_is(in, at + 1, ",:)]}") ||
			ri_is_space(ri_scan_byte(in, at + 1))))
			break;
		assigned = assigned || c == '=';
		/* a line that goes on in the next one */
		at += ri_scan_follows(in, at, "\\\n");
	}
	at = at < in->length ? at : in->length;
	return at == limit && limit < in->length ? at : trim(in, begin, at);
}

bool ri_assignment_is_rest(struct ri_scan *in, const struct ri_assignment *m)
{
	return m->secrecy == RI_SECRECY_HEADER || (m->secrecy == RI_SECRECY_PHRASE &&
		(m->sign == ':' || (m->sign == '=' && (m->spaced || ri_name_is_upper(m->name)))) &&
		ri_scan_starts_line(in, m->start));
}

size_t ri_assignment_bare_end(struct ri_scan *in, const struct ri_assignment *m, size_t limit)
{
	struct ri_scan_quote around = ri_scan_quote_before(in, m->start);
	size_t at = m->begin, end;
	char before = before_blanks(in, m->start);

	if (is_parameter(in, m)) {
		while (at < limit && !ri_scan_is(in, at, " \t\r\n&\"'`<>#") &&
			!ri_scan_follows(in, at, "%26"))
			at++;
		return at;
	}
	if (around.mark != 0 && !m->quoted && m->sign != 'i') {
		end = ri_scan_closing(in, at, around);
		return end < limit ? end : ri_scan_find(in, at, limit, "");
	}
	if (m->sign == '=' && before == ';')
		return ri_scan_find(in, at, limit, ";\"'");
	if (m->sign == ':' && m->secrecy != RI_SECRECY_HEADER &&
		(m->quoted || before == '{' || before == ','))
		return ri_scan_find(in, at, limit, ",}])");
	if (m->sign == 'i' || !ri_assignment_is_rest(in, m))
		return ri_assignment_word_end(in, at, limit);
	while (at < limit && !ri_scan_is(in, at, "\n\x1b") && !ri_scan_follows(in, at, "\\r\\n"))
		at++;
	at = at < in->length ? at : in->length;
	while (at > m->begin && ri_is_space(ri_scan_byte(in, at - 1)))
		at--;
	return at;
}
