/* SPDX-License-Identifier: Apache-2.0 */
#include "to/to.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command/command.h"

enum { MAX_WORDS = 64 };	/* of one command in a shell's line */

int ri_nodes_refuse_loopback(const struct ri_topology *topology, struct ri_error *err)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	/*
	 * Ranks started by hand, each as the first of its node, may well share one
	 * machine: then only NODE_RANK would say that they do not.
	 */
	bool is_guessed = (topology->traits & RI_TRAIT_ANYBODYS) != 0 &&
		topology->facts[RI_FACT_NODE_RANK].origin.from ==
			(RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	uint64_t node;

	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) || node == 0 ||
		master->strength == RI_STRENGTH_MANUAL || master->origin.variable == NULL ||
		is_guessed || !ri_loopback_is(master->text, strlen(master->text)))
		return 0;
	ri_fail(err, RI_CODE_MASTER_LOOPBACK, ri_topology_subject(topology, RI_FACT_MASTER_ADDR),
		"\"%s\" is this machine, but rank 0 runs on another one: this is node %d",
		master->text, (int)node);
	return ri_fail_hint(err, "set MASTER_ADDR to the host of rank 0, the same on all ranks; if "
				 "all nodes are on this machine, state --master-addr=%s",
		master->text);
}

/* A launcher that is told nothing starts a job of its own on each node. */
static void warn_of_lone_nodes(const struct ri_topology *topology,
	const struct ri_context *context)
{
	enum ri_fact_id id = ri_topology_knows(topology, RI_FACT_NNODES) ? RI_FACT_NNODES
									: RI_FACT_HOSTS;
	uint64_t nodes;

	/* Of what is stated and not used it was said already. */
	if (!ri_topology_get(topology, id, &nodes) || nodes < 2 ||
		ri_wishes_subject(context->wishes) != NULL)
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_SOURCE_INCOMPLETE,
		ri_topology_subject(topology, id), "there are %" PRIu64 " nodes, but rankinit "
		"cannot tell which of them this is: the launcher gets no information about the job",
		nodes), "start it once on each node: %s; or state --node-rank and --master-addr",
		ri_topology_once(topology));
}

/* Does the job start its command on this node alone? Then its ranks may wait in vain. */
static void warn_of_other_nodes(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	bool launcher = context->fan_out == 0;	/* else rankinit starts the ranks */
	uint64_t nodes;

	if (topology->identity == NULL || role->state != RI_STATE_KNOWN ||
		role->origin.source != topology->identity ||
		strcmp(role->text, RI_ROLE_PRIMARY) != 0 ||
		!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes < 2)
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_NODES_WAITED,
		ri_topology_subject(topology, RI_FACT_ROLE),
		"%s waits for %d nodes, but %s starts the job's command only on this one", launcher
		? ri_command_name(context->command) : "the command", (int)nodes,
		topology->identity), "start it on each node, or with mpirun%s", launcher
		? ", or on this node alone: torchrun --standalone" : "");
}

/*
 * A PyTorchJob's WORLD_SIZE counts the ranks that torchrun shall start. A
 * program of Python's without it is one rank on each node, and waits for the
 * others. Of a shell it is unknown; a TrainJob's pod has no WORLD_SIZE to wait by.
 */
static void warn_of_missing_ranks(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const char *subject = "WORLD_SIZE", *left = ri_env_get(context->env, subject);
	uint64_t nodes = 0, asked = 0, world = 0, here = 0;
	char others[64] = "";

	if (!context->command->is_python || context->fan_out != 0 ||
		(topology->traits & RI_TRAIT_ASKS_RANKS) == 0)
		return;
	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	ri_topology_get(topology, RI_FACT_NPROC, &asked);
	if (left != NULL)
		ri_number_read(left, ri_fact_range(RI_FACT_WORLD_SIZE), &world, NULL);
	if (nodes > 0 && world > nodes && world % nodes == 0) {
		here = world / nodes;
		snprintf(others, sizeof(others), ", which waits for all %" PRIu64 " of WORLD_SIZE",
			world);
	}
	if (asked > 1) {
		subject = topology->facts[RI_FACT_NPROC].origin.variable;
		here = asked;
	}
	if (here < 2)
		return;
	ri_finding_hint(ri_findings_add(context->findings,
		world > 0 ? RI_SEVERITY_WARNING : RI_SEVERITY_NOTE, RI_CODE_NPROC_UNUSED,
		subject, "%" PRIu64 " ranks are requested on each node, but the command is one "
		"process%s", here, others),
		"start it with torchrun, or state "
		"--nproc-per-node=%" PRIu64 "; use --launch=node if "
		"it starts ranks itself", here);
}

