/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/context.h"
#include "model/explain.h"
#include "to/to.h"
#include "topology_of.h"

#define AZURE "AZ_BATCH_MASTER_NODE=10.0.0.4:6000", "AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5"

static struct ri_env_edits edits;
static struct ri_explained_rank ranks[40];
static struct ri_explain explain;
static char page[262144];
static json_t *document;

/* An explanation of this environment, refused or not. */
static void prepare(char *const *strings, char *const *argv)
{
	give_back(NULL);
	edits = (struct ri_env_edits){ .count = 0 };
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	if (ri_topology_read(&topology, &context, &err) == 0)
		ri_edits_render(&edits, &topology, &context, &err);
	ranks[0] = (struct ri_explained_rank){
		.rank = -1, .local_rank = -1, .edits = &edits, .argv = argv,
	};
	explain = (struct ri_explain){
		.version = "1.2.3", .topology = &topology,
		.env = &env, .findings = &findings,
		.err = &err, .ranks = ranks, .rank_count = 1, .launch = "process",
		.looked_for = "manual, openmpi",
	};
}

static const char *render(void)
{
	struct ri_text out;

	out = ri_text_of(page, sizeof(page));
	ri_explain_text(&explain, &out);
	assert_false(out.cut);
	return page;
}

static void parse(void)
{
	static char text[4 << 20];
	struct ri_text out = ri_text_of(text, sizeof(text));
	json_error_t error;

	assert_int_equal(ri_explain_json(&explain, &out), 0);
	json_decref(document);
	document = json_loads(text, 0, &error);
	if (document == NULL)
		fail_msg("%s in %s", error.text, text);
}

static int tear_down(void **state)
{
	json_decref(document);
	document = NULL;
	return give_back(state);
}

static json_t *fact(const char *name)
{
	return json_object_get(json_object_get(document, "topology"), name);
}

static void assert_text(const json_t *object, const char *key, const char *expected)
{
	const json_t *value = json_object_get(object, key);

	if (expected == NULL) {
		assert_null(value);
		return;
	}
	assert_true(json_is_string(value));
	assert_string_equal(json_string_value(value), expected);
}

static void assert_fact(const char *name, int number, const char *source, const char *variable,
	const char *raw)
{
	assert_int_equal(json_integer_value(json_object_get(fact(name), "value")), number);
	assert_text(fact(name), "source", source);
	assert_text(fact(name), "variable", variable);
	assert_text(fact(name), "raw", raw);
	assert_null(json_object_get(fact(name), "from"));
}

static void assert_list(const json_t *list, const char *first, const char *second)
{
	assert_int_equal(json_array_size(list), second == NULL ? 1 : 2);
	assert_string_equal(json_string_value(json_array_get(list, 0)), first);
	if (second != NULL)
		assert_string_equal(json_string_value(json_array_get(list, 1)), second);
}

static void assert_derived(const char *name, int number, const char *from, const char *other)
{
	assert_int_equal(json_integer_value(json_object_get(fact(name), "value")), number);
	assert_text(fact(name), "source", "derived");
	assert_text(fact(name), "variable", NULL);
	assert_text(fact(name), "raw", NULL);
	assert_list(json_object_get(fact(name), "from"), from, other);
}

static void assert_keys(json_t *object, const char *const keys[])
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		assert_string_equal(key, *keys++);
	assert_null(*keys);
}

