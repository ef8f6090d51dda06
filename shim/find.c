/* SPDX-License-Identifier: Apache-2.0 */
#include "found.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "from/from.h"
#include "from/sources.h"
#include "image/image.h"
#include "launch/master.h"
#include "link/part.h"
#include "model/topology.h"
#include "output/output.h"
#include "say/two_rankinits.h"
#include "system/apart.h"
#include "system/clock.h"
#include "system/held_path.h"
#include "system/mask.h"
#include "system/own_proc.h"
#include "to/to.h"

static enum ri_host_proc ask_proc(void)
{
	pid_t self = getpid();

	if (!ri_proc_is_ours(self))
		return RI_PROC_FOREIGN;
	return self == 1 ? RI_PROC_OURS_FIRST : RI_PROC_OURS;
}

static int open_root(void *host)
{
	return ri_host_root(host);
}

/* Of the live machine nothing is opened or asked until somebody needs it. */
static int find_host(struct ri_found *found, struct ri_error *err)
{
	struct ri_overlay overlay;
	const char *played = ri_env_get(&found->env, RI_OVERLAY_VARIABLE);
	const char *root = found->options.given.root.value;
	struct ri_host *host = &found->host;
	siginfo_t info;
	int64_t wait_ms;

	*host = (struct ri_host){
		.root = -1, .path = root == NULL ? "/" : root, .live = root == NULL,
		.apart = ri_apart_file, .ask_name = gethostname, .ask_proc = ask_proc,
	};
	if (played != NULL && !found->options.disabled) {
		if (ri_overlay_read(&overlay, played, found->context.arena, err) < 0)
			return -1;
		ri_overlay_play(host, &overlay);
		host->unfit = overlay.unfit == ri_found_attempt(found) + 1;
		/* one that comes later than others; a stop finds nothing begun */
		wait_ms = overlay.from_ms == 0 ? 0 : (int64_t)overlay.from_ms - ri_now_ms();
		if (wait_ms > 0 && ri_mask_wait_for(ri_mask_stops(), &info, wait_ms) != 0)
			exit(128 + info.si_signo);
	}
	/* a recorded one is where the user says, if it is */
	if (root == NULL || ri_apart_file(open_root, host, root) >= 0)
		return 0;
	ri_fail(err, RI_CODE_FILE_UNREADABLE, root, "cannot be opened: %s", strerror(errno));
	return ri_fail_errno(err, errno);
}

/* Does the command run in ranks that are started here? */
static int count_ranks(struct ri_found *found, struct ri_error *err)
{
	const struct ri_options *options = &found->options;
	struct ri_wishes *wishes = &found->options.wishes;

	if (found->command.mode == RI_MODE_NONE || wishes->nproc.value == NULL)
		return 0;
	if (ri_nproc_count(&found->options, &found->context, err) < 0) {
		/* No GPU to count by: the checks say more about that than a count does. */
		if (err->code != RI_CODE_NPROC_NONE || options->action == RI_ACTION_PRINT_ENV ||
			(options->action != RI_ACTION_CHECK &&
				options->checks.require.value == NULL))
			return -1;
		found->nproc_err = *err;
		*err = (struct ri_error)RI_ERROR_INIT;
		wishes->nproc_count = 1;
	}
	if (found->command.mode != RI_MODE_PROCESS)
		return 0;
	found->context.fan_out = wishes->nproc_count;
	/* what goes together only where no ranks are started here */
	if (ri_wishes_refuse_all(wishes)) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->nproc.subject,
			"with %s=none no rank would get its RANK", wishes->source.subject);
		return ri_fail_hint(err, "leave one of them out");
	}
	if (options->supervise == RI_SWITCH_NEVER && wishes->nproc_count > 1) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->nproc.subject,
			"several ranks need rankinit as their parent, so it cannot become one of "
			"them");
		return ri_fail_hint(err, "leave --supervise=never out");
	}
	return 0;
}

