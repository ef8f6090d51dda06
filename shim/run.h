/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of main.c in parts, and what they hand on to each other. */
#ifndef RI_SHIM_RUN_H
#define RI_SHIM_RUN_H

#include <time.h>

#include "check/runner.h"
#include "found.h"
#include "init/supervise.h"
#include "judge/ends.h"
#include "launch/launch.h"
#include "link/link.h"
#include "preflight/preflight.h"
#include "say/torch_file.h"

/* Who may start ranks that are no children of ours? */
enum ri_starter {
	RI_STARTER_NONE,
	RI_STARTER_LAUNCHER,	/* or a script of a shell, or a line of one that names a launcher */
	RI_STARTER_PYTHON,	/* a program of Python's, where Ray starts them below it */
};

/* What is made for the command or the ranks, and what becomes of them while they run. */
struct ri_started {
	struct ri_privileges privileges;
	struct ri_link_job job;
	struct ri_torch_files torch_files;
	struct ri_rank *ranks;
	struct ri_children children;
	struct ri_output output;
	struct ri_supervised supervised;
	struct ri_oom oom;	/* as it was when they began */
	enum ri_starter starter;	/* of ranks that are no children of ours */
	bool has_others;	/* they are looked for from the start */
	bool behind;		/* as one rank that its launcher owns */
	bool words_alone;	/* stderr is kept for why a program of Python's failed alone */
	struct timespec at;
};

/* What is told when all is over. */
struct ri_ended {
	bool has_report;	/* its place was found */
	pid_t self;		/* where --state is given */
	/* Of each rank, where these do not follow from those of the first; or NULL. */
	const struct ri_output_rank *numbers;
	struct ri_rank_outcome *outcomes;	/* one for each child that there shall be */
	int inner_status;	/* before an inner rankinit made a class of it; 0: none did */
	int status;		/* of the first end that was no success */
	bool had_link;		/* until the end */
	bool linked;		/* the other nodes have a verdict */
	bool verdict_said;
	struct ri_rank_outcome *launched;	/* of ranks that a launcher started; or NULL */
	char *words;		/* of these */
	struct ri_node_facts *facts;	/* of this node, where --report is given; or NULL */
};

/*
 * What the parts hand on to each other, by how long it is known. A part that only reads one
 * of these takes it as const. Nothing of it is ever freed, and all of it starts as
 * zeroes: an initialiser would make the binary 80 KiB larger.
 */
struct ri_run {
	char **argv;		/* as rankinit was executed with */
	struct ri_found found;
	struct ri_started started;
	struct ri_ended ended;
	struct ri_check_report checked;	/* before the launch */
	struct ri_error err;
	/* large, and behind what each start writes to: so it touches few pages */
	struct ri_arena arena;
	struct ri_findings findings;
};

/* show.c: --print-env; --explain, which shows what refuses a launch as well as what it does. */
int ri_run_print_env(struct ri_run *run);
int ri_run_explain(struct ri_run *run);

/*
 * run.c: look at the node before a launch, or an explanation of it. Returns as
 * ri_preflight_look().
 */
int ri_run_preflight(struct ri_run *run);

/* What the checks need to know of this run. */
struct ri_preflight ri_run_plan_preflight(struct ri_run *run);

/* show.c: --check. Returns the exit status. */
int ri_run_check(struct ri_run *run);

/* The name of this machine; NULL: not known. */
const char *ri_run_host(const struct ri_run *run);

/* How many ranks start here, or 1 for a command that is none. */
size_t ri_run_ranks(const struct ri_run *run);

/* Are they ranks of a job that has several, here or on other nodes? A lone command is none. */
bool ri_run_tells_ranks(const struct ri_run *run);

/* The exit status that the error stands for, under the name that rankinit is called by. */
int ri_run_refusal(const struct ri_run *run);

/*
 * The exit status for the job's own one, which ended or did not begin for this reason: as
 * --exit-map or --exit-class has it.
 */
int ri_run_status(const struct ri_run *run, int status, enum ri_retry retry);

/* The status of the job, of a rank that has ended or of a stop: by the judge's answer. */
int ri_run_status_of(const struct ri_run *run, const struct ri_judged *answer);

/* Does this rankinit say the verdict's last line, where one is needed? */
bool ri_run_has_last_line(const struct ri_run *run);

/* Is an outer rankinit there that tells of this one's end? */
bool ri_run_is_told_of(const struct ri_run *run);

/* The last line, which is good until the next call. */
const char *ri_run_make_last_line(const struct ri_run *run,
	const struct ri_verdict *verdict);