static void test_every_field_of_every_fact(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, AZURE), LIST("python3", "train.py"));
	parse();
	assert_keys(document, (const char *const[]){ "schema", "version", "identity", "scope",
		"sources", "launch", "topology", "ranks", "findings", NULL });
	assert_text(document, "schema", "rankinit-explain-1");
	assert_text(document, "version", "1.2.3");
	assert_text(document, "identity", "openmpi");
	assert_text(document, "scope", "process");
	assert_text(document, "launch", "process");
	assert_list(json_object_get(document, "sources"), "openmpi", "azure_batch");
	assert_fact("rank", 13, "openmpi", "OMPI_COMM_WORLD_RANK", "13");
	assert_fact("world_size", 16, "openmpi", "OMPI_COMM_WORLD_SIZE", "16");
	assert_fact("local_rank", 5, "openmpi", "OMPI_COMM_WORLD_LOCAL_RANK", "5");
	assert_fact("local_world_size", 8, "openmpi", "OMPI_COMM_WORLD_LOCAL_SIZE", "8");
	assert_derived("node_rank", 1, "rank", "local_world_size");
	assert_derived("nnodes", 2, "hosts", NULL);
	assert_text(fact("master_addr"), "value", "10.0.0.4");
	assert_text(fact("master_addr"), "source", "azure_batch");
	assert_text(fact("master_addr"), "variable", "AZ_BATCH_MASTER_NODE");
	assert_text(fact("master_addr"), "raw", "10.0.0.4:6000");
	assert_fact("master_port", 6105, "azure_batch", NULL, NULL);
	assert_list(json_object_get(fact("hosts"), "value"), "10.0.0.4", "10.0.0.5");
	assert_text(fact("hosts"), "raw", "10.0.0.4,10.0.0.5");
}

static void test_default_facts_say_so(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=m"), NULL);
	parse();
	assert_fact("master_port", 29500, "default", NULL, NULL);
}

static void test_unknown_facts_do_not_appear(void **state)
{
	(void)state;
	prepare(LIST("HOME=/root"), NULL);
	parse();
	assert_true(json_is_null(json_object_get(document, "identity")));
	assert_int_equal(json_array_size(json_object_get(document, "sources")), 0);
	assert_int_equal(json_object_size(json_object_get(document, "topology")), 0);
	assert_int_equal(json_array_size(json_object_get(document, "findings")), 0);
}

static json_t *rank_at(size_t index)
{
	return json_array_get(json_object_get(document, "ranks"), index);
}

static void test_ranks(void **state)
{
	struct ri_env_edits others = { .count = 0 };

	(void)state;
	prepare(LIST(RANK_13, "OLD=1"), LIST("train"));
	ri_env_edits_add(&others, (struct ri_env_edit){ "RANK", "14" }, &arena, &err);
	ri_env_edits_add(&others, (struct ri_env_edit){ "RANK", "15" }, &arena, &err);
	ri_env_edits_add(&others, (struct ri_env_edit){ "OLD", NULL }, &arena, &err);
	ranks[0].rank = 13;
	ranks[0].local_rank = 5;
	ranks[1] = (struct ri_explained_rank){ .rank = -1, .local_rank = -1, .edits = &others };
	explain.rank_count = 2;
	parse();
	assert_int_equal(json_array_size(json_object_get(document, "ranks")), 2);
	assert_keys(rank_at(0), (const char *const[]){ "rank", "local_rank", "set", "unset", "argv",
		"cpus", "gpu", NULL });
	assert_int_equal(json_integer_value(json_object_get(rank_at(0), "rank")), 13);
	assert_int_equal(json_integer_value(json_object_get(rank_at(0), "local_rank")), 5);
	assert_keys(json_object_get(rank_at(0), "set"), (const char *const[]){ "RANK", "WORLD_SIZE",
		"LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", NULL });
	assert_text(json_object_get(rank_at(0), "set"), "RANK", "13");
	assert_list(json_object_get(rank_at(0), "argv"), "train", NULL);
	assert_true(json_is_null(json_object_get(rank_at(1), "rank")));
	assert_true(json_is_null(json_object_get(rank_at(1), "local_rank")));
	/* the edit in force, once */
	assert_keys(json_object_get(rank_at(1), "set"), (const char *const[]){ "RANK", NULL });
	assert_text(json_object_get(rank_at(1), "set"), "RANK", "15");
	assert_list(json_object_get(rank_at(1), "unset"), "OLD", NULL);
	assert_int_equal(json_array_size(json_object_get(rank_at(1), "argv")), 0);
	ranks[1].rank = 15;
	assert_non_null(strstr(render(), "  rank 15 differs in\n"
					 "  + RANK                        15\n"
					 "  - OLD                         1\n"));
	assert_non_null(strstr(page, "ranks 13 to 14 of 16\n"));
	assert_non_null(strstr(page, "local ranks 5 to 6 of 8\n"));
	/* words of its own, and the same ones, which are not shown again */
	assert_non_null(strstr(page, "\n  train\n"));
	ranks[1].argv = LIST("train", "15");
	assert_non_null(strstr(render(), "\n  train\n  train 15\n"));
	ranks[1].argv = LIST("train");
	assert_null(strstr(render(), "\n  train\n  train"));
}

