/* SPDX-License-Identifier: Apache-2.0 */
#include "say/print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium/version.h>

#include "blame/reports.h"
#include "check/runner.h"
#include "from/sources.h"
#include "model/explain.h"
#include "options/table.h"
#include "say/json_memory.h"
#include "say/whole_file.h"
#include "system/apart.h"
#include "to/to.h"

enum {
	ANSWER = 262144,
	/* a document, or all that --blame or an environment comes to */
	LONG_ANSWER = 64 << 20,
};

/* Where the answer goes. */
static int out_fd = STDOUT_FILENO;

int ri_print_text(const struct ri_text *text, struct ri_error *err)
{
	const char *rest = text->bytes, *end = rest + text->length;

	while (rest < end) {
		ssize_t count = write(out_fd, rest, (size_t)(end - rest));

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return ri_fail(err, RI_CODE_OUTPUT, "stdout", "cannot be written: %s",
				strerror(errno));
		rest += count;
	}
	return 0;
}

/* An answer is built whole and written whole. */
static int begin_answer(struct ri_text *out, size_t size, struct ri_error *err)
{
	char *room = ri_pages(size);

	if (room == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "stdout", "no memory left for the answer");
	*out = ri_text_of(room, size);
	return 0;
}

static int begin_own(struct ri_text *out, const struct ri_options *options, struct ri_error *err)
{
	if (options->peer == RI_PEER_DUMB_INIT)
		out_fd = STDERR_FILENO;
	return begin_answer(out, ANSWER, err);
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
			ri_text_addf(out, "\t%s\t%s\t%s\n", row->name, row->meaning,
				row->cite != NULL ? row->cite : source->cite);
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

	for (size_t i = 0; i < RI_ARRAY_SIZE(tables); i++) {
		if (strcmp(table, tables[i].name) != 0)
			continue;
		if (begin_answer(&out, ANSWER, err) < 0)
			return -1;
		tables[i].list(&out);
		if (!isatty(STDOUT_FILENO))
			return ri_print_text(&out, err);
		if (begin_answer(&shown, ANSWER, err) < 0)
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
static void add_shell(struct ri_text *out, const struct ri_env_edit *edit)
{
	/* the shells know names of letters, digits and '_' only (POSIX, "Name") */
	static const char characters[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	const char *rest = edit->value, *name = edit->name, *quote;

	if (name[0] <= '9' || name[strspn(name, characters)] != '\0')
		return;
	if (rest == NULL) {
		ri_text_addf(out, "unset %s\n", name);
		return;
	}
	ri_text_addf(out, "export %s='", name);
	for (; (quote = strchr(rest, '\'')) != NULL; rest = quote + 1) {
		ri_text_add_bytes(out, rest, (size_t)(quote - rest));
		ri_text_add(out, "'\\''");
	}
	ri_text_addf(out, "%s'\n", rest);
}

static bool is_json(const char *format)
{
	return format != NULL && strcmp(format, "json") == 0;
}

static int add_env_json(struct ri_text *out, const struct ri_env_edits *edits)
{
	struct ri_json json = { .escapes = 0 };
	json_t *object = json_object();

	for (size_t i = 0; i < edits->count; i++)
		ri_json_put(&json, object, edits->items[i].name, edits->items[i].value == NULL
			? json_null() : json_string(edits->items[i].value));
	return ri_json_end(&json, object, JSON_INDENT(2) | JSON_SORT_KEYS, out);
}

int ri_print_env(const char *format, const struct ri_env_edits *edits, struct ri_error *err)
{
	bool shell = format == NULL || strcmp(format, "shell") == 0;
	const char end = !shell && strcmp(format, "null") == 0 ? '\0' : '\n';
	struct ri_text out;

	if (begin_answer(&out, LONG_ANSWER, err) < 0)
		return -1;
	if (is_json(format) && add_env_json(&out, edits) < 0)
		return ri_fail(err, RI_CODE_OUTPUT, "--print-env", "a value cannot be written as "
			"JSON: it is not UTF-8, or memory ran out");
	for (size_t i = 0; i < edits->count && !is_json(format); i++) {
		const struct ri_env_edit *edit = &edits->items[i];

		/* a later one wins */
		if (ri_env_edits_find(edits, edit->name) != edit)
			continue;
		if (shell) {
			add_shell(&out, edit);
		} else if (edit->value != NULL) {
			ri_text_addf(&out, "%s=%s", edit->name, edit->value);
			ri_text_add_bytes(&out, &end, 1);
		}
	}
	return ri_print_text(&out, err);
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
	bool json = is_json(format);
	struct ri_text out;

	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		ri_text_addf(&names, "%s%s", i == 0 ? "" : ", ", source->name);
	explain->version = RI_VERSION;
	explain->looked_for = names.bytes;
	explain->color = is_colored(color);
	if (begin_answer(&out, json ? LONG_ANSWER : ANSWER, err) < 0)
		return -1;
	if (!json)
		ri_explain_text(explain, &out);
	else if (ri_explain_json(explain, &out) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--explain", "no memory left to write it");
	return ri_print_text(&out, err);
}

int ri_print_check(const char *format, const struct ri_check_report *report,
	enum ri_log_color color, struct ri_error *err)
{
	struct ri_json json = { .escapes = 0 };
	struct ri_text out;

	if (begin_answer(&out, is_json(format) ? LONG_ANSWER : ANSWER, err) < 0)
		return -1;
	if (!is_json(format))
		ri_check_print_text(report, &out, is_colored(color));
	else if (ri_json_end(&json, ri_check_json(&json, report), RI_JSON_LOOK, &out) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--check", "no memory left to write it");
	return ri_print_text(&out, err);
}

/* --- --blame ------------------------------------------------------------------- */

enum {
	/* more than rankinit writes: 512 ranks, a traceback, 4,096 hosts */
	FILE_MOST = 8 << 20,
	/* for one at a time; a report of 20 kB takes 0.2 MB */
	MEMORY = 48 << 20,
};

static struct {
	struct ri_reports job;
	struct ri_arena names;
	const char **paths;
	size_t count;
	char *bytes;
} asked;

static int add_path(const char *path, struct ri_error *err)
{
	if (asked.count == RI_REPORTS_FILES)
		return ri_fail(err, RI_CODE_FILE_UNREADABLE, "--blame",
			"more than %d files: name those of one job", RI_REPORTS_FILES);
	asked.paths[asked.count++] = path;
	return 0;
}

/* The reports in a folder, but none of those below it. */
static int add_folder(const char *path, struct ri_error *err)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t before = asked.count;
	int status = 0;

	if (folder == NULL)
		return add_path(path, err);	/* why not is said where files are read */
	while (status == 0 && (entry = readdir(folder)) != NULL) {
		const char *file;

		if (!ri_word_ends(entry->d_name, ".json"))
			continue;
		file = ri_arena_format(&asked.names, "%s/%s", path, entry->d_name);
		status = file == NULL ? ri_fail(err, RI_CODE_MEMORY, "--blame",
			"no memory left for file names") : add_path(file, err);
	}
	closedir(folder);
	return status == 0 && asked.count == before ? add_path(path, err) : status;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_files(const struct ri_options *options, struct ri_error *err)
{
	struct stat info;

	asked.paths = ri_arena_array(&asked.names, RI_REPORTS_FILES, sizeof(*asked.paths));
	if (asked.paths == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for file names");
	for (char *const *word = options->command; *word != NULL; word++) {
		bool is_there = stat(*word, &info) == 0;
		bool is_folder = is_there && S_ISDIR(info.st_mode);

		if (!is_there && strncmp(*word, "--", 2) == 0) {
			ri_fail(err, RI_CODE_OPTION_VALUE, "--blame", "\"%s\" stands behind a "
				"file, so it would be one, too, and is none", *word);
			return ri_fail_hint(err, "options stand before the files: rankinit "
				"--blame=json FILE...");
		}
		if ((is_folder ? add_folder(*word, err) : add_path(*word, err)) < 0)
			return -1;
	}
	qsort(asked.paths, asked.count, sizeof(*asked.paths), compare_paths);
	return 0;
}

/*
 * Up to FILE_MOST bytes. To open a pipe or a device may already do something: it is not opened, and
 * what has become a pipe meanwhile is not waited for. Returns why there are none, or NULL.
 */
static const char *read_whole(const char *path, size_t *length)
{
	const char *why = NULL;
	struct stat info;
	ssize_t got = 1;
	int fd;

	if (stat(path, &info) < 0)
		return strerror(errno);
	if (S_ISDIR(info.st_mode))
		return "no file in it has a name that ends in .json";
	if (!S_ISREG(info.st_mode))
		return "it is no file";
	if (info.st_size > FILE_MOST)
		return "it is larger than any report";
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	for (*length = 0; got > 0 && *length < FILE_MOST; *length += got > 0 ? (size_t)got : 0) {
		got = read(fd, asked.bytes + *length, FILE_MOST - *length);
		if (got < 0)
			why = strerror(errno);
	}
	close(fd);
	return why;
}

static int read_files(struct ri_error *err)
{
	const struct ri_skipped_file *skip;

	asked.bytes = ri_pages(FILE_MOST);
	if (asked.bytes == NULL || ri_json_memory_reserve(MEMORY) < 0 ||
		ri_reports_begin(&asked.job, asked.count) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for reports");
	for (size_t i = 0; i < asked.count; i++) {
		const char *path = asked.paths[i], *why;
		size_t length = 0;

		/* one may be named by its folder, too */
		if (i > 0 && strcmp(asked.paths[i - 1], path) == 0)
			continue;
		why = read_whole(path, &length);
		if (why != NULL)
			ri_reports_skip(&asked.job, path, why);
		else
			ri_reports_add(&asked.job, path, asked.bytes, length);
	}
	if (asked.job.count > 0)
		return 0;
	skip = &asked.job.skips[0];
	if (asked.job.skip_count == 1)
		ri_fail(err, RI_CODE_BLAME_NONE, skip->file, "no report of rankinit is there: %s",
			skip->why);
	else
		ri_fail(err, RI_CODE_BLAME_NONE, skip->file, "none of these %zu files is a report "
			"of rankinit; of this one: %s", asked.job.skip_count, skip->why);
	return ri_fail_hint(err, "start each node with --report=/shared/job/%%n.json, and then: "
		"rankinit --blame /shared/job/*.json");
}

int ri_blame_print(const struct ri_options *options, struct ri_error *err)
{
	const char *format = options->action_value;
	struct ri_error gone = RI_ERROR_INIT;
	struct ri_text out;

	if (options->command == NULL) {
		ri_fail(err, RI_CODE_COMMAND_MISSING, "--blame", "no report was given");
		return ri_fail_hint(err, "name the files that --report wrote: rankinit --blame "
			"/shared/job/*.json");
	}
	if (find_files(options, err) < 0 || read_files(err) < 0)
		return -1;
	if (ri_reports_judge(&asked.job) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left to judge them");
	if (begin_answer(&out, LONG_ANSWER, err) < 0)
		return -1;
	if (format != NULL && strcmp(format, "trace") == 0) {
		/* a picture was there in version 0.1: who asks for it gets the page */
		ri_fail(&gone, RI_CODE_OPTION_VALUE, "--blame", "\"trace\" is no longer there");
		ri_fail_hint(&gone, "--blame=json has the times of each end for a program of "
			"yours");
		ri_log_without(&gone, "the page is printed");
	}
	if (!is_json(format))
		ri_reports_add_page(&out, &asked.job);
	else if (ri_reports_add_json(&out, &asked.job, RI_VERSION) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for the answer");
	return ri_print_text(&out, err);
}

/* --- --install ----------------------------------------------------------------- */

/* A stop lets a copy end that takes no longer: a helper that is killed would leave half of it. */
enum { COPY_MS = 10000 };

struct copying {
	const struct ri_given *given;
	struct ri_arena *arena;
	struct ri_error *err;
};

/* The whole program; the kernel lets no process write to it while it runs. NULL and errno. */
static const char *map_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat info;
	const char *bytes = MAP_FAILED;

	/* without /proc by the name that execve(2) was given: getauxval(3) */
	if (fd < 0)
		fd = open((const char *)getauxval(AT_EXECFN), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &info) == 0) {
		*size = (size_t)info.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static int copy(void *argument)
{
	const struct copying *copying = argument;
	const char *folder = copying->given->value, *subject = copying->given->subject;
	char here[PATH_MAX] = "";
	const char *path, *bytes;
	struct ri_whole_file file;
	size_t size;

	/* DIR/rankinit, from / on: the folder is looked for again by it */
	if (folder[0] != '/' && getcwd(here, sizeof(here)) == NULL)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"the current folder has no path: %s", strerror(errno));
	path = ri_arena_format(copying->arena, "%s%s%s/rankinit", here,
		folder[0] == '/' ? "" : "/", folder);
	if (path == NULL)
		return ri_fail(copying->err, RI_CODE_MEMORY, subject, "no memory left");
	if (ri_whole_file_find(&file, path, subject, copying->arena, copying->err) < 0) {
		if (copying->err->code == RI_CODE_REPORT_REFUSED)
			copying->err->code = RI_CODE_INSTALL_REFUSED;
		return -1;
	}
	if (file.in_place)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"%s is there and is no regular file", RI_QUOTED(path));
	bytes = map_self(&size);
	if (bytes == NULL)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"/proc/self/exe, the running program, cannot be read: %s",
			strerror(errno));
	file.mode = 0755;
	if (ri_whole_file_write(&file, bytes, size) == 0)
		return 0;
	return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
		"%s cannot be written: %s", RI_QUOTED(path), strerror(errno));
}

int ri_install(const struct ri_options *options, struct ri_arena *arena, struct ri_error *err)
{
	const struct ri_given *given = &options->given.install;
	struct copying copying = { .given = given, .arena = arena, .err = err };
	const struct ri_apart call = {
		.work = copy, .argument = &copying, .subject = given->subject,
		.path = given->value, .deaf_ms = COPY_MS,
	};

	if (options->command != NULL) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, given->subject,
			"only copies rankinit and cannot be combined with a command");
		return ri_fail_hint(err, "leave the command out");
	}
	return ri_apart_or_fail(&call, RI_CODE_INSTALL_REFUSED, err);
}
