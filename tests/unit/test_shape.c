/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every source's shapes, read again by the sources: each member of a job is who it is, by
 * what its platform documents alone, and nothing is found that is not right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "from/sources.h"
#include "edits_of.h"
#include "options_of.h"
#include "stages_of.h"

enum { PORT = 41000, ROWS = 64 };

static struct ri_arena arena;

static const struct { size_t nodes, ranks; } sizes[] = {
	{ 1, 1 }, { 1, 4 }, { 2, 1 }, { 2, 2 }, { 3, 4 },
};

/* Of whom it has variables, too. */
static const struct { const char *shape, *source; } others[] = {
	{ "azureml_mpi", "azure_batch" },
	{ "azureml_mpi", "azure_batchai" },
};

/* What is found and right, beside what is assumed of a shape that does not say it. */
static const struct { const char *shape, *code, *subject; } right[] = {
	{ "horovod", "node_rank.assumed", "HOROVOD_CROSS_RANK" },
	/* a task for each node, where each has several ranks */
	{ "tf_config", "env.differs", "TF_CONFIG" },
};

/* A cluster of one task says no master: nobody else has to reach it. */
static const char *const alone[] = { "vertex", "tf_config", NULL };

/* They do not say how many nodes there are, and no rank needs it. */
static const char *const uncounted[] = { "pals", "env", NULL };

/* One node alone is any machine with such variables. */
static const char *const of_several[] = { "env_pytorchjob", NULL };

struct job {
	const struct ri_source *source;
	const struct ri_shape *shape;
	struct ri_shape_member member;
	char name[96];		/* for what is printed */
};

struct answer {
	struct ri_topology topology;
	struct ri_findings findings;
	struct ri_error err;
};

static const struct ri_source *find_source(const char *name)
{
	const struct ri_source *source;

	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		if (strcmp(source->name, name) == 0)
			return source;
	return NULL;
}

/* "VC_<TASK>_NUM" stands for any of the kind. */
static bool is_name(const char *pattern, const char *name)
{
	const char *open = strchr(pattern, '<'), *close = strchr(pattern, '>');
	size_t rest;

	if (open == NULL)
		return strcmp(pattern, name) == 0;
	rest = strlen(close + 1);
	return strncmp(pattern, name, (size_t)(open - pattern)) == 0 && strlen(name) > rest &&
		strcmp(name + strlen(name) - rest, close + 1) == 0;
}

static bool source_reads(const struct ri_source *source, const char *name)
{
	const struct ri_source_row *variable = source->reads;

	while (variable->name != NULL && !is_name(variable->name, name))
		variable++;
	return variable->name != NULL;
}

/* Is it a file that a variable of the shape names? */
static bool is_named(const struct ri_shape *shape, const char *path)
{
	struct ri_shape_row row;

	for (size_t i = 0; ri_shape_row_at(shape, i, &row); i++)
		if (strcmp(row.value, path) == 0)
			return true;
	return false;
}

/* Is somebody in charge of this name? */
static bool is_listed(const struct job *job, const char *name)
{
	/* for a program: rankinit does not read it */
	bool found = (strcmp(job->shape->name, "slurm") == 0 &&
		strcmp(name, "SLURM_NTASKS_PER_NODE") == 0) ||
		source_reads(job->source, name) || is_named(job->shape, name) ||
		strcmp(name, "RANKINIT_NNODES") == 0 || strcmp(name, "MASTER_ADDR") == 0 ||
		strcmp(name, "MASTER_PORT") == 0 ||
		(job->shape->beside == ri_shape_of_mpirun &&
			source_reads(find_source("openmpi"), name));

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		found |= strcmp(others[i].shape, job->shape->name) == 0 &&
			source_reads(find_source(others[i].source), name);
	return found;
}

static unsigned check_rows(const struct job *job)
{
	struct ri_shape_row row;
	unsigned faults = 0;

	for (size_t i = 0; ri_shape_row_at(job->shape, i, &row); i++) {
		const char *value = ri_shape_value(&row, &job->member, &arena);

		assert_non_null(value);
		if (ri_shape_row_is_of(&row, &job->member) && strpbrk(value, "<>") != NULL) {
			print_message("%s: %s is %s\n", job->name, row.name, value);
			faults++;
		}
		if (!is_listed(job, row.name)) {
			print_message("%s: nobody reads %s\n", job->name, row.name);
			faults++;
		}
	}
	return faults;
}