/*
 * A user who states the nodes by hand wants one job on them. A program of Python's that
 * gets no rank trains alone on each, where it starts no ranks itself; a user who names
 * other frameworks than torch has one that does, or needs none.
 */
static void warn_of_no_rank(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *nodes = &topology->facts[RI_FACT_NNODES];

	if (!context->command->is_python || context->fan_out != 0 ||
		topology->scope != RI_SCOPE_NODE || (topology->traits & RI_TRAIT_BY_HAND) == 0 ||
		!ri_topology_is_wide(topology) || ri_env_get(context->env, "RANK") != NULL ||
		/* one process on a node is the way of TensorFlow and JAX */
		context->wishes->tf_ps.value != NULL ||
		!ri_wishes_allow_framework(context->wishes, "torch"))
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_LAUNCH_RANKLESS,
		ri_topology_subject(topology, RI_FACT_NNODES),
		"rankinit starts one process on each of %" PRIu64
		" nodes and gives it no RANK, so each may train alone", nodes->number),
		"let rankinit start the ranks with --nproc-per-node=gpu, or start it with "
		"torchrun; use --launch=node if it starts ranks itself, or --frameworks=tensorflow "
		"or jax");
}

/*
 * LlamaFactory takes the node's place from NODE_RANK, and only old releases from RANK: without it
 * each node takes itself for the first (src/llamafactory/launcher.py; hiyouga/LlamaFactory#7326).
 */
static void warn_of_rank_of_node(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const struct ri_range places = ri_fact_range(RI_FACT_NODE_RANK);
	const char *rank = ri_env_get(context->env, "RANK");
	const char *nodes = ri_env_get(context->env, "NNODES");
	const struct ri_launcher *launcher = context->command->launcher;
	uint64_t place, count;

	if (topology->identity != NULL || launcher == NULL ||
		strcmp(launcher->name, "llamafactory-cli") != 0 || rank == NULL || nodes == NULL ||
		ri_env_get(context->env, "NODE_RANK") != NULL ||
		ri_number_read(rank, places, &place, NULL) != RI_NUMBER_OK || place == 0 ||
		ri_number_read(nodes, places, &count, NULL) != RI_NUMBER_OK || place >= count)
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_LAUNCH_SPLIT, "RANK", "%s reads the "
		"node's place from NODE_RANK, and only old releases from RANK: this node may take "
		"itself for the first of %" PRIu64, launcher->name, count),
		"set NODE_RANK=%" PRIu64, place);
}

/* Is it the machine's own name, perhaps one of them with a domain behind it? */
static bool is_own_name(const struct ri_context *context, const char *host, size_t length)
{
	const char *own = context->host == NULL ? NULL
		: ri_host_name(context->host, context->arena);
	size_t whole = own == NULL ? 0 : strlen(own), shared = length < whole ? length : whole;

	return shared > 0 && strncasecmp(host, own, shared) == 0 &&
		(length == whole || (length > whole ? host : own)[shared] == '.');
}

/*
 * Is torchrun told to meet on this node, which is not node 0? Each agent makes a store of its own
 * then, and waits for the others (PyTorch torch/distributed/elastic/rendezvous,
 * c10d_rendezvous_backend.py, static_tcp_rendezvous.py).
 */
static void warn_of_own_endpoint(const struct ri_topology *topology,
	const struct ri_context *context)
{
	const struct ri_range places = ri_fact_range(RI_FACT_NODE_RANK);
	const struct ri_command *command = context->command;
	const char *told = NULL, *subject = "--rdzv-endpoint", *place, *host, *colon;
	struct ri_error *finding;
	uint64_t node = 0;
	size_t length;

	if (!ri_launcher_is_torchruns(command->launcher))
		return;
	if (!ri_command_has(command, subject, &told)) {
		subject = "PET_RDZV_ENDPOINT";
		told = ri_env_get(context->env, subject);
	}
	place = ri_context_told(context, "--node-rank", "PET_NODE_RANK");
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && place != NULL)
		ri_number_read(place, places, &node, NULL);
	if (told == NULL || node == 0)
		return;
	host = told + (told[0] == '[');
	colon = strrchr(told, told[0] == '[' ? ']' : ':');
	length = colon == NULL ? strlen(host) : (size_t)(colon - host);
	if (ri_loopback_is(host, length))
		finding = ri_warn(context->findings, RI_CODE_MASTER_LOOPBACK, subject,
			"\"%s\" is this machine, but this is node %" PRIu64
			": each node waits for itself", told, node);
	else if (is_own_name(context, host, length))
		finding = ri_warn(context->findings, RI_CODE_MASTER_LOOPBACK, subject,
			"\"%s\" is this host's own name, but this is node %" PRIu64
			": if each node names itself, each waits for itself", told, node);
	else
		return;
	ri_finding_hint(finding, ri_topology_knows(topology, RI_FACT_MASTER_ADDR)
		? "leave it and the backend out: rankinit tells %s where to meet"
		: "name the host of node 0, the same on all nodes, to %s",
		ri_command_name(command));
}

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

	for (size_t i = 0; i < RI_ARRAY_SIZE(devices); i++) {
		*name = devices[i];
		if (ri_word_is_name(*word, *name, length))
			return (*word)[length] == '=' ? *word + length + 1 : word[1];
	}
	for (size_t i = 0; i < RI_ARRAY_SIZE(overrides); i++) {
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
		ri_finding_hint(ri_warn(inner->context->findings, RI_CODE_RANKS_WAITED, name,
			"the command asks for %" PRIu64 " devices, but this node has %" PRIu64
			" of its ranks: Lightning starts no ranks if LOCAL_RANK is set, and waits "
			"for the missing ones", count, inner->here), "if the command is to start "
			"its ranks, use --launch=node and start it once on each node; if rankinit "
			"is to start them, use --nproc-per-node=%" PRIu64, count);
		return;
	}
}