static int read_hostfile(struct ri_wishes *wishes, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_given *hosts = &wishes->facts[RI_FACT_HOSTS];
	struct ri_arena *arena = context->arena;
	struct ri_host *host = context->host;
	const char *path = wishes->hostfile.value;
	char here[PATH_MAX], *text;

	if (path == NULL)
		return 0;
	if (hosts->value != NULL) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->hostfile.subject,
			"%s gives the hosts, too", hosts->subject);
		return ri_fail_hint(err, "use only one of them");
	}
	/* relative to where the user stands; of a recorded machine, to its root */
	if (host->live && path[0] != '/' && getcwd(here, sizeof(here)) != NULL)
		path = ri_arena_format(arena, "%s/%s", here, path);
	text = ri_arena_alloc(arena, RI_MAX_HOSTFILE);
	if (path == NULL || text == NULL)
		return ri_fail(err, RI_CODE_MEMORY, wishes->hostfile.value,
			"no memory left to read it");
	if (ri_host_read(host, path, text, RI_MAX_HOSTFILE) < 0) {
		int saved = errno;

		ri_fail(err, RI_CODE_FILE_UNREADABLE, wishes->hostfile.value, "cannot be read: %s",
			strerror(saved));
		return ri_fail_errno(err, saved);
	}
	wishes->hostfile_text = text;
	return 0;
}

static int find_topology(struct ri_found *found, struct ri_error *err)
{
	struct ri_topology *topology = &found->topology;
	struct ri_context *context = &found->context;
	struct ri_reading reading;
	bool launches;
	int status;

	/* Who starts the whole job is no part of it: not even a contradiction matters. */
	if (found->command.mode == RI_MODE_NONE)
		return 0;
	if (read_hostfile(&found->options.wishes, context, err) < 0 ||
		ri_sources_read(topology, &reading, context, err) < 0)
		return -1;
	ri_identity_choose(topology, &reading);
	if (ri_claims_settle(topology, &reading) < 0)
		return -1;
	/*
	 * What the command makes of it, and it of the command: in a launcher's container even a
	 * script starts the whole job; the one process that is asked for beside the ranks is the
	 * task itself.
	 */
	if (topology->identity == NULL) {
		launches = ri_topology_is_launcher(topology) &&
			found->options.launch == RI_MODE_AUTO;
		if (launches || ri_topology_is_beside(topology))
			context->fan_out = 0;
		if (launches)
			found->command.mode = RI_MODE_NONE;
	}
	status = ri_topology_adapt(topology, context, err);
	/* also of a launch that is refused --explain shows where it would have been */
	ri_topology_complete(topology, context);
	if (status < 0)
		return -1;
	/* From here on nothing of it changes: what is to be said of it? */
	if (ri_claims_report(topology, &reading) < 0)
		return -1;
	ri_nodes_judge(topology, context);
	ri_unread_judge(topology, context);
	return 0;
}

void ri_found_judge_files(const struct ri_found *found, size_t count, bool of_nodes,
	struct ri_findings *findings)
{
	const union ri_options_given *given = &found->options.given;
	const struct ri_given *words[] = { &given->report, &given->state };
	char letter = of_nodes ? 'n' : 'r';
	struct ri_pattern_use use;

	for (size_t i = 0; i < RI_ARRAY_SIZE(words); i++)
		if (words[i]->value != NULL && strncmp(words[i]->value, "fd:", 3) != 0 &&
			(of_nodes || !ri_held_path_is_kept(words[i]->value)) &&
			ri_pattern_read(words[i]->value, &use) && !use.rank &&
			!(of_nodes && use.node))
			ri_finding_hint(ri_warn(findings, RI_CODE_REPORT_SHARED, words[i]->subject,
				"each of the %zu %s replaces this file, so only the last %s "
				"remains", count, of_nodes ? "nodes" : "ranks of this node",
				of_nodes ? "one" : "report"), "put %%%c, which is the %s, into its "
				"name: as in /tmp/job-%%%c.json", letter, of_nodes ? "node"
				: "rank", letter);
}

