/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the text. At each name: what the name says (redact_name.h), what
 * sign stands behind it and how far the value goes (redact_member.h), and
 * whether that is a secret.
 */
#include "redact/redact.h"

#include <stdint.h>
#include <string.h>

#include "redact/member.h"

enum {
	MAX_BLOCK = 64,		/* lines of a value below its name */
	LOGIN = 256,		/* bytes from a command to its option */
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void copy(struct ri_scan *in, size_t end)
{
	if (end > in->length)
		end = in->length;
	if (end <= in->at)
		return;
	if (in->out != NULL)
		ri_text_add_bytes(in->out, in->text + in->at, end - in->at);
	in->at = end;
}

/* Replace what stands between begin and end, if that is anything. */
static void hide(struct ri_scan *in, size_t begin, size_t end)
{
	copy(in, begin);
	if (end > in->length)
		end = in->length;
	if (end <= in->at)
		return;
	if (in->out == NULL)
		memset(in->mask + in->at, '*', end - in->at);
	else
		ri_text_add(in->out, RI_REDACTED);
	in->at = end;
}

/* Where what stands in the quote ends: where that is closed, or with the line. */
static size_t end_of_quoted(struct ri_scan *in, size_t at, struct ri_scan_quote quote)
{
	size_t end = ri_scan_closing(in, at, quote);

	return end == SIZE_MAX ? ri_scan_line_end(in, at, ri_scan_horizon(in, at)) : end;
}

/* Hide what stands in the quote at at, if the name makes a secret of that. */
static bool take_quoted(struct ri_scan *in, enum ri_secrecy secrecy, size_t at)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	size_t end;

	at += quote.width;
	/* Python's long strings */
	if (quote.depth == 0 && ri_scan_byte(in, at) == quote.kind &&
		ri_scan_byte(in, at + 1) == quote.kind)
		at += 2;
	end = end_of_quoted(in, at, quote);
	if (!ri_secrecy_hides(secrecy, ri_scan_span(in, at, end)))
		return false;
	if (ri_scan_quote_at(in, end).kind != quote.kind)
		end = ri_scan_line_end(in, end, in->length);
	hide(in, at, end);
	return true;
}

/* ('HF_TOKEN', 'x'), setdefault("HF_TOKEN", "x"), ['--token', 'x'] */
static void take_pair(struct ri_scan *in, const struct ri_member *m)
{
	size_t at = ri_scan_skip_prefix(in, m->begin), end, before;
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	struct ri_scan_quote opening = ri_scan_quote_before(in, m->start);
	struct ri_span value;

	end = end_of_quoted(in, at + quote.width, quote);
	value = ri_scan_span(in, at + quote.width, end);
	/* another option, another name, a member of an object */
	if (opening.kind == 0 || value.length == 0 || value.at[0] == '-' ||
		ri_secrecy_of(value) != RI_SECRECY_NONE ||
		(ri_name_is_upper(value) && memchr(value.at, '_', value.length) != NULL) ||
		ri_scan_byte(in, ri_scan_skip_blanks(in, end + quote.width)) == ':')
		return;
	for (before = m->start - opening.width; before > 0 && ri_scan_is(in, before - 1, "bruf");)
		before--;
	/* words beside each other, as "token" and "tag", may as well be a list */
	if (!ri_name_is_upper(m->name) && m->name.at[0] != '-' &&
		(before == 0 || ri_scan_byte(in, before - 1) != '(' ||
			(m->secrecy == RI_SECRECY_TOKEN && ri_value_is_plain(value))))
		return;
	take_quoted(in, m->secrecy, at);
}

/* The end of a name that a bracket follows, as in "os.environ[" and "get(", or at. */
static size_t end_of_code(struct ri_scan *in, size_t at)
{
	size_t end = at;

	if (!ri_is_letter(ri_scan_byte(in, at)) && ri_scan_byte(in, at) != '_')
		return at;
	while (end < at + RI_SCAN_AHEAD && ri_is_name_byte(ri_scan_byte(in, end)) &&
		ri_scan_byte(in, end) != '-')
		end++;
	return ri_scan_is(in, end, "([") ? end : at;
}

/* Where the bracket that opens at at is closed, or SIZE_MAX. */
static size_t end_of_brackets(struct ri_scan *in, size_t at)
{
	size_t end = ri_scan_horizon(in, at), depth = 0;

	for (; at < end; at++) {
		if (ri_scan_is(in, at, "([{"))
			depth++;
		else if (ri_scan_is(in, at, ")]}") && --depth == 0)
			return at;
	}
	return SIZE_MAX;
}

