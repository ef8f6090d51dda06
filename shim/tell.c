/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/runner.h"
#include "link/link.h"
#include "report/launched.h"
#include "say/cause.h"
#include "say/report_file.h"
#include "say/state_file.h"
#include "say/two_rankinits.h"
#include "system/clock.h"

enum {
	/* how long what the job left has to wait for a file system that may never answer */
	REPORT_MS = 30000,
	REPORT_STOP_MS = 2000,	/* of these a stop that comes, or came twice, leaves */
	FACTS_MOST_MS = 200,	/* a start waits for no driver that is stuck */
};

static struct ri_report_plan plan_report(const struct ri_run *run)
{
	return (struct ri_report_plan){
		.options = &run->found.options, .topology = &run->found.topology,
		.ranks = ri_run_ranks(run), .attempt = ri_found_attempt(&run->found),
	};
}

int ri_run_reserve_telling(struct ri_run *run)
{
	const struct ri_report_plan plan = plan_report(run);

	run->ended.outcomes = ri_arena_array(&run->arena, plan.ranks, sizeof(*run->ended.outcomes));
	if (run->ended.outcomes == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, "COMMAND",
			"no memory left for what becomes of it");
	if (run->started.has_others) {
		run->ended.launched = ri_pages(RI_LAUNCHED * sizeof(*run->ended.launched));
		run->ended.words = ri_pages(RI_LAUNCHED_WORDS);
	}
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
	const struct ri_privileges *privileges = &run->started.privileges;
	struct ri_torch_files *files = &run->started.torch_files;
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
		(!ri_run_tells_ranks(run) && options->given.report.value == NULL &&
		!options->exit_class && !ri_link_is_on() &&
		ri_outer_fd(&run->found.env) < 0))
		return 0;
	/* where torch says why a rank failed */
	*files = (struct ri_torch_files){ .count = ri_run_ranks(run), .uid = -1U, .gid = -1U };
	if (privileges->change_user) {
		files->uid = privileges->account.uid;
		files->gid = privileges->account.gid;
	}
	if (ri_torch_files_make(files, &run->found.env, &run->arena) < 0)
		return -1;
	run->found.torch_files = files;
	return ri_rank_name_torch_file(&run->found.first, &run->found, &run->arena, &run->err);
}

struct telling {
	struct ri_outcome *outcome;
	const struct ri_check_report *checked;	/* NULL: nothing was */
	const struct ri_error *why;	/* nothing was started; or NULL */
};

static int tell_all(void *argument)
{
	const struct telling *telling = argument;

	if (telling->why != NULL) {
		ri_report_refuse(telling->outcome, telling->checked, telling->why);
		return 0;
	}
	ri_report_say(telling->outcome, true);
	ri_report_leave(telling->outcome, telling->checked);
	return 0;
}

/* By a person, who reads it; no program does. */
static bool is_mistyped(const struct ri_run *run)
{
	return (run->err.code == RI_CODE_COMMAND_MISSING ||
		(run->err.code >= RI_CODE_OPTION_UNKNOWN &&
		run->err.code <= RI_CODE_OPTION_CONFLICT)) && isatty(STDERR_FILENO);
}

/* And tell an outer rankinit that it is said. status: with which this one ends. */
static void say_last_line(struct ri_run *run, const char *line, const struct ri_verdict *verdict,
	int status)
{
	if (line != NULL && !is_mistyped(run))
		ri_log(RI_LEVEL_PROGRAMS, "%s", line);
	ri_outer_tell(&run->found.env, &(struct ri_inner_word){
		.verdict = *verdict, .of_rank = ri_found_single_rank(&run->found),
		.exit_status = status,
	});
}

/* With this status: the last line is said before, where says_so. */
static int end_with(struct ri_run *run, const struct ri_verdict *verdict, bool says_so)
{
	if (says_so)
		say_last_line(run, ri_run_make_last_line(run, verdict), verdict,
			ri_run_status(run, verdict->status, verdict->why.retry));
	return ri_run_leave(run, verdict->status, verdict->why.retry);
}

/* Nothing was started, or its start failed before there was anything to look after. */
static struct ri_verdict verdict_of_none(const struct ri_run *run, struct ri_why why,
	enum ri_class class, int status)
{
	struct ri_verdict verdict;

	ri_verdict_begin(&verdict, &run->found.topology, ri_run_host(run));
	verdict.rank = ri_found_single_rank(&run->found);
	verdict.retries = ri_found_attempt(&run->found);
	verdict.why = why;
	verdict.class = class;
	verdict.status = status;
	return verdict;
}

static struct ri_verdict verdict_of_refusal(const struct ri_run *run, const struct ri_error *why)
{
	struct ri_verdict verdict = verdict_of_none(run,
		ri_why_of_refusal(ri_code_status(why->code)), RI_CLASS_OWN,
		ri_run_refusal(run));