bool ri_found_is_launcher(const struct ri_found *found)
{
	return found->command.mode == RI_MODE_NODE || found->command.mode == RI_MODE_NONE;
}

/* The pipe of a launcher has the lines of all its ranks, and no owner of each. */
static void judge_log(const struct ri_found *found)
{
	const struct ri_options *options = &found->options;
	const struct ri_given *file = &options->given.log_file;
	struct ri_pattern_use use = { .rank = false };	/* stays where there is no pattern */
	const char *own = "let rankinit start the ranks: --nproc-per-node=N -- python3 train.py";
	struct ri_error *finding;
	/* torchrun's own labels stay (torch/distributed/run.py); --simulate asks by itself */
	bool prefix = options->log_prefix != RI_PREFIX_NONE &&
		found->context.host->files == NULL &&
		ri_context_told(&found->context, "--tee", "PET_TEE") == NULL;

	if (file->value != NULL)
		ri_pattern_read(file->value, &use);
	if (!ri_found_is_launcher(found) || options->action != RI_ACTION_LAUNCH ||
		options->simulation.shape != NULL || (!prefix && !use.rank))
		return;
	finding = ri_warn(found->context.findings, RI_CODE_LOG_LAUNCHER, prefix
		? options->given.log_prefix.subject : file->subject, "%s starts the ranks, and "
		"rankinit cannot tell their lines apart: they have no prefix, and are in one file",
		ri_command_name(&found->command));
	if (found->command.mode == RI_MODE_NONE)
		ri_finding_hint(finding, "put rankinit behind it, where each rank has one: "
			"mpirun ... rankinit -- python3 train.py");
	else if (ri_launcher_is_torchruns(found->command.launcher))
		ri_finding_hint(finding, "add --tee 3 --log-dir DIR behind %s, or %s",
			ri_command_name(&found->command), own);
	else
		ri_finding_hint(finding, "%s", own);
}

/* The secret of a link that is neither switched on nor off. */
static void judge_key(const struct ri_found *found)
{
	const union ri_options_given *given = &found->options.given;
	uint64_t nodes = 1;

	ri_topology_get(&found->topology, RI_FACT_NNODES, &nodes);
	if (given->link_key.value == NULL || given->link.subject != NULL)
		return;
	ri_finding_hint(ri_findings_add(found->context.findings,
		nodes > 1 || !given->link_key.twin ? RI_SEVERITY_WARNING : RI_SEVERITY_NOTE,
		RI_CODE_LINK_OFF, given->link_key.subject,
		"is not used, because the nodes of a job connect by --link alone"),
		"add --link, or set RANKINIT_LINK=1, on every node");
}

/*
 * Open MPI 5 starts ranks by PRRTE, and takes no parameter of ORTE for its own: without a host
 * file all ranks start here, and the job ends well (kubeflow/trainer#4028).
 */
static void judge_orte(const struct ri_found *found)
{
	static const char old[] = "OMPI_MCA_orte_default_hostfile";
	static const char *const hosts[] = {
		"--hostfile", "-hostfile", "--machinefile", "-machinefile", "--host", "-host", "-H",
	};
	const struct ri_context *context = &found->context;
	const struct ri_image image = {
		.host = context->host, .env = context->env, .arena = context->arena,
	};
	char *const *words = found->command.words;

	if (found->command.mode != RI_MODE_NONE || words == NULL ||
		ri_env_get(context->env, old) == NULL ||
		ri_env_get(context->env, "PRTE_MCA_prte_default_hostfile") != NULL ||
		(strcmp(ri_path_name(words[-1]), "mpirun") != 0 &&
			strcmp(ri_path_name(words[-1]), "mpiexec") != 0))
		return;
	for (char *const *word = words; *word != NULL; word++)
		for (size_t i = 0; i < RI_ARRAY_SIZE(hosts); i++)
			if (ri_word_is_name(*word, hosts[i], strcspn(*word, "=")))
				return;
	if (!ri_mpi_is_prrte(&image, words[-1]))
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_LAUNCH_ORTE, old,
		"%s is of Open MPI 5, which does not read it: all ranks may start on this node",
		ri_path_name(words[-1])),
		"set PRTE_MCA_prte_default_hostfile to the same file, or add --hostfile %s",
		ri_env_get(context->env, old));
}

