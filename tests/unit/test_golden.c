/* SPDX-License-Identifier: Apache-2.0 */
/* The golden cases (tests/golden/README.md) through the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "command/command.h"
#include "model/context.h"
#include "node/place.h"
#include "to/to.h"
#include "edits_of.h"
#include "golden_cases.h"
#include "options_of.h"
#include "stages_of.h"

static struct ri_arena arena;

struct answer {
	struct ri_topology topology;
	struct ri_findings findings;
	struct ri_env_edits edits;
	struct ri_error err;
};

/* --local-rank chooses one of the ranks that are started, unless it is part of a tuple. */
static uint64_t choose_rank(struct ri_wishes *wishes)
{
	struct ri_given *stated = &wishes->facts[RI_FACT_LOCAL_RANK];
	const char *chosen = stated->value;

	if (wishes->nproc_count == 0 || chosen == NULL ||
		wishes->facts[RI_FACT_RANK].value != NULL)
		return 0;
	stated->value = NULL;
	return strtoull(chosen, NULL, 10);
}

/* The ranks that are started here are placed, or the one that we are. */
static int place(struct answer *answer, const struct ri_place_wish *wish,
	const struct ri_context *context)
{
	struct ri_place_ranks ranks = { .count = 1, .ours = context->fan_out > 0 };
	struct ri_host nowhere = { .root = -1 };
	const struct ri_node node = {
		.host = context->host == NULL ? &nowhere : context->host, .env = context->env,
		.arena = context->arena, .findings = context->findings,
	};
	struct ri_placement placement;
	uint64_t own = 0;

	if (ri_topology_get(&answer->topology, RI_FACT_LOCAL_RANK, &own))
		ri_topology_get(&answer->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks.count);
	if (ri_placement_find(&placement, wish, &ranks, &node, &answer->err) < 0)
		return -1;
	return ri_placement_write(&placement, own, &answer->edits, &arena, &answer->err);
}

static char *const *words_of(const struct golden_case *golden, enum golden_section section)
{
	static char yes[] = "true";
	static char *const none[] = { NULL }, *const harmless[] = { yes, NULL };

	if (golden->sections[section].given)
		return golden->sections[section].items;
	return section == GOLDEN_COMMAND ? harmless : none;
}

/* The machine of a simulated job, which shim/find.c plays likewise. NULL: it is none. */
static const char *find_overlay(const struct golden_case *golden)
{
	static const char start[] = RI_OVERLAY_VARIABLE "=";
	char *const *item = golden->sections[GOLDEN_ENV].items;

	for (; *item != NULL; item++)
		if (strncmp(*item, start, strlen(start)) == 0)
			return *item + strlen(start);
	return NULL;
}

/* root: a folder with the files that may be read, or -1. */
static int ask(struct answer *answer, const struct golden_case *golden, int root)
{
	static struct options_of options;
	struct ri_host host = { .root = root };
	const char *played = find_overlay(golden);
	struct ri_command command;
	struct ri_overlay overlay;
	uint64_t chosen;
	struct ri_env env;
	struct ri_context context = {
		.env = &env, .wishes = &options.wishes, .arena = &arena,
		.findings = &answer->findings, .host = root < 0 ? NULL : &host,
		.command = &command,
	};

	memset(answer, 0, sizeof(*answer));
	if (played != NULL) {
		if (ri_overlay_read(&overlay, played, &arena, &answer->err) < 0)
			return -1;
		ri_overlay_play(&host, &overlay);
		context.host = &host;
	}
	if (ri_env_init(&env, words_of(golden, GOLDEN_ENV), &arena, &answer->err) < 0 ||
		options_of_words(&options, words_of(golden, GOLDEN_OPTIONS),
			words_of(golden, GOLDEN_COMMAND), &env, &answer->findings,
			&answer->err) < 0)
		return -1;
	ri_command_read(&command, options.command, options.launch);
	if (command.mode == RI_MODE_NONE)
		return 0;
	context.fan_out = command.mode == RI_MODE_PROCESS ? options.wishes.nproc_count : 0;
	chosen = choose_rank(&options.wishes);
	if (ri_topology_read(&answer->topology, &context, &answer->err) < 0)
		return -1;
	if (context.fan_out > 0)
		ri_topology_go_to(&answer->topology, chosen);
	if (ri_edits_render(&answer->edits, &answer->topology, &context, &answer->err) < 0)
		return -1;
	if (place(answer, &options.place, &context) < 0)
		return -1;
	ri_options_judge_gone(&options.read, &answer->findings);
	return 0;
}

