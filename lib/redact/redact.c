/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the text. At each name: what the name says (name.h), what sign
 * stands behind it and how far the value goes (assignment.h), and whether that is a
 * secret.
 */
#include "redact/redact.h"

#include <stdint.h>
#include <string.h>

#include "redact/assignment.h"

enum { MAX_LOGIN = 4096 };	/* bytes of an URL */

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Options of commands that take a password, and say so by one letter. */
static const struct {
	const char *command;
	const char *option;
} logins[] = {
#define RI_LOGIN(command, option) { command, option },
#include "redact/redact.def"
};

static bool found(struct ri_scan *in, size_t begin, size_t end)
{
	in->begin = begin;
	in->end = end < in->length ? end : in->length;
	return in->end > begin;
}

/* "self.token", "token", "HF_TOKEN": the name of a secret is none. */
static bool is_reference(const struct ri_assignment *m, struct ri_span value)
{
	for (size_t i = 0; i < value.length; i++)
		if (!ri_is_letter(value.at[i]) && value.at[i] != '_' && value.at[i] != '.')
			return false;
	if (ri_name_is_upper(value))
		return ri_secrecy_of(value) != RI_SECRECY_NONE;
	if ((m->sign == ':' && !m->quoted) || (ri_name_is_upper(m->name) && !m->spaced))
		return false;
	/* but not "mysecretpassword" */
	return (ri_name_is_compound(value) || value.length <= sizeof("password")) &&
		ri_name_mentions(value);
}

/* "token: unexpected end", "invalid token: x": what people write behind a name. */
static bool is_remark(struct ri_scan *in, const struct ri_assignment *m, struct ri_span value)
{
	size_t end = m->begin + value.length, next = ri_scan_skip_blanks(in, end), second;
	bool option = m->name.at[0] == '-', plain = ri_value_is_plain(value);
	bool more = next > end && ri_is_letter(ri_scan_byte(in, next));

	if (m->sign == 'i')
		return plain;
	if (m->sign == '=' || m->sign == '>')
		return false;
	second = ri_assignment_word_end(in, next, next + RI_SCAN_AHEAD);
	end = option ? second : ri_scan_find(in, m->begin, m->begin + RI_SCAN_AHEAD, "");
	if (ri_value_is_sentence(ri_scan_span(in, m->begin, end),
			ri_assignment_is_rest(in, m) ? 2 : 1))
		return true;
	return plain && !option && more && ri_value_is_plain(ri_scan_span(in, next, second));
}

/* Does anything between brackets, or in lines, make a secret of all of it? */
static bool hides_any(struct ri_scan *in, const struct ri_assignment *m, size_t begin, size_t end,
	bool bare)
{
	for (size_t at = begin, next; at < end; at = next) {
		struct ri_scan_quote quote = ri_scan_quote_at(in, at);
		size_t from = at + quote.width;
		struct ri_span word;

		next = at + 1;
		if (quote.mark == 0 && ri_scan_is(in, at, " \t\r\n,()[]{}:="))
			continue;
		if (quote.mark != 0)
			next = ri_scan_quoted_end(in, from, quote);
		else
			while (next < end && !ri_scan_is(in, next, " \t\r\n,()[]{}:=\"'"))
				next++;
		word = ri_scan_span(in, from, next < end ? next : end);
		next += quote.width;
		if (ri_scan_byte(in, ri_scan_skip_blanks(in, next)) != ':' &&
			ri_secrecy_hides(m->secrecy, word) &&
			ri_secrecy_of(word) == RI_SECRECY_NONE &&
			(quote.mark != 0 || bare || ri_value_is_random(word)))
			return true;
	}
	return false;
}

/* What stands between the brackets at at. */
static bool take_brackets(struct ri_scan *in, const struct ri_assignment *m, size_t at)
{
	size_t end = ri_scan_brackets_end(in, at);

	return end != SIZE_MAX && hides_any(in, m, at + 1, end - 1, false) &&
		found(in, at + 1, end - 1);
}

/* The end of a name that a bracket follows, as in "os.environ[" and "get(", or at. */
static size_t end_of_code(struct ri_scan *in, size_t at)
{
	size_t end = at;

	while (end < at + RI_SCAN_AHEAD && ri_is_name_byte(ri_scan_byte(in, end)) &&
		ri_scan_byte(in, end) != '-')
		end++;
	return ri_scan_is(in, end, "([{") && !ri_scan_is(in, at, "0123456789.") ? end : at;
}

