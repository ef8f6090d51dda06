/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/preflight.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check/machine.h"
#include "check/runner.h"
#include "command/command.h"
#include "from/sources.h"
#include "system/apart.h"
#include "system/log.h"
#include "system/mask.h"

/* How long the first rank speaks alone; Open MPI's mpirun takes a second to stop the others. */
enum { FIRST_WORD_MS = 2000 };

/* --- which checks run -------------------------------------------------------- */

/* Not one of those that only their name brings in, or "deep". */
static bool is_common(size_t number, bool deep)
{
	enum ri_check_runs runs = ri_check_at(number)->runs;

	return runs != RI_CHECK_EXTRA && (runs != RI_CHECK_DEEP || deep);
}

static bool is_about(size_t number, unsigned topic)
{
	return (ri_check_at(number)->topics & 1u << topic) != 0;
}

/* May what runs a program do so? */
static bool are_deep(const struct ri_check_wishes *wishes)
{
	return wishes->demands.of[RI_ASKER_EXPECT].deep ||
		wishes->demands.of[RI_ASKER_REQUIRE].deep;
}

/*
 * What --require names and --checks leaves out, or NULL: the id of a check, of a family the
 * first, or a word such as "gpu" of which no check is left.
 */
static const char *turned_off(const struct ri_check_wishes *wishes)
{
	const struct ri_asked *required = &wishes->demands.of[RI_ASKER_REQUIRE];
	const char *first = NULL;
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		bool off = ri_check_set_has(&wishes->off, i);

		if (off && ri_check_set_has(&required->by_id, i))
			return ri_check_ids()[i];
		if (!ri_check_set_has(&required->by_family, i))
			continue;
		some = some || !off;
		first = first == NULL ? ri_check_ids()[i] : first;
	}
	if (first != NULL && !some)
		return first;
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		/* are all checks off that look after the topic? */
		some = required->topics[topic].subject == NULL;
		for (size_t i = 0; i < ri_check_count(); i++)
			some |= is_about(i, topic) && is_common(i, are_deep(wishes)) &&
				!ri_check_set_has(&wishes->off, i);
		if (!some)
			return ri_topic_name((enum ri_topic)topic);
	}
	return NULL;
}

/*
 * Is a check that runs a program asked for by its id, and "deep" is not? It would say nothing:
 * RI_CODE_OPTION_VALUE.
 */
static int hold_deep(const struct ri_check_wishes *wishes, struct ri_error *err)
{
	const struct ri_demand *demand;
	const struct ri_check *check;

	for (size_t i = 0; (check = ri_check_at(i)) != NULL; i++) {
		demand = ri_demands_check(&wishes->demands, i, false);
		if (are_deep(wishes) || check->runs != RI_CHECK_DEEP || demand == NULL ||
			ri_check_set_has(&wishes->off, i))
			continue;
		ri_fail(err, RI_CODE_OPTION_VALUE, demand->subject,
			"\"%s\": this check needs deep", ri_check_ids()[i]);
		return ri_fail_hint(err, "add deep to the list, with which rankinit-probe loads "
			"the image's own libraries, or leave the check out");
	}
	return 0;
}

static bool is_picked(const struct ri_check_plan *plan, size_t number)
{
	const struct ri_check_wishes *wishes = plan->wishes;
	const struct ri_demands *demands = plan->checking.demands;
	const struct ri_asked *required = &demands->of[RI_ASKER_REQUIRE];
	bool picked = wishes->pick == RI_CHECK_PICK_DEFAULT ||
		ri_check_set_has(&required->by_family, number);

	if (ri_check_set_has(&wishes->off, number) || wishes->pick == RI_CHECK_PICK_NONE)
		return false;
	if (ri_check_set_has(&wishes->picked, number) || wishes->pick == RI_CHECK_PICK_ALL ||
		ri_demands_check(demands, number, false) != NULL)
		return true;
	/* a list of checks takes nothing from what is required */
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		picked |= is_about(number, topic) && required->topics[topic].subject != NULL;
	return picked && is_common(number, plan->checking.deep);
}

/*
 * For --check all that were picked, before a launch those of them that are for it, or asked for.
 * Is there any?
 */
static bool choose(struct ri_check_plan *plan, bool before_launch)
{
	const struct ri_demands *demands = plan->checking.demands;
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		enum ri_check_runs runs = ri_check_at(i)->runs;
		bool asked = !before_launch || plan->wishes->pick == RI_CHECK_PICK_ALL ||
			ri_check_set_has(&plan->wishes->picked, i) ||
			ri_demands_check(demands, i, false) != NULL ||
			ri_demands_check(demands, i, true) != NULL;

		for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
			asked |= is_about(i, topic) &&
				ri_demands_find(demands, (enum ri_topic)topic) != NULL;
		if (!is_picked(plan, i) ||
			(!asked && runs != RI_CHECK_LAUNCH && runs != RI_CHECK_DEEP))
			continue;
		ri_check_set_add(&plan->chosen, i);
		if (asked)
			ri_check_set_add(&plan->asked, i);
		some = true;
	}
	return some;
}