/* {"token": "must be a string of 40 letters"}: what checks a form answers. */
static bool says_why(struct ri_scan *in, size_t at)
{
	size_t begin = at + ri_scan_quote_at(in, at).width;

	return ri_value_is_sentence(ri_scan_span(in, begin,
		ri_scan_find(in, begin, begin + RI_SCAN_AHEAD, "\"'`")), 3);
}

/* The words of a list; the names of an object stay. */
static void take_brackets(struct ri_scan *in, enum ri_secrecy secrecy, size_t at)
{
	size_t end = end_of_brackets(in, at), next;

	for (; at < end; at = next > in->at ? next : in->at) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at);

		next = at + 1;
		if (quote.kind != 0) {
			size_t closing = end_of_quoted(in, at + quote.width, quote);

			next = closing + quote.width;
			if (ri_scan_byte(in, ri_scan_skip_blanks(in, next)) != ':' &&
				!says_why(in, at))
				take_quoted(in, secrecy, at);
		} else if (ri_is_name_byte(ri_scan_byte(in, at))) {
			while (next < end && !ri_is_space(ri_scan_byte(in, next)) &&
				!ri_scan_is(in, next, ",()[]{}:\"'"))
				next++;
			if (ri_value_is_random(ri_scan_span(in, at, next)) &&
				ri_secrecy_hides(secrecy, ri_scan_span(in, at, next)))
				hide(in, at, next);
		}
	}
}

/* "self.state", "config.x", "secret.source", "_lib.X", but not "correct.horse" */
static bool is_attribute(struct ri_span value)
{
	static const char *const owners[] = { "self.", "cls.", "args.", "cfg.", "config.", "_" };
	size_t length = 0;

	for (size_t i = 0; i < COUNT(owners); i++)
		if (ri_span_starts(value, owners[i]))
			return true;
	while (length < value.length && value.at[length] != '.')
		length++;
	return length < value.length && ri_name_mentions((struct ri_span){ value.at, length });
}

/* "self.token", "token", "HF_TOKEN": the name of a secret is none. */
static bool is_reference(const struct ri_member *m, struct ri_span value)
{
	bool joined = memchr(value.at, '_', value.length) != NULL ||
		memchr(value.at, '.', value.length) != NULL;

	for (size_t i = 0; i < value.length; i++)
		if (!ri_is_letter(value.at[i]) && value.at[i] != '_' && value.at[i] != '.')
			return false;
	if (ri_name_is_upper(value))
		return ri_secrecy_of(value) != RI_SECRECY_NONE;
	if ((m->sign == ':' && !m->quoted) || (ri_name_is_upper(m->name) && !m->spaced))
		return false;
	if (is_attribute(value) || ri_span_starts(m->name, "self."))
		return true;
	/* but not "mysecretpassword" */
	return (joined || value.length <= sizeof("password")) && ri_name_mentions(value);
}

/* "token: unexpected end", "invalid token: x": what people write behind a name. */
static bool is_remark(struct ri_scan *in, const struct ri_member *m, struct ri_span value)
{
	size_t end = m->begin + value.length, next = ri_scan_skip_blanks(in, end);
	bool option = m->name.at[0] == '-', plain = ri_value_is_plain(value);
	bool more = next > end && ri_is_letter(ri_scan_byte(in, next));
	size_t second = ri_member_word_end(in, next, next + RI_SCAN_AHEAD), least;

	if (m->sign == 'i')
		return plain || ri_name_is_upper(value) || !ri_is_letter(value.at[0]);
	if (m->sign == '=' || m->sign == '>')
		return false;
	end = option ? second : ri_scan_line_end(in, m->begin, m->begin + RI_SCAN_AHEAD);
	least = ri_member_is_rest(in, m) ? 2 : 1;
	if (ri_value_is_sentence(ri_scan_span(in, m->begin, end), least))
		return true;
	if (!plain || option)
		return false;
	if (m->secrecy == RI_SECRECY_HEADER)
		return !more;
	if (more && ri_value_is_plain(ri_scan_span(in, next, second)))
		return true;
	return m->secrecy == RI_SECRECY_TOKEN && (m->sign == '|' || ri_member_is(m, "token") ||
		ri_member_is(m, "credentials") || !ri_scan_starts_line(in, m->start));
}

/* "<set to the key 'token' in secret 'hf'>" of kubectl */
static bool is_note(struct ri_scan *in, const struct ri_member *m)
{
	size_t end = ri_scan_find(in, m->begin, m->begin + RI_SCAN_AHEAD, ">");

	return m->sign != '>' && ri_scan_byte(in, m->begin) == '<' &&
		ri_is_letter(ri_scan_byte(in, m->begin + 1)) && ri_scan_byte(in, end) == '>';
}

