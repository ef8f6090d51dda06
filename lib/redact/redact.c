/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the tokens. At each name: what the name says, what sign stands behind it, how
 * far the value goes, and whether that is a secret.
 */
#include "redact/redact.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "redact/token.h"

enum {
	NEAR = 256,		/* from a value to the name of it beside it, or to its command */
	MARKS = 4,		/* tags and anchors before one value */
};

/* Commands with an option that takes a password, and says so by one letter. */
static const struct {
	const char *command;
	const char *option;
} logins[] = {
#define RI_LOGIN(command, option) { command, option },
#include "redact/redact.def"
};

/* How lines follow: below "|" or ">", below a name alone, or as more of a plain value. */
enum below_kind { BELOW_TEXT, BELOW_NODE, BELOW_PLAIN };

struct below {
	enum below_kind kind;
	size_t first;		/* behind the line of the name: its LINE ends here */
	size_t begin, end;	/* from the first byte that is no blank to the last; equal: none */
};

struct search {
	struct ri_tokens in;
	size_t at;		/* of what is next */

	/* what stands before the name */
	struct ri_token last;	/* any token */
	struct ri_token word;	/* another name */
	size_t line;		/* begins, behind its margin */
	size_t command;		/* begins, in this line or one that goes on in it */
	bool first;		/* in the line but for marks, and what sets a variable */
	bool tag;		/* "<", "<db:" */
	enum ri_secrecy beside;	/* the most that names of the same object say */
	size_t beside_at;

	/* the name, and its value */
	struct ri_span name;
	size_t start;		/* of the name */
	enum ri_secrecy secrecy;
	char sign;		/* '=', ':', ',', '>' of a tag, '|', 'i' of "is", ' ' */
	bool quoted;		/* the name is */
	bool spaced;		/* "name = value" */
	struct ri_token value;	/* the first token of it */
	bool ends;		/* the line of the name, before a value */
	struct below below;	/* where it ends */

	size_t begin, end;	/* of the secret that was found */
};

static struct ri_token token(struct search *s, size_t at)
{
	return ri_token_at(&s->in, at);
}

static char byte(struct search *s, size_t at)
{
	return ri_token_byte(&s->in, at);
}

static struct ri_span span(const struct search *s, size_t begin, size_t end)
{
	return ri_token_span(&s->in, begin, end);
}

static bool is(struct ri_span name, const char *word)
{
	return name.length == strlen(word) && strncasecmp(name.at, word, name.length) == 0;
}

static bool found(struct search *s, size_t begin, size_t end)
{
	s->begin = begin;
	s->end = end;
	return end > begin;
}

/* Does a quote stand just before the name? */
static bool is_in_quotes(const struct search *s)
{
	return ri_is_quote(s->last) && s->last.end == s->start;
}

/* "&token=x" of an URL, also where that is part of another one. */
static bool is_parameter(const struct search *s)
{
	return s->sign == '=' && ri_is_one_of(s->last.c, "?&") && s->last.end == s->start;
}

/* Is the value all that is left of its line, where it has no quotes? */
static bool is_rest(const struct search *s)
{
	return s->secrecy == RI_SECRECY_HEADER || (s->secrecy == RI_SECRECY_PHRASE && s->first &&
		(s->sign == ':' || (s->sign == '=' && (s->spaced || ri_name_is_upper(s->name)))));
}

/* The end of a value without quotes, or limit where that comes first. */
static size_t bare_end(struct search *s, size_t limit)
{
	size_t begin = s->value.begin, end;

	if (is_parameter(s))
		return ri_tokens_end(&s->in, begin, limit, "&\"'`<>#", true);
	if (is_in_quotes(s) && !s->quoted && s->sign != 'i') {
		end = ri_string_end(&s->in, s->last, begin);
		return end < limit ? end : limit;
	}
	if (s->sign == '=' && s->last.c == ';')
		return ri_tokens_end(&s->in, begin, limit, ";\"'", false);
	if (s->sign == ':' && s->secrecy != RI_SECRECY_HEADER &&
		(s->quoted || ri_is_one_of(s->last.c, "{,")))
		return ri_tokens_end(&s->in, begin, limit, ",}])", false);
	if (s->sign != 'i' && is_rest(s))
		return ri_tokens_end(&s->in, begin, limit, "", false);
	return ri_word_end(&s->in, begin, limit);
}