static bool is_wanted(const char *line, const struct ri_env_edits *edits)
{
	char name[64];
	const struct ri_env_edit *edit;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "="), line);
	edit = ri_env_edits_find(edits, name[0] == '-' ? name + 1 : name);
	if (edit == NULL)
		return false;
	if (name[0] == '-')
		return edit->value == NULL;
	return edit->value != NULL && strcmp(edit->value, line + strlen(name) + 1) == 0;
}

static unsigned compare_env(const char *name, const struct golden_lines *want,
	const struct answer *answer)
{
	unsigned faults = 0;

	for (size_t i = 0; i < want->count; i++) {
		if (is_wanted(want->items[i], &answer->edits))
			continue;
		print_error("%s: not done: %s\n", name, want->items[i]);
		faults++;
	}
	if (want->count != answer->edits.count) {
		faults++;
		for (size_t i = 0; i < answer->edits.count; i++)
			print_error("%s: done: %s=%s\n", name, answer->edits.items[i].name,
				answer->edits.items[i].value);
	}
	return faults;
}

/*
 * The rank and the local rank must not outlive a launcher: scrub.def removes them, or
 * the frameworks do, which write these two names themselves.
 */
static unsigned check_left_behind(const char *name, const struct ri_topology *topology)
{
	static const enum ri_fact_id ids[] = { RI_FACT_RANK, RI_FACT_LOCAL_RANK };
	unsigned faults = 0;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct ri_origin *origin = &topology->facts[ids[i]].origin;
		const char *variable = origin->variable;

		if (topology->facts[ids[i]].state != RI_STATE_KNOWN || variable == NULL ||
			strcmp(origin->source, RI_BY_HAND) == 0 ||
			strcmp(variable, "RANK") == 0 || strcmp(variable, "LOCAL_RANK") == 0 ||
			ri_scrub_removes(variable, strlen(variable), true))
			continue;
		print_error("%s: lib/to/scrub.def lacks %s\n", name, variable);
		faults++;
	}
	return faults;
}

static unsigned compare_error(const char *name, const char *want, const struct ri_error *err)
{
	char got[256];

	snprintf(got, sizeof(got), "%s %s", ri_code_name(err->code), err->subject);
	if (strcmp(got, want) == 0 && ri_code_status(err->code) == 125)
		return 0;
	print_error("%s: [error] wants %s, it was %s: %s\n", name, want, got, err->text);
	return 1;
}

static unsigned compare_findings(const char *name, const struct golden_lines *want,
	const struct ri_findings *findings)
{
	unsigned faults = 0;

	for (size_t i = 0; i < findings->count || i < want->count; i++) {
		const struct ri_error *finding = &findings->items[i];
		char got[256] = "nothing";

		if (i < findings->count)
			snprintf(got, sizeof(got), "%s %s %s", ri_severity_name(finding->severity),
				ri_code_name(finding->code), finding->subject);
		if (i < want->count && strcmp(got, want->items[i]) == 0)
			continue;
		print_error("%s: [findings] wants %s, found: %s (%s)\n", name,
			i < want->count ? want->items[i] : "nothing", got,
			i < findings->count ? finding->text : "");
		faults++;
	}
	return faults;
}

/* The folder that "make hosts" has made for the case; -1: it has none. */
static int open_machine(const struct golden_case *golden, const char *source)
{
	char path[512];
	int root;

	if (!golden->sections[GOLDEN_MACHINE].given)
		return -1;
	snprintf(path, sizeof(path), "build/golden/%s/%s", source, golden->name);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		fail_msg("%s is not there: make hosts", path);
	return root;
}