/* Of several ranks here the first one says it for all. */
static void judge_words(const struct ri_found *found)
{
	const struct ri_options *options = &found->options;
	uint64_t here, local_rank;

	if (ri_topology_get(&found->topology, RI_FACT_LOCAL_RANK, &local_rank) &&
		local_rank > 0)
		return;
	/*
	 * Under mpirun each rank has a rankinit of its own, and all of them replace one
	 * file. Whether files on other nodes are the same cannot be told here.
	 */
	if (found->context.fan_out == 0 && options->action != RI_ACTION_CHECK &&
		ri_topology_get(&found->topology, RI_FACT_LOCAL_WORLD_SIZE, &here) && here > 1)
		ri_found_judge_files(found, here, false, found->context.findings);
	judge_log(found);
	judge_key(found);
	judge_orte(found);
	ri_options_judge_gone(options, found->context.findings);
	ri_options_judge_words(options, &found->command, found->context.findings);
}

bool ri_found_is_of_job(const struct ri_found *found)
{
	return found->topology.identity != NULL || (found->command.mode != RI_MODE_NONE &&
		ri_sources_say_job(&found->env, &found->options.wishes));
}

enum ri_log_color ri_found_color(const struct ri_found *found)
{
	const char *none = ri_env_get(&found->env, "NO_COLOR");		/* no-color.org */
	const char *force = ri_env_get(&found->env, "CLICOLOR_FORCE");	/* bixense.com/clicolors */
	const char *terminal = ri_env_get(&found->env, "TERM");	/* term(7): "dumb" shows none */

	if (none != NULL && none[0] != '\0')
		return RI_LOG_PLAIN;
	if (force != NULL && force[0] != '\0' && strcmp(force, "0") != 0)
		return RI_LOG_COLOR;
	return terminal != NULL && strcmp(terminal, "dumb") == 0
		? RI_LOG_PLAIN : RI_LOG_COLOR_ON_TERMINAL;
}

/* The rank of this process in a job that has others, or -1. */
static int64_t rank_beside_others(const struct ri_found *found)
{
	uint64_t rank, ranks;

	return ri_topology_get(&found->topology, RI_FACT_RANK, &rank) &&
		ri_topology_get(&found->topology, RI_FACT_WORLD_SIZE, &ranks) && ranks > 1
		? (int64_t)rank : -1;
}

int64_t ri_found_single_rank(const struct ri_found *found)
{
	return found->context.fan_out == 0 && found->command.mode == RI_MODE_PROCESS
		? rank_beside_others(found) : -1;
}

int64_t ri_found_own_rank(const struct ri_found *found)
{
	return found->context.fan_out == 1 && found->options.supervise != RI_SWITCH_NEVER
		? rank_beside_others(found) : -1;
}

/* A mark of an outer rankinit's hides the manager that started both. */
static bool is_below(const struct ri_found *found, const char *word)
{
	return (found->topology.traits & RI_TRAIT_BELOW) != 0 &&
		ri_outer_says(&found->env, word) && ri_found_single_rank(found) >= 0;
}

bool ri_found_is_of_ours(const struct ri_found *found)
{
	return is_below(found, ri_outer_ranks);
}

bool ri_found_is_managed(const struct ri_found *found)
{
	return ri_source_of(found->topology.identity)->manages ||
		is_below(found, ri_outer_manager) || ri_found_is_of_ours(found);
}

static int refuse_launcher(const struct ri_found *found, const char *subject,
	struct ri_error *err)
{
	const struct ri_launcher *launcher = found->command.launcher;
	const char *name = launcher == NULL ? "COMMAND" : launcher->name;
	bool has_own = ri_launcher_is_torchruns(launcher);

