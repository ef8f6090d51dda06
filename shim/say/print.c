/* SPDX-License-Identifier: Apache-2.0 */
#include "say/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium/version.h>

#include "check/runner.h"
#include "from/sources.h"
#include "model/explain.h"
#include "options/table.h"
#include "to/to.h"

enum { ANSWER = 262144 };

/* Where the answer goes. */
static int out_fd = STDOUT_FILENO;

static int write_all(const char *bytes, size_t length, struct ri_error *err)
{
	while (length > 0) {
		ssize_t count = write(out_fd, bytes, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return ri_fail(err, RI_CODE_OUTPUT, "stdout", "cannot be written: %s",
				strerror(errno));
		bytes += count;
		length -= (size_t)count;
	}
	return 0;
}

/* One after the other; the last one is NULL. */
static int write_words(struct ri_error *err, ...)
{
	const char *word;
	int status = 0;
	va_list args;

	va_start(args, err);
	while (status == 0 && (word = va_arg(args, const char *)) != NULL)
		status = write_all(word, strlen(word), err);
	va_end(args);
	return status;
}

int ri_print_text(const struct ri_text *text, struct ri_error *err)
{
	return write_all(text->bytes, text->length, err);
}

/* An answer is built whole and written whole. */
static int begin_answer(struct ri_text *out, struct ri_error *err)
{
	char *room = ri_pages(ANSWER);

	if (room == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "stdout", "no memory left for the answer");
	*out = ri_text_of(room, ANSWER);
	return 0;
}

static int begin_own(struct ri_text *out, const struct ri_options *options, struct ri_error *err)
{
	if (options->peer == RI_PEER_DUMB_INIT)
		out_fd = STDERR_FILENO;
	return begin_answer(out, err);
}

int ri_print_help(const struct ri_options *options, struct ri_error *err)
{
	struct ri_text out;

	if (begin_own(&out, options, err) < 0)
		return -1;
	if (options->peer != RI_PEER_NONE) {
		ri_peer_help(&out, options);
	} else if (!ri_options_help(&out, options->action_value)) {
		ri_option_bad_value(options->given.help, "common, all or a word that an option "
			"has", err);
		return ri_fail_hint(err, "see rankinit --help=all");
	}
	return ri_print_text(&out, err);
}

#if defined(__GLIBC__)
#define LIBC "glibc"
#else
#define LIBC "musl"
#endif

int ri_print_version(const struct ri_options *options, struct ri_error *err)
{
	struct ri_text out;

	if (begin_own(&out, options, err) < 0)
		return -1;
	if (options->peer != RI_PEER_NONE) {
		ri_peer_version(&out, options, RI_VERSION);
		return ri_print_text(&out, err);
	}
	ri_text_addf(&out, "rankinit %s (gcc %s, %s %s, jansson %s, libcap %s, libsodium %s)\n",
		RI_VERSION, __VERSION__, LIBC, RI_LIBC_VERSION, JANSSON_VERSION, RI_LIBCAP_VERSION,
		SODIUM_VERSION_STRING);
	return ri_print_text(&out, err);
}

static void list_codes(struct ri_text *out)
{
	for (unsigned code = 0; code < RI_CODE_COUNT; code++)
		ri_text_addf(out, "%s\t%d\t%s\n", ri_code_name(code), ri_code_status(code),
			ri_code_meaning(code));
}

/* before: what is said ahead of each meaning */
static void list_variables(struct ri_text *out, const struct ri_variable *variable,
	const char *before)
{
	for (; variable != NULL && variable->name != NULL; variable++)
		ri_text_addf(out, "\t%s\t%s%s\t%s\n", variable->name, before, variable->meaning,
			variable->cite);
}

static void list_sources(struct ri_text *out)
{
	const struct ri_source *source;

	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++) {
		ri_text_addf(out, "%s\t%s\n", source->name, source->summary);
		for (const struct ri_source_row *row = source->reads; row->name != NULL; row++)
			ri_text_addf(out, "\t%s\t%s\t%s\n", row->name, row->meaning, row->cite);
	}
}