static bool take_bare(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t most = m->begin + ri_scan_reach(in, RI_SCAN_AHEAD);
	size_t limit = most < in->length ? most : in->length;
	size_t end = ri_assignment_bare_end(in, m, limit);
	struct ri_span value = ri_scan_span(in, m->begin, end);
	/* "cookie=None, x", "password = password + x" */
	struct ri_span first = ri_scan_span(in, m->begin,
		ri_assignment_word_end(in, m->begin, limit));

	if (m->sign == '=' && first.length < value.length && (is_reference(m, first) ||
			!ri_secrecy_hides(RI_SECRECY_TOKEN, first)))
		return false;
	if (!ri_secrecy_hides(m->secrecy, value) || is_reference(m, value) ||
		is_remark(in, m, value))
		return false;
	return found(in, m->begin, end == limit ? ri_assignment_bare_end(in, m, in->length) : end);
}

/* <password>x</password>, on one line or several; not "<token> expected before <eof>". */
static bool take_element(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t begin = m->begin, end = begin, limit = ri_scan_horizon(in, begin);

	if (ri_scan_follows(in, begin, "<![CDATA["))
		end += sizeof("<![CDATA[");
	while (end < limit && ri_scan_byte(in, end) != '<')
		end++;
	if (!ri_scan_follows(in, end, "</"))
		return false;
	while (begin < end && ri_is_space(ri_scan_byte(in, begin)))
		begin++;
	while (end > begin && ri_is_space(ri_scan_byte(in, end - 1)))
		end--;
	return ri_secrecy_hides(m->secrecy, ri_scan_span(in, begin, end)) && found(in, begin, end);
}

/* Of one of Python's long strings, whose three quotes stand before at. */
static size_t end_of_long(struct ri_scan *in, size_t at, char mark)
{
	const char three[] = { mark, mark, mark, '\0' };
	size_t limit = ri_scan_horizon(in, at), end = at;

	while (end < limit && !ri_scan_follows(in, end, three))
		end++;
	return end < limit ? end : ri_scan_find(in, at, in->length, "");
}

/* 'x' 'y', "x" + "y": one string in several quotes; but not the end of one around it. */
static size_t end_of_joined(struct ri_scan *in, size_t end, struct ri_scan_quote quote)
{
	while (quote.mark != 0 && ri_scan_quote_at(in, end).mark == quote.mark) {
		size_t next = ri_scan_skip_blanks(in, end + quote.width);

		next = ri_scan_skip_blanks(in, next + (ri_scan_byte(in, next) == '+'));
		next = ri_scan_skip_prefix(in, next);
		quote = ri_scan_quote_at(in, next);
		next += quote.width;
		if (quote.mark == 0 || ri_scan_is(in, next, " \n,;:)]}+\"'`"))
			break;
		end = ri_scan_quoted_end(in, next, quote);
	}
	return end;
}

static bool take_quoted(struct ri_scan *in, const struct ri_assignment *m, size_t at)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	size_t end;

	at += quote.width;
	if (quote.depth == 0 && ri_scan_byte(in, at) == quote.mark) {
		/* "" has no value */
		if (ri_scan_byte(in, at + 1) != quote.mark)
			return false;
		at += 2;
		end = end_of_long(in, at, quote.mark);
	} else {
		end = ri_scan_quoted_end(in, at, quote);
	}
	return ri_secrecy_hides(m->secrecy, ri_scan_span(in, at, end)) &&
		found(in, at, end_of_joined(in, end, quote));
}

/* ('HF_TOKEN', 'x'), setdefault("HF_TOKEN", "x"), ['--token', 'x'] */
static bool take_pair(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t at = ri_scan_skip_prefix(in, m->begin), end;
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	struct ri_span value;

	if (quote.mark == 0 || ri_scan_quote_before(in, m->start).mark == 0)
		return false;
	end = ri_scan_quoted_end(in, at + quote.width, quote);
	value = ri_scan_span(in, at + quote.width, end);
	/* another option, another name, a member of an object */
	return value.length > 0 && value.at[0] != '-' &&
		ri_secrecy_of(value) == RI_SECRECY_NONE &&
		ri_scan_byte(in, ri_scan_skip_blanks(in, end + quote.width)) != ':' &&
		take_quoted(in, m, at);
}

/* Lines below the name that stand further right, or as a list: all of them, or none. */
static bool take_block(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t column = m->start - ri_scan_quote_before(in, m->start).width -
		ri_scan_line(in, m->start);
	size_t at = m->begin, limit = ri_scan_horizon(in, at), begin = 0, end = 0, first;

	while (at < limit) {
		size_t line = ri_scan_skip_margin(in, at + 1);

		for (first = line; ri_scan_byte(in, first) == ' ' && first < line + RI_SCAN_AHEAD;)
			first++;
		if (ri_scan_byte(in, first) != '\n' &&
			first - line < column + !ri_scan_follows(in, first, "- "))
			break;
		at = ri_scan_find(in, first, limit, "");
		if (at > first) {
			begin = begin == 0 ? first : begin;
			end = at;
		}
	}
	if (begin == 0 || !hides_any(in, m, begin, end, true))
		return false;
	return found(in, begin, end);
}

