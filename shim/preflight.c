/* SPDX-License-Identifier: Apache-2.0 */
/* Is this node fit? Which checks run, and what follows from them. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check/choose.h"
#include "check/print.h"
#include "check/runner.h"
#include "command/words.h"
#include "from/sources.h"
#include "say/print.h"
#include "system/mask.h"
#include "system/said.h"

/* How long the first rank speaks alone; Open MPI's mpirun takes a second to stop the others. */
enum { FIRST_WORD_MS = 2000 };

/* What is read is written, too: how much longer that may take. */
enum { TIMES_RECORDED = 20 };

/* Those that a known launcher is told to start: its own words count first. */
static bool count_launched(const struct ri_found *found, uint64_t *out)
{
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	const struct ri_launcher *launcher = found->command.launcher;
	const char *variable;
	uint64_t nodes = 0;

	if (launcher == NULL)
		return false;
	ri_topology_get(&found->topology, RI_FACT_NNODES, &nodes);
	if (ri_command_ranks(&found->command, nodes, out))
		return true;
	*out = found->options.wishes.nproc_count;
	if (*out > 0 || !launcher->reads_pet)
		return *out > 0;
	/* PyTorch torch/distributed/argparse_util.py, env */
	variable = ri_env_get(&found->env, "PET_NPROC_PER_NODE");
	return variable != NULL && ri_number_read(variable, range, out, NULL) == RI_NUMBER_OK;
}

/* Those of this node, by whoever starts them. */
static uint64_t count_ranks(const struct ri_found *found)
{
	uint64_t ranks = 0;

	if (found->source.context.fan_out > 0)
		return found->source.context.fan_out;
	if (count_launched(found, &ranks))
		return ranks;
	if (ri_topology_get(&found->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks) && ranks > 0)
		return ranks;
	if (found->options.wishes.nproc_count > 0)
		return found->options.wishes.nproc_count;
	return ri_topology_get(&found->topology, RI_FACT_NPROC, &ranks) && ranks > 0 ? ranks : 1;
}

/*
 * A rank that somebody else started may have been given a GPU of its own, as
 * srun --gpus-per-task does; who counts ranks by CPUs wants no GPUs.
 */
static bool may_lack_gpus(const struct ri_found *found)
{
	if (found->options.nproc == RI_NPROC_CPU)
		return true;
	return found->source.context.fan_out == 0 && found->command.mode != RI_MODE_NODE &&
		ri_env_get(&found->env, "CUDA_VISIBLE_DEVICES") != NULL;
}

/* Ranks that somebody else has started beside this one, which may be at work already. */
static bool has_peers(const struct ri_found *found)
{
	uint64_t ranks;

	return found->source.context.fan_out == 0 && found->command.mode != RI_MODE_NODE &&
		ri_topology_get(&found->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks) && ranks > 1;
}

/* Several ranks of a node would all find the same: the first one speaks. */
static bool is_speaker(const struct ri_found *found)
{
	uint64_t local_rank;

	return !ri_topology_get(&found->topology, RI_FACT_LOCAL_RANK, &local_rank) ||
		local_rank == 0;
}

static void ask_by_size(const struct ri_found *found, struct ri_demands *demands,
	struct ri_checking *checking)
{
	const char *name = found->options.checks.azure_size.value;
	const struct ri_azure_size *size = name == NULL ? NULL : ri_azure_size_find(name);
	struct ri_demand demand = { .subject = name, .asker = RI_ASKER_SIZE };
	char quoted[RI_QUOTE_SIZE];

	checking->azure_size = size;
	if (size == NULL) {
		if (name != NULL)
			ri_log(RI_LEVEL_WARNING, "%s: rankinit does not know the size %s and "
				"expects nothing of this node "
				"[%s]", found->options.checks.azure_size.subject,
				ri_quote(quoted, sizeof(quoted), name),
				ri_code_name(RI_CODE_AZURE_SIZE_UNKNOWN));
		return;
	}
	if (size->gpus > 0) {
		demand.count = size->gpus;
		ri_demands_add(demands, RI_TOPIC_GPU, demand);
	}
	if (size->network == RI_AZURE_INFINIBAND) {
		demand.count = size->ports;
		demand.rate = size->rate;
		ri_demands_add(demands, RI_TOPIC_IB, demand);
	}
}

