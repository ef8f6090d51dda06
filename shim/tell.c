/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/autopsy.h"
#include "link/link.h"
#include "link/setup.h"
#include "output/pattern.h"
#include "report/blame.h"
#include "report/class.h"
#include "say/cause.h"
#include "say/report_file.h"
#include "say/state_file.h"
#include "system/apart.h"
#include "system/clock.h"
#include "system/held_path.h"
#include "watch/obituary.h"
#include "watch/first_failure.h"

/* How long what the job left has to wait for a file system that may never answer. */
enum {
	REPORT_MS = 30000,
	REPORT_STOP_MS = 2000,	/* of these a stop that comes, or came twice, leaves */
	FACTS_MOST_MS = 200,	/* a start waits for no driver that is stuck */
};

bool ri_telling_is_wanted(const struct ri_options *options)
{
	return options->given.report.value != NULL || options->given.state.value != NULL ||
		options->wait_master_ms > 0;
}

/* Does the file have a name that all ranks of this node give it? */
static bool is_of_all(const struct ri_given *word)
{
	struct ri_pattern_use use;

	return word->value != NULL && strncmp(word->value, "fd:", 3) != 0 &&
		!ri_held_path_is_kept(word->value) && ri_pattern_read(word->value, &use) &&
		!use.rank;
}

/*
 * Under mpirun each rank has a rankinit of its own, and all of them replace one
 * file. Whether files on other nodes are the same cannot be told here.
 */
void ri_telling_judge(const struct ri_found *found, struct ri_findings *findings)
{
	const union ri_options_given *given = &found->options.given;
	const struct ri_given *words[] = { &given->report, &given->state };
	uint64_t here = 0, local_rank = 0;

	ri_topology_get(&found->topology, RI_FACT_LOCAL_WORLD_SIZE, &here);
	ri_topology_get(&found->topology, RI_FACT_LOCAL_RANK, &local_rank);
	if (found->source.context.fan_out > 0 || here < 2 || local_rank > 0 ||
		found->options.action == RI_ACTION_CHECK)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_of_all(words[i]))
			ri_finding_hint(ri_findings_add(findings, RI_SEVERITY_WARNING,
				RI_CODE_REPORT_SHARED, words[i]->subject, "each of the %llu ranks "
				"of this node replaces this file, so only the last report remains",
				(unsigned long long)here), "put %%r, which is the rank, into its "
				"name: as in /tmp/job-%%r.json");
}

static struct ri_report_plan plan_report(const struct ri_run *run)
{
	size_t fan_out = run->found.source.context.fan_out;

	return (struct ri_report_plan){
		.options = &run->found.options, .topology = &run->found.topology,
		.ranks = fan_out > 0 ? fan_out : 1,
	};
}

static int make_torch_files(void *argument)
{
	struct ri_run *run = argument;

	ri_torch_files_make(&run->started.torch_files, &run->found.env, plan_report(run).ranks,
		&run->arena);
	if (run->started.privileges.change_user)
		ri_torch_files_give(&run->started.torch_files, run->started.privileges.account.uid,
			run->started.privileges.account.gid);
	return 0;
}

struct torch_file {
	struct ri_torch_files *files;
	size_t index;
	struct timespec ended;	/* the rank */
	struct ri_span bytes;
};

static int read_torch_file(void *argument)
{
	struct torch_file *file = argument;

	return ri_torch_files_read(file->files, file->index, file->ended, &file->bytes) ? 0 : -1;
}

/* Where torch says why a rank failed. */
static int name_torch_files(struct ri_run *run)
{
	if (ri_run_ask_torch_files(run, make_torch_files, run) < 0 && ri_apart_stop() != 0)
		return -1;
	run->found.source.torch_files = &run->started.torch_files;
	return ri_rank_name_torch_file(&run->found.first, &run->found.source, &run->err);
}