static void list_simulations(struct ri_text *out)
{
	const struct ri_shape *shape;

	for (size_t i = 0; (shape = ri_source_shape_at(i)) != NULL; i++)
		ri_text_addf(out, "%s\t%s\t%s\n", shape->name,
			shape->scope == RI_SCOPE_NODE ? "nodes" : "processes", shape->summary);
}

static void list_frameworks(struct ri_text *out)
{
	const struct ri_framework *framework;

	for (size_t i = 0; (framework = ri_frameworks[i]) != NULL; i++) {
		const char *const *sources = framework->sources;

		ri_text_addf(out, "%s\t%s\t%s\t%s", framework->name, framework->summary,
			framework->when, sources == NULL ? "always" : "");
		for (size_t k = 0; sources != NULL && sources[k] != NULL; k++)
			ri_text_addf(out, "%s%s", k == 0 ? "" : ",", sources[k]);
		ri_text_add(out, "\n");
		list_variables(out, framework->writes, "");
		list_variables(out, framework->looks, "only read: ");
	}
}

/*
 * For a terminal: a line for each row, its first field, and beside that the others which
 * are not "-", folded. A row that begins with a tab is of the one above. most: of how many
 * fields of a row; 0: all. rows is cut into its fields.
 */
static void show_columns(char *rows, size_t most, struct ri_text *out)
{
	enum { BELOW = 2, SECOND = 26, WORDS = 2048 };
	struct ri_page page = { .out = out, .whole = true };
	const char *field, *between;
	char *row;

	while ((row = strsep(&rows, "\n")) != NULL) {
		RI_TEXT(text, WORDS);

		if (row[0] == '\0')
			continue;
		if (row[0] == '\t') {
			row++;
			ri_page_go(&page, BELOW);
		}
		ri_page_show(&page, strsep(&row, "\t"));
		/* "125 | an option's value cannot be used" */
		between = "";
		for (size_t count = 1; row != NULL && (most == 0 || count < most); count++) {
			field = strsep(&row, "\t");
			if (field[0] == '\0' || strcmp(field, "-") == 0)
				continue;
			ri_text_addf(&text, "%s%s", between, field);
			between = " | ";
		}
		ri_page_fold(&page, text.bytes, SECOND);
	}
}

int ri_print_list(const char *table, struct ri_error *err)
{
	static const struct {
		const char *name;
		void (*list)(struct ri_text *out);
		size_t most;	/* fields on a terminal; 0: all */
	} tables[] = {
		{ "sources", list_sources, 0 },
		{ "simulations", list_simulations, 0 },
		{ "frameworks", list_frameworks, 0 },
		{ "checks", ri_check_list, 2 },
		{ "facts", ri_node_facts_list, 2 },
		{ "codes", list_codes, 0 },
		{ "options", ri_options_list, 0 },
	};
	struct ri_text out, shown;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(table, tables[i].name) != 0)
			continue;
		if (begin_answer(&out, err) < 0)
			return -1;
		tables[i].list(&out);
		if (!isatty(STDOUT_FILENO))
			return ri_print_text(&out, err);
		if (begin_answer(&shown, err) < 0)
			return -1;
		show_columns(out.bytes, tables[i].most, &shown);
		if (tables[i].most > 0)
			ri_text_addf(&shown, "%cAll of it, with tabs: rankinit --list=%s | cat\n",
				'\n', table);
		return ri_print_text(&shown, err);
	}
	return 0;
}