/* What is asked for, and by whom. */
static void find_demands(const struct ri_found *found, struct ri_demands *demands,
	struct ri_checking *checking)
{
	const struct ri_demand mpi = { .subject = "an MPI job", .asker = RI_ASKER_SOURCE };
	const struct ri_demand gpus = {
		.subject = found->options.wishes.nproc.subject, .asker = RI_ASKER_SOURCE,
		.count = 1,
	};
	uint64_t ranks = 0;

	*demands = found->options.checks.demands;
	if (found->options.nproc == RI_NPROC_GPU)
		ri_demands_add(demands, RI_TOPIC_GPU, gpus);
	ri_topology_get(&found->topology, RI_FACT_WORLD_SIZE, &ranks);
	if (ranks > 1 && ri_source_mpi(found->topology.identity) != RI_SOURCE_NO_MPI)
		ri_demands_add(demands, RI_TOPIC_MPI, mpi);
	ask_by_size(found, demands, checking);
}

static int open_host(struct ri_run *run, struct ri_host *host)
{
	if (ri_host_root(&run->found.host) < 0)
		return ri_fail(&run->err, RI_CODE_FILE_UNREADABLE, run->found.host.path,
			"cannot be opened: %s", strerror(errno));
	*host = run->found.host;
	/* what looks runs in a process of its own that is not waited for */
	host->apart = NULL;
	return 0;
}

/* Run those that are chosen. Returns 0, 1 where none is, or -1. */
static int run_checks(struct ri_run *run, bool all)
{
	static struct ri_demands demands;
	struct ri_host host = { .root = -1, .live = run->found.options.given.root.value == NULL };
	struct ri_check_plan plan = {
		.checking = {
			.env = &run->found.env, .topology = &run->found.topology,
			.demands = &demands, .arena = &run->arena,
			.ranks = count_ranks(&run->found), .host = &host,
			.command = run->found.options.command,
			.deep = run->found.options.checks.deep,
			.may_lack_gpus = may_lack_gpus(&run->found),
			.has_peers = has_peers(&run->found),
			.verbose = all || ri_log_shows(RI_LEVEL_NOTE),
		},
		.wishes = &run->found.options.checks,
		.times = run->found.host.tell == NULL ? 1 : TIMES_RECORDED,
		.keeps_all = all,
	};
	int status;

	find_demands(&run->found, &demands, &plan.checking);
	if (!ri_checks_choose(&plan, !all) && !all)
		return 1;
	if (open_host(run, &host) < 0)
		return -1;
	ri_mask_default_chld();
	plan.keeps_all |= run->found.options.given.report.value != NULL;
	status = ri_checks_run(&plan, &run->checked, &run->err);
	return status;
}

/* A node that cannot be looked at is a reason to refuse where something is required. */
static int go_on_unchecked(struct ri_run *run)
{
	if (ri_check_refuser(&run->found.options.checks) != NULL)
		return -1;
	ri_log(RI_LEVEL_WARNING, "this node was not checked: %s: %s [%s]", run->err.subject,
		run->err.text, ri_code_name(run->err.code));
	run->err = (struct ri_error)RI_ERROR_INIT;
	return 0;
}

/* The one of those that may refuse which somebody wrote for this launch; or NULL. */
static const struct ri_given *find_meant(const struct ri_check_wishes *wishes)
{
	if (wishes->require.value != NULL && !wishes->require.twin)
		return &wishes->require;
	return wishes->fails && !wishes->level.twin ? &wishes->level : NULL;
}