	if (has_own && ri_context_told(&found->context, "--max-restarts",
		"PET_MAX_RESTARTS") != NULL) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "%s has --max-restarts, and starts "
			"its ranks again itself", name);
		return ri_fail_hint(err, "leave %s out", subject);
	}
	ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "%s starts the ranks, and rankinit can "
		"start again only what it started itself", name);
	return has_own ? ri_fail_hint(err, "write %s --max-restarts=%s in place of it", name,
			found->options.given.restarts.value)
		: ri_fail_hint(err, "leave it out, or let rankinit start the ranks: "
			"--nproc-per-node=N -- python3 train.py");
}

/* --restarts: can rankinit start again what this command is? A note says that it can. */
static int check_restarts(const struct ri_found *found, struct ri_error *err)
{
	const struct ri_options *options = &found->options;
	const char *subject = options->given.restarts.subject;
	int64_t rank = ri_found_single_rank(found);
	/* by the link of an attempt before this one, which had a key */
	bool was_linked = found->carried != NULL && found->carried->link.on;
	uint64_t nodes;

	if (options->restarts == 0)
		return 0;
	if (found->command.mode != RI_MODE_PROCESS)
		return refuse_launcher(found, subject, err);
	if (rank >= 0) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "rank %lld is one of several that "
			"another program started, and alone it cannot start again",
			(long long)rank);
		return ri_fail_hint(err, "leave it out, or let rankinit start the ranks of a node: "
			"--nproc-per-node=N");
	}
	if (ri_topology_get(&found->topology, RI_FACT_NNODES, &nodes) && nodes > 1 &&
		(options->link != RI_LINK_MODE_STOP ||
			(options->given.link_key.value == NULL && !was_linked))) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "the job has %llu nodes, which "
			"start their ranks again together, by --link with a --link-key",
			(unsigned long long)nodes);
		return ri_fail_hint(err, "add --link=yes and give all nodes the same "
			"--link-key, or leave it out: the platform may start all of them again");
	}
	ri_note(found->context.findings, RI_CODE_RESTARTS_ON, subject,
		"after a failure the ranks start again, %llu times at most",
		(unsigned long long)options->restarts);
	return 0;
}

int ri_found_fill(struct ri_found *found, struct ri_arena *arena, struct ri_findings *findings,
	struct ri_error *err)
{
	static const struct ri_meeting alone = { ri_is_local_master, ri_port_take };
	static const struct ri_meeting others = { ri_is_local_master, NULL };
	/* each rank's --print-env says the same, and so does each node */
	bool agrees = found->options.action == RI_ACTION_PRINT_ENV ||
		found->options.link != RI_LINK_MODE_NO;

	if (ri_options_check(&found->options, err) < 0)
		return -1;
	found->context = (struct ri_context){
		.env = &found->env, .wishes = &found->options.wishes,
		.arena = arena, .findings = findings,
		.command = &found->command, .host = &found->host,
		.meeting = found->options.given.root.value != NULL ? NULL
			: agrees ? &others : &alone,
	};
	if (!found->options.disabled)
		ri_command_read(&found->command, found->options.command, found->options.launch);
	if (find_host(found, err) < 0)
		return -1;
	if (!found->options.disabled) {
		if (count_ranks(found, err) < 0 || find_topology(found, err) < 0)
			return -1;
		/* where do the ranks run that are started here, or the one that we are? */
		if (ri_placing_prepare(&found->placing, &found->options.place, &found->topology,
				&found->context, err) < 0 ||
			check_restarts(found, err) < 0)
			return -1;
		judge_words(found);
		ri_idle_gpus_judge(&found->topology, &found->context);
	}
	/* what was given up for a stop may be a file that need not be there */
	if (ri_apart_stop() != 0 || ri_ranks_find_common(found, ri_found_is_of_job(found), err) < 0)
		return -1;
	return ri_rank_view(&found->first, found, 0, arena, err);
}