/* --- what they are given ----------------------------------------------------- */

/* Ranks of this node, whichever program starts them. */
static uint64_t count_ranks(const struct ri_preflight *of)
{
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	const struct ri_launcher *launcher = of->command->launcher;
	const char *variable;
	uint64_t ranks = 0, nodes = 0;

	if (of->fan_out > 0)
		return of->fan_out;
	/* those that a known launcher is told to start: its own words count first */
	ri_topology_get(of->topology, RI_FACT_NNODES, &nodes);
	if (launcher != NULL && ri_command_ranks(of->command, nodes, &ranks))
		return ranks;
	if (launcher != NULL && of->options->wishes.nproc_count > 0)
		return of->options->wishes.nproc_count;
	/* PyTorch torch/distributed/argparse_util.py, env */
	variable = launcher != NULL && launcher->reads_pet
		? ri_env_get(of->env, "PET_NPROC_PER_NODE") : NULL;
	if (variable != NULL && ri_number_read(variable, range, &ranks, NULL) == RI_NUMBER_OK)
		return ranks;
	if (ri_topology_get(of->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks) && ranks > 0)
		return ranks;
	if (of->options->wishes.nproc_count > 0)
		return of->options->wishes.nproc_count;
	return ri_topology_get(of->topology, RI_FACT_NPROC, &ranks) && ranks > 0 ? ranks : 1;
}

/*
 * A launcher may have given the rank a GPU of its own, as srun --gpus-per-task does; a user who
 * counts ranks by CPUs wants no GPUs.
 */
static bool may_lack_gpus(const struct ri_preflight *of)
{
	if (of->options->nproc == RI_NPROC_CPU)
		return true;
	return of->fan_out == 0 && of->command->mode != RI_MODE_NODE &&
		ri_env_get(of->env, "CUDA_VISIBLE_DEVICES") != NULL;
}

/* Has a launcher started ranks beside this one, which may be at work already? */
static bool has_peers(const struct ri_preflight *of)
{
	uint64_t ranks;

	return of->fan_out == 0 && of->command->mode != RI_MODE_NODE &&
		ri_topology_get(of->topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks) && ranks > 1;
}

/*
 * Before a launch several ranks of a node would all find the same, so the first one speaks. The
 * user who asks for --check gets an answer.
 */
static bool speaks(const struct ri_preflight *of)
{
	uint64_t local_rank;

	return of->options->action == RI_ACTION_CHECK ||
		!ri_topology_get(of->topology, RI_FACT_LOCAL_RANK, &local_rank) ||
		local_rank == 0;
}

static void find_demands(const struct ri_preflight *of, struct ri_demands *demands)
{
	struct ri_asked *job = &demands->of[RI_ASKER_SOURCE];
	struct ri_asked *required = &demands->of[RI_ASKER_REQUIRE];
	uint64_t ranks = 0;

	*demands = of->options->checks.demands;
	if (of->options->nproc == RI_NPROC_GPU)
		job->topics[RI_TOPIC_GPU] = (struct ri_demand){
			.subject = of->options->wishes.nproc.subject, .asker = RI_ASKER_SOURCE,
			.count = 1,
		};
	ri_topology_get(of->topology, RI_FACT_WORLD_SIZE, &ranks);
	if (ranks > 1 && ri_source_of(of->topology->identity)->mpi != RI_SOURCE_NO_MPI)
		job->topics[RI_TOPIC_MPI] = (struct ri_demand){
			.subject = "an MPI job", .asker = RI_ASKER_SOURCE,
		};
	ri_demands_add_size(&demands->of[RI_ASKER_EXPECT], RI_ASKER_EXPECT);
	ri_demands_add_size(required, RI_ASKER_REQUIRE);
	for (size_t i = 0; required->deep && i < ri_check_count(); i++)
		if (ri_check_at(i)->runs == RI_CHECK_DEEP)
			ri_check_set_add(&required->by_family, i);
}

static struct ri_node_facts facts;

static int find_facts(void *plan)
{
	ri_node_facts_find(&facts, plan);
	return 0;
}

/* NULL: a file or a driver did not answer, or the user named checks and no more. */
static const struct ri_node_facts *look_for_facts(const struct ri_preflight *of,
	const struct ri_checking *checking)
{
	const enum ri_check_pick pick = of->options->checks.pick;
	struct ri_node_facts_plan plan = {
		.checking = *checking, .is_init = getpid() == 1, .looks = true,
	};
	const struct ri_apart work = {
		.work = find_facts, .argument = &plan, .subject = "--check", .path = "/sys",
		.most_ms = RI_CHECKS_MS,
	};

	if (pick == RI_CHECK_PICK_LIST || pick == RI_CHECK_PICK_NONE)
		return NULL;
	return ri_apart(&work) < 0 ? NULL : &facts;
}