/* "self.token", "token", "HF_TOKEN": the name of a secret is none. */
static bool is_reference(const struct search *s, struct ri_span value)
{
	bool compound = ri_span_has(value, "_") || ri_span_has(value, ".");

	for (size_t i = 0; i < value.length; i++)
		if (!isalpha((unsigned char)value.at[i]) && !ri_is_one_of(value.at[i], "_."))
			return false;
	if (ri_name_is_upper(value))
		return ri_secrecy_of(value) != RI_SECRECY_NONE;
	if ((s->sign == ':' && !s->quoted) || (ri_name_is_upper(s->name) && !s->spaced))
		return false;
	/* but not "mysecretpassword" */
	return (compound || value.length <= sizeof("password")) && ri_name_mentions(value);
}

/* "token: unexpected end", "--token is required": what people write behind a name. */
static bool is_remark(struct search *s, struct ri_span value)
{
	size_t begin = s->value.begin;
	struct ri_token next = token(s, begin + value.length);
	bool more = next.gap && isalpha((unsigned char)byte(s, next.begin));

	if (s->sign == '=')
		return false;
	if (s->sign == 'i')
		return ri_value_is_plain(value);
	if (s->name.at[0] == '-')
		return more && ri_word_is(RI_SECRECY_SENTENCE, value);
	if (more && ri_value_is_plain(value) && ri_value_is_plain(span(s, next.begin,
			ri_word_end(&s->in, next.begin, next.begin + RI_AHEAD))))
		return true;
	return ri_value_is_sentence(span(s, begin,
		ri_tokens_end(&s->in, begin, begin + RI_AHEAD, "", false)), is_rest(s) ? 2 : 1);
}

/*
 * Behind the ':' of a name at at: are there only tags and anchors ("!vault &a"), "|" or ">-" and a
 * comment? Then s->below gets the kind and first, and begin and end by find_below.
 */
static bool begins_below(struct search *s, size_t at)
{
	struct ri_token t = token(s, at);
	enum below_kind kind = BELOW_NODE;

	for (unsigned i = 0; i < MARKS && t.gap && ri_is_one_of(t.c, "!&"); i++)
		t = token(s, ri_tokens_end(&s->in, t.begin, s->in.length, "", true));
	if (ri_is_one_of(t.c, "|>")) {
		kind = BELOW_TEXT;
		while (ri_is_one_of(byte(s, t.end), "+-0123456789"))
			t.end++;
		t = token(s, t.end);
	}
	if (t.gap && t.c == '#' && ri_is_space(byte(s, t.end)))
		t = token(s, ri_tokens_end(&s->in, t.begin, s->in.length, "", false));
	if (t.c != RI_TOKEN_LINE)
		return false;
	s->below.kind = kind;
	s->below.first = t.end;
	return true;
}

/* What the lines of the name and the one at line begin with, up to a byte that is no blank. */
static size_t shared(struct search *s, size_t name, size_t line)
{
	size_t most = name - s->line, end = 0;

	for (size_t i = 0; i < most; i++) {
		char c = byte(s, s->line + i);

		if (c != byte(s, line + i))
			break;
		end = ri_is_space(c) ? end : i + 1;
	}
	return end;
}

/* The column of the name behind so many bytes of its line; of a name in a text that of the text. */
static size_t column(struct search *s, size_t name, size_t margin)
{
	size_t start = s->line + margin, at = start, text = start;

	while (ri_is_space(byte(s, text)))
		text++;
	while (at < name && ri_is_one_of(byte(s, at), " \t-?"))
		at++;
	return (at == name ? at : text) - start;
}