static void take_bare(struct ri_scan *in, const struct ri_member *m)
{
	size_t limit = m->begin + RI_SCAN_AHEAD, end;
	struct ri_span value, first;

	if (limit > in->length)
		limit = in->length;
	end = ri_member_bare_end(in, m, limit);
	value = ri_scan_span(in, m->begin, end);
	/* "cookie=None, x", "password = password + x" */
	first = ri_scan_span(in, m->begin, ri_member_word_end(in, m->begin, limit));
	if (m->sign == '=' && first.length < value.length && (is_reference(m, first) ||
			!ri_secrecy_hides(RI_SECRECY_TOKEN, first)))
		return;
	/* "<token> expected before <eof>" */
	if (m->sign == '>' && ri_scan_byte(in, end) == '<' && ri_scan_byte(in, end + 1) != '/')
		return;
	if (!ri_secrecy_hides(m->secrecy, value) || is_reference(m, value) ||
		is_remark(in, m, value) || is_note(in, m))
		return;
	hide(in, m->begin, end == limit ? ri_member_bare_end(in, m, in->length) : end);
}

/* One line of a value that stands below its name. Returns false behind the value. */
static bool take_line(struct ri_scan *in, struct ri_member *m, size_t at, size_t column)
{
	size_t margin = ri_scan_margin(in, at), first = margin, limit, end;
	bool item;

	while (ri_scan_byte(in, first) == ' ' && first < margin + RI_SCAN_AHEAD)
		first++;
	if (ri_scan_byte(in, first) == '\n')
		return true;
	item = ri_scan_follows(in, first, "- ");
	if (first - margin < column + !item || ri_scan_byte(in, first) == '<')
		return false;
	first += item ? 2 : 0;
	m->begin = first;
	if (ri_scan_quote_at(in, first).kind != 0)
		return take_quoted(in, m->secrecy, first);
	limit = in->length - first < RI_SCAN_AHEAD ? in->length : first + RI_SCAN_AHEAD;
	end = ri_member_rest_end(in, m, limit);
	/* names of their own */
	if (memmem(in->text + first, end - first, ": ", 2) != NULL ||
		ri_scan_byte(in, end - 1) == ':')
		return false;
	if (ri_secrecy_hides(m->secrecy, ri_scan_span(in, first, end)))
		hide(in, first, ri_member_rest_end(in, m, in->length));
	return true;
}

/* YAML's blocks and lists, XML's elements, long lines of JSON. */
static void take_lines(struct ri_scan *in, struct ri_member *m)
{
	size_t line = ri_scan_line(in, m->start), column;
	size_t at = ri_scan_line_end(in, m->begin, m->begin + RI_SCAN_AHEAD);

	if (line == SIZE_MAX || ri_scan_byte(in, at) != '\n' ||
		(m->sign != '>' && !ri_scan_starts_line(in, m->start)))
		return;
	column = m->start - ri_scan_quote_before(in, m->start).width - ri_scan_margin(in, line);
	for (unsigned i = 0; i < MAX_BLOCK && at + 1 < in->length; i++) {
		if (!take_line(in, m, at + 1, column))
			return;
		at = ri_scan_line_end(in, at + 1 > in->at ? at + 1 : in->at, in->length);
	}
}

/* "|", ">-" and the like, and then the end of the line. */
static bool is_block(struct ri_scan *in, const struct ri_member *m)
{
	size_t at = m->begin;

	if (ri_scan_byte(in, at) == '|' || (ri_scan_byte(in, at) == '>' && m->sign == ':'))
		at++;
	while (at > m->begin && at < m->begin + 3 && ri_scan_is(in, at, "+-0123456789"))
		at++;
	return (m->sign == ':' || m->sign == '>') && ri_scan_byte(in, at) == '\n';
}

/* "bad token=" + x: the quote ends what one before it in the line began. */
static bool is_outer(struct ri_scan *in, const struct ri_member *m)
{
	size_t at = m->begin, count = 0;
	char quote = ri_scan_byte(in, at), before, after;

	if (m->quoted || !ri_is_one_of(quote, "\"'`") || !ri_scan_is(in, at + 1, " )],;+\n"))
		return false;
	for (; at > 0 && m->begin - at < RI_SCAN_AHEAD; at--) {
		before = in->text[at - 1];
		after = ri_scan_byte(in, at);
		if (before == '\n')
			break;
		/* an apostrophe is none */
		if (before == quote && !(ri_is_letter(after) && at > 1 &&
			ri_is_letter(in->text[at - 2])))
			count++;
	}
	return count % 2 == 1;
}