/* "|", ">-" and the like, and then the end of the line. */
static size_t skip_marker(struct ri_scan *in, const struct ri_assignment *m)
{
	size_t at = m->begin;

	if (m->sign == ':' && ri_scan_is(in, at, "|>"))
		for (at++; ri_scan_is(in, at, "+-0123456789");)
			at++;
	return ri_scan_skip_blanks(in, at);
}

/* Is what stands in the quote at at a name with a value of its own? */
static bool is_name_of_other(struct ri_scan *in, size_t at)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, at);
	size_t begin = at + quote.width, end = ri_scan_quoted_end(in, begin, quote);

	return ri_scan_byte(in, ri_scan_skip_blanks(in, end + quote.width)) == ':' ||
		ri_secrecy_of(ri_scan_span(in, begin, end)) != RI_SECRECY_NONE;
}

/* A value that stands below its name: quoted or in brackets in the next line, or a block. */
static bool take_below(struct ri_scan *in, struct ri_assignment *m, size_t line_end)
{
	size_t next = ri_scan_skip_margin(in, line_end + 1), quote;

	next = ri_scan_skip_blanks(in, next);
	quote = ri_scan_skip_prefix(in, next);
	m->begin = next;
	if (ri_scan_quote_at(in, quote).mark != 0 && !is_name_of_other(in, quote))
		return m->sign == ',' ? take_pair(in, m) : take_quoted(in, m, quote);
	if (m->sign == ',')
		return false;
	if (ri_scan_is(in, next, "[{("))
		return take_brackets(in, m, next);
	m->begin = line_end;
	return m->sign == ':' && ri_scan_starts_line(in, m->start) && take_block(in, m);
}

/* The value of a name that makes a secret of it. */
static bool take_value(struct ri_scan *in, struct ri_assignment *m)
{
	size_t at = ri_is_one_of(m->sign, ":,=") ? skip_marker(in, m) : m->begin;

	if (m->sign == '>')
		return take_element(in, m);
	if (ri_scan_byte(in, at) == '\n')
		return take_below(in, m, at);
	if (m->sign == ',')
		return take_pair(in, m);
	at = ri_scan_skip_prefix(in, m->begin);
	if (ri_scan_quote_at(in, at).mark != 0)
		return take_quoted(in, m, at);
	at = end_of_code(in, m->begin);
	/* a variable's value has no code */
	if (ri_scan_is(in, at, "([{") && ri_scan_brackets_end(in, at) != SIZE_MAX &&
		!(m->sign == '=' && !m->spaced && ri_name_is_upper(m->name)))
		return take_brackets(in, m, at);
	return take_bare(in, m);
}

/* "Bearer x", but not "Bearer token is missing" and "Bearer realm=". */
static bool take_bearer(struct ri_scan *in, const struct ri_assignment *m)
{
	struct ri_assignment value = { .name = m->name, .secrecy = RI_SECRECY_TOKEN, .sign = '=' };

	if (!ri_assignment_is(m, "bearer"))
		return false;
	value.begin = ri_scan_skip_blanks(in, m->end);
	return value.begin > m->end && !ri_scan_follows(in, value.begin, "realm=") &&
		!ri_value_is_plain(ri_scan_span(in, value.begin,
			ri_assignment_word_end(in, value.begin, value.begin + RI_SCAN_AHEAD))) &&
		take_bare(in, &value);
}

static bool take_login(struct ri_scan *in, const struct ri_assignment *m)
{
	struct ri_assignment value = { .name = m->name, .secrecy = RI_SECRECY_TOKEN, .sign = '=' };
	size_t line;

	if (m->name.at[0] != '-')
		return false;
	line = ri_scan_line(in, m->start);
	while (ri_scan_precedes(in, line, "\\\n") && m->start - line < RI_SCAN_AHEAD)
		line = ri_scan_line(in, line - 1);
	for (size_t i = 0; i < COUNT(logins); i++) {
		size_t length = strlen(logins[i].option);

		if (!ri_span_starts(m->name, logins[i].option) ||
			memmem(in->text + line, m->start - line, logins[i].command,
				strlen(logins[i].command)) == NULL)
			continue;
		value.begin = m->start + length;
		if (m->name.length == length)
			value.begin = ri_scan_skip_blanks(in, value.begin);
		return ri_scan_quote_at(in, value.begin).mark == 0 ? take_bare(in, &value)
			: take_quoted(in, &value, value.begin);
	}
	return false;
}

