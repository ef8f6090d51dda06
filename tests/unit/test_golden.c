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
#include <unistd.h>

#include "base/text.h"
#include "from/from.h"
#include "model/wishes.h"
#include "node/place.h"
#include "command/command.h"
#include "to/nodes.h"
#include "to/to.h"
#include "edits_of.h"

enum { MAX_LINES = 512, MAX_FILE = 65536 };

/* A file cut into lines, comments left out. */
struct lines {
	char bytes[MAX_FILE];
	char *items[MAX_LINES + 1];
	size_t count;
};

static struct lines env_lines, option_lines, command_lines, want;
static struct ri_arena arena;

/* False where there is no such file. */
static bool read_lines(const char *folder, const char *name, struct lines *out)
{
	char path[1024], *at, *end;
	size_t length;
	FILE *file;

	out->count = 0;
	out->items[0] = NULL;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	length = fread(out->bytes, 1, sizeof(out->bytes) - 1, file);
	fclose(file);
	assert_true(length < sizeof(out->bytes) - 1);
	out->bytes[length] = '\0';
	for (at = out->bytes; *at != '\0'; at = end) {
		end = strchrnul(at, '\n');
		if (*end == '\n')
			*end++ = '\0';
		if (*at == '#' || *at == '\0')
			continue;
		assert_true(out->count < MAX_LINES);
		out->items[out->count++] = at;
	}
	out->items[out->count] = NULL;
	return true;
}

struct answer {
	struct ri_topology topology;
	struct ri_findings findings;
	struct ri_env_edits edits;
	struct ri_error err;
};

/* "--local-rank" is the fact "local_rank". */
static bool is_option(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (line[2 + i] != name[i] && !(line[2 + i] == '-' && name[i] == '_'))
			return false;
	return line[2 + length] == '=' || line[2 + length] == '\0';
}

/* What the program makes of the options; cuts the line at its '='. */
static void read_option(char *line, struct ri_wishes *wishes)
{
	const struct ri_range any = { 0, UINT32_MAX };
	struct ri_stated stated = { .subject = line, .value = strchr(line, '=') };

	wishes->override_env |= is_option(line, "override_env");
	wishes->azure_batch_port |= is_option(line, "azure_batch_port");
	if (is_option(line, "tf_chief"))
		wishes->tf_chief = (struct ri_stated){ .subject = line, .value = "yes" };
	if (stated.value == NULL)
		return;
	stated.value++;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (is_option(line, ri_fact_name(id)))
			wishes->facts[id] = stated;
	if (is_option(line, "nproc_per_node")) {
		wishes->nproc = stated;
		wishes->nproc_count = strtoull(stated.value, NULL, 10);
	}
	if (is_option(line, "source"))
		wishes->source = stated;
	if (is_option(line, "frameworks"))
		wishes->frameworks = stated.value;
	if (is_option(line, "tf_ps")) {
		wishes->tf_ps = stated;
		ri_number_read(stated.value, any, &wishes->tf_ps_count, NULL);
	}
	if (is_option(line, "tf_port")) {
		wishes->tf_port = stated;
		ri_number_read(stated.value, any, &wishes->tf_port_number, NULL);
	}
	*strchr(line, '=') = '\0';
}

/* --local-rank chooses one of the ranks that are started, unless it is part of a tuple. */
static uint64_t choose_rank(struct ri_wishes *wishes)
{
	struct ri_stated *stated = &wishes->facts[RI_FACT_LOCAL_RANK];
	const char *chosen = stated->value;

	if (wishes->nproc_count == 0 || chosen == NULL ||
		wishes->facts[RI_FACT_RANK].value != NULL)
		return 0;
	stated->value = NULL;
	return strtoull(chosen, NULL, 10);
}