/* The value of a name that makes a secret of it. */
static void take_value(struct ri_scan *in, struct ri_member *m)
{
	bool variable = m->sign == '=' && !m->spaced && ri_name_is_upper(m->name);
	size_t at;
	char first;

	if (m->sign == ',') {
		take_pair(in, m);
		return;
	}
	/* a tag of YAML */
	if (m->sign == ':' && ri_scan_byte(in, m->begin) == '!' &&
		ri_is_letter(ri_scan_byte(in, m->begin + 1)))
		m->begin = ri_scan_skip_blanks(in, ri_member_word_end(in, m->begin, m->begin + 32));
	at = ri_scan_skip_prefix(in, m->begin);
	first = ri_scan_byte(in, m->begin);
	if (is_outer(in, m))
		return;
	if (ri_scan_quote_at(in, at).kind != 0 && m->sign != '>') {
		if (m->sign != ':' || !says_why(in, at))
			take_quoted(in, m->secrecy, at);
	} else if (is_block(in, m)) {
		take_lines(in, m);
	} else if (!variable && ri_is_one_of(first, "([{") &&
		end_of_brackets(in, m->begin) != SIZE_MAX) {
		take_brackets(in, m->secrecy, m->begin);
	} else if (!variable && end_of_code(in, m->begin) > m->begin) {
		/* Secret("x") holds it; os.environ["HF_TOKEN"] and get("x") do not */
		at = end_of_code(in, m->begin);
		if (first >= 'A' && first <= 'Z' && ri_scan_byte(in, at) == '(' &&
			ri_scan_quote_at(in, ri_scan_skip_prefix(in, at + 1)).kind != 0)
			take_quoted(in, m->secrecy, ri_scan_skip_prefix(in, at + 1));
	} else {
		take_bare(in, m);
	}
}

/* "Bearer x", but not "Bearer token is missing" and "Bearer realm=". */
static bool take_bearer(struct ri_scan *in, const struct ri_member *m)
{
	size_t begin, end;

	if (!ri_member_is(m, "bearer"))
		return false;
	begin = ri_scan_skip_blanks(in, m->end);
	end = ri_member_word_end(in, begin, begin + RI_SCAN_AHEAD);
	if (begin == m->end || ri_scan_follows(in, begin, "realm=") ||
		ri_value_is_plain(ri_scan_span(in, begin, end)) ||
		!ri_secrecy_hides(RI_SECRECY_TOKEN, ri_scan_span(in, begin, end)))
		return false;
	hide(in, begin, ri_member_word_end(in, begin, in->length));
	return true;
}

/* Options of commands that take a password, and say so by one letter. */
static const struct {
	const char *command;
	const char *option;
	bool joined;		/* "-px" */
	bool of_user;		/* "me:x" */
} logins[] = {
	{ "curl ", "-u", false, true }, { "curl ", "--user", false, true },
	{ "curl ", "--proxy-user", false, true }, { "sshpass ", "-p", true, false },
	{ "mysql ", "-p", true, false }, { "mysqldump ", "-p", true, false },
	{ "login ", "-p", false, false }, { "redis-cli ", "-a", false, false },
};

static bool take_login(struct ri_scan *in, const struct ri_member *m)
{
	size_t from = m->start > LOGIN ? m->start - LOGIN : 0, length, begin, end;
	const char *line = memrchr(in->text + from, '\n', m->start - from);

	if (m->name.at[0] != '-')
		return false;
	from = line == NULL ? from : (size_t)(line - in->text);
	in->looks += m->start - from;
	for (size_t i = 0; i < COUNT(logins); i++) {
		length = strlen(logins[i].option);
		if (!ri_span_starts(m->name, logins[i].option) ||
			(m->name.length > length && !logins[i].joined) ||
			memmem(in->text + from, m->start - from, logins[i].command,
				strlen(logins[i].command)) == NULL)
			continue;
		begin = m->start + length;
		if (m->name.length == length)
			begin = ri_scan_skip_blanks(in, begin);
		if (ri_scan_quote_at(in, begin).kind != 0)
			return take_quoted(in, RI_SECRECY_TOKEN, begin);
		end = ri_member_word_end(in, begin, begin + RI_SCAN_AHEAD);
		if (!ri_secrecy_hides(RI_SECRECY_TOKEN, ri_scan_span(in, begin, end)) ||
			(logins[i].of_user && memchr(in->text + begin, ':', end - begin) == NULL))
			return false;
		hide(in, begin, end);
		return true;
	}
	return false;
}