/* Does a plain value end before this line? A mapping, an item and a comment are none of it. */
static bool ends_plain(struct search *s, struct ri_token t)
{
	struct ri_span line = span(s, t.begin,
		ri_tokens_end(&s->in, t.begin, s->in.length, "", false));

	return t.c == RI_TOKEN_LINE || t.c == '#' || ri_span_starts(line, "- ") ||
		ri_span_has(line, ": ") || ri_span_ends(line, ":");
}

/*
 * The lines from out->first on that stand further right than the name does, and those of a list
 * below it. Other text may stand before the name ("ValueError: "): then they stand further right
 * than that. What all the lines have in front of them ("[default1]:", "3: ") does not count.
 * Returns false where there are none, up to RI_MAX_VALUE.
 */
static bool find_lines(struct search *s, size_t name, struct below *out)
{
	size_t limit = ri_horizon(&s->in, out->first, RI_MAX_VALUE), line = out->first;
	size_t margin = shared(s, name, line), left = column(s, name, margin);
	bool tabs = byte(s, s->line + margin) == '\t';

	out->begin = out->end = 0;
	while (line < limit) {
		size_t text = line + (shared(s, name, line) >= margin ? margin : 0);
		struct ri_token t = token(s, text);
		bool item = out->kind == BELOW_NODE && t.c == RI_TOKEN_NAME &&
			byte(s, t.begin) == '-' &&
			ri_is_space(byte(s, t.begin + 1));

		if (t.c != RI_TOKEN_LINE && (t.begin - text < left + !item ||
			(!tabs && byte(s, text) == '\t') ||
			(margin > 0 && text == line)))
			break;
		if (out->kind == BELOW_PLAIN && ends_plain(s, t))
			break;
		if (out->begin == 0 && t.c != RI_TOKEN_LINE)
			out->begin = t.begin;
		for (; t.c != RI_TOKEN_LINE; t = token(s, t.end))
			out->end = t.end;
		line = t.end;
	}
	return out->end > out->begin;
}

/*
 * Is the name one of YAML's, not the end of a sentence or of a line of code? Before it is a mark,
 * "ValueError:", "INFO" or a label; "|" behind it is a proof.
 */
static bool is_head(struct search *s)
{
	struct ri_span before = span(s, s->last.begin, s->last.end);

	/* "ValueError: 'password':" */
	if (is_in_quotes(s) && s->last.begin >= 2 && byte(s, s->last.begin - 2) == ':')
		return true;
	return s->first || s->below.kind == BELOW_TEXT || s->last.c == ':' ||
		(s->last.c == RI_TOKEN_NAME && (is(before, "-") || ri_name_is_upper(before)));
}

static bool find_below(struct search *s)
{
	size_t name = is_in_quotes(s) ? s->last.begin : s->start;

	return s->sign == ':' && is_head(s) && find_lines(s, name, &s->below);
}

static bool take_bare(struct search *s)
{
	size_t begin = s->value.begin, limit = ri_horizon(&s->in, begin, RI_AHEAD);
	size_t end = bare_end(s, limit);
	struct ri_span value = span(s, begin, end);
	/* "cookie=None, x", "password = password + x" */
	struct ri_span first = span(s, begin, ri_word_end(&s->in, begin, limit));

	if (s->sign == '=' && first.length < value.length && (is_reference(s, first) ||
			!ri_secrecy_hides(RI_SECRECY_TOKEN, first)))
		return false;
	if (!ri_secrecy_hides(s->secrecy, value) || is_reference(s, value) ||
		is_remark(s, value))
		return false;
	end = end == limit ? bare_end(s, s->in.length) : end;
	s->below = (struct below){ BELOW_PLAIN, token(s, end).end, 0, 0 };
	if (token(s, end).c == RI_TOKEN_LINE && find_below(s))
		end = s->below.end;
	return found(s, begin, end);
}

/* What stands behind the string that a quote begins. */
static struct ri_token behind(struct search *s, struct ri_token quote)
{
	return token(s, token(s, ri_string_end(&s->in, quote, quote.end)).end);
}