int ri_run_reserve_telling(struct ri_run *run)
{
	const struct ri_report_plan plan = plan_report(run);

	run->ended.outcomes = ri_arena_array(&run->arena, plan.ranks, sizeof(*run->ended.outcomes));
	if (run->ended.outcomes == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "COMMAND",
			"no memory left for what becomes of it");
	return ri_report_reserve(&plan, &run->err);
}

static int prepare_report(void *argument)
{
	struct ri_run *run = argument;
	const struct ri_report_plan plan = plan_report(run);

	return ri_report_prepare(&plan, &run->arena, &run->err);
}

static int find_facts(void *argument)
{
	struct ri_run *run = argument;
	const struct ri_node_facts_plan plan = {
		.checking = { .host = &run->found.host, .env = &run->found.env,
			.arena = &run->arena },
		.edits = &run->found.first.edits, .is_init = getpid() == 1,
	};

	ri_node_facts_find(run->ended.facts, &plan);
	return 0;
}

/* A driver that does not answer is no reason to wait: the report is without them then. */
static int prepare_facts(struct ri_run *run)
{
	const struct ri_apart finding = {
		.work = find_facts, .argument = run, .subject = "--report",
		.path = "/sys/class/net", .most_ms = FACTS_MOST_MS,
	};

	if (run->found.options.given.report.value == NULL)
		return 0;
	run->ended.facts = ri_arena_alloc(&run->arena, sizeof(*run->ended.facts));
	if (run->ended.facts == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "--report", "no memory left for it");
	if (ri_apart(&finding) == 0)
		return 0;
	if (errno == ETIMEDOUT)
		ri_log(RI_LEVEL_NOTE, "the report is without facts of this node: after %d ms "
			"they were not known", FACTS_MOST_MS);
	run->ended.facts = NULL;
	return 0;
}

static int begin_state(void *argument)
{
	struct ri_run *run = argument;

	return ri_state_begin(&run->found.options, &run->found.topology, run->ended.self,
		&run->arena, &run->err);
}

/*
 * What an option names is looked at without waiting for it longer than until a stop. A
 * variable may be that of a whole fleet, whose share is gone: its place is no reason to
 * start nothing. so: what becomes of the job then.
 */
static int look_at(struct ri_run *run, struct ri_given *option, int (*work)(void *argument),
	const char *so)
{
	const struct ri_apart looking = {
		.work = work, .argument = run, .subject = option->subject, .path = option->value,
		.most_ms = option->twin ? RI_APART_TWIN_MS : 0,
	};

	if (option->value == NULL ||
		ri_apart_or_fail(&looking, RI_CODE_REPORT_REFUSED, &run->err) == 0)
		return 0;
	if (!option->twin || run->err.code != RI_CODE_REPORT_REFUSED)
		return -1;
	ri_log_without(&run->err, so);
	run->err = (struct ri_error)RI_ERROR_INIT;
	*option = (struct ri_given){ .subject = NULL };
	return 0;
}

int ri_run_prepare_telling(struct ri_run *run)
{
	struct ri_options *options = &run->found.options;

	if (options->given.state.value != NULL)
		run->ended.self = getpid();
	if (look_at(run, &options->given.report, prepare_report,
		    "the job runs without a report") < 0)
		return -1;
	run->ended.has_report = options->given.report.value != NULL;
	if (prepare_facts(run) < 0 ||
		look_at(run, &options->given.state, begin_state,
			"the job runs without a state file") < 0)
		return -1;
	if (options->disabled ||
		(plan_report(run).ranks == 1 && options->given.report.value == NULL &&
		!ri_link_is_on()))
		return 0;
	return name_torch_files(run);
}

static void add_end(struct ri_run *run, size_t index)
{
	const struct ri_child *child = &run->started.children.items[index];
	struct ri_rank_outcome *rank = &run->ended.outcomes[index];

	ri_settle_describe(child, &run->started.output, index, rank);
	rank->oom = rank->end == RI_END_SIGNALED && run->started.supervised.oom &&
		rank->signal == SIGKILL && !child->killed;
}