/* --bind-to leaves no trace in the environment, the others do. */
static void read_place(const char *line, struct ri_place_wish *wish)
{
	if (strcmp(line, "--gpu-bind=single") == 0)
		wish->gpu_bind = RI_GPU_BIND_SINGLE;
	else if (strcmp(line, "--bind-to=numa") == 0)
		wish->bind = RI_BIND_NUMA;
	else if (strcmp(line, "--bind-to=core") == 0)
		wish->bind = RI_BIND_CORE;
	else if (strncmp(line, "--omp-threads=", 14) == 0)
		wish->omp = RI_OMP_STATED;
	if (wish->omp == RI_OMP_STATED && wish->threads == 0)
		ri_number_read(line + strlen("--omp-threads="),
			(struct ri_range){ 1, RI_MAX_CPUS }, &wish->threads, NULL);
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

/* The twin of --launch is the shim's to read; here it stands for it. */
static enum ri_mode asked_mode(const struct ri_env *env)
{
	const char *asked = ri_env_get(env, "RANKINIT_LAUNCH");
	enum ri_mode mode = RI_MODE_AUTO;

	while (asked != NULL && strcmp(ri_mode_name(mode), asked) != 0)
		mode++;
	return mode;
}

/* A folder "root" in the case is the machine whose files may be read. */
static int ask(struct answer *answer, int root)
{
	struct ri_wishes wishes = { .override_env = false };
	static char name[256];
	struct ri_place_wish wish = { .bind_subject = "--bind-to", .gpu_subject = "--gpu-bind" };
	struct ri_host host = { .root = root };
	struct ri_command command;
	uint64_t chosen;
	struct ri_env env;
	struct ri_context context = {
		.env = &env, .wishes = &wishes, .arena = &arena,
		.findings = &answer->findings, .host = root < 0 ? NULL : &host,
		.command = &command, .proc_is_ours = true,
	};

	if (root >= 0 && ri_host_read(&host, "/etc/hostname", name, sizeof(name)) > 0) {
		name[strcspn(name, "\n")] = '\0';
		context.host_name = name;
	}
	memset(answer, 0, sizeof(*answer));
	for (size_t i = 0; i < option_lines.count; i++) {
		read_place(option_lines.items[i], &wish);
		read_option(option_lines.items[i], &wishes);
	}
	if (ri_env_init(&env, env_lines.items, &arena, &answer->err) < 0)
		return -1;
	ri_command_read(&command, command_lines.items, asked_mode(&env));
	if (command.mode == RI_MODE_NONE)
		return 0;
	context.fan_out = command.mode == RI_MODE_PROCESS ? wishes.nproc_count : 0;
	chosen = choose_rank(&wishes);
	if (ri_topology_read(&answer->topology, &context, &answer->err) < 0 ||
		ri_nodes_settle(&answer->topology, &context, &answer->err) < 0 ||
		ri_nodes_fan_out(&answer->topology, &context, &answer->err) < 0)
		return -1;
	if (context.fan_out > 0)
		ri_nodes_go_to(&answer->topology, chosen);
	if (ri_edits_render(&answer->edits, &answer->topology, &context, &answer->err) < 0)
		return -1;
	return place(answer, &wish, &context);
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

static unsigned compare_env(const char *folder, const struct answer *answer)
{
	unsigned faults = 0;

	assert_true(read_lines(folder, "want.env", &want));
	for (size_t i = 0; i < want.count; i++) {
		if (is_wanted(want.items[i], &answer->edits))
			continue;
		print_error("%s: not done: %s\n", folder, want.items[i]);
		faults++;
	}
	if (want.count != answer->edits.count) {
		faults++;
		for (size_t i = 0; i < answer->edits.count; i++)
			print_error("%s: done: %s=%s\n", folder, answer->edits.items[i].name,
				answer->edits.items[i].value);
	}
	return faults;
}

static unsigned compare_error(const char *folder, const struct answer *answer)
{
	char got[256];

	assert_true(read_lines(folder, "want.error", &want));
	assert_int_equal(want.count, 1);
	snprintf(got, sizeof(got), "%s %s", ri_code_name(answer->err.code), answer->err.subject);
	if (strcmp(got, want.items[0]) == 0 && ri_code_status(answer->err.code) == 125)
		return 0;
	print_error("%s: %s: %s\n", folder, got, answer->err.text);
	return 1;
}

static unsigned compare_findings(const char *folder, const struct ri_findings *findings)
{
	unsigned faults = 0;

	read_lines(folder, "want.findings", &want);
	for (size_t i = 0; i < findings->count || i < want.count; i++) {
		const struct ri_finding *finding = &findings->items[i];
		char got[256] = "nothing";

		if (i < findings->count)
			snprintf(got, sizeof(got), "%s %s %s", ri_severity_name(finding->severity),
				ri_code_name(finding->code), finding->subject);
		if (i < want.count && strcmp(got, want.items[i]) == 0)
			continue;
		print_error("%s: found: %s (%s)\n", folder, got,
			i < findings->count ? finding->text : "");
		faults++;
	}
	return faults;
}

static unsigned check_case(const char *folder)
{
	static struct answer answer;
	unsigned faults;
	char path[1024];
	int root;

	assert_true(read_lines(folder, "env", &env_lines));
	read_lines(folder, "options", &option_lines);
	snprintf(path, sizeof(path), "%s/root", folder);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	read_lines(folder, "command", &command_lines);
	snprintf(path, sizeof(path), "%s/want.error", folder);
	if (ask(&answer, root) < 0 || access(path, F_OK) == 0)
		faults = access(path, F_OK) == 0
			? compare_error(folder, &answer)
			: (print_error("%s: refused: %s\n", folder, answer.err.text), 1u);
	else
		faults = compare_env(folder, &answer) + compare_findings(folder, &answer.findings);
	ri_arena_release(&arena);
	if (root >= 0)
		close(root);
	return faults;
}

/* GOLDEN names the folder where this does not run in the root of the project. */
static void test_all_cases(void **state)
{
	const char *root = getenv("GOLDEN");
	unsigned faults = 0;
	char pattern[512];
	glob_t found;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/*/*/env", root == NULL ? "tests/golden" : root);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		faults += check_case(found.gl_pathv[i]);
	}
	print_message("%zu golden cases\n", found.gl_pathc);
	globfree(&found);
	assert_int_equal(faults, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