/* 'x', and 'x' 'y' or "x" + "y"; but not the end of a string around it. */
static bool take_quoted(struct search *s, struct ri_token quote)
{
	size_t begin = quote.end, end = ri_string_end(&s->in, quote, begin);

	if (!ri_secrecy_hides(s->secrecy, span(s, begin, end)))
		return false;
	while (token(s, end).c == quote.c) {
		struct ri_token next = behind(s, quote);

		next = ri_token_unprefixed(&s->in, next.c == '+' ? token(s, next.end) : next);
		if (!ri_is_quote(next) || ri_is_one_of(byte(s, next.end), " \n,;:)]}+\"'`"))
			break;
		quote = next;
		end = ri_string_end(&s->in, quote, quote.end);
	}
	return found(s, begin, end);
}

/* All between two brackets, or in several lines, where any of it makes a secret. */
static bool take_any(struct search *s, size_t begin, size_t end, bool bare)
{
	struct ri_token t = token(s, begin), next;

	for (; t.begin < end; t = next) {
		bool quoted = ri_is_quote(t);
		size_t from = quoted ? t.end : t.begin;
		size_t to = quoted ? ri_string_end(&s->in, t, from)
				   : ri_tokens_end(&s->in, from, end, ",()[]{}:=\"'", true);
		struct ri_span word = span(s, from, to < end ? to : end);

		next = quoted ? behind(s, t) : token(s, to > t.end ? to : t.end);
		if (next.c != ':' && ri_secrecy_hides(s->secrecy, word) &&
			ri_secrecy_of(word) == RI_SECRECY_NONE &&
			(quoted || bare || ri_value_is_random(word)))
			return found(s, begin, end);
	}
	return false;
}

/* <password>x</password>, on one line or several; not "<token> expected before <eof>". */
static bool take_element(struct search *s)
{
	struct ri_token t = s->value;
	size_t limit = ri_horizon(&s->in, t.begin, RI_MAX_VALUE), begin, end;

	if (t.c == RI_TOKEN_LINE)
		t = token(s, t.end);
	begin = end = t.begin;
	for (; t.begin < limit && (t.c != '<' || byte(s, t.end) == '!'); t = token(s, t.end))
		end = t.c == RI_TOKEN_LINE ? end : t.end;
	return ri_span_starts(span(s, t.begin, limit), "</") &&
		ri_secrecy_hides(s->secrecy, span(s, begin, end)) && found(s, begin, end);
}

/* The lines below the name that are its value: all of them, or none. */
static bool take_below(struct search *s)
{
	struct ri_token t = token(s, s->below.first);
	size_t end;

	if (!find_below(s))
		return false;
	if (s->below.kind == BELOW_NODE)
		return take_any(s, s->below.begin, s->below.end, true);
	for (t.begin = s->below.begin; t.begin < s->below.end; t = token(s, token(s, end).end)) {
		end = ri_tokens_end(&s->in, t.begin, s->below.end, "", false);
		if (ri_secrecy_hides(s->secrecy, span(s, t.begin, end)))
			return found(s, s->below.begin, s->below.end);
	}
	return false;
}

/* The bracket behind a name that is code, as in "os.environ[" and "get(", or the value itself. */
static struct ri_token skip_code(struct search *s)
{
	struct ri_token t = s->value, next = token(s, t.end);
	char c = byte(s, t.begin);

	return t.c == RI_TOKEN_NAME && !next.gap && (isalpha((unsigned char)c) || c == '_') &&
		!ri_span_has(span(s, t.begin, t.end), "-") ? next : t;
}

/* Does what stands in the quote have a value of its own? */
static bool is_other(struct search *s, struct ri_token quote)
{
	return behind(s, quote).c == ':' || ri_secrecy_of(span(s, quote.end,
		ri_string_end(&s->in, quote, quote.end))) != RI_SECRECY_NONE;
}

/* Is the bracket one of YAML's, with words that need no quotes, and not one of code? */
static bool is_flow(struct search *s, struct ri_token t)
{
	return s->sign == ':' && t.gap && t.c != '(' && t.begin == s->value.begin &&
		byte(s, s->start + s->name.length) != ']' && !ri_name_is_upper(s->name) &&
		ri_is_one_of(s->first ? '{' : s->last.c, "{,:");
}