/* The one that should have been next. */
static void add_refusal(const struct ri_run *run, struct ri_rank_outcome *rank)
{
	rank->end = RI_END_EXEC_FAILED;
	rank->started = rank->ended = run->started.children.refused_at;
}

/* What is left of its output, and what torch wrote where it failed. */
static void add_words(struct ri_run *run, size_t index)
{
	struct ri_rank_outcome *rank = &run->ended.outcomes[index];
	struct torch_file file = {
		.files = &run->started.torch_files, .index = index, .ended = rank->ended,
	};

	rank->wrote.log = ri_output_path(&run->started.output, index);
	if (run->started.torch_files.folder != NULL && ri_rank_failed(rank) &&
		ri_run_ask_torch_files(run, read_torch_file, &file) == 0)
		rank->wrote.torch_error = file.bytes;
}

static void number_ranks(struct ri_run *run, size_t count)
{
	const struct ri_output_rank *numbers = run->ended.numbers;
	struct ri_rank_outcome *outcomes = run->ended.outcomes;
	uint64_t rank = 0, local_rank = 0;

	ri_topology_get(&run->found.topology, RI_FACT_RANK, &rank);
	ri_topology_get(&run->found.topology, RI_FACT_LOCAL_RANK, &local_rank);
	for (size_t i = 0; i < count; i++) {
		outcomes[i].rank = numbers != NULL ? numbers[i].rank : rank + i;
		outcomes[i].local_rank =
			numbers != NULL ? numbers[i].local_rank : local_rank + i;
	}
}

/* whole: also what lies in files that may not answer. */
static void fill_outcomes(struct ri_run *run, bool whole)
{
	const struct ri_children *children = &run->started.children;

	number_ranks(run, children->count);
	for (size_t i = 0; i < children->count; i++) {
		if (i < children->started)
			add_end(run, i);
		else if (i == children->started && children->refused != 0)
			add_refusal(run, &run->ended.outcomes[i]);
		if (whole)
			add_words(run, i);
		ri_class_find(&run->ended.outcomes[i]);
	}
}

/*
 * Where a rank ended of a Ctrl-C the stop came from outside, and no rank failed.
 */
static void find_interrupt(const struct ri_run *run, struct ri_outcome *outcome)
{
	const struct ri_interrupt *interrupt = &run->started.supervised.interrupt;

	outcome->interrupt = *interrupt;
	if (!ri_outcome_is_interrupted(outcome))
		return;
	outcome->first = -1;
	outcome->stop = (struct ri_outside_stop){
		.signal = interrupt->signal, .sender = interrupt->sender,
		.by_terminal = interrupt->by_terminal,
	};
}

/*
 * The status of the rank that failed first, whichever was reaped first. Where
 * our own stop ended it on its way out, its status is lost, and that of the
 * one that we stopped all for is left.
 */
static int find_first(const struct ri_run *run, struct ri_outcome *outcome, int status)
{
	const struct ri_children *children = &run->started.children;

	if (children->refused != 0) {
		outcome->first = (ssize_t)children->started;
		return status;
	}
	ri_blame_find(outcome);
	find_interrupt(run, outcome);
	if (outcome->first < 0 || (outcome->ranks[outcome->first].told &&
		outcome->ranks[outcome->first].end == RI_END_SIGNALED))
		return status;
	return ri_verdict_status(children->items[outcome->first].wait_status);
}

/* Why a start failed was an error, and its line is there already. */
static const struct ri_cause *find_cause(const struct ri_run *run,
	const struct ri_outcome *outcome)
{
	static struct ri_cause refusal = { .shown = true };

	if (run->started.children.refused == 0)
		return ri_cause_find(outcome,
			run->started.supervised.knows_shm ? &run->started.supervised.shm : NULL);
	refusal.code = run->err.code;
	refusal.subject = run->err.subject;
	refusal.text = run->err.text;
	refusal.hint = run->err.hint;
	return &refusal;
}