static void test_placement(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "OLD=1"), LIST("train"));
	assert_null(strstr(render(), "Placement"));
	parse();
	assert_true(json_is_null(json_object_get(rank_at(0), "cpus")));
	assert_true(json_is_null(json_object_get(rank_at(0), "gpu")));
	ranks[0].rank = 13;
	ranks[0].cpus = "0-7,16-23";
	ranks[1] = (struct ri_explained_rank){ .rank = 14, .edits = &edits };
	ranks[2] = (struct ri_explained_rank){ .rank = 15, .edits = &edits, .gpu = "GPU-\033[2J" };
	explain.rank_count = 3;
	assert_non_null(strstr(render(), "\nPlacement\n"
					 "  rank 13, CPUs 0-7,16-23\n"
					 "  rank 15, GPU GPU-\\x1b[2J\n"));
	parse();
	assert_text(rank_at(0), "cpus", "0-7,16-23");
	assert_true(json_is_null(json_object_get(rank_at(1), "cpus")));
	assert_text(rank_at(2), "gpu", "GPU-\033[2J");
}

static json_t *finding_at(size_t index)
{
	return json_array_get(json_object_get(document, "findings"), index);
}

static void test_refusal_is_the_first_finding(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=a b", "MASTER_PORT=0"), NULL);
	assert_int_equal(err.code, RI_CODE_ENV_VALUE);
	parse();
	assert_keys(finding_at(0), (const char *const[]){ "severity", "code", "subject", "text",
		"hint", NULL });
	assert_text(finding_at(0), "severity", "error");
	assert_text(finding_at(0), "code", "env.value");
	assert_text(finding_at(0), "subject", "MASTER_ADDR");
	assert_text(finding_at(0), "text",
		"the value is \"a b\", expected one host name or address");
	assert_text(finding_at(0), "hint",
		"correct it where the job is started, or state it with --master-addr");
	/* what was found until then is there */
	assert_text(document, "identity", "openmpi");
	assert_fact("rank", 13, "openmpi", "OMPI_COMM_WORLD_RANK", "13");
	assert_null(fact("master_addr"));
}

static void test_bytes_that_are_not_utf8(void **state)
{
	json_t *argv, *last;

	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=m"), LIST("run", "a\xff\\b\xc3\xa9", "c\\d"));
	ri_env_edits_add(&edits, (struct ri_env_edit){ "NAME\xfe", "\x80" }, &arena, &err);
	parse();
	argv = json_object_get(rank_at(0), "argv");
	assert_string_equal(json_string_value(json_array_get(argv, 1)), "a\\xff\\\\b\xc3\xa9");
	/* UTF-8 passes through as it is */
	assert_string_equal(json_string_value(json_array_get(argv, 2)), "c\\d");
	assert_text(json_object_get(rank_at(0), "set"), "NAME\\xfe", "\\x80");
	last = finding_at(json_array_size(json_object_get(document, "findings")) - 1);
	assert_text(last, "severity", "note");
	assert_text(last, "code", "output.escaped");
	assert_non_null(strstr(json_string_value(json_object_get(last, "text")), "3 such strings"));
}