static void take_name(struct ri_scan *in)
{
	struct ri_member m = { .start = in->at, .end = in->at };
	size_t form = ri_secret_form(ri_scan_span(in, in->at, in->length));

	if (form > 0) {
		hide(in, in->at, in->at + form);
		return;
	}
	while (m.end < in->length && ri_is_name_byte(ri_scan_byte(in, m.end)))
		m.end++;
	m.name = ri_scan_span(in, m.start, m.end);
	m.secrecy = ri_secrecy_of(m.name);
	if (!take_bearer(in, &m) && !take_login(in, &m) &&
		(m.secrecy != RI_SECRECY_NONE || ri_member_of_pair(&m)) &&
		ri_member_find_sign(in, &m)) {
		ri_member_judge(in, &m);
		if (m.secrecy != RI_SECRECY_NONE)
			take_value(in, &m);
	}
	copy(in, m.end);
}

/* "scheme://user:password@host": what stands before the last '@'. */
static void take_authority(struct ri_scan *in)
{
	size_t found = SIZE_MAX, at;

	copy(in, in->at + 3);
	for (at = in->at; !ri_scan_is(in, at, " \t\r\n\v\f\"'`/?#<>"); at++)
		if (ri_scan_byte(in, at) == '@')
			found = at;
	if (found != SIZE_MAX)
		hide(in, in->at, found);
}

/* Lines of base64, as those of a key whose end was lost. */
static size_t end_of_key_lines(struct ri_scan *in, size_t at)
{
	size_t end;

	for (at = ri_scan_line_end(in, at, in->length); at < in->length; at = end) {
		for (end = ri_scan_margin(in, at + 1); end < in->length; end++)
			if (!ri_is_name_byte(ri_scan_byte(in, end)) &&
				!ri_scan_is(in, end, "+/=\r"))
				break;
		if (ri_scan_byte(in, end) != '\n')
			break;
	}
	return at;
}

/* "-----BEGIN ... PRIVATE KEY-----" (RFC 7468): up to the mark of its end. */
static bool take_private_key(struct ri_scan *in)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	struct ri_span rest = ri_scan_span(in, in->at, ri_scan_horizon(in, in->at));
	const char *mark, *last;

	if (!ri_span_starts(rest, begin))
		return false;
	mark = memmem(rest.at, rest.length < 64 ? rest.length : 64, "PRIVATE KEY", 11);
	if (mark == NULL)
		return false;
	in->looks += rest.length;
	last = memmem(rest.at, rest.length, end, sizeof(end) - 1);
	if (last != NULL)
		last = memmem(last + 5, (size_t)(rest.at + rest.length - last) - 5, "-----", 5);
	hide(in, in->at, last == NULL ? end_of_key_lines(in, in->at)
				      : (size_t)(last - in->text) + 5);
	return true;
}

/* What is no name, and what stands before one though it looks like its start. */
static void take_other(struct ri_scan *in)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, in->at);
	size_t width = 1;
	char c = ri_scan_byte(in, in->at), next = ri_scan_byte(in, in->at + 1);

	if (quote.spelled)
		width = quote.width;
	else if (c == '%' && memchr("0123456789ABCDEFabcdef", next, 22) != NULL)
		width = 3;
	else if (c == '\\' && ri_is_one_of(next, "nrt"))
		width = 2;
	else if (c == '\x1b')
		width = ri_scan_skip_colour(in, in->at) - in->at;
	else if (c == '}')
		in->named = RI_SECRECY_NONE;
	copy(in, in->at + (width > 0 ? width : 1));
}

static size_t redact(struct ri_scan *in)
{
	while (in->at < in->length && (in->out == NULL || !in->out->cut)) {
		char c = ri_scan_byte(in, in->at);

		if (ri_is_name_byte(c) && (c != '-' || !take_private_key(in)))
			take_name(in);
		else if (c == ':' && ri_scan_follows(in, in->at, "://"))
			take_authority(in);
		else if (!ri_is_name_byte(c))
			take_other(in);
	}
	return in->looks;
}

size_t ri_redact(struct ri_text *out, struct ri_span text)
{
	struct ri_scan in = { .text = text.at, .length = text.length, .out = out };

	return redact(&in);
}

void ri_redact_mask(char *text)
{
	struct ri_scan in = { .text = text, .length = strlen(text), .mask = text };

	redact(&in);
}
