/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/skim.h"

#include <string.h>

/* The members of an object that are kept; of one with members of its own, or of a list, those. */
struct member {
	const char *name;
	const struct member *inner;	/* NULL: all of it */
};

static const struct member topology[] = {
	{ "node_rank", NULL }, { "nnodes", NULL }, { "world_size", NULL }, { "job_id", NULL },
	{ "restart_count", NULL }, { NULL, NULL },
};

static const struct member failure[] = {
	{ "rank", NULL }, { "class", NULL }, { "kind", NULL },
	{ "exit_code", NULL }, { "signal", NULL }, { "at", NULL }, { "cause", NULL },
	{ "reason", NULL }, { NULL, NULL },
};

static const struct member thread[] = {
	{ "main", NULL }, { "frames", NULL }, { NULL, NULL },
};

static const struct member group[] = {
	{ "ranks", NULL }, { "class", NULL }, { "text", NULL }, { "threads", thread },
	{ NULL, NULL },
};

static const struct member autopsy[] = {
	{ "at", NULL }, { "suspect", NULL }, { "groups", group }, { NULL, NULL },
};

static const struct member report[] = {
	{ "schema", NULL }, { "exit_status", NULL }, { "host", NULL }, { "started", NULL },
	{ "ended", NULL }, { "topology", topology }, { "ranks", NULL },
	{ "first_failure", failure }, { "refusal", NULL }, { "job_verdict", NULL },
	{ "job_verdict_node", NULL }, { "stop", NULL }, { "facts", NULL }, { "clock", NULL },
	{ "autopsy", autopsy }, { NULL, NULL },
};

/* What is read, and what was written of it, which is never longer. */
struct skim {
	const char *at, *end;
	char *out;
};

static void copy(struct skim *skim, const char *from, const char *to)
{
	memmove(skim->out, from, (size_t)(to - from));
	skim->out += to - from;
}

static void pass_blanks(struct skim *skim)
{
	while (skim->at < skim->end && (*skim->at == ' ' || *skim->at == '\n' ||
		*skim->at == '\t' || *skim->at == '\r'))
		skim->at++;
}

/* The byte that stands next, or '\0' at the end. */
static char next(const struct skim *skim)
{
	return skim->at < skim->end ? *skim->at : '\0';
}

/* At a quote: to behind the one that ends the string. */
static void pass_string(struct skim *skim)
{
	const char *quote, *back, *begin = ++skim->at;

	for (;;) {
		quote = memchr(skim->at, '"', (size_t)(skim->end - skim->at));
		if (quote == NULL) {
			skim->at = skim->end;
			return;
		}
		skim->at = quote + 1;
		for (back = quote; back > begin && back[-1] == '\\'; back--)
			;
		if ((quote - back) % 2 == 0)
			return;
	}
}

/* To behind a value, or to the end where it breaks off. */
static void pass_value(struct skim *skim)
{
	size_t depth = 0;

	while (skim->at < skim->end) {
		switch (*skim->at) {
		case '"':
			pass_string(skim);
			break;
		case '{':
		case '[':
			depth++;
			skim->at++;
			continue;
		case '}':
		case ']':
			if (depth == 0)
				return;
			depth--;
			skim->at++;
			break;
		case ',':
			if (depth == 0)
				return;
			skim->at++;
			continue;
		default:	/* a number or a word: up to what ends it */
			skim->at++;
			continue;
		}
		if (depth == 0)
			return;
	}
}

static const struct member *find(const struct member *members, const char *name, size_t length)
{
	for (; members->name != NULL; members++)
		if (strlen(members->name) == length && memcmp(members->name, name, length) == 0)
			return members;
	return NULL;
}

static void skim_object(struct skim *skim, const struct member *members);
static void skim_array(struct skim *skim, const struct member *members);

static void skim_value(struct skim *skim, const struct member *member)
{
	static const char null[] = "null";
	const char *from = skim->at;

	if (member != NULL && member->inner != NULL && next(skim) == '{') {
		skim_object(skim, member->inner);
		return;
	}
	if (member != NULL && member->inner != NULL && next(skim) == '[') {
		skim_array(skim, member->inner);
		return;
	}
	pass_value(skim);
	if (member != NULL || skim->at - from < (ptrdiff_t)sizeof(null) - 1)
		copy(skim, from, skim->at);
	else if (skim->at < skim->end)
		copy(skim, null, null + sizeof(null) - 1);
}

/* One byte that is expected. */
static int take(struct skim *skim, char byte)
{
	pass_blanks(skim);
	if (next(skim) != byte || skim->at == skim->end)
		return 0;
	copy(skim, skim->at, skim->at + 1);
	skim->at++;
	return 1;
}

/* At its bracket. Where it is none it stays as it is from there. */
static void skim_object(struct skim *skim, const struct member *members)
{
	const struct member *member;
	const char *name;

	take(skim, '{');
	do {
		pass_blanks(skim);
		if (next(skim) != '"')
			break;
		name = skim->at;
		pass_string(skim);
		/* now: what is written comes up to where it was read */
		member = skim->at - name < 2 ? NULL
			: find(members, name + 1, (size_t)(skim->at - name) - 2);
		copy(skim, name, skim->at);
		if (!take(skim, ':'))
			return;
		pass_blanks(skim);
		skim_value(skim, member);
	} while (take(skim, ','));
	take(skim, '}');
}

/* At its bracket, of objects; what is none stays as it is. */
static void skim_array(struct skim *skim, const struct member *members)
{
	const char *from;

	take(skim, '[');
	do {
		pass_blanks(skim);
		from = skim->at;
		if (next(skim) == '{') {
			skim_object(skim, members);
			continue;
		}
		pass_value(skim);
		copy(skim, from, skim->at);
	} while (take(skim, ','));
	take(skim, ']');
}

size_t ri_report_skim(char *bytes, size_t length)
{
	struct skim skim = { bytes, bytes + length, bytes };

	pass_blanks(&skim);
	if (next(&skim) != '{')
		return length;
	skim_object(&skim, report);
	copy(&skim, skim.at, skim.end);
	return (size_t)(skim.out - bytes);
}