static void test_a_raw_value_that_is_not_utf8(void **state)
{
	(void)state;
	prepare(LIST("AZ_BATCH_MASTER_NODE=m", "MASTER_ADDR=\xff"), NULL);
	parse();
	assert_text(fact("master_addr"), "value", "m");
	prepare(LIST(RANK_13, "MASTER_ADDR=\xff"), NULL);
	parse();
	assert_text(finding_at(0), "subject", "MASTER_ADDR");
}

/* Columns of each line, escape sequences of colour left out; UTF-8 as one. */
static size_t widest(const char *text)
{
	size_t column = 0, most = 0;

	for (; *text != '\0'; text++) {
		if (*text == '\033')
			text = strchr(text, 'm');
		else if (*text == '\n')
			column = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			column++;
		most = column > most ? column : most;
	}
	return most;
}

static void assert_contains(const char *part)
{
	if (strstr(render(), part) == NULL)
		fail_msg("no \"%s\" in\n%s", part, page);
}

static void test_text_answers_the_questions(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, AZURE, "WORLD_SIZE=2", "MASTER_PORT=6105"),
		LIST("python3", "train.py", "--name=a b", "it's"));
	assert_contains("  who      rank 13 of 16\n");
	assert_contains("  where    node rank 1 of 2, local rank 5 of 8\n");
	assert_contains("  master   10.0.0.4, port 6105\n");
	assert_contains("  read     openmpi, azure_batch, env; openmpi gives the identity\n");
	assert_contains("\n  rank              13                openmpi      "
			"OMPI_COMM_WORLD_RANK\n");
	assert_contains("\n  nnodes            2                 derived from hosts\n");
	assert_contains("\n    taken from      \"10.0.0.4:6000\"\n");
	assert_contains("\n  master_port       6105              env          MASTER_PORT\n"
			"    overrides       6105              azure_batch\n");
	assert_contains("\n    list            10.0.0.4, 10.0.0.5\n");
	assert_contains("\n  + RANK                        13\n");
	assert_contains("\n  ~ WORLD_SIZE                  2 -> 16\n");
	assert_null(strstr(page, "MASTER_PORT                 "));
	assert_contains("\n  python3 train.py '--name=a b' \"it's\"\n");
}

static void test_text_without_an_orchestrator(void **state)
{
	(void)state;
	prepare(LIST("HOME=/root"), NULL);
	assert_contains("  who      no orchestrator was found\n");
	assert_contains("  result   a plain init");
	assert_contains("  searched manual, openmpi\n");
	assert_contains("Environment of the command\n  no changes\n");
	assert_contains("no command was given");
	assert_null(strstr(page, "Facts"));
	assert_null(strstr(page, "Findings"));
	explain.off = "switched off";
	assert_contains("  who      switched off\n");
	assert_null(strstr(page, "searched"));
}

static void test_text_of_removals_and_repeats(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "GONE=x", "RANK=1", "RANK=2", "EMPTY=", "BARE"), NULL);
	ri_env_edits_add(&edits, (struct ri_env_edit){ "GONE", NULL }, &arena, &err);
	ri_env_edits_add(&edits, (struct ri_env_edit){ "NEVER_THERE", NULL }, &arena, &err);
	ri_env_edits_add(&edits, (struct ri_env_edit){ "EMPTY", "1" }, &arena, &err);
	ri_env_edits_add(&edits, (struct ri_env_edit){ "BARE", "1" }, &arena, &err);
	assert_contains("\n  - GONE                        x\n");
	assert_null(strstr(page, "NEVER_THERE"));
	assert_contains("\n  ~ RANK                        1 -> 13 (was set twice)\n");
	assert_contains("\n  ~ EMPTY                       \"\" -> 1\n");
	assert_contains("\n  ~ BARE                        no value -> 1\n");
}

/* Where the caret stands below the value, counted in bytes of the value. */
static void assert_caret(const char *value, const char *shown, size_t at)
{
	char variable[1024], line[1024];

	snprintf(variable, sizeof(variable), "MASTER_PORT=%s", value);
	prepare(LIST(RANK_13, "MASTER_ADDR=m", variable), NULL);
	snprintf(line, sizeof(line), "\n             %s\n             %*s^\n", shown, (int)at, "");
	assert_contains(line);
	assert_true(widest(page) <= RI_PAGE_WIDTH);
}

