/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options: what becomes of a value, and the name that stays with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "options/table.h"

static struct ri_options options;
static struct ri_findings findings;
static struct ri_arena arena;
static struct ri_error err;

/* The code of what refuses this command line, of one option, with these variables. */
static enum ri_code read_with(const char *word, char *const *strings)
{
	static char name[] = "rankinit", text[128];
	char *words[] = { name, text, NULL };
	struct ri_env env;

	strcpy(text, word);
	findings.count = 0;
	err = (struct ri_error)RI_ERROR_INIT;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	ri_options_read(&options, words, &env, &findings, &err);
	ri_arena_release(&arena);
	return err.code;
}

static enum ri_code read_word(const char *word)
{
	char *const none[] = { NULL };

	return read_with(word, none);
}

static void names_of_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		const char *name = ri_option_name(option), *twin = ri_option_twin(option);

		assert_int_equal(strlen(name), strlen(option->symbol) + strlen("--"));
		assert_int_equal(strlen(twin), strlen(option->symbol) + strlen("RANKINIT_"));
		assert_null(strpbrk(name, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
		assert_null(strpbrk(twin, "-abcdefghijklmnopqrstuvwxyz"));
	}
	assert_string_equal(ri_option_name(&ri_option_table[RI_OPTION_signal_map]), "--signal-map");
	assert_string_equal(ri_option_twin(&ri_option_table[RI_OPTION_signal_map]),
		"RANKINIT_SIGNAL_MAP");
}

/* Each word of the table is its place there: tests/lint/tables.py compares them with the enum. */
static void choices(void **state)
{
	static const struct {
		size_t number;
		const void *place;
	} chosen[] = {
		{ RI_OPTION_launch, &options.launch }, { RI_OPTION_expand, &options.expand },
		{ RI_OPTION_supervise, &options.supervise },
		{ RI_OPTION_bind_to, &options.place.bind },
		{ RI_OPTION_gpu_bind, &options.place.gpu_bind },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		const struct ri_option *option = &ri_option_table[chosen[i].number];
		const char *words = option->meta;
		char line[64];

		for (unsigned n = 0; words != NULL; n++) {
			int length = (int)strcspn(words, "|");

			snprintf(line, sizeof(line), "%s=%.*s", ri_option_name(option), length,
				words);
			words = words[length] == '\0' ? NULL : words + length + 1;
			assert_int_equal(read_word(line), RI_CODE_NONE);
			assert_memory_equal(chosen[i].place, &n, sizeof(n));
		}
	}
	assert_int_equal(read_word("--launch=none"), RI_CODE_NONE);
	assert_int_equal(options.launch, RI_MODE_NONE);
}

/* What stands in the table for people is what counts. */
static void seconds_without_an_option(void **state)
{
	(void)state;
	assert_int_equal(read_word("--quiet"), RI_CODE_NONE);
	assert_int_equal(options.grace_ms, 0);
	assert_int_equal(options.roll_call_ms, 10000);
	assert_int_equal(options.link_grace_ms, 300000);
	assert_int_equal(options.autopsy_after_ms, 60000);
	assert_int_equal(read_word("--link-grace=0"), RI_CODE_NONE);
	assert_int_equal(options.link_grace_ms, 0);
	assert_int_equal(options.roll_call_ms, 10000);
	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];
		uint64_t number;

		if (strcmp(option->meta, "SECONDS") == 0)
			assert_true(ri_digits_read(option->fallback, &number) > 0);
	}
}