	if (why->code == RI_CODE_LINK_STOPPED) {	/* the job had failed before */
		verdict = ri_link_decision()->verdict;
		verdict.status = ri_run_refusal(run);
	} else if (verdict.why.cause == RI_CAUSE_REFUSED) {
		/* numbers that contradict each other say nothing */
		verdict.rank = verdict.node = -1;
	}
	return verdict;
}

/* job: lines of the verdict, which is on the whole job, as that was over before; or NULL. */
static int end_unstarted(struct ri_run *run, int status, const struct ri_verdict *verdict,
	const struct ri_error *why, const char *job)
{
	const struct ri_given *report = &run->found.options.given.report;
	struct ri_outcome outcome = ri_judge_none(run, status, verdict->why.retry);
	struct telling telling = { &outcome, run->checked.ran ? &run->checked : NULL, why };
	const struct ri_apart writing = {
		.work = tell_all, .argument = &telling, .subject = report->subject,
		.path = report->value, .most_ms = REPORT_MS, .deaf_ms = REPORT_STOP_MS,
	};

	outcome.link.verdict = job == NULL ? NULL : verdict;
	outcome.link.text = job;
	outcome.verdict = verdict;
	outcome.last_line = ri_run_has_last_line(run) ? ri_run_make_last_line(run, verdict) : NULL;
	/* the end does not wait for ever for the mount of the report */
	if (report->value == NULL)
		tell_all(&telling);
	else if (ri_apart(&writing) < 0)
		ri_log(RI_LEVEL_WARNING, "%s: the report cannot be written: its file system does "
			"not answer [%s]", report->subject, ri_code_name(RI_CODE_FILE_SLOW));
	if (outcome.last_line != NULL)
		say_last_line(run, outcome.last_line, verdict, outcome.exit_status);
	return ri_run_leave(run, status, verdict->why.retry);
}

int ri_run_stopped(struct ri_run *run, int number)
{
	struct ri_verdict verdict = verdict_of_none(run, ri_why_stopped, RI_CLASS_STOPPED,
		128 + number);
	bool has_report = run->ended.has_report || run->found.carried != NULL;

	ri_attempt_say_before(run);
	if (run->found.carried != NULL)
		ri_link_stop(&run->started.job, number);
	verdict.failed_before = run->found.carried != NULL;
	if (!has_report || ri_run_reserve_telling(run) < 0)
		return end_with(run, &verdict, !has_report && ri_run_has_last_line(run) &&
			ri_found_is_of_job(&run->found));
	run->started.supervised.stop = (struct ri_stop){
		.signal = number, .at_ms = ri_now_ms(),
	};
	ri_clock_read(CLOCK_REALTIME, &run->started.supervised.stop.at);
	return end_unstarted(run, 128 + number, &verdict, NULL, NULL);
}

/* No rank is started: the other nodes are to know why. */
static void tell_others(struct ri_run *run)
{
	char reasons[RI_CHECK_REASONS];

	ri_link_refuse(&run->started.job, &run->err, ri_check_reasons(&run->checked, reasons));
}

int ri_run_fail(struct ri_run *run)
{
	const struct ri_verdict verdict = verdict_of_refusal(run, &run->err);

	tell_others(run);
	if (ri_apart_stop() != 0)
		return ri_run_stopped(run, ri_apart_stop());
	ri_log_error(&run->err);
	ri_attempt_say_before(run);
	/* of a probe, say, that was called with a wrong word, the container does not end */
	if (getpid() == 1)
		ri_report_leave_refusal(&run->err, ri_run_has_last_line(run)
			? ri_run_make_last_line(run, &verdict) : NULL);
	return end_with(run, &verdict, ri_run_has_last_line(run));
}

int ri_run_refuse(struct ri_run *run)
{
	struct ri_error why = run->err;
	struct ri_verdict verdict = verdict_of_refusal(run, &why);

	if (!run->checked.ran || ri_run_reserve_telling(run) < 0) {
		run->err = why;
		return ri_run_fail(run);
	}
	ri_log_error(&why);
	ri_attempt_say_before(run);
	tell_others(run);
	return end_unstarted(run, ri_code_status(why.code), &verdict, &why, NULL);
}

int ri_run_stay(struct ri_run *run)
{
	const struct ri_carried_link *before = &run->found.carried->link;
	struct ri_verdict verdict = before->verdict;

	verdict.retries = ri_found_attempt(&run->found);
	verdict.host[0] = '\0';
	tell_others(run);
	ri_log(RI_LEVEL_ALWAYS, "%s", run->err.text);
	ri_report_job(before->text);
	if (ri_run_reserve_telling(run) < 0)
		return ri_run_leave(run, verdict.status, verdict.why.retry);
	return end_unstarted(run, verdict.status, &verdict, NULL, before->text);
}

/* All ended well, and no other node waits for them: the user need not read that. */
static bool has_nothing_to_tell(const struct ri_run *run, int status)
{
	const struct ri_children *children = &run->started.children;

	return status == 0 && children->started == children->count &&
		run->started.supervised.stop.signal == 0 &&
		run->found.options.given.report.value == NULL &&
		!(ri_run_tells_ranks(run) && ri_link_is_on());
}

