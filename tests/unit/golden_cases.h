/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of golden cases, as tests/golden/README.md describes them and
 * tests/golden/cases.py reads them in Python: both refuse what malformed.txt
 * there has, for the same reasons.
 */
#ifndef RI_TESTS_GOLDEN_CASES_H
#define RI_TESTS_GOLDEN_CASES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum golden_section {
	GOLDEN_ENV,
	GOLDEN_MACHINE,		/* its lines are not kept: "make hosts" has made what they say */
	GOLDEN_OPTIONS,
	GOLDEN_COMMAND,
	GOLDEN_WANT,
	GOLDEN_ERROR,
	GOLDEN_FINDINGS,
	GOLDEN_SECTIONS,
	GOLDEN_NOWHERE = GOLDEN_SECTIONS,
};

enum { GOLDEN_LINES = 512, GOLDEN_CASES = 512 };

/* Of a section: its lines, or its words; NULL behind them. */
struct golden_lines {
	char *items[GOLDEN_LINES + 1];
	size_t count;
	bool given;
};

struct golden_case {
	const char *name;	/* without the source */
	size_t line;		/* of its header */
	struct golden_lines sections[GOLDEN_SECTIONS];
};

/* Begin with the path, a text that is cut into pieces and outlives the cases, and zeros. */
struct golden_file {
	const char *path;
	char *rest;		/* NULL: all is read */
	size_t number;		/* of the line that was read last */
	char *header;		/* a case begins there that is still to be read, or NULL */
	enum golden_section section;
	const char *names[GOLDEN_CASES];
	size_t count;
	char fault[256];	/* "PATH:LINE: WHY" */
};

/* Returns -1. */
static inline int golden_fault(struct golden_file *file, size_t number, const char *why)
{
	snprintf(file->fault, sizeof(file->fault), "%s:%zu: %s", file->path, number, why);
	return -1;
}

/* NULL: there is no more. */
static inline char *golden_line(struct golden_file *file)
{
	char *line = file->rest;

	if (line == NULL)
		return NULL;
	file->number++;
	file->rest = strchr(line, '\n');
	if (file->rest != NULL)
		*file->rest++ = '\0';
	return line;
}

static inline const char *golden_section_name(enum golden_section section)
{
	static const char *const names[] = {
		"env", "machine", "options", "command", "want", "error", "findings",
	};

	return names[section];
}

/* "code subject" */
static inline bool golden_is_pair(const char *text)
{
	const char *blank = strchr(text, ' ');

	return blank != NULL && blank > text && blank[1] != '\0' && blank[1] != ' ';
}

/* What is wrong with this line, or word; NULL: nothing. */
static inline const char *golden_misfit(enum golden_section section, const char *text)
{
	const char *equals = strchr(text, '=');
	bool sets = equals != NULL && equals > text;

	if (section == GOLDEN_ENV && !sets)
		return "not NAME=value";
	if (section == GOLDEN_OPTIONS && (strncmp(text, "--", 2) != 0 || text[2] == '\0'))
		return "not --name=value";
	if (section == GOLDEN_WANT && (text[0] == '-' ? equals != NULL || text[1] == '\0' : !sets))
		return "not NAME=value or -NAME";
	if (section == GOLDEN_ERROR && !golden_is_pair(text))
		return "not code subject";
	if (section == GOLDEN_FINDINGS &&
		((strncmp(text, "note ", 5) != 0 && strncmp(text, "warning ", 8) != 0) ||
			!golden_is_pair(strchr(text, ' ') + 1)))
		return "not severity code subject";
	return NULL;
}

static inline int golden_add(struct golden_file *file, struct golden_lines *lines, char *text)
{
	const char *misfit = golden_misfit(file->section, text);

	if (misfit != NULL)
		return golden_fault(file, file->number, misfit);
	if (file->section == GOLDEN_ERROR && lines->count > 0)
		return golden_fault(file, file->number, "a second error");
	if (lines->count == GOLDEN_LINES)
		return golden_fault(file, file->number, "more than golden_cases.h has room for");
	lines->items[lines->count++] = text;
	lines->items[lines->count] = NULL;
	return 0;
}

/* The words of a line; one with blanks in it stands between single quotes. */
static inline int golden_add_words(struct golden_file *file, struct golden_lines *lines,
	char *line)
{
	while (*(line += strspn(line, " ")) != '\0') {
		bool quoted = *line == '\'';
		char *end = line + quoted + strcspn(line + quoted, quoted ? "'" : " '");
		char *next = end + (*end != '\0');

		if (quoted != (*end == '\'') || (quoted && *next != ' ' && *next != '\0'))
			return golden_fault(file, file->number, "a quote that does not fit");
		*end = '\0';
		if (golden_add(file, lines, line + quoted) < 0)
			return -1;
		line = next;
	}
	return 0;
}

