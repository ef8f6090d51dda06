/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command, one to a line, "%%", and an environment: a mode is
 * found, its options are those of the words, what is written keeps to the
 * mode, and expansion changes nothing but references to what is written. The
 * same text is a script, too: what it is said to import stands in it.
 */
#include "command/command.h"
#include "to/to.h"
#include "../unit/stages_of.h"
#include "fuzz.h"
#include "linked.h"

enum { MAX_STRINGS = 256, INPUT_SIZE = 16384 };

static struct ri_arena arena;
static struct ri_findings findings;

/* The launcher's words are the tail of the command's. */
static void check_command(const struct ri_command *command, char *const *argv)
{
	const char *value = argv[0];
	char *const *word = argv;
	uint64_t ranks = 0;

	CHECK(command->mode != RI_MODE_AUTO);
	CHECK(ri_command_ranks(command, 2, &ranks) == (ranks > 0));
	CHECK((command->launcher == NULL) == (command->words == NULL));
	CHECK(command->is_python || (command->script == NULL && command->module == NULL));
	if (command->launcher == NULL) {
		CHECK(!ri_command_has(command, "--standalone", &value) && value == argv[0]);
		return;
	}
	while (word != command->words && *word != NULL)
		word++;
	CHECK(word == command->words && word > argv);
	if (ri_command_has(command, "--nnodes", &value))
		CHECK(*word != NULL);
}

static void check_written(const struct ri_context *context, const struct ri_topology *topology,
	const struct ri_env_edits *variables)
{
	bool nodes = topology->scope == RI_SCOPE_NODE;
	bool node = nodes || context->command->mode == RI_MODE_NODE;
	const struct ri_env_edit *local = ri_env_edits_find(variables, "LOCAL_RANK");

	CHECK(context->command->mode != RI_MODE_NONE || variables->count == 0);
	if (variables->count > 0 && !nodes)
		CHECK(local != NULL && (local->value == NULL) == node);
	for (size_t i = 0; i < variables->count; i++) {
		const struct ri_env_edit *edit = &variables->items[i];

		/* a rank loses nothing but what contradicts its place */
		CHECK(node || edit->value != NULL ||
			ri_env_get(context->env, edit->name) != NULL);
		CHECK(node || strncmp(edit->name, "PET_", 4) != 0);
		CHECK(edit->value == NULL || edit->value[0] != '\0');
		CHECK(edit->value == NULL ||
			!ri_scrub_removes(edit->name, strlen(edit->name), true));
	}
}

/* As many words as before; one without a reference is the very same. */
static void check_expansion(char *const *argv, const struct ri_env_edits *variables)
{
	for (enum ri_expand how = RI_EXPAND_AUTO; how <= RI_EXPAND_OFF; how++) {
		char *const *made = ri_expand_words(argv, how, variables, &arena);

		CHECK(made != NULL && made[0] == argv[0]);
		CHECK(made == argv || how != RI_EXPAND_OFF);
		for (size_t i = 0; argv[i] != NULL; i++) {
			CHECK(made[i] != NULL);
			CHECK(made[i] == argv[i] || strchr(argv[i], '$') != NULL);
			CHECK(made[i] == argv[i] || strcmp(made[i], argv[i]) != 0);
			CHECK(made[i + 1] != NULL || argv[i + 1] == NULL);
		}
	}
}

static void check_line(struct ri_span text)
{
	const struct ri_span none = { text.at, 0 };

	if (ri_command_text_names_launcher(text))
		CHECK(text.length > 2);
	CHECK(!ri_command_text_names_launcher(none));
}

static void run(char *const *argv, char *const *strings, enum ri_mode asked)
{
	struct ri_env env;
	struct ri_command command;
	const struct ri_wishes wishes = { .nproc_count = 0 };
	const struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .command = &command,
		.wishes = &wishes,
	};
	struct ri_env_edits variables;
	struct ri_topology topology;
	struct ri_error err = RI_ERROR_INIT;

	findings = (struct ri_findings){ .count = 0 };
	ri_command_read(&command, argv, asked);
	check_command(&command, argv);
	CHECK(asked == RI_MODE_AUTO || command.mode == asked);
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_topology_read(&topology, &context, &err) < 0 ||
		ri_variables_render(&variables, &topology, &context, &err) < 0) {
		CHECK(ri_code_status(err.code) == 125);
		CHECK(err.subject[0] != '\0' && err.text[0] != '\0');
	} else {
		check_written(&context, &topology, &variables);
		fuzz_check_linked(&topology, &context);
		check_expansion(argv, &variables);
	}
	ri_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[MAX_STRINGS + 1], *strings[MAX_STRINGS + 1];
	char *text;

	if (size > INPUT_SIZE)
		return 0;
	text = fuzz_string(data, size);
	check_line((struct ri_span){ text, size });
	fuzz_split(fuzz_cut_part(text), strings, 0, MAX_STRINGS);
	fuzz_split(text, argv, 0, MAX_STRINGS);
	for (enum ri_mode asked = RI_MODE_AUTO; asked <= RI_MODE_NONE; asked++)
		run(argv, strings, asked);
	free(text);
	return 0;
}