static void a_word_of_no_choice(void **state)
{
	(void)state;
	assert_int_equal(read_word("--launch=nod"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.subject, "--launch");
	assert_string_equal(err.text, "\"nod\": expected auto, process, node or none");
	assert_string_equal(err.hint, "did you mean node?");
	assert_int_equal(read_word("--gpu-bind=none|single"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.hint, "");
	assert_int_equal(read_word("--expand=autos"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.hint, "did you mean auto?");
	assert_int_equal(read_word("--list=frmeworks"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.hint, "did you mean frameworks?");
	assert_int_equal(read_word("--list=nothing"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.hint, "");
	assert_int_equal(read_word("--list=code"), RI_CODE_OPTION_VALUE);
	assert_string_equal(err.text, "\"code\": expected sources, simulations, frameworks, "
		"checks, facts, codes or options");
}

static void check_given(struct ri_given given, const char *subject, const char *value, bool twin)
{
	assert_string_equal(given.subject, subject);
	assert_string_equal(given.value, value);
	assert_int_equal(given.twin, twin);
}

static void what_is_given(void **state)
{
	static char variable[] = "RANKINIT_NODE_RANK=3";
	char *const strings[] = { variable, NULL };

	(void)state;
	assert_int_equal(read_with("--user=me", strings), RI_CODE_NONE);
	check_given(options.given.user, "--user", "me", false);
	check_given(options.given.node_rank, "RANKINIT_NODE_RANK", "3", true);
	check_given(options.wishes.facts[RI_FACT_NODE_RANK], "RANKINIT_NODE_RANK", "3", true);
	assert_null(options.given.rank.subject);
	assert_null(options.place.bind_subject);
	assert_null(options.wishes.facts[RI_FACT_RANK].subject);
	assert_int_equal(read_with("--node-rank=4", strings), RI_CODE_NONE);
	check_given(options.given.node_rank, "--node-rank", "4", false);
	check_given(options.wishes.facts[RI_FACT_NODE_RANK], "--node-rank", "4", false);
	assert_int_equal(read_word("--bind-to=numa"), RI_CODE_NONE);
	assert_string_equal(options.place.bind_subject, "--bind-to");
}

/* A variable and the command line: the variable gives way, once, and is not used. */
static void a_twin_that_gives_way(void **state)
{
	static const struct {
		const char *word, *twin;
		bool yields;
	} rows[] = {
		{ "--supervise=never", "RANKINIT_REPORT=/x", true },
		{ "--report=/x", "RANKINIT_SUPERVISE=never", true },
		{ "--report=/x", "RANKINIT_SUPERVISE=always", false },
		{ "--supervise=never", "RANKINIT_LOG_PREFIX=no", false },
		{ "--supervise=never", "RANKINIT_NPROC_PER_NODE=2", false },
		{ "--nproc-per-node=gpu", "RANKINIT_SUPERVISE=never", true },
		{ "--nproc-per-node=01", "RANKINIT_SUPERVISE=never", false },
		{ "--quiet", "RANKINIT_VERBOSE=yes", true },
		{ "--quiet", "RANKINIT_VERBOSE=no", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char variable[64];
		char *const strings[] = { variable, NULL };

		strcpy(variable, rows[i].twin);
		assert_int_equal(read_with(rows[i].word, strings), RI_CODE_NONE);
		assert_int_equal(findings.count, rows[i].yields);
		if (!rows[i].yields)
			continue;
		assert_int_equal(findings.items[0].code, RI_CODE_OPTION_YIELDS);
		assert_memory_equal(findings.items[0].subject, variable,
			strcspn(variable, "="));
		for (size_t n = 0; n < RI_OPTION_COUNT; n++)
			assert_false(options.given.at[n].twin);
	}
}

/* What a finding says of the one option that is gone, or NULL. */
static const struct ri_error *gone(const char *word, char *const *strings)
{
	assert_int_equal(read_with(word, strings), RI_CODE_NONE);
	assert_int_equal(findings.count, 0);
	ri_options_judge_gone(&options, &findings);
	return findings.count == 1 && findings.items[0].code == RI_CODE_OPTION_GONE
		? &findings.items[0] : NULL;
}

/* The command line goes on behind it, with or without its value. */
static void options_that_are_gone(void **state)
{
	static const char *const words[] = {
		"--settle=5", "--settle=", "--color=always", "--log_mode=redirect", "--tf-chief",
		"--tf-chief=no", "--subreaper", "--subreaper=yes", "--override-env", "--tf-port=1",
		"--azure-batch-port",
	};
	char *const none[] = { NULL };
	char variable[] = "RANKINIT_COLOR=never", empty[] = "RANKINIT_SETTLE=";
	char core[] = "RANKINIT_BIND_TO=core";
	char name[] = "rankinit", settle[] = "--settle", five[] = "5", quiet[] = "--quiet",
		color[] = "--color";
	char *apart[] = { name, settle, five, quiet, color, NULL };
	const struct ri_error *found;
	struct ri_env env;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		found = gone(words[i], none);
		assert_non_null(found);
		assert_int_equal(strlen(found->subject), strcspn(words[i], "="));
		assert_true(found->hint[0] != '\0');
	}
	found = gone("--bind-to=core", none);
	assert_string_equal(found->text, "core is gone, and rankinit goes on without it");
	assert_int_equal(options.place.bind, RI_BIND_NONE);
	assert_null(options.given.bind_to.subject);
	assert_non_null(gone("--quiet", (char *const[]){ variable, NULL }));
	assert_string_equal(findings.items[0].subject, "RANKINIT_COLOR");
	assert_null(gone("--quiet", (char *const[]){ empty, NULL }));
	assert_non_null(gone("--quiet", (char *const[]){ core, NULL }));
	assert_null(gone("--bind-to=numa", (char *const[]){ core, NULL }));
	assert_int_equal(ri_env_init(&env, none, &arena, &err), 0);
	assert_int_equal(ri_options_read(&options, apart, &env, &findings, &err), 0);
	ri_arena_release(&arena);
	assert_true(options.quiet && options.command == NULL);
	assert_int_equal(read_word("--capture=x"), RI_CODE_OPTION_UNKNOWN);
	assert_non_null(strstr(err.hint, "--explain=json"));
}

static void by_name_and_by_number(void **state)
{
	(void)state;
	assert_int_equal(sizeof(options.given), sizeof(options.given.at));
	assert_ptr_equal(&options.given.help, &options.given.at[0]);
	assert_ptr_equal(&options.given.verbose, &options.given.at[RI_OPTION_verbose]);
	assert_int_equal(RI_OPTION_verbose, RI_OPTION_COUNT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_all),
		cmocka_unit_test(choices),
		cmocka_unit_test(seconds_without_an_option),
		cmocka_unit_test(a_word_of_no_choice),
		cmocka_unit_test(what_is_given),
		cmocka_unit_test(a_twin_that_gives_way),
		cmocka_unit_test(options_that_are_gone),
		cmocka_unit_test(by_name_and_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