/* The member's environment, and its machine, in memory of the arena's. */
static char **make_env(const struct job *job, struct ri_host *host)
{
	struct ri_host_file *files = ri_arena_array(&arena, ROWS, sizeof(*files));
	char **env = ri_arena_array(&arena, ROWS, sizeof(*env));
	struct ri_shape_row row;
	size_t count = 0, file_count = 0;

	for (size_t i = 0; ri_shape_row_at(job->shape, i, &row); i++) {
		char *value = ri_shape_value(&row, &job->member, &arena);

		assert_true(i < ROWS - 3);
		if (!ri_shape_row_is_of(&row, &job->member))
			continue;
		if (row.name[0] == '/')
			files[file_count++] =
				(struct ri_host_file){ row.name, value, strlen(value) };
		else
			env[count++] = ri_arena_format(&arena, "%s=%s", row.name, value);
	}
	files[file_count].path = "/proc/net/fib_trie";
	files[file_count].text = ri_arena_format(&arena, "|-- %s\n/32 host LOCAL\n",
		ri_shape_host(job->member.node, &arena));
	files[file_count].length = strlen(files[file_count].text);
	files[file_count + 1] = (struct ri_host_file){ "/proc/net/if_inet6", "", 0 };
	*host = (struct ri_host){
		.root = -1, .files = files,
		.name = ri_arena_format(&arena, "node%zu", job->member.node),
	};
	return env;
}

/* What rankinit makes of it; of a node that starts its ranks, the one of this local rank. */
static int ask(struct answer *answer, const struct job *job, uint64_t local_rank)
{
	bool node = job->shape->scope == RI_SCOPE_NODE;
	char *words[2] = { NULL }, true_word[] = "true", *command_words[] = { true_word, NULL };
	static struct options_of options;
	struct ri_command command;
	struct ri_env_edits edits;
	struct ri_host host;
	struct ri_env env;
	struct ri_context context = {
		.env = &env, .wishes = &options.wishes, .arena = &arena, .host = &host,
		.findings = &answer->findings, .command = &command,
	};

	*answer = (struct answer){ .err = RI_ERROR_INIT };
	if (node)
		words[0] = ri_arena_format(&arena, "--nproc-per-node=%zu", job->member.ranks);
	if (ri_env_init(&env, make_env(job, &host), &arena, &answer->err) < 0 ||
		options_of_words(&options, words, command_words, &env, &answer->findings,
			&answer->err) < 0)
		return -1;
	ri_command_read(&command, options.command, options.launch);
	context.fan_out = node ? job->member.ranks : 0;
	if (ri_topology_read(&answer->topology, &context, &answer->err) < 0)
		return -1;
	if (node)
		ri_topology_go_to(&answer->topology, local_rank);
	return ri_edits_render(&edits, &answer->topology, &context, &answer->err);
}

static unsigned compare_number(const struct job *job, const struct answer *answer,
	enum ri_fact_id id, uint64_t want)
{
	uint64_t got = UINT64_MAX;

	if (ri_topology_get(&answer->topology, id, &got) && got == want)
		return 0;
	print_message("%s: %s is %ju, not %ju\n", job->name, ri_fact_name(id), (uintmax_t)got,
		(uintmax_t)want);
	return 1;
}

static unsigned compare_text(const struct job *job, const char *what, const char *got,
	const char *want)
{
	if (got != NULL && strcmp(got, want) == 0)
		return 0;
	print_message("%s: %s is %s, not %s\n", job->name, what, got == NULL ? "absent" : got,
		want);
	return 1;
}

static bool is_one_of(const struct job *job, const char *const *names)
{
	while (*names != NULL && strcmp(*names, job->shape->name) != 0)
		names++;
	return *names != NULL;
}

static const char *master_of(const struct job *job)
{
	return job->member.nodes == 1 && is_one_of(job, alone) ? "127.0.0.1" : "127.0.0.2";
}

static const char *identity_of(const struct job *job)
{
	if (job->member.nodes == 1 && is_one_of(job, of_several))
		return RI_BY_HAND;
	return job->shape->beside == ri_shape_of_mpirun ? "openmpi" : job->source->name;
}

static unsigned compare_nodes(const struct job *job, const struct answer *answer)
{
	if (job->member.nodes > 1 && is_one_of(job, uncounted))
		return ri_topology_knows(&answer->topology, RI_FACT_NNODES);
	return compare_number(job, answer, RI_FACT_NNODES, job->member.nodes);
}

/* Does a variable of this shape have this in its value? */
static bool says(const struct job *job, const char *what)
{
	struct ri_shape_row row;

	for (size_t i = 0; ri_shape_row_at(job->shape, i, &row); i++)
		if (strstr(row.value, what) != NULL)
			return true;
	return false;
}

static bool is_right(const struct job *job, const struct ri_error *finding)
{
	if (finding->code == RI_CODE_NODE_RANK_ASSUMED &&
		strcmp(finding->subject, "NODE_RANK") == 0)
		return !says(job, "<node>");
	if (finding->code == RI_CODE_LOCAL_SIZE_ASSUMED)
		return !says(job, "<ranks>");
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (strcmp(right[i].shape, job->shape->name) == 0 &&
			strcmp(right[i].code, ri_code_name(finding->code)) == 0 &&
			strcmp(right[i].subject, finding->subject) == 0)
			return true;
	return false;
}