/* One command of a shell's line. Returns true where something was said. */
static bool judge_command(const struct inner *inner, char *const *words)
{
	struct ri_command command;
	size_t before = inner->context->findings->count;

	ri_command_read(&command, words, RI_MODE_AUTO);
	if (command.mode == RI_MODE_PROCESS && command.is_python)
		judge_devices(inner, words);
	if (command.mode == RI_MODE_NODE && inner->world > 1 && !ri_command_tells_nodes(&command))
		ri_finding_hint(ri_warn(inner->context->findings, RI_CODE_LAUNCH_HIDDEN,
			command.launcher->name, "a shell starts it in each of %" PRIu64
			" ranks, and rankinit cannot pass the job's variables to it there: each "
			"starts a job of its own", inner->world), "start one process on each node: "
			"rankinit -- %s ... without the shell, or with --launch=node",
			command.launcher->name);
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

	for (size_t i = 0; i < RI_ARRAY_SIZE(words); i++)
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

/* Its content is not read here. */
static void note_script(const struct inner *inner, const char *script)
{
	/* HF_TOKEN=x is none */
	if (inner->world > 1 && strchr(script, '=') == NULL)
		ri_finding_hint(ri_note(inner->context->findings, RI_CODE_LAUNCH_HIDDEN, script,
			"a script runs in each of %" PRIu64 " ranks, and rankinit could not pass "
			"the job's variables to a torchrun in it", inner->world), "if it starts "
			"torchrun or a similar launcher, use --launch=node and start it once on "
			"each node");
}

/*
 * Findings about the command of a rank, by its words alone, those for a shell
 * (-c) among them; said by the first rank of a node, and not where a launch
 * mode is stated.
 */
static void judge_inner(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;
	struct inner inner = { .context = context, .here = context->fan_out };
	uint64_t local_rank = 0, nodes = 1;

	if (command->stated || command->mode != RI_MODE_PROCESS ||
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
		const char *runs;
		bool is_line;

		if (ri_word_shell(*word) == NULL)
			continue;
		runs = ri_words_shell_runs(word, &is_line);
		if (runs != NULL && is_line)
			judge_line(&inner, runs);
		else if (runs != NULL)
			note_script(&inner, runs);
		return;
	}
	if (command->argv[0] != NULL && ri_word_ends(command->argv[0], ".sh"))
		note_script(&inner, command->argv[0]);
}

void ri_nodes_judge(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	const struct ri_command *command = context->command;

	if (command->mode == RI_MODE_NONE)
		return;
	if (command->mode != RI_MODE_PROCESS) {
		if (ri_meeting_is_here(command, context->env))
			return;
		warn_of_own_endpoint(topology, context);
		warn_of_rank_of_node(topology, context);
		if (topology->identity != NULL)
			warn_of_other_nodes(topology, context);
		else if (ri_topology_is_beside(topology))
			/* a launcher beside the job's own makes a job of this node alone */
			ri_finding_hint(ri_warn(context->findings, RI_CODE_LAUNCH_ROLE,
				ri_topology_subject(topology, RI_FACT_ROLE),
				"%s starts ranks, but this is the task \"%s\" %" PRIu64
				", one process without a rank: the launcher gets no information "
				"about the job", ri_command_name(command), role->text,
				role->number),
				"to make it a node anyway, state --node-rank and --nnodes");
		else
			warn_of_lone_nodes(topology, context);
		return;
	}
	warn_of_missing_ranks(topology, context);
	warn_of_no_rank(topology, context);
	judge_inner(topology, context);
	if (context->fan_out != 0)
		warn_of_other_nodes(topology, context);
}