static struct ri_outcome begin_outcome(const struct ri_run *run)
{
	const struct ri_stop *stop = &run->started.supervised.stop;

	return (struct ri_outcome){
		.topology = &run->found.topology, .command = run->found.first.argv[0],
		.ranks = run->ended.outcomes, .count = plan_report(run).ranks,
		.launch = ri_mode_name(run->found.command.mode == RI_MODE_AUTO ? RI_MODE_PROCESS
									 : run->found.command.mode),
		.first = -1, .link.verdict_node = -1,
		.single = ri_found_single_rank(&run->found) >= 0,
		.started = run->started.at,
		.link.on = run->found.options.link != RI_LINK_MODE_NO &&
			run->started.part.job != NULL,
		.stop.signal = stop->asked ? stop->number : 0, .stop.sender = stop->sender,
		.stop.by_terminal = stop->by_terminal,
	};
}

struct telling {
	const struct ri_outcome *outcome;
	const struct ri_check_report *checked;	/* NULL: nothing was */
	const struct ri_error *why;	/* nothing was started; or NULL */
};

static int tell_all(void *argument)
{
	const struct telling *telling = argument;

	if (telling->why == NULL)
		ri_report_tell(telling->outcome, telling->checked);
	else
		ri_report_refuse(telling->outcome, telling->checked, telling->why);
	return 0;
}

/* The end does not wait for ever for the mount of the report. */
static void tell(struct ri_run *run, const struct ri_outcome *outcome, const struct ri_error *why)
{
	const struct ri_given *report = &run->found.options.given.report;
	struct telling telling = { outcome, run->checked.ran ? &run->checked : NULL, why };
	const struct ri_apart writing = {
		.work = tell_all, .argument = &telling, .subject = report->subject,
		.path = report->value, .most_ms = REPORT_MS, .deaf_ms = REPORT_STOP_MS,
	};

	if (report->value == NULL)
		tell_all(&telling);
	else if (ri_apart(&writing) < 0)
		ri_log(RI_LEVEL_WARNING, "%s: the report cannot be written: its file system does "
			"not answer [%s]", report->subject, ri_code_name(RI_CODE_FILE_SLOW));
}

/* Of what the helper has left, which is not ours to trust; NULL: nothing. */
static const char *first_line(char out[RI_LINK_TEXT], const char from[RI_LINK_TEXT])
{
	memcpy(out, from, RI_LINK_TEXT - 1);
	out[strcspn(out, "\n")] = '\0';
	return out[0] == '\0' ? NULL : out;
}

/* What the link has seen of the other nodes. */
static void add_sight(struct ri_outcome *outcome)
{
	static char said[RI_LINK_TEXT], unproved[RI_LINK_TEXT];
	const struct ri_link_sight *sight = ri_link_sight();

	if (sight == NULL)
		return;
	if (outcome->link.roll_call == NULL)
		outcome->link.roll_call = first_line(said, sight->roll_call);
	outcome->link.unproved = first_line(unproved, sight->unproved);
	outcome->link.compared = sight->compared;
	outcome->link.ahead_s = (double)sight->ahead_us / 1e6;
	outcome->link.error_s = (double)sight->error_us / 1e6;
}

/* What only the report has. */
static void add_surroundings(const struct ri_run *run, struct ri_outcome *outcome)
{
	const struct ri_stop *stop = &run->started.supervised.stop;
	int64_t ago_ms;

	outcome->link.roll_call = ri_roll_call_said();
	add_sight(outcome);
	if (run->ended.facts != NULL) {
		outcome->facts.items = run->ended.facts->items;
		outcome->facts.count = run->ended.facts->count;
	}
	if (!stop->asked)
		return;
	ago_ms = ri_now_ms() - stop->at_ms;
	clock_gettime(CLOCK_REALTIME, &outcome->stop.at);
	outcome->stop.at.tv_sec -= ago_ms / 1000;
	outcome->stop.at.tv_nsec -= ago_ms % 1000 * 1000000;
	if (outcome->stop.at.tv_nsec < 0) {
		outcome->stop.at.tv_sec--;
		outcome->stop.at.tv_nsec += 1000000000;
	}
}