/* It ends before there is a command, for this reason. Returns as ri_run_status. */
int ri_run_leave(struct ri_run *run, int status, enum ri_retry retry);

/* It ends with this status: torch's error files go, --state has it. Returns it. */
int ri_run_end(struct ri_run *run, int status);

/* simulate.c: --simulate, with --explain or --print-env too. Returns the exit status. */
int ri_run_simulate(struct ri_run *run);

/* start.c: start the command or the ranks, and watch over them. Returns the exit status. */
int ri_run_start(struct ri_run *run);

/*
 * behind.c: is it known whom the launcher of this one rank signals? By the source, and by the
 * program that made our process group.
 */
bool ri_behind_knows_launcher(const struct ri_found *found);

/* Then: the process whose signals our whole process group has; 0 where that is Slurm. */
pid_t ri_behind_launcher(void);

/*
 * Start one rank that its launcher owns, and tell why it failed. Returns the exit status;
 * where a signal ended the rank it ends this process as well.
 */
int ri_run_behind(struct ri_run *run, struct ri_launch *launch);

/*
 * judging.c: the judge, a process that PID 1 forks to read what ranks wrote, and to say why they
 * failed. How PID 1 asks, and what it believes, says init/judged.h.
 */

/* Answers the question. run is a struct ri_run, of which it may change what it likes. */
void ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run);

/* What there is to tell where nothing was started, and rankinit ends with this status, and why. */
struct ri_outcome ri_judge_none(struct ri_run *run, int status, enum ri_retry retry);

/* tell.c: what goes out besides the exit status: its places are looked at now. */
int ri_run_prepare_telling(struct ri_run *run);

/* The memory for it: when nothing else will take any. */
int ri_run_reserve_telling(struct ri_run *run);

/* Say the error. Returns its exit status, rewritten if --exit-map says so. */
int ri_run_fail(struct ri_run *run);

/* This node is not fit: say why, and write it where the end of a job is written. */
int ri_run_refuse(struct ri_run *run);

/*
 * The nodes of the job do not start their ranks again, as run->err says: the last attempt was the
 * last. Returns the exit status with which this node would have ended then.
 */
int ri_run_stay(struct ri_run *run);

/*
 * A stop by this signal came before there was a command: the report says so, where one was asked
 * for and its place is known. Returns the exit status, rewritten if --exit-map says so.
 */
int ri_run_stopped(struct ri_run *run, int number);

/*
 * All is over, or could not begin: then run->err is why. status is that of the
 * first end that was no success; returned is that of the rank that failed
 * first, rewritten if --exit-map says so.
 */
int ri_run_tell(struct ri_run *run, int status);

/*
 * attempt.c: --restarts. When the ranks have failed and all of them are gone, rankinit executes
 * itself again, as it was executed at first. So nothing of one attempt is left in the next but what
 * is carried (report/restarts.h), in a memory file that cannot be changed any more.
 */

/*
 * The first thing after the environment was read, where it has RI_CARRIED_VARIABLE: found.carried
 * is what the attempt before this one has left, or NULL. -1: no memory.
 */
int ri_attempt_take(struct ri_run *run);

/* Hold the program and the working directory, before either is left. -1 as above. */
int ri_attempt_prepare(const struct ri_found *found, struct ri_error *err);

/* May there be another attempt after this one? */
bool ri_attempt_may_be(const struct ri_found *found);

/*
 * All is gone, with this status, and the job may start again: end what would meet the next ranks,
 * and see whether this program can be executed. Before the judge is asked, which needs to know.
 */
void ri_attempt_make_room(struct ri_run *run, int status);

/*
 * In the judge, which has found out->verdict: does the job start again? Then what is carried is in
 * out->carried, with outcome->last_line. If not, ri_attempt_say_why_not says it, behind the
 * verdict. status: of the attempt, before --exit-map.
 */
bool ri_attempt_decide(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out);
void ri_attempt_say_why_not(void);

/* The same of a job of several nodes, which decide together, by the link. */
bool ri_attempt_follow(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out);

/*
 * Is there no process any more that the ranks have left? It would meet those that start again.
 * Waits a second for what dies, where they may start again and no stop is in the queue.
 */
bool ri_attempt_is_alone(void);

/* How the attempt before this one failed, where this one ends before it has a rank; or none. */
void ri_attempt_say_before(const struct ri_run *run);

/* The ranks of a later attempt start: nothing stands against it any more. */
void ri_attempt_say_again(const struct ri_run *run);

/*
 * Execute this program again, with what the judge left. Returns only if that failed: the judge is
 * asked once more, and says it.
 */
void ri_attempt_execute(struct ri_run *run, const struct ri_judged *answer);

#endif