/*
 * As one rank of many rankinit is no container's init, and its launcher takes the end; and where
 * nothing is read that a rank wrote there is nothing to be afraid of: then it judges itself. A
 * report waits for its mount.
 */
static const struct ri_judged *ask_judge(const struct ri_run *run, const char **why)
{
	const struct ri_given *report = &run->found.options.given.report;
	bool has_words = run->started.output.memories != NULL ||
		run->started.torch_files.folder != NULL || run->started.has_others;
	const struct ri_apart limits = {
		.subject = report->subject, .path = report->value,
		.most_ms = REPORT_MS, .deaf_ms = REPORT_STOP_MS,
	};

	*why = "no memory is left";
	if (report->value != NULL)
		return ri_judge_wait(RI_ASK_ENDED, &limits, why);
	return !has_words || (ri_found_single_rank(&run->found) >= 0 &&
			ri_found_is_managed(&run->found)) ? ri_judge_here(RI_ASK_ENDED)
		: ri_judge_wait(RI_ASK_ENDED, NULL, why);
}

/* The judge has not answered: what the kernel said, and that no more is known. */
static int end_without_words(struct ri_run *run, const char *why)
{
	const struct ri_supervised *ended = &run->started.supervised;
	const struct ri_options *options = &run->found.options;
	const struct ri_children *children = &run->started.children;
	const struct ri_child *first = ri_children_first_of(children);
	bool stopped = ended->stop.signal != 0 &&
		(first == NULL || first->ended_ms >= ended->stop.at_ms);
	struct ri_verdict verdict = verdict_of_none(run, stopped ? ri_why_stopped : ri_why_unknown,
		stopped ? RI_CLASS_STOPPED : RI_CLASS_UNKNOWN, run->ended.status);
	RI_TEXT(out, RI_MAX_LINE);

	/* the verdict of all nodes, or why not all were started; what was told did not fail */
	if (run->ended.linked)
		verdict = ri_link_decision()->verdict;
	else if (children->refused != 0)
		verdict = verdict_of_refusal(run, &run->err);
	else if (first != NULL && !first->told_to_stop && !stopped && ri_run_tells_ranks(run))
		verdict.rank = (int64_t)(children->first_rank +
			(uint64_t)(first - children->items));
	verdict.status = ended->ordered ? ri_code_status(RI_CODE_LINK_STOPPED) : run->ended.status;
	if (first != NULL) {
		ri_child_add_end(&out, children, first);
		ri_log(RI_LEVEL_ALWAYS, "%s; %s", out.bytes, why);
	}
	if (options->given.report.value != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: the report was not written [%s]",
			options->given.report.subject, ri_code_name(RI_CODE_FILE_SLOW));
	return end_with(run, &verdict, verdict.status != 0 && ri_run_has_last_line(run) &&
		(ri_run_tells_ranks(run) ||
		verdict.rank >= 0 || options->given.report.value != NULL || options->exit_class ||
		options->restarts > 0 || ri_link_is_on() || run->started.has_others ||
		(first != NULL && WIFSIGNALED(first->wait_status))));
}

static int end_as_judged(struct ri_run *run, const struct ri_judged *answer)
{
	int status = ri_run_status_of(run, answer), exit_status;
	struct ri_verdict verdict = answer->verdict;

	verdict.status = answer->inner_status != 0 ? (int)answer->inner_status : status;
	run->ended.inner_status = (int)answer->inner_status;
	exit_status = ri_run_status(run, status,
		answer->failed ? verdict.why.retry : RI_RETRY_SAME);
	if (answer->follows)
		ri_log_follow(true);
	if (answer->tells)
		say_last_line(run, answer->last_line[0] == '\0' ? NULL : answer->last_line,
			&verdict, exit_status);
	return ri_run_end(run, exit_status);
}

int ri_run_tell(struct ri_run *run, int status)
{
	bool alone = ri_link_is_on() && ri_attempt_is_alone();
	const struct ri_judged *answer;
	const char *why;

	run->ended.had_link = ri_link_is_on();
	ri_nodes_tell_last(&run->started.job, status);
	run->ended.linked = ri_link_conclude(&run->started.job, status, alone);
	if (!run->ended.linked && has_nothing_to_tell(run, status))
		return ri_run_leave(run, status, RI_RETRY_SAME);
	run->ended.status = status;
	ri_attempt_make_room(run, status);
	if (run->found.options.restarts > 0)
		ri_torch_files_keep(&run->started.torch_files);
	answer = ask_judge(run, &why);
	if (answer != NULL && answer->again) {
		ri_torch_files_remove(&run->started.torch_files, false);
		ri_attempt_execute(run, answer);
		run->ended.verdict_said = true;
		answer = ask_judge(run, &why);
	}
	return answer == NULL ? end_without_words(run, why) : end_as_judged(run, answer);
}