/* The value of a name that makes a secret of it. */
static bool take_value(struct search *s)
{
	bool below = s->value.c == RI_TOKEN_LINE;
	struct ri_token t;
	size_t end;

	if (s->sign == '>')
		return take_element(s);
	if (s->ends && s->below.kind == BELOW_TEXT)
		return take_below(s);
	if (below)
		s->value = token(s, s->value.end);
	t = ri_token_unprefixed(&s->in, s->value);
	/* ('HF_TOKEN', 'x'), setdefault("HF_TOKEN", "x"), ['--token', 'x'] */
	if (s->sign == ',')
		return ri_is_quote(t) && is_in_quotes(s) && !is_other(s, t) &&
			byte(s, t.end) != '-' && take_quoted(s, t);
	if (ri_is_quote(t) && !(below && is_other(s, t)))
		return take_quoted(s, t);
	t = below ? s->value : skip_code(s);
	/* a variable's value has no code */
	end = ri_is_one_of(t.c, "([{") && (below || s->sign != '=' || s->spaced ||
		!ri_name_is_upper(s->name)) ? ri_brackets_end(&s->in, t.begin) : SIZE_MAX;
	if (end != SIZE_MAX)
		return take_any(s, t.end, end, is_flow(s, t));
	if (below && ri_is_one_of(s->last.c, "{,") && is_flow(s, s->value))
		return take_bare(s);
	return (s->ends && take_below(s)) || (!below && take_bare(s));
}

/*
 * Does the word after the name belong to it: --token x, login me password x1, ENV HF_TOKEN x1,
 * Bearer x1, token 'x1y2z3w4' is invalid?
 */
static bool takes_word(struct search *s)
{
	bool quoted = ri_is_quote(s->value);
	size_t begin = quoted ? s->value.end : s->value.begin;
	struct ri_span word = span(s, begin, ri_tokens_end(&s->in, begin, begin + RI_AHEAD,
		quoted ? "=:\"'`" : "=:", true));
	bool sure = ri_name_is_upper(s->name) ||
		(s->secrecy >= RI_SECRECY_TOKEN && ri_value_is_random(word));

	if (is(s->name, "bearer"))
		return !ri_value_is_plain(word);
	if (s->name.at[0] == '-')
		return !ri_span_starts(word, "--");
	if (quoted)
		return sure;
	return !s->quoted && s->value.c == RI_TOKEN_NAME && !ri_span_starts(word, "-") &&
		(sure || s->secrecy == RI_SECRECY_PHRASE || ri_span_has(s->name, "_") ||
			ri_span_has(s->name, ".")) &&
		word.length > 0 && !ri_value_is_plain(word);
}

/* Past "str = " of "token: str = 'x'", a tag or an anchor of YAML's. */
static void skip_type(struct search *s)
{
	struct ri_token t = s->value;

	if (!s->quoted && t.gap && ri_is_one_of(t.c, "!&")) {
		t = token(s, ri_tokens_end(&s->in, t.begin, s->in.length, "", true));
		s->value = t.gap && t.c != RI_TOKEN_LINE ? t : s->value;
	}
	t = s->value;
	while (!s->quoted && (ri_is_one_of(t.c, "[|]") || (t.c == RI_TOKEN_NAME &&
		ri_word_is(RI_SECRECY_TYPE, span(s, t.begin, t.end)))))
		t = token(s, t.end);
	if (!s->quoted && t.c == '=') {
		s->sign = '=';
		s->value = token(s, t.end);
	}
}

/* "=", ":=", "?=", "==", "=>", ":" */
static bool find_assigned(struct search *s, struct ri_token t)
{
	if (ri_is_one_of(t.c, "?:+") && byte(s, t.end) == '=')
		t = token(s, t.end);
	if (!ri_is_one_of(t.c, "=:") || (t.c == ':' && byte(s, t.end) == ':'))
		return false;
	s->sign = t.c;
	while (ri_is_one_of(byte(s, t.end), "=:>"))
		t.end++;
	s->value = token(s, t.end);
	if (s->sign == ':') {
		s->ends = begins_below(s, t.end);
		skip_type(s);
	}
	return true;
}