static int ask_image(void *argument)
{
	return ri_machine_is_image(argument) ? 1 : 0;
}

/* Never where its folders do not answer. */
static bool is_image(struct ri_host *host)
{
	const struct ri_apart work = {
		.work = ask_image, .argument = host, .subject = "--root", .path = host->path,
		.most_ms = RI_CHECKS_MS,
	};

	return ri_apart(&work) == 1;
}

/* Run those that are chosen. Returns 0, 1 where none is, or -1. */
static int run_checks(const struct ri_preflight *of, bool all, struct ri_check_report *checked,
	struct ri_error *err)
{
	static struct ri_demands demands;
	struct ri_host host = { .root = -1, .live = of->options->given.root.value == NULL };
	const struct ri_check_wishes *wishes = &of->options->checks;
	struct ri_check_plan plan = {
		.checking = {
			.env = of->env, .topology = of->topology, .demands = &demands,
			.arena = of->arena, .ranks = count_ranks(of), .host = &host,
			.command = of->options->command, .deep = are_deep(wishes),
			.may_lack_gpus = may_lack_gpus(of), .has_peers = has_peers(of),
			.own_gpus = of->fan_out > 0 &&
				of->options->place.gpu_bind == RI_GPU_BIND_SINGLE,
			.verbose = all || ri_log_shows(RI_LEVEL_NOTE),
		},
		.wishes = wishes,
		.keeps_all = all,
	};

	find_demands(of, &demands);
	plan.checking.azure_size = demands.of[RI_ASKER_REQUIRE].size;
	if (plan.checking.azure_size == NULL)
		plan.checking.azure_size = demands.of[RI_ASKER_EXPECT].size;
	/* a size of the environment that no table has promises nothing */
	if (wishes->unknown_asker != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: rankinit does not know the size %s and expects "
			"nothing of this node [%s]", wishes->unknown_asker,
			RI_QUOTED(wishes->unknown_size), ri_code_name(RI_CODE_AZURE_SIZE_UNKNOWN));
	if (!choose(&plan, !all) && !all)
		return 1;
	if (ri_host_root(of->host) < 0)
		return ri_fail(err, RI_CODE_FILE_UNREADABLE, of->host->path,
			"cannot be opened: %s", strerror(errno));
	host = *of->host;
	/* what looks runs in a process of its own that is not waited for */
	host.apart = NULL;
	plan.image = !host.live && is_image(&host);
	ri_mask_default_chld();
	plan.keeps_all |= of->options->given.report.value != NULL;
	if (ri_checks_run(&plan, checked, err) < 0)
		return -1;
	if (all && checked->stop == 0)
		checked->facts = look_for_facts(of, &plan.checking);
	return 0;
}

/*
 * All ranks refuse, so that none has begun when the job ends. The first one
 * says why and what to do; the others may see what that one does not, as a
 * CUDA_VISIBLE_DEVICES of their own, and say in a line what they see, if the
 * launcher does not end them before. mpirun mixes the lines of all nodes, so each
 * names its own.
 */