static bool take_name(struct ri_scan *in)
{
	struct ri_assignment m = { .start = in->at, .end = in->at };
	size_t form = ri_secret_form(ri_scan_span(in, in->at, in->length));

	if (form > 0)
		return found(in, in->at, in->at + form);
	while (ri_is_name_byte(ri_scan_byte(in, m.end)))
		m.end++;
	in->at = m.end;
	m.name = ri_scan_span(in, m.start, m.end);
	m.secrecy = ri_secrecy_of(m.name);
	if (take_bearer(in, &m) || take_login(in, &m))
		return true;
	if ((m.secrecy == RI_SECRECY_NONE && !ri_assignment_is(&m, "value")) ||
		!ri_assignment_find_sign(in, &m))
		return false;
	ri_assignment_judge(in, &m);
	return m.secrecy != RI_SECRECY_NONE && take_value(in, &m);
}

/*
 * "scheme://user:password@host". A password may have '/', '?', '#' and '@' in it: behind a ':'
 * the last '@' of the word ends it.
 */
static bool take_authority(struct ri_scan *in)
{
	size_t begin = in->at + 3, limit = begin + MAX_LOGIN, at = begin, last = SIZE_MAX;
	bool password = false;

	in->at = begin;
	for (; at < limit && !ri_scan_is(in, at, " \t\r\n\v\f\"'`<>/?#"); at++) {
		password = password || ri_scan_byte(in, at) == ':';
		if (ri_scan_byte(in, at) == '@')
			last = at;
	}
	if (password && at < in->no_login)
		at = in->no_login;
	for (; password && at < limit && !ri_scan_is(in, at, " \t\r\n\v\f\"'`<>"); at++)
		if (ri_scan_byte(in, at) == '@')
			last = at;
	if (password && last == SIZE_MAX)
		in->no_login = at;
	return last != SIZE_MAX && found(in, begin, last);
}

/* Lines of base64, as those of a key whose end was lost. */
static size_t end_of_key_lines(struct ri_scan *in, size_t at)
{
	size_t end;

	for (at = ri_scan_find(in, at, in->length, ""); at < in->length; at = end) {
		end = ri_scan_skip_margin(in, at + 1);
		while (ri_is_name_byte(ri_scan_byte(in, end)) || ri_scan_is(in, end, "+/=\r"))
			end++;
		if (ri_scan_byte(in, end) != '\n')
			break;
	}
	return at;
}

/* "-----BEGIN ... PRIVATE KEY-----" (RFC 7468): up to the mark of its end. */
static bool take_private_key(struct ri_scan *in)
{
	struct ri_span rest = ri_scan_span(in, in->at, ri_scan_horizon(in, in->at));
	const char *last;

	if (!ri_span_starts(rest, "-----BEGIN ") ||
		memmem(rest.at, rest.length < 64 ? rest.length : 64, "PRIVATE KEY", 11) == NULL)
		return false;
	in->looks += rest.length;
	last = memmem(rest.at, rest.length, "-----END ", 9);
	if (last != NULL)
		last = memmem(last + 5, (size_t)(rest.at + rest.length - last) - 5, "-----", 5);
	return found(in, in->at, last == NULL ? end_of_key_lines(in, in->at)
					      : (size_t)(last - in->text) + 5);
}

/* What is no name, and what stands before one though it looks like its start. */
static void skip_other(struct ri_scan *in)
{
	struct ri_scan_quote quote = ri_scan_quote_at(in, in->at);
	char c = ri_scan_byte(in, in->at), next = ri_scan_byte(in, in->at + 1);
	size_t past = ri_scan_skip_colour(in, in->at);

	if (quote.spelled)
		in->at += quote.width;
	else if (c == '%' && ri_is_one_of(next, "0123456789ABCDEFabcdef"))
		in->at += 3;
	else if (c == '\\' && ri_is_one_of(next, "nrt"))
		in->at += 2;
	else
		in->at = past > in->at ? past : in->at + 1;
}

/* Find the next secret, from in->begin to in->end. */
static bool find_secret(struct ri_scan *in)
{
	bool is_found = false;

	while (in->at < in->length && !is_found) {
		char c = ri_scan_byte(in, in->at);

		if (c == '-' && take_private_key(in))
			is_found = true;
		else if (ri_is_name_byte(c))
			is_found = take_name(in);
		else if (ri_scan_follows(in, in->at, "://"))
			is_found = take_authority(in);
		else
			skip_other(in);
	}
	if (is_found)
		in->at = in->end;
	return is_found;
}

size_t ri_redact(struct ri_text *out, struct ri_span text)
{
	struct ri_scan in = { .text = text.at, .length = text.length };
	size_t done = 0;

	while (!out->cut && find_secret(&in)) {
		ri_text_add_bytes(out, text.at + done, in.begin - done);
		ri_text_add(out, RI_REDACTED);
		done = in.end;
	}
	ri_text_add_bytes(out, text.at + done, text.length - done);
	return in.looks;
}

void ri_redact_mask(char *text)
{
	struct ri_scan in = { .text = text, .length = strlen(text) };

	while (find_secret(&in))
		memset(text + in.begin, '*', in.end - in.begin);
}
