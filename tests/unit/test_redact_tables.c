/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four tables: what is hidden (redact.hidden), values below their names (redact.yaml),
 * harmless text that is hidden too (redact.doubt), and what is kept (redact.kept).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redact/redact.h"

enum {
	MAX_CASE = 4096,
	LEAST = 200,		/* cases in a table */
	LEAST_DOUBT = 10,
	LEAST_YAML = 90,
	LEAST_MESSAGE = 15,
};

/* What stands for a byte that an editor would not show. */
static const struct {
	const char *sign;
	char byte;
} signs[] = {
	{ "\xe2\x90\x9b", '\x1b' }, { "\xe2\x90\x89", '\t' }, { "\xe2\x90\x8d", '\r' },
	{ "\xe2\x90\xa0", ' ' },
};

static const char opening[] = "\xc2\xab", closing[] = "\xc2\xbb";

struct table {
	const char *path;
	FILE *file;
	unsigned line;
	unsigned first;		/* line of the case */
	unsigned cases;
	unsigned wrong;
	char text[MAX_CASE];	/* of the case, as it is written */
};

static bool read_line(struct table *table, char *line)
{
	if (fgets(line, MAX_CASE, table->file) == NULL)
		return false;
	table->line++;
	return true;
}

static bool next_case(struct table *table)
{
	char line[MAX_CASE];
	bool within = false;

	table->text[0] = '\0';
	while (read_line(table, line)) {
		if (strcmp(line, "%%\n") == 0) {
			if (within)
				return true;
			within = true;
			table->first = table->line;
			continue;
		}
		if (!within && (line[0] == '\n' || strncmp(line, "##", 2) == 0))
			continue;
		if (strlen(table->text) + strlen(line) >= MAX_CASE)
			fail_msg("%s:%u: too long", table->path, table->line);
		if (!within)
			table->first = table->line;
		strcat(table->text, line);
		if (!within)
			return true;
	}
	assert_false(within);
	return false;
}

/* The program's text, and what is expected to come of it. */
static void make(const char *written, char *text, char *expected)
{
	while (*written != '\0') {
		size_t i = 0;

		while (i < sizeof(signs) / sizeof(signs[0]) &&
			strncmp(written, signs[i].sign, 3) != 0)
			i++;
		if (strncmp(written, opening, 2) == 0) {
			strcpy(expected, RI_REDACTED);
			expected += strlen(RI_REDACTED);
			for (written += 2; strncmp(written, closing, 2) != 0; written++)
				*text++ = *written;
			written += 2;
		} else if (i < sizeof(signs) / sizeof(signs[0])) {
			*text++ = *expected++ = signs[i].byte;
			written += 3;
		} else {
			*text++ = *expected++ = *written++;
		}
	}
	*text = *expected = '\0';
}

/* What stands before the first line of a case, and before each of them. */
struct before {
	const char *first;
	const char *each;
};

/* Between other lines. */
static void add_lines(char *out, struct before before, const char *lines)
{
	const char *first = before.first;

	static const char above[] = "epoch 3 of 5\n", below[] = "all done\n";

	out += sprintf(out, "%s", above);
	for (const char *end; *lines != '\0'; lines = end) {
		end = strchr(lines, '\n') + 1;
		out += sprintf(out, "%s%s%.*s", before.each, first, (int)(end - lines), lines);
		first = "";
	}
	sprintf(out, "%s", below);
}

static void check(struct table *table, struct before before)
{
	char text[MAX_CASE], expected[MAX_CASE], whole[2 * MAX_CASE], wanted[2 * MAX_CASE];
	char buffer[4 * MAX_CASE];
	struct ri_text out;

	make(table->text, text, expected);
	add_lines(whole, before, text);
	add_lines(wanted, before, expected);
	out = ri_text_of(buffer, sizeof(buffer));
	ri_redact(&out, (struct ri_span){ whole, strlen(whole) });
	assert_false(out.cut);
	if (strcmp(buffer, wanted) == 0)
		return;
	table->wrong++;
	print_error("%s:%u\nwanted:\n%sgot:\n%s", table->path, table->first, wanted, buffer);
}

static void check_table(const char *path, unsigned least, const struct before *starts)
{
	struct table table = { .path = path, .file = fopen(path, "r") };

	assert_non_null(table.file);
	while (next_case(&table)) {
		table.cases++;
		check(&table, (struct before){ "", "" });
		/* as torch marks the lines of a rank's exception */
		if (strchr(table.text, '\n')[1] == '\0')
			check(&table, (struct before){ "", "[rank0]: " });
		for (const struct before *b = starts; b != NULL && b->each != NULL; b++)
			check(&table, *b);
	}
	fclose(table.file);
	assert_true(table.cases >= least);
	print_message("%s: %u of %u cases wrong\n", path, table.wrong, table.cases);
	assert_int_equal(table.wrong, 0);
}

static void hidden(void **state)
{
	(void)state;
	check_table("tests/unit/redact.hidden", LEAST, NULL);
}

/* Labels of torch, torchrun, both, Open MPI and srun; an exception; a record of a logger's. */
static void below(void **state)
{
	static const struct before starts[] = {
		{ "", "[rank1]: " }, { "", "[rank1]:" }, { "", "[default0]:" },
		{ "", "[default1]:[rank1]: " }, { "", "[1,0]<stderr>:" }, { "", NULL },
	};

	(void)state;
	check_table("tests/unit/redact.yaml", LEAST_YAML, starts);
}

/* The name is not the first of its line: most of the same cases, where the name begins the text. */
static void below_in_a_message(void **state)
{
	static const struct before starts[] = {
		{ "ValueError: ", "" }, { "yaml.YAMLError: ", "[rank1]: " },
		{ "omegaconf.errors.E: ", "[default1]:[rank1]: " },
		{ "2026-11-29 19:00:00,123 INFO ", "" }, { "", "3: " }, { "", NULL },
	};

	(void)state;
	check_table("tests/unit/redact.message", LEAST_MESSAGE, starts);
}

static void doubt(void **state)
{
	(void)state;
	check_table("tests/unit/redact.doubt", LEAST_DOUBT, NULL);
}

static void kept(void **state)
{
	(void)state;
	check_table("tests/unit/redact.kept", LEAST, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden),
		cmocka_unit_test(below),
		cmocka_unit_test(below_in_a_message),
		cmocka_unit_test(doubt),
		cmocka_unit_test(kept),
	};

	return cmocka_run_group_tests_name("redact_tables", tests, NULL, NULL);
}