/* Find the sign behind the name, and its value. Returns false where no value follows. */
static bool find_sign(struct search *s, struct ri_token name)
{
	struct ri_token t = token(s, name.end), next;

	s->quoted = s->ends = false;
	for (unsigned i = 0; i < 3 && !t.gap && (ri_is_quote(t) || t.c == ']'); i++) {
		s->quoted = s->quoted || t.c != ']';
		t = token(s, t.end);
	}
	s->spaced = t.gap && ri_is_space(byte(s, t.begin - 1));
	next = token(s, t.end);
	if (find_assigned(s, s->quoted && t.c == RI_TOKEN_LINE ? next : t))
		return true;
	s->value = next;
	s->sign = s->quoted && t.c == ',' ? ',' : t.c == '|' && t.gap ? '|' : ' ';
	if (s->sign != ' ')
		return true;
	if (is(span(s, t.begin, t.end), "is") && (next.gap || next.c == ':')) {
		s->sign = 'i';
		s->value = next.c == ':' ? token(s, next.end) : next;
		return true;
	}
	next = token(s, ri_tokens_end(&s->in, name.end, name.end + RI_AHEAD, "</>", false));
	if (s->tag && !name.gap && next.c == '>') {
		s->sign = '>';
		s->value = token(s, next.end);
		return true;
	}
	s->value = t;
	return t.gap && t.c != RI_TOKEN_LINE && takes_word(s);
}

/* Does an object, or an item of a list, begin or end here? */
static bool is_edge(struct search *s, struct ri_token t)
{
	return ri_is_one_of(t.c, "{}") ||
		(t.c == RI_TOKEN_LINE && byte(s, token(s, t.end).begin) == '-');
}

/* What a name makes of the "value" beside it: {"name": "HF_TOKEN", "value": "x"}, in any order. */
static enum ri_secrecy secrecy_beside(struct search *s)
{
	enum ri_secrecy most = s->start - s->beside_at < NEAR ? s->beside : RI_SECRECY_NONE, own;
	size_t limit = ri_horizon(&s->in, s->start, NEAR);
	struct ri_token t = token(s, s->start);

	for (; t.begin < limit && !is_edge(s, t); t = token(s, t.end)) {
		own = t.c == RI_TOKEN_NAME ? ri_secrecy_of(span(s, t.begin, t.end)) : most;
		most = own > most ? own : most;
	}
	return most;
}

/* What stands around the name adds to what it says. */
static enum ri_secrecy judge(struct search *s)
{
	bool assigned = s->sign == '=';

	if (is(s->name, "value"))
		return secrecy_beside(s);
	/* "API key: x", "cache key: x" */
	if (is(s->name, "key") && !s->quoted && s->word.end + 1 == s->start &&
		byte(s, s->word.end) == ' ')
		return ri_secrecy_of(span(s, s->word.begin, s->start + s->name.length));
	/*
	 * auth=("me", "x") of Python's requests, sig=x of a shared access signature. PASS=x,
	 * pass="x" and {"pass": "x"}: others pass forward, or pass a test.
	 */
	return (is(s->name, "auth") && assigned && s->value.c == '(') ||
		(is(s->name, "sig") && assigned && !s->spaced) ||
		(is(s->name, "pass") && ((assigned && ri_name_is_upper(s->name)) ||
			((assigned || s->sign == ':') && ri_is_quote(s->value)))) ||
		(s->secrecy == RI_SECRECY_WEAK && is_parameter(s)) ? RI_SECRECY_TOKEN : s->secrecy;
}

static bool take_login(struct search *s)
{
	struct ri_span before = span(s,
		s->start - s->command < NEAR ? s->command : s->start - NEAR, s->start);

	for (size_t i = 0; i < RI_ARRAY_SIZE(logins) && !is_in_quotes(s); i++) {
		if (!ri_span_starts(s->name, logins[i].option) ||
			!ri_span_has(before, logins[i].command))
			continue;
		s->value = token(s, s->start + strlen(logins[i].option));
		s->secrecy = RI_SECRECY_TOKEN;
		s->sign = '=';
		return ri_is_quote(s->value) ? take_quoted(s, s->value) : take_bare(s);
	}
	return false;
}