/* As a command: what stands around it is a blank, a sign of the shell's, or '/' before it. */
static bool has_rankinit(const char *word)
{
	static const char name[] = "rankinit", signs[] = " \t\n;&|(){}'\"`$";
	const char *at = word;

	for (; (at = strstr(at, name)) != NULL; at++) {
		char after = at[strlen(name)];

		if ((at == word || at[-1] == '/' || strchr(signs, at[-1]) != NULL) &&
			strchr(signs, after) != NULL)	/* the end, too */
			return true;
	}
	return false;
}

/* A rankinit among the words, the text of sh -c too: it gets what was not looked at. */
static bool names_rankinit(char *const *words)
{
	for (; words != NULL && *words != NULL; words++)
		if (has_rankinit(*words))
			return true;
	return false;
}

/* A shell that is given nothing to run, as in docker run -it IMAGE bash. */
static bool is_plain_shell(char *const *words)
{
	if (words == NULL || ri_word_shell(*words) == NULL)
		return false;
	for (words++; *words != NULL; words++)
		if ((*words)[0] != '-')
			return false;
	return true;
}

/* Why nothing is looked at, and what to do about it. */
static const char *explain_unasked(const struct ri_found *found)
{
	if (ri_topology_is_beside(&found->topology))
		return "this process is not a rank of the job; check the node with rankinit "
			"--check";
	if (found->command.mode == RI_MODE_NONE)
		return "this process starts the ranks of the whole job and is not a rank itself; "
		       "put rankinit before the program that it starts";
	return "this process is not recognised as part of a job; check the node with rankinit "
	       "--check, or make a job of one rank with --nproc-per-node=1";
}

/*
 * An image's RANKINIT_REQUIRE is not for a shell in it, and goes on to a rankinit
 * that the command is or starts; whoever writes --require means it. Of all services of
 * a container the first one says it.
 */
static void say_unasked(const struct ri_found *found)
{
	const struct ri_given *meant = find_meant(&found->options.checks);
	bool always = meant != NULL || found->options.action != RI_ACTION_LAUNCH;

	if (meant == NULL && !is_plain_shell(found->options.command))
		meant = ri_check_refuser(&found->options.checks);
	if (meant == NULL || found->options.wishes.source.value != NULL ||
		names_rankinit(found->options.command))
		return;
	ri_log(always || !ri_was_said("unchecked") ? RI_LEVEL_WARNING : RI_LEVEL_NOTE,
		"%s: requirements not checked: %s [%s]", meant->subject, explain_unasked(found),
		ri_code_name(RI_CODE_CHECK_UNASKED));
}

/* Whoever turns checks off means it, and is not to forget what that leaves out. */
static void say_left_out(const struct ri_found *found, const struct ri_given *refuser)
{
	if (refuser == NULL || !is_speaker(found) || found->command.mode == RI_MODE_NONE)
		return;
	ri_log(RI_LEVEL_WARNING, "%s: requirements not checked, because %s=none turns off all "
		"checks; this node may be unfit [%s]", refuser->subject,
		found->options.checks.checks.subject, ri_code_name(RI_CODE_CHECK_UNASKED));
}

/* The same of one check, that is required by its id. */
static void say_turned_off(const struct ri_found *found)
{
	const struct ri_check_wishes *wishes = &found->options.checks;
	const char *id = ri_checks_turned_off(wishes);

	if (id != NULL && is_speaker(found))
		ri_log(RI_LEVEL_WARNING, "%s: %s is not checked, because %s turns it off [%s]",
			wishes->require.subject, id, wishes->level.subject,
			ri_code_name(RI_CODE_CHECK_UNASKED));
}

/*
 * Most launchers end a job at the first failure: whoever left at once could
 * have local rank 0 ended before it has said what to do. Returns the exit
 * status of a stop that came, or 0.
 */
static int let_first_speak(void)
{
	siginfo_t info;
	int number = ri_mask_wait_for(ri_mask_stops(), &info, FIRST_WORD_MS);

	return number == 0 ? 0 : 128 + number;
}