static void name_host(struct ri_run *run, struct ri_outcome *outcome)
{
	static struct utsname names;

	outcome->host = run->found.host.name;
	if (outcome->host == NULL && uname(&names) == 0)
		outcome->host = names.nodename;
}

/* What there is to tell where nothing was started. */
static struct ri_outcome begin_without(struct ri_run *run, int status)
{
	struct ri_outcome outcome;

	clock_gettime(CLOCK_REALTIME, &run->started.at);
	outcome = begin_outcome(run);
	outcome.ended = run->started.at;
	outcome.exit_status = run->found.options.exit_map.to[status];
	if (run->found.options.given.report.value != NULL) {
		name_host(run, &outcome);
		add_surroundings(run, &outcome);
	}
	number_ranks(run, outcome.count);
	return outcome;
}

int ri_run_refuse(struct ri_run *run)
{
	struct ri_error why = run->err;
	struct ri_outcome outcome;

	if (!run->checked.ran || ri_run_reserve_telling(run) < 0) {
		run->err = why;
		return ri_run_fail(run);
	}
	ri_log_error(&why);
	ri_run_refused(run);
	outcome = begin_without(run, ri_code_status(why.code));
	tell(run, &outcome, &why);
	return ri_run_leave(run, ri_code_status(why.code));
}

int ri_run_stopped(struct ri_run *run, int number)
{
	struct ri_outcome outcome;

	if (!run->ended.has_report || ri_run_reserve_telling(run) < 0)
		return ri_run_leave(run, 128 + number);
	run->started.supervised.stop = (struct ri_stop){
		.asked = true, .number = number, .at_ms = ri_now_ms(),
	};
	outcome = begin_without(run, 128 + number);
	tell(run, &outcome, NULL);
	return ri_run_leave(run, 128 + number);
}

struct ri_outcome ri_run_judge(struct ri_run *run)
{
	struct ri_outcome outcome = begin_outcome(run);

	fill_outcomes(run, false);
	find_first(run, &outcome, 1);
	outcome.cause = find_cause(run, &outcome);
	name_host(run, &outcome);
	return outcome;
}

/* One command that ended well: the user need not read that. */
static bool has_nothing_to_tell(const struct ri_run *run, int status)
{
	const struct ri_children *children = &run->started.children;

	return children->count == 1 && children->refused == 0 && status == 0 &&
		children->items[0].wait_status == 0 && !children->items[0].lives &&
		!run->started.supervised.stop.asked &&
		run->found.options.given.report.value == NULL;
}

int ri_run_tell(struct ri_run *run, int status)
{
	bool linked = ri_run_conclude(run, status);
	struct ri_outcome outcome;

	if (!linked && has_nothing_to_tell(run, status))
		return ri_run_leave(run, status);
	outcome = begin_outcome(run);
	fill_outcomes(run, true);
	status = find_first(run, &outcome, status);
	if (linked)
		status = ri_run_judged(run, &outcome, status);
	status = run->found.options.exit_map.to[status];
	outcome.exit_status = status;
	if (outcome.first >= 0 || status != 0 || run->found.options.given.report.value != NULL)
		name_host(run, &outcome);
	if (run->found.options.given.report.value != NULL)
		add_surroundings(run, &outcome);
	outcome.cause = find_cause(run, &outcome);
	outcome.hang.autopsy = ri_autopsy_document();
	outcome.hang.seen = ri_autopsy_of_loss();
	clock_gettime(CLOCK_REALTIME, &outcome.ended);
	tell(run, &outcome, NULL);
	return ri_run_end(run, status);
}