static int refuse(const struct ri_preflight *of, const struct ri_given *refuser,
	const struct ri_check_report *checked, struct ri_error *err)
{
	const char *hint = "start it on another node, or give this one what it needs";
	char reasons[RI_CHECK_REASONS];
	const char *why = ", for the reasons above";
	struct utsname names = { .nodename = "" };
	siginfo_t info;
	int stop = 0;

	/*
	 * Most launchers end a job at the first failure: a rank that left at once could
	 * have local rank 0 ended before that has said what to do.
	 */
	if (!speaks(of) && of->options->action == RI_ACTION_LAUNCH)
		stop = ri_mask_wait_for(ri_mask_stops(), &info, FIRST_WORD_MS);
	if (stop != 0)
		return 128 + stop;
	if (of->options->action == RI_ACTION_EXPLAIN) {
		/* it may be about another machine's --root */
		why = ", for the reasons in the other findings";
	} else {
		uname(&names);
		if (!speaks(of)) {
			why = ri_check_reasons(checked, reasons);
			hint = "local rank 0 says what to do, if it sees the same problem";
		}
	}
	ri_fail(err, RI_CODE_CHECK_UNFIT, refuser->subject, "this node%s%s%s is not fit for "
		"the job%s", names.nodename[0] == '\0' ? "" : " (", names.nodename,
		names.nodename[0] == '\0' ? "" : ")", why);
	return ri_fail_hint(err, "%s", hint);
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

/*
 * An image's RANKINIT_REQUIRE is not for a shell in it, and goes on to a rankinit that the command
 * is or starts: then there is no warning. A --require on the command line is for this process. Of
 * all services of a container the first one says it.
 */
static void say_unasked(const struct ri_preflight *of)
{
	const struct ri_given *require = &of->options->checks.require;
	bool always = !require->twin || of->options->action != RI_ACTION_LAUNCH;
	char *const *words = of->options->command;
	const char *why = "this process is not recognised as part of a job; check the node with "
		"rankinit --check, or make a job of one rank with --nproc-per-node=1";

	if (require->value == NULL || of->options->wishes.source.value != NULL)
		return;
	/* a shell that is given nothing to run, as in docker run -it IMAGE bash */
	if (require->twin && words != NULL && ri_word_shell(*words) != NULL) {
		for (words++; *words != NULL && (*words)[0] == '-';)
			words++;
		if (*words == NULL)
			return;
	}
	/* a rankinit among the words, the text of sh -c too: it gets what was not looked at */
	for (char *const *word = of->options->command; word != NULL && *word != NULL; word++)
		if (has_rankinit(*word))
			return;
	if (ri_topology_is_beside(of->topology))
		why = "this process is not a rank of the job; check the node with rankinit --check";
	else if (of->command->mode == RI_MODE_NONE)
		why = "this process starts the ranks of the whole job and is not a rank itself; "
			"put rankinit before the program that it starts";
	ri_log(always || !ri_was_said("unchecked") ? RI_LEVEL_WARNING : RI_LEVEL_NOTE,
		"%s: requirements not checked: %s [%s]", require->subject, why,
		ri_code_name(RI_CODE_CHECK_UNASKED));
}

/* All checks, or one that is required: a user who turns it off is told what that leaves out. */
static void say_off(const struct ri_preflight *of)
{
	const struct ri_check_wishes *wishes = &of->options->checks;
	const char *id;

	if (wishes->require.value == NULL || !speaks(of))
		return;
	if (wishes->pick == RI_CHECK_PICK_NONE) {
		/* a launcher starts ranks that are asked themselves */
		if (of->command->mode != RI_MODE_NONE)
			ri_log(RI_LEVEL_WARNING, "%s: requirements not checked, because %s=none "
				"turns off all checks; this node may be unfit [%s]",
				wishes->require.subject, wishes->checks.subject,
				ri_code_name(RI_CODE_CHECK_UNASKED));
		return;
	}
	id = turned_off(wishes);
	if (id != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: %s is not checked, because %s turns it off [%s]",
			wishes->require.subject, id, wishes->checks.subject,
			ri_code_name(RI_CODE_CHECK_UNASKED));
}

int ri_preflight_look(const struct ri_preflight *of, struct ri_check_report *checked,
	struct ri_findings *findings, struct ri_error *err)
{
	const struct ri_check_wishes *wishes = &of->options->checks;
	const struct ri_given *refuser = wishes->require.value == NULL ? NULL : &wishes->require;
	int status;

	if (of->options->disabled)
		return 0;
	if (!of->is_of_job) {
		say_unasked(of);
		return 0;
	}
	/* a simulated one, where nothing can be required of the machine that plays it */
	if (of->host->unfit) {
		ri_fail(err, RI_CODE_CHECK_UNFIT, "--simulate", "this node (%s) plays one that is "
			"not fit for the job", of->host->name);
		return ri_fail_hint(err, "leave its unfit=NODE@RESTART out");
	}
	if (wishes->pick != RI_CHECK_PICK_NONE && hold_deep(wishes, err) < 0)
		return -1;
	say_off(of);
	if (wishes->pick == RI_CHECK_PICK_NONE || (!speaks(of) && refuser == NULL))
		return 0;
	status = run_checks(of, false, checked, err);
	/* a node that cannot be looked at is a reason to refuse where something is required */
	if (status < 0 && refuser != NULL)
		return -1;
	if (status < 0) {
		ri_log(RI_LEVEL_WARNING, "this node was not checked: %s: %s [%s]", err->subject,
			err->text, ri_code_name(err->code));
		*err = (struct ri_error)RI_ERROR_INIT;
	}
	if (status != 0)
		return 0;
	checked->ran = true;
	if (checked->stop != 0)
		return 128 + checked->stop;
	if (of->options->action == RI_ACTION_EXPLAIN)
		ri_check_explain(checked, findings);
	else if (speaks(of))
		ri_check_log(checked);
	return checked->unfit ? refuse(of, refuser, checked, err) : 0;
}

int ri_preflight_check(const struct ri_preflight *of, struct ri_check_report *checked,
	struct ri_error *err)
{
	say_off(of);
	if (hold_deep(&of->options->checks, err) < 0)
		return -1;
	return run_checks(of, true, checked, err);
}