static unsigned compare_findings(const struct job *job, const struct ri_findings *findings)
{
	unsigned faults = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct ri_error *finding = &findings->items[i];

		if (is_right(job, finding))
			continue;
		print_message("%s: %s %s: %s\n", job->name, ri_code_name(finding->code),
			finding->subject, finding->text);
		faults++;
	}
	return faults;
}

static unsigned compare(const struct job *job, const struct answer *answer, uint64_t local_rank)
{
	const struct ri_shape_member *member = &job->member;
	const struct ri_topology *topology = &answer->topology;
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	unsigned usual = ri_shape_port(job->shape);

	return compare_text(job, "the identity", topology->identity, identity_of(job)) +
		compare_text(job, "the master", master->text, master_of(job)) +
		compare_number(job, answer, RI_FACT_MASTER_PORT,
			ri_shape_says_port(job->shape) ? member->port : usual) +
		compare_number(job, answer, RI_FACT_RANK,
			member->node * member->ranks + local_rank) +
		compare_number(job, answer, RI_FACT_WORLD_SIZE, member->nodes * member->ranks) +
		compare_number(job, answer, RI_FACT_LOCAL_RANK, local_rank) +
		compare_number(job, answer, RI_FACT_LOCAL_WORLD_SIZE, member->ranks) +
		compare_number(job, answer, RI_FACT_NODE_RANK, member->node) +
		compare_nodes(job, answer) +
		compare_findings(job, &answer->findings);
}

static unsigned check_member(struct job *job)
{
	struct answer answer;
	unsigned faults;

	snprintf(job->name, sizeof(job->name), "%s:%zux%zu, node %zu, local rank %zu",
		job->shape->name, job->member.nodes, job->member.ranks, job->member.node,
		job->member.local_rank);
	faults = check_rows(job);
	if (ask(&answer, job, job->member.local_rank) < 0) {
		print_message("%s: [%s] %s: %s\n", job->name, ri_code_name(answer.err.code),
			answer.err.subject, answer.err.text);
		faults++;
	} else {
		faults += compare(job, &answer, job->member.local_rank);
	}
	ri_arena_release(&arena);
	return faults;
}

static unsigned check_shape(const struct ri_source *source, const struct ri_shape *shape,
	size_t *members)
{
	struct job job = { .source = source, .shape = shape, .member.port = PORT };
	struct ri_shape_member *member = &job.member;
	unsigned faults = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		member->nodes = sizes[i].nodes;
		member->ranks = sizes[i].ranks;
		for (member->node = 0; member->node < member->nodes; member->node++)
			for (member->local_rank = 0; member->local_rank < member->ranks;
				member->local_rank++, ++*members)
				faults += check_member(&job);
	}
	return faults;
}

static void test_each_member_is_who_it_is(void **state)
{
	const struct ri_source *source;
	size_t members = 0, shapes = 0;
	unsigned faults = 0;

	(void)state;
	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		for (size_t at = 0; at < source->shape_count; at++, shapes++)
			faults += check_shape(source, &source->shapes[at], &members);
	assert_int_equal(faults, 0);
	assert_true(shapes > 30);
	/* 1 + 4 + 2 + 4 + 12 of each */
	assert_int_equal(members, shapes * 23);
}

/* A row of the shape "openmpi" says something else: the faults of rank 5 of 3 x 4. */
static unsigned check_with(size_t at, struct ri_shape_row instead)
{
	struct ri_shape shape = *ri_source_shape_find("openmpi", strlen("openmpi"));
	struct ri_shape_row rows[ROWS] = { { .name = NULL } };
	struct job job = {
		.source = find_source("openmpi"), .shape = &shape,
		.member = { .nodes = 3, .ranks = 4, .node = 1, .local_rank = 1, .port = PORT },
	};
	size_t count = 0;

	for (; shape.rows[count].name != NULL; count++)
		rows[count] = shape.rows[count];
	assert_true(at < count);
	rows[at] = instead;
	shape.rows = rows;
	return check_member(&job);
}