static unsigned check_case(const struct golden_case *golden, const char *source)
{
	const struct golden_lines *sections = golden->sections;
	int root = open_machine(golden, source), status;
	static struct answer answer;
	unsigned faults;
	char name[128];

	snprintf(name, sizeof(name), "tests/golden/%s.cases:%zu: %s", source, golden->line,
		golden->name);
	status = ask(&answer, golden, root);
	if (sections[GOLDEN_ERROR].given) {
		faults = compare_error(name, sections[GOLDEN_ERROR].items[0], &answer.err);
		if (sections[GOLDEN_FINDINGS].given)
			faults += compare_findings(name, &sections[GOLDEN_FINDINGS],
				&answer.findings);
	} else if (status < 0) {
		print_error("%s: refused: %s\n", name, answer.err.text);
		faults = 1;
	} else {
		faults = compare_env(name, &sections[GOLDEN_WANT], &answer) +
			compare_findings(name, &sections[GOLDEN_FINDINGS], &answer.findings) +
			check_left_behind(name, &answer.topology);
	}
	ri_arena_release(&arena);
	if (root >= 0)
		close(root);
	return faults;
}

/* A whole file, as a string that the next call overwrites. */
static char *read_text(const char *path)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_true(length < sizeof(text) - 1);
	text[length] = '\0';
	return text;
}

/* simulated: those alone that play a machine, or those that do not. */
static unsigned check_file(const char *path, bool simulated, size_t *count)
{
	struct golden_file file = { .path = path, .rest = read_text(path) };
	static struct golden_case golden;
	unsigned faults = 0;
	char source[64];
	int more;

	snprintf(source, sizeof(source), "%s", strrchr(path, '/') + 1);
	*strchr(source, '.') = '\0';
	while ((more = golden_next(&file, &golden)) > 0)
		if ((find_overlay(&golden) != NULL) == simulated) {
			faults += check_case(&golden, source);
			++*count;
		}
	if (more < 0)
		fail_msg("%s", file.fault);
	return faults;
}

/* build/golden has what the cases say of their machines now. */
static void check_machines(const char *pattern)
{
	struct stat made, written;
	static glob_t found;	/* reachable for LeakSanitizer where a test fails */

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	if (stat("build/golden/done", &made) < 0)
		fail_msg("build/golden is not there: make hosts");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		assert_int_equal(stat(found.gl_pathv[i], &written), 0);
		if (written.st_mtim.tv_sec > made.st_mtim.tv_sec)
			fail_msg("build/golden is older than %s: make hosts", found.gl_pathv[i]);
	}
	globfree(&found);
}

static void test_all_cases(void **state)
{
	size_t count = 0, simulated = 0;
	unsigned faults = 0;
	static glob_t found;	/* reachable for LeakSanitizer where a test fails */

	(void)state;
	check_machines("tests/golden/*.cases");
	check_machines("tests/golden/machines/*.tree");
	assert_int_equal(glob("tests/golden/*.cases", 0, NULL, &found), 0);
	/* who has played a machine once does so from there on: those come last */
	for (size_t i = 0; i < found.gl_pathc; i++)
		faults += check_file(found.gl_pathv[i], false, &count);
	for (size_t i = 0; i < found.gl_pathc; i++)
		faults += check_file(found.gl_pathv[i], true, &simulated);
	print_message("%zu golden cases, %zu of simulated jobs\n", count + simulated, simulated);
	globfree(&found);
	assert_int_equal(faults, 0);
}

/* "%% LINE: WHY" before each text that is refused for it. */
static void test_what_is_malformed_is_refused_with_line_and_reason(void **state)
{
	char *block = strstr(read_text("tests/golden/malformed.txt"), "\n%% ");
	static struct golden_case golden;
	size_t count = 0;

	(void)state;
	for (; block != NULL; count++) {
		char *text = strchr(block + 1, '\n') + 1, *next = strstr(text, "\n%% ");
		struct golden_file file = { .path = "malformed.cases", .rest = text };
		char want[256];
		int more;

		if (next != NULL)
			next[0] = '\0';
		snprintf(want, sizeof(want), "malformed.cases:%.*s", (int)(text - block - 5),
			block + 4);
		while ((more = golden_next(&file, &golden)) > 0)
			;
		assert_string_equal(more < 0 ? file.fault : "nothing is wrong with it", want);
		block = next;
	}
	assert_true(count > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_cases),
		cmocka_unit_test(test_what_is_malformed_is_refused_with_line_and_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
