/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line and its twins: the words of the first part, one a line, and
 * after a line "%%" the strings of the environment. The size says by which name
 * rankinit is called.
 */
#include "fuzz.h"
#include "options/options.h"

enum { WORDS = 64 };

static void check_command(char *const *words, const struct ri_options *options)
{
	if (options->command == NULL)
		return;
	/* the command is the very end of the command line */
	CHECK(options->command > words && options->command[0] != NULL);
	for (char *const *word = words; word < options->command; word++)
		CHECK(*word != NULL);
	CHECK(options->grace_ms <= (uint64_t)RI_MAX_GRACE_S * 1000);
}

static void check_scrub(const struct ri_options *options, const struct ri_env *env, bool applied,
	struct ri_arena *arena)
{
	struct ri_env_edits edits = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;

	CHECK(ri_options_scrub(options, env, applied, &edits, arena, &err) == 0);
	CHECK(!options->disabled || edits.count == 0);
	for (size_t i = 0; i < edits.count; i++) {
		CHECK(edits.items[i].value == NULL || !applied);
		CHECK(strncmp(edits.items[i].name, "RANKINIT_", 9) == 0);
		CHECK(edits.items[i].value != NULL ||
			ri_env_find(env, edits.items[i].name) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_findings findings;
	static struct ri_arena arena;
	static char names[][24] = { "rankinit", "/usr/bin/rankinit", "tini", "dumb-init" };
	char *text = fuzz_string(data, size), *rest = fuzz_cut_part(text);
	char *words[WORDS + 1] = { names[size % 4] }, *strings[WORDS + 1];
	struct ri_error err = RI_ERROR_INIT;
	struct ri_options options;
	struct ri_env env;

	fuzz_split(text, words, 1, WORDS);
	fuzz_split(rest, strings, 0, WORDS);
	findings.count = findings.dropped = 0;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_options_read(&options, words, &env, &findings, &err) == 0) {
		CHECK(err.code == RI_CODE_NONE);
		check_command(words, &options);
		check_scrub(&options, &env, true, &arena);
		check_scrub(&options, &env, false, &arena);
	} else {
		CHECK(ri_code_status(err.code) == 125);
		CHECK(err.subject[0] != '\0' && err.text[0] != '\0');
	}
	ri_arena_release(&arena);
	free(text);
	return 0;
}