/* A line of a machine, and those up to "." where it says that they are a file. */
static inline int golden_add_machine(struct golden_file *file, struct golden_lines *lines,
	const char *line)
{
	size_t length = strlen(line), number = file->number;

	lines->count++;
	if (length < 3 || strcmp(line + length - 3, " <<") != 0)
		return 0;
	while (line != NULL && strcmp(line, ".") != 0)
		line = golden_line(file);
	return line == NULL ? golden_fault(file, number, "no line \".\" ends this file") : 0;
}

static inline int golden_add_line(struct golden_file *file, struct golden_case *out, char *line)
{
	struct golden_lines *lines = &out->sections[file->section];

	if (file->section == GOLDEN_NOWHERE)
		return golden_fault(file, file->number, "a line outside of all sections");
	if (file->section == GOLDEN_MACHINE)
		return golden_add_machine(file, lines, line);
	if (file->section == GOLDEN_OPTIONS || file->section == GOLDEN_COMMAND)
		return golden_add_words(file, lines, line);
	return golden_add(file, lines, line);
}

/* A header that begins no case. */
static inline int golden_begin_section(struct golden_file *file, struct golden_case *out,
	const char *line)
{
	char header[64];

	for (file->section = 0; file->section < GOLDEN_SECTIONS; file->section++) {
		snprintf(header, sizeof(header), "[%s]", golden_section_name(file->section));
		if (strcmp(header, line) == 0)
			break;
	}
	if (file->section == GOLDEN_SECTIONS)
		return golden_fault(file, file->number, "no such section");
	if (out->name == NULL)
		return golden_fault(file, file->number, "no case begins before this");
	if (out->sections[file->section].given)
		return golden_fault(file, file->number, "this section stands twice");
	out->sections[file->section].given = true;
	return 0;
}

/* The line is "[case NAME]". */
static inline int golden_begin_case(struct golden_file *file, struct golden_case *out, char *line)
{
	char *name = line + strlen("[case ");

	file->section = GOLDEN_NOWHERE;
	name[strlen(name) - 1] = '\0';
	if (name[0] == '\0' || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		return golden_fault(file, file->number, "no name of a case");
	for (size_t i = 0; i < file->count; i++)
		if (strcmp(file->names[i], name) == 0)
			return golden_fault(file, file->number, "this case stands twice");
	if (file->count == GOLDEN_CASES)
		return golden_fault(file, file->number, "more than golden_cases.h has room for");
	file->names[file->count++] = name;
	out->name = name;
	out->line = file->number;
	return 0;
}

/* What only a whole case can lack. Returns 1. */
static inline int golden_complete(struct golden_file *file, const struct golden_case *out)
{
	char why[64];

	if (!out->sections[GOLDEN_ENV].given)
		return golden_fault(file, out->line, "a case without [env]");
	if (out->sections[GOLDEN_WANT].given == out->sections[GOLDEN_ERROR].given)
		return golden_fault(file, out->line, "a case has either [want] or [error]");
	for (enum golden_section i = 0; i < GOLDEN_SECTIONS; i++) {
		snprintf(why, sizeof(why), "nothing in [%s]", golden_section_name(i));
		if (i != GOLDEN_ENV && i != GOLDEN_WANT && out->sections[i].given &&
			out->sections[i].count == 0)
			return golden_fault(file, out->line, why);
	}
	return 1;
}

static inline int golden_take(struct golden_file *file, struct golden_case *out, char *line)
{
	if (line[0] == '#' || line[0] == '\0')
		return 0;
	return line[0] == '[' ? golden_begin_section(file, out, line)
			      : golden_add_line(file, out, line);
}

/* 1: *out is the next case, 0: there is none, -1: file->fault says what is wrong. */
static inline int golden_next(struct golden_file *file, struct golden_case *out)
{
	char *line = file->header;

	memset(out, 0, sizeof(*out));
	file->header = NULL;
	file->section = GOLDEN_NOWHERE;
	if (line != NULL && golden_begin_case(file, out, line) < 0)
		return -1;
	while ((line = golden_line(file)) != NULL) {
		if (strncmp(line, "[case ", 6) != 0 || line[strlen(line) - 1] != ']') {
			if (golden_take(file, out, line) < 0)
				return -1;
		} else if (out->name != NULL) {
			file->header = line;
			break;
		} else if (golden_begin_case(file, out, line) < 0) {
			return -1;
		}
	}
	if (out->name != NULL)
		return golden_complete(file, out);
	return file->count > 0 ? 0 : golden_fault(file, 1, "no case");
}

#endif