static bool take_name(struct search *s, struct ri_token t)
{
	size_t form = ri_secret_form(span(s, t.begin, s->in.length));

	if (form > 0)
		return found(s, t.begin, t.begin + form);
	s->start = t.begin;
	s->name = span(s, t.begin, t.end);
	if (take_login(s) || found(s, t.begin, ri_private_key_end(&s->in, t)))
		return true;
	s->secrecy = is(s->name, "bearer") ? RI_SECRECY_PHRASE : ri_secrecy_of(s->name);
	if (s->secrecy > s->beside || (s->secrecy > 0 && t.begin - s->beside_at >= NEAR)) {
		s->beside = s->secrecy;
		s->beside_at = t.begin;
	}
	if ((s->secrecy == RI_SECRECY_NONE && !is(s->name, "value")) || !find_sign(s, t))
		return false;
	s->secrecy = judge(s);
	return s->secrecy != RI_SECRECY_NONE && take_value(s);
}

/* What the next name may ask of the tokens before it. */
static void remember(struct search *s, struct ri_token t)
{
	struct ri_span word = span(s, t.begin, t.end);

	if (t.c == RI_TOKEN_LINE)
		s->line = s->command = t.end;
	if (t.c == RI_TOKEN_NAME)
		s->word = t;
	s->first = t.c == RI_TOKEN_LINE || t.begin < s->line || (s->first &&
		(ri_is_one_of(t.c, "+>|$#*\"'\\") || ri_span_starts(word, "-") ||
			ri_word_is(RI_SECRECY_SETTER, word)));
	s->tag = t.c == '<' || (s->tag && !t.gap && (t.c == RI_TOKEN_NAME || t.c == ':'));
	if (is_edge(s, t))
		s->beside = RI_SECRECY_NONE;
	s->last = t;
}

static bool find_secret(struct search *s)
{
	if (s->at == 0)
		remember(s, (struct ri_token){
			.c = RI_TOKEN_LINE, .end = ri_token_margin(&s->in, 0),
		});
	while (s->at < s->in.length) {
		struct ri_token t = token(s, s->at);
		const char *newline = memrchr(s->in.text + s->at, '\n', t.begin - s->at);
		bool url = ri_span_starts(span(s, t.begin, s->in.length), "://"), taken;

		/* behind a '\\' */
		if (newline != NULL) {
			s->line = (size_t)(newline + 1 - s->in.text);
			s->first = true;
		}
		/* a margin is text too */
		s->at = url ? t.begin + 3 : t.c == RI_TOKEN_LINE ? t.begin + 1 : t.end;
		taken = url ? found(s, s->at, ri_authority_end(&s->in, s->at))
			: t.c == RI_TOKEN_NAME && take_name(s, t);
		remember(s, t);
		if (taken) {
			s->last = (struct ri_token){ .c = '*', .end = s->end };
			s->at = s->end;
			return true;
		}
	}
	return false;
}

size_t ri_redact(struct ri_text *out, struct ri_span text)
{
	struct search search = { .in = { .text = text.at, .length = text.length } };
	size_t done = 0;

	while (!out->cut && find_secret(&search)) {
		ri_text_add_bytes(out, text.at + done, search.begin - done);
		ri_text_add(out, RI_REDACTED);
		done = search.end;
	}
	ri_text_add_bytes(out, text.at + done, text.length - done);
	return search.in.looks;
}

bool ri_redact_finds(const char *text)
{
	struct search search = { .in = { .text = text, .length = strlen(text) } };

	return find_secret(&search);
}

void ri_redact_mask(char *text)
{
	struct search search = { .in = { .text = text, .length = strlen(text) } };

	while (find_secret(&search))
		memset(text + search.begin, '*', search.end - search.begin);
}
