/* SPDX-License-Identifier: Apache-2.0 */
#include "to/inner.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "command/command.h"
#include "command/words.h"

enum { MAX_WORDS = 64 };	/* of one command in a shell's line */

/* What the findings are about. */
struct inner {
	const struct ri_context *context;
	uint64_t world, here;	/* ranks of the job, of this node; 0: not known */
};

/* Lightning src/lightning/pytorch/trainer/trainer.py, devices; before 2.0 also gpus. */
static const char *const devices[] = {
	"--devices", "--gpus", "--trainer.devices", "--trainer.gpus",
};

/* The same of Hydra (hydra.cc, "Override grammar"), as NeMo has them. */
static const char *const overrides[] = { "trainer.devices", "trainer.gpus" };

/* What the option at word is given, with its name in *name; or NULL. */
static const char *find_devices(char *const *word, const char **name)
{
	const char *bare = *word + strspn(*word, "+");
	size_t length = strcspn(*word, "=");

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		*name = devices[i];
		if (ri_word_is_name(*word, *name, length))
			return (*word)[length] == '=' ? *word + length + 1 : word[1];
	}
	for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++) {
		*name = overrides[i];
		length = strlen(*name);
		if (strncmp(bare, *name, length) == 0 && bare[length] == '=')
			return bare + length + 1;
	}
	return NULL;
}

/* "4", "0,1,2,3" or "[0,1,2,3]"; 0: nothing that says so. */
static uint64_t count_devices(const char *value)
{
	const struct ri_range range = { 0, RI_MAX_LOCAL };
	uint64_t count;

	if (ri_number_read(value, range, &count, NULL) == RI_NUMBER_OK)
		return count;
	value += value[0] == '[';
	if (value[strspn(value, "0123456789,]")] != '\0' || strchr(value, ',') == NULL)
		return 0;
	for (count = 1; *value != '\0'; value++)
		count += *value == ',' && value[1] >= '0' && value[1] <= '9';
	return count;
}

static void judge_devices(const struct inner *inner, char *const *words)
{
	const char *name, *value;
	uint64_t count;

	for (; *words != NULL && inner->here > 0; words++) {
		value = find_devices(words, &name);
		count = value == NULL ? 0 : count_devices(value);
		if (count <= inner->here || count < 2)
			continue;
		ri_finding_hint(ri_findings_add(inner->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_RANKS_WAITED, name, "the command asks for %" PRIu64 " devices, but "
			"this node has %" PRIu64 " of its ranks: Lightning starts no ranks if "
			"LOCAL_RANK is set, and waits for the missing ones", count, inner->here),
			"if the command is to start its ranks, use --launch=node and start it once "
			"on each node; if rankinit is to start them, use "
			"--nproc-per-node=%" PRIu64, count);
		return;
	}
}

/* Says the launcher itself where its nodes meet, or that it is alone? */
static bool knows_nodes(const struct ri_command *command)
{
	static const char *const words[] = {
		"--nnodes", "--standalone", "--node-rank", "--rdzv-endpoint", "--master-addr",
		"--num-machines", "--machine-rank", "--main-process-ip", "--world-size",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_command_mentions(command, words[i]))
			return true;
	return false;
}

/* One command of a shell's line. Returns true where something was said. */
static bool judge_command(const struct inner *inner, char *const *words)
{
	struct ri_command command;
	size_t before = inner->context->findings->count;

	ri_command_read(&command, words, RI_MODE_AUTO);
	if (command.mode == RI_MODE_PROCESS && command.is_python)
		judge_devices(inner, words);
	if (command.mode == RI_MODE_NODE && inner->world > 1 && !knows_nodes(&command))
		ri_finding_hint(ri_findings_add(inner->context->findings, RI_SEVERITY_WARNING,
			RI_CODE_LAUNCH_HIDDEN, command.launcher->name, "a shell starts it in each "
			"of %" PRIu64 " ranks, and rankinit cannot pass the job's variables to it "
			"there: each starts a job of its own", inner->world),
			"start one process on each node: rankinit -- %s ... without the shell, or "
			"with --launch=node", command.launcher->name);
	return inner->context->findings->count != before;
}

/* Words of the shell's own ahead of a command (POSIX, Shell Command Language, 2.4, 2.9.1). */
static bool is_ahead(const char *word)
{
	static const char *const words[] = {
		"exec", "then", "do", "else", "if", "while", "until", "time", "!", "{",
	};
	size_t name = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
		"0123456789");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return name > 0 && word[name] == '=';
}

/* A shell's line, cut into commands at what ends one; quotes are not looked at. */
static void judge_line(const struct inner *inner, const char *line)
{
	char *copy = ri_arena_copy(inner->context->arena, line, strlen(line)), *rest = copy, *part;

	while (rest != NULL && (part = strsep(&rest, ";&|()\n`")) != NULL) {
		char *words[MAX_WORDS + 1], *word;
		size_t count = 0;

		while ((word = strsep(&part, " \t\r\\")) != NULL)
			if (word[0] != '\0' && count < MAX_WORDS && (count > 0 || !is_ahead(word)))
				words[count++] = word;
		words[count] = NULL;
		if (count > 0 && judge_command(inner, words))
			return;
	}
}

static bool is_script(const char *word)
{
	size_t length = strlen(word);

	return length > 3 && strcmp(word + length - 3, ".sh") == 0;
}

/* Its content is not read here. */
static void note_script(const struct inner *inner, const char *script)
{
	/* HF_TOKEN=x is none */
	if (inner->world > 1 && strchr(script, '=') == NULL)
		ri_finding_hint(ri_findings_add(inner->context->findings, RI_SEVERITY_NOTE,
			RI_CODE_LAUNCH_HIDDEN, script, "a script runs in each of %" PRIu64
			" ranks, and rankinit could not pass the job's variables to a torchrun in "
			"it",
			inner->world),
			"if it starts torchrun or a similar launcher, use --launch=node and start "
			"it once on each node");
}

/* The words behind a shell's name: -c LINE, or a script; "busybox" has one more. */
static void judge_shell(const struct inner *inner, char *const *words)
{
	bool line = false;

	words += *words != NULL && ri_word_shell(*words) != NULL;
	for (; *words != NULL && (*words)[0] == '-'; words++)
		line |= (*words)[1] != '-' && strchr(*words, 'c') != NULL;
	if (*words != NULL && line)
		judge_line(inner, *words);
	else if (*words != NULL)
		note_script(inner, *words);
}

void ri_inner_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	struct inner inner = { .context = context, .here = context->fan_out };
	uint64_t local_rank = 0, nodes = 1;

	if (command == NULL || command->stated || command->mode != RI_MODE_PROCESS ||
		command->argv == NULL || topology->identity == NULL ||
		(topology->scope != RI_SCOPE_PROCESS && context->fan_out == 0))
		return;
	ri_topology_get(topology, RI_FACT_LOCAL_RANK, &local_rank);
	ri_topology_get(topology, RI_FACT_WORLD_SIZE, &inner.world);
	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	if (inner.here > 0)
		inner.world = inner.here * nodes;
	else
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &inner.here);
	if (local_rank > 0)
		return;
	if (command->is_python) {
		judge_devices(&inner, command->argv);
		return;
	}
	for (char *const *word = command->argv; *word != NULL; word++) {
		if (ri_word_shell(*word) != NULL) {
			judge_shell(&inner, word + 1);
			return;
		}
	}
	if (command->argv[0] != NULL && is_script(command->argv[0]))
		note_script(&inner, command->argv[0]);
}