/*
 * All ranks refuse, so that none has begun when the job ends. The first one
 * says why and what to do; the others may see what that one does not, as a
 * CUDA_VISIBLE_DEVICES of their own, and say in a line what they see, where
 * nobody ends them before. mpirun mixes the lines of all nodes, so each names
 * its own.
 */
static int refuse(struct ri_run *run, const struct ri_given *refuser)
{
	const char *hint = "start it on another node, or give this one what it needs";
	char reasons[RI_CHECK_REASONS];
	const char *why = ", for the reasons above";
	struct utsname names = { .nodename = "" };
	int stop = 0;

	if (!is_speaker(&run->found) && run->found.options.action == RI_ACTION_LAUNCH)
		stop = let_first_speak();
	if (stop != 0)
		return stop;
	if (run->found.options.action == RI_ACTION_EXPLAIN) {
		/* it may be about another machine's --root */
		why = ", for the reasons in the other findings";
	} else {
		uname(&names);
		if (!is_speaker(&run->found)) {
			why = ri_check_reasons(&run->checked, reasons);
			hint = "local rank 0 says what to do, if it sees the same problem";
		}
	}
	ri_fail(&run->err, RI_CODE_CHECK_UNFIT, refuser->subject, "this node%s%s%s is not fit for "
		"the job%s", names.nodename[0] == '\0' ? "" : " (", names.nodename,
		names.nodename[0] == '\0' ? "" : ")", why);
	return ri_fail_hint(&run->err, "%s", hint);
}

static int look(struct ri_run *run)
{
	const struct ri_given *refuser = ri_check_refuser(&run->found.options.checks);
	int status;

	if (run->found.options.disabled)
		return 0;
	if (!ri_found_is_of_job(&run->found)) {
		say_unasked(&run->found);
		return 0;
	}
	if (run->found.options.checks.pick == RI_CHECK_PICK_NONE) {
		say_left_out(&run->found, refuser);
		return 0;
	}
	if (ri_checks_hold_deep(&run->found.options.checks, &run->err) < 0)
		return -1;
	say_turned_off(&run->found);
	if (!is_speaker(&run->found) && refuser == NULL)
		return 0;
	status = run_checks(run, false);
	if (status != 0)
		return status < 0 ? go_on_unchecked(run) : 0;
	run->was_checked = true;
	if (run->checked.stop != 0)
		return 128 + run->checked.stop;
	if (run->found.options.action == RI_ACTION_EXPLAIN)
		ri_check_explain(&run->checked, &run->findings);
	else if (is_speaker(&run->found))
		ri_check_log(&run->checked);
	return run->checked.unfit ? refuse(run, refuser) : 0;
}

int ri_run_preflight(struct ri_run *run)
{
	int status = look(run);

	if (status != 0 || run->found.nproc_err.code == RI_CODE_NONE)
		return status;
	run->err = run->found.nproc_err;
	return -1;
}

int ri_run_check(struct ri_run *run)
{
	if (ri_found_fill(&run->found, &run->arena, &run->findings, &run->err) < 0)
		return ri_run_fail(run);
	if (!is_speaker(&run->found))
		return 0;
	ri_log_findings(&run->findings);
	if (run->found.options.checks.pick == RI_CHECK_PICK_NONE)
		say_left_out(&run->found, ri_check_refuser(&run->found.options.checks));
	else
		say_turned_off(&run->found);
	if (ri_checks_hold_deep(&run->found.options.checks, &run->err) < 0 || run_checks(run,
		true) < 0)
		return ri_run_fail(run);
	if (run->checked.stop != 0)
		return ri_run_leave(run, 128 + run->checked.stop);
	if (ri_print_check(run->found.options.action_value, &run->checked,
		    ri_found_color(&run->found), &run->err) < 0)
		return ri_run_fail(run);
	return run->found.options.exit_map.to[run->checked.unfit
		? ri_code_status(RI_CODE_CHECK_UNFIT)
							    : 0];
}