/* The control: nothing is wrong with the rows as they are, and a wrong one is noticed. */
static void test_a_wrong_row_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(check_with(0, ri_shape_of_mpirun[0]), 0);
	print_message("what is printed from here on is wanted\n");
	/* rank 1 would be on node 0, which is this one then: rank, node and master */
	assert_int_equal(check_with(0, (struct ri_shape_row){ "OMPI_COMM_WORLD_RANK",
		"<local_rank>", 0 }), 3);
	/* the place that is none, and what the number is not */
	assert_int_equal(check_with(0, (struct ri_shape_row){ "OMPI_COMM_WORLD_RANK",
		"<rnak>", 0 }), 2);
	/* nobody reads it, and there is no identity: all nine facts are missing */
	assert_int_equal(check_with(0, (struct ri_shape_row){ "OMPI_COMM_WORLD_RNAK",
		"<rank>", 0 }), 10);
	/* 5 of 3 is refused */
	assert_int_equal(check_with(1, (struct ri_shape_row){ "OMPI_COMM_WORLD_SIZE",
		"<nodes>", 0 }), 1);
}

static void test_names(void **state)
{
	const struct ri_source *source;

	(void)state;
	for (size_t i = 0; (source = ri_sources[i]) != NULL; i++)
		for (size_t at = 0; at < source->shape_count; at++) {
			const struct ri_shape *shape = &source->shapes[at];
			size_t length = strlen(shape->name);

			assert_ptr_equal(ri_source_shape_find(shape->name, length), shape);
			assert_null(ri_source_shape_find(shape->name, length - 1));
			assert_true(shape->scope == RI_SCOPE_PROCESS ||
				shape->scope == RI_SCOPE_NODE);
			assert_true(shape->summary[0] != '\0');
			assert_true(shape->grace_s > 0);
			assert_int_equal(shape->succeeded == NULL, shape->failed == NULL);
			assert_int_equal(shape->succeeded == NULL, shape->stopped == NULL);
		}
	assert_null(ri_source_shape_find("nobody", strlen("nobody")));
}

static void assert_value(const char *value, const struct ri_shape_member *member,
	const char *want)
{
	const struct ri_shape_row row = { "X", value, 0 };

	assert_string_equal(ri_shape_value(&row, member, &arena), want);
}

static void test_places(void **state)
{
	const struct ri_shape_member member = {
		.nodes = 3, .ranks = 4, .node = 2, .local_rank = 1, .port = 23456,
	};
	const struct ri_shape_member one = { .nodes = 1, .ranks = 1, .port = 1 };

	(void)state;
	assert_value("", &member, "");
	assert_value("<rank> of <world_size>", &member, "9 of 12");
	assert_value("<local_rank> of <ranks>", &member, "1 of 4");
	assert_value("<node>/<nodes> <worker>/<workers>", &member, "2/3 1/2");
	assert_value("<host>:<port> <master>:<master_port>", &member,
		"127.0.0.4:23458 127.0.0.2:23456");
	assert_value("[<each:,>\"<host>:<port>\"</each>]", &member,
		"[\"127.0.0.2:23456\",\"127.0.0.3:23457\",\"127.0.0.4:23458\"]");
	assert_value("<each:\n><host></each>|<others:; ><node></others>", &member,
		"127.0.0.2\n127.0.0.3\n127.0.0.4|1; 2");
	assert_value("[<others:,><host></others>]", &one, "[]");
	/* what is no place stays as it is */
	assert_value("<rnak> <rank", &member, "<rnak> <rank");
	assert_string_equal(ri_shape_host(253, &arena), "127.0.0.255");
	assert_string_equal(ri_shape_host(254, &arena), "127.0.1.0");
	ri_arena_release(&arena);
}

static void test_rows_of_some(void **state)
{
	static const struct {
		unsigned of;
		bool alone, first, other;
	} rows[] = {
		{ 0, true, true, true },
		{ RI_OF_FIRST, true, true, false },
		{ RI_OF_OTHERS, false, false, true },
		{ RI_OF_ONE_NODE, true, false, false },
		{ RI_OF_SEVERAL_NODES, false, true, true },
		{ RI_OF_SEVERAL_NODES | RI_OF_FIRST, false, true, false },
	};
	const struct ri_shape_member one = { .nodes = 1, .ranks = 1 };
	const struct ri_shape_member first = { .nodes = 2, .ranks = 1 };
	const struct ri_shape_member other = { .nodes = 2, .ranks = 1, .node = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ri_shape_row row = { "X", "", rows[i].of };

		assert_int_equal(ri_shape_row_is_of(&row, &one), rows[i].alone);
		assert_int_equal(ri_shape_row_is_of(&row, &first), rows[i].first);
		assert_int_equal(ri_shape_row_is_of(&row, &other), rows[i].other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_rows_of_some),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_each_member_is_who_it_is),
		cmocka_unit_test(test_a_wrong_row_is_noticed),
	};

	/* as --simulate has it: the machines are addresses of 127.0.0.0/8 */
	ri_overlay_play(&(struct ri_host){ .root = -1 }, &(struct ri_overlay){ .name = "" });
	return cmocka_run_group_tests(tests, NULL, NULL);
}