static void test_caret_below_the_byte_at_fault(void **state)
{
	char digits[512];

	(void)state;
	assert_caret("65x", "65x", 2);
	assert_caret("x", "x", 0);
	assert_caret("70000", "70000", 0);
	assert_caret(" 1 2", " 1 2", 3);
	assert_caret("1\xff", "1\\xff", 1);
	assert_caret("\n1x", "\\x0a1x", 5);
	/* only what is near the fault, when the value is long */
	memset(digits, '1', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = '\0';
	digits[300] = 'x';
	assert_caret(digits,
		"...111111111111111111111111111111111111x1111111111111111111...", 39);
}

static void test_caret_in_a_list(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=m", "AZ_BATCH_HOST_LIST=a,b c,d"), NULL);
	assert_contains("\n             a,b c,d\n                ^\n");
	prepare(LIST(RANK_13, "MASTER_ADDR=m", "AZ_BATCH_HOST_LIST=a,,d"), NULL);
	assert_contains("\n             a,,d\n               ^\n");
	prepare(LIST(RANK_13, "MASTER_ADDR=m", "AZ_BATCH_HOST_LIST=a,b:x"), NULL);
	assert_contains("\n             a,b:x\n                 ^\n");
	assert_contains("\n    unusable        \"a,b:x\"");
}

/* A value that was read well and breaks a rule has no byte at fault. */
static void test_no_caret_for_a_broken_rule(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=m", "OMPI_MCA_orte_num_nodes=1"), NULL);
	assert_contains("[nodes.count]");
	assert_null(strchr(page, '^'));
	assert_contains("\n    unusable        1                 openmpi      "
			"OMPI_MCA_orte_num_nodes\n");
}

static void test_text_of_a_refusal(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=a b"), NULL);
	assert_contains("  refused  the launch would be refused");
	assert_contains("  error    MASTER_ADDR [env.value]\n");
	assert_contains("\n             a b\n              ^\n");
	assert_contains("not determined, because the launch is refused");
	assert_contains("--master-addr");
	assert_contains("\n  master_addr       unknown\n    unusable        \"a b\"");
}

static void test_no_line_is_wider_than_80_columns(void **state)
{
	char host[300], hosts[2000] = "AZ_BATCH_HOST_LIST=", wide[700], *argv[402] = { NULL };

	(void)state;
	snprintf(host, sizeof(host), "AZ_BATCH_MASTER_NODE=%0250d.example", 1);
	for (int i = 0; i < 60; i++)
		snprintf(hosts + strlen(hosts), 32, "%slong-name-of-host-%03d", i ? "," : "", i);
	memset(wide, 'w', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	for (int i = 0; i < 400; i++)
		argv[i] = i % 5 == 0 ? wide
				     : (char *)(uintptr_t)(i % 7 == 0 ? "\xe4\xb8\xad \xff" : "w");
	prepare(LIST(RANK_13, host, hosts, "MASTER_PORT=\xff\xff\xff\xff\xff\xff\xff\xff\xff", wide,
		"MASTER_ADDR=\033[31m\xe4\xb8\xad\xe6\x96\x87"), argv);
	ri_env_edits_add(&edits, (struct ri_env_edit){ wide, wide }, &arena, &err);
	ri_env_edits_add(&edits, (struct ri_env_edit){ "RANK", wide }, &arena, &err);
	render();
	assert_true(widest(page) <= RI_PAGE_WIDTH);
	assert_null(strchr(page, '\033'));
	explain.color = true;
	render();
	assert_true(widest(page) <= RI_PAGE_WIDTH);
}

/* Colour changes nothing but colour. */
static void test_colour_is_all_that_differs(void **state)
{
	static char plain[sizeof(page)];
	char *to = page;

	(void)state;
	prepare(LIST(RANK_13, AZURE, "MASTER_PORT=x", "RANK=3"), LIST("train"));
	strcpy(plain, render());
	explain.color = true;
	render();
	assert_non_null(strstr(page, "\033[33mwarning\033[0m"));
	assert_null(strstr(page, "\n\033[0m"));
	for (const char *from = page; *from != '\0'; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(page, plain);
}

static void test_many_ranks_and_words_are_bounded(void **state)
{
	static char *argv[2001];

	(void)state;
	prepare(LIST(RANK_13, AZURE), argv);
	for (size_t i = 0; i < 2000; i++)
		argv[i] = (char *)(uintptr_t)"word";
	for (size_t i = 1; i < 40; i++)
		ranks[i] = ranks[0];
	explain.rank_count = 40;
	assert_contains("and so on for the other ranks\n");
	assert_contains("word ...\n");
	parse();
	assert_int_equal(json_array_size(json_object_get(document, "ranks")), 40);
	assert_int_equal(json_array_size(json_object_get(rank_at(39), "argv")), 2000);
}

/* Of the other ranks only what is not as on the first one. */
static void test_what_is_news_on_the_next_rank(void **state)
{
	static const struct ri_env_edit first[] = { { .name = "AAAA" },
		{ .name = "BBBB" }, { .name = "CCCC", .value = "7777" } };
	static const struct ri_env_edit second[] = { { .name = "AAAA" },
		{ .name = "BBBB", .value = "8888" }, { .name = "CCCC" } };
	struct ri_env_edits others = { .count = 0 };
	const char *rest;

	(void)state;
	prepare(LIST("AAAA=1", "BBBB=1", "CCCC=1"), NULL);
	for (size_t i = 0; i < 3; i++) {
		ri_env_edits_add(&edits, first[i], &arena, &err);
		ri_env_edits_add(&others, second[i], &arena, &err);
	}
	ranks[1] = ranks[0];
	ranks[1].edits = &others;
	explain.rank_count = 2;
	rest = strstr(render(), "7777");
	assert_non_null(rest);
	assert_null(strstr(rest, "AAAA"));
	assert_non_null(strstr(rest, "BBBB"));
	assert_non_null(strstr(rest, "8888"));
	assert_non_null(strstr(rest, "CCCC"));
}

static void test_a_value_up_to_the_next_column(void **state)
{
	(void)state;
	prepare(LIST(RANK_13, "MASTER_ADDR=abcdefghijklmnopqr"), NULL);
	assert_contains("\n  master_addr       abcdefghijklmnopqr\n"
			"                                      env          MASTER_ADDR\n");
}

static void test_findings_by_severity(void **state)
{
	const char *warning, *note;

	(void)state;
	prepare(LIST(RANK_13, AZURE, "MASTER_PORT=x"), NULL);
	findings.dropped = 3;
	note = strstr(render(), "  note ");
	warning = strstr(page, "  warning ");
	assert_true(warning != NULL && note != NULL && warning < note);
	assert_contains("and 3 more\n");
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_field_of_every_fact),
		TEST(test_default_facts_say_so),
		TEST(test_unknown_facts_do_not_appear),
		TEST(test_ranks),
		TEST(test_placement),
		TEST(test_refusal_is_the_first_finding),
		TEST(test_bytes_that_are_not_utf8),
		TEST(test_a_raw_value_that_is_not_utf8),
		TEST(test_text_answers_the_questions),
		TEST(test_text_without_an_orchestrator),
		TEST(test_text_of_removals_and_repeats),
		TEST(test_caret_below_the_byte_at_fault),
		TEST(test_caret_in_a_list),
		TEST(test_no_caret_for_a_broken_rule),
		TEST(test_text_of_a_refusal),
		TEST(test_no_line_is_wider_than_80_columns),
		TEST(test_colour_is_all_that_differs),
		TEST(test_many_ranks_and_words_are_bounded),
		TEST(test_what_is_news_on_the_next_rank),
		TEST(test_a_value_up_to_the_next_column),
		TEST(test_findings_by_severity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