/* In single quotes, where nothing but the quote itself is special. */
static int write_shell(const struct ri_env_edit *edit, struct ri_error *err)
{
	/* the shells know names of letters, digits and '_' only (POSIX, "Name") */
	static const char characters[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	const char *rest = edit->value, *name = edit->name, *quote;

	if (name[0] <= '9' || name[strspn(name, characters)] != '\0')
		return 0;
	if (rest == NULL)
		return write_words(err, "unset ", name, "\n", NULL);
	if (write_words(err, "export ", name, "='", NULL) < 0)
		return -1;
	for (; (quote = strchr(rest, '\'')) != NULL; rest = quote + 1)
		if (write_all(rest, (size_t)(quote - rest), err) < 0 ||
			write_words(err, "'\\''", NULL) < 0)
			return -1;
	return write_words(err, rest, "'\n", NULL);
}

/* Of jansson's memory, which is given back; why: what is said where text is NULL. */
static int write_document(char *text, enum ri_code code, const char *subject, const char *why,
	struct ri_error *err)
{
	int status;

	if (text == NULL)
		return ri_fail(err, code, subject, "%s", why);
	status = write_words(err, text, "\n", NULL);
	free(text);
	return status;
}

int ri_print_env(const char *format, const struct ri_env_edits *edits, struct ri_error *err)
{
	bool shell = format == NULL || strcmp(format, "shell") == 0;
	char end = !shell && strcmp(format, "null") == 0 ? '\0' : '\n', *text;
	struct ri_json json = { .escapes = 0 };
	json_t *object;

	if (!shell && strcmp(format, "json") == 0) {
		object = json_object();
		for (size_t i = 0; i < edits->count; i++)
			ri_json_put(&json, object, edits->items[i].name,
				edits->items[i].value == NULL ? json_null()
				: json_string(edits->items[i].value));
		text = json.incomplete ? NULL
			: ri_json_dumps(object, JSON_INDENT(2) | JSON_SORT_KEYS);
		json_decref(object);
		return write_document(text, RI_CODE_OUTPUT, "--print-env", "a value cannot be "
			"written as JSON: it is not UTF-8, or memory ran out", err);
	}
	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];

		/* a later one wins */
		if (ri_env_edits_find(edits, edit->name) != edit)
			continue;
		if (shell ? write_shell(edit, err) < 0 : edit->value != NULL &&
			(write_words(err, edit->name, "=", edit->value, NULL) < 0 ||
			write_all(&end, 1, err) < 0))
			return -1;
	}
	return 0;
}

static bool is_colored(enum ri_log_color color)
{
	return color == RI_LOG_COLOR ||
		(color == RI_LOG_COLOR_ON_TERMINAL && isatty(STDOUT_FILENO));
}

int ri_print_explain(const char *format, struct ri_explain *explain, enum ri_log_color color,
	struct ri_error *err)
{
	const struct ri_source *source;
	RI_TEXT(names, 1024);
	struct ri_text out;

	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		ri_text_addf(&names, "%s%s", i == 0 ? "" : ", ", source->name);
	explain->version = RI_VERSION;
	explain->looked_for = names.bytes;
	explain->color = is_colored(color);
	if (format != NULL && strcmp(format, "json") == 0)
		return write_document(ri_explain_json(explain), RI_CODE_MEMORY, "--explain",
			"no memory left to write it", err);
	if (begin_answer(&out, err) < 0)
		return -1;
	ri_explain_text(explain, &out);
	return ri_print_text(&out, err);
}

int ri_print_check(const char *format, const struct ri_check_report *report,
	enum ri_log_color color, struct ri_error *err)
{
	struct ri_json json = { .escapes = 0 };
	struct ri_text out;
	json_t *object;
	char *text;

	if (format != NULL && strcmp(format, "json") == 0) {
		object = ri_check_json(&json, report);
		text = json.incomplete ? NULL : ri_json_dumps(object, RI_JSON_LOOK);
		json_decref(object);
		return write_document(text, RI_CODE_MEMORY, "--check",
			"no memory left to write it", err);
	}
	if (begin_answer(&out, err) < 0)
		return -1;
	ri_check_print_text(report, &out, is_colored(color));
	return ri_print_text(&out, err);
}
