/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results come back through memory that is shared with the child: a check that
 * finds nothing costs no system call that way, and a child that is killed
 * leaves behind what it had found. Nothing in there is believed: see take().
 */
#include "check/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/signals.h"
#include "system/clock.h"
#include "system/helper.h"

enum {
	LOOKS = 20,		/* how often a child that goes on is asked where it is */
	LEAST_MS = 30,		/* no check is begun with less than that for all */
};

/* What parent and child share; the child writes. */
struct shared {
	volatile uint32_t running;	/* number of the check that runs */
	volatile uint32_t count;	/* results that are whole */
	volatile uint32_t dropped;
	volatile int64_t since_us;	/* when it began */
	char doing[RI_CHECK_SUBJECT];	/* what it waits for */
	struct ri_check_result results[RI_CHECKS_RESULTS];
};

struct run {
	const struct ri_check_plan *plan;
	struct shared *shared;
	struct ri_check_result *kept;
	size_t count;
	size_t dropped;
	size_t first;		/* check that the next child begins with */
	int64_t begun_us, end_us;	/* of all */
	int64_t granted_us;	/* to the check that hung */
	int stop;
};

/* Why a check has no result of its own. */
struct fault {
	enum ri_code code;
	const char *text;
	const char *hint;	/* "" where there is none to give */
	const char *subject;	/* NULL: the check itself */
};

static void publish(struct run *run, const struct ri_check_result *result)
{
	struct shared *shared = run->shared;

	if (!run->plan->keeps_all && !result->problem && !result->unfit &&
		!(run->plan->checking.verbose && result->status == RI_CHECK_NOTE))
		return;
	if (shared->count == RI_CHECKS_RESULTS) {
		shared->dropped++;
		return;
	}
	shared->results[shared->count] = *result;
	/* whole before it counts: we may be killed at any time */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shared->count++;
}

/* Unless there is nothing that it looks at, or it may not have rankinit-probe run. */
static void run_or_skip(struct ri_checking *checking, const struct ri_check *check, const char *id)
{
	if (check->probe != NULL && !checking->deep)
		ri_check_unprobed(checking, id, "is tried only where deep is asked for");
	else if (check->probe != NULL && !checking->host->live)
		ri_check_unprobed(checking, id,
			"is not tried: rankinit runs no code of a recorded machine or an image");
	else if (check->needs != NULL && !check->needs->is_here(checking))
		ri_check_skip(checking, check->needs->subject, "%s", check->needs->text);
	else
		check->run(checking);
}

static void run_check(struct run *run, size_t number)
{
	static struct ri_check_result results[RI_CHECK_RESULTS];
	const struct ri_check *check = ri_check_at(number);
	const char *id = ri_check_ids()[number];
	struct ri_checking checking = run->plan->checking;
	int64_t begun = run->shared->since_us, now;
	size_t kept;

	run->shared->running = (uint32_t)number;
	checking.number = number;
	checking.asked = ri_check_set_has(&run->plan->asked, number);
	checking.doing = run->shared->doing;
	ri_check_doing(&checking, NULL);
	checking.results = results;
	checking.count = 0;
	if (run->plan->image && !check->in_image) {
		/* neither fit nor unfit, whatever is required */
		ri_check_skip(&checking, id, "not to be known from an image");
		results[0].code = RI_CODE_CHECK_IMAGE;
	} else {
		run_or_skip(&checking, check, id);
		if (checking.count == 0)
			ri_check_skip(&checking, id, "there is nothing to check");
		ri_check_hold_skips(&checking);
	}
	/* one check begins where the one before it has ended */
	now = ri_now_us();
	run->shared->since_us = now;
	kept = checking.count;
	if (kept > RI_CHECK_RESULTS) {
		kept = RI_CHECK_RESULTS;
		run->shared->dropped++;
	}
	for (size_t i = 0; i < kept; i++) {
		results[i].us = (uint32_t)(now - begun);
		publish(run, &results[i]);
	}
}

static void child_main(void *context)
{
	struct run *run = context;
	struct rlimit limit;

	/* a check of a broken machine must not take the container's memory, nor leave a core */
	if (getrlimit(RLIMIT_CORE, &limit) == 0) {
		limit.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &limit);
	}
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur > RI_CHECK_MEMORY) {
		limit.rlim_cur = RI_CHECK_MEMORY;
		setrlimit(RLIMIT_AS, &limit);
	}
	run->shared->since_us = ri_now_us();
	for (size_t i = run->first; i < ri_check_count(); i++)
		if (ri_check_set_has(&run->plan->chosen, i))
			run_check(run, i);
}

/* Copied once and put right: what wrote it may have run wild. */
static void take(struct run *run)
{
	uint32_t count = run->shared->count;

	if (count > RI_CHECKS_RESULTS)
		count = RI_CHECKS_RESULTS;
	for (uint32_t i = 0; i < count && run->count < RI_CHECKS_RESULTS; i++) {
		struct ri_check_result *result = &run->kept[run->count++];

		*result = run->shared->results[i];
		result->subject[sizeof(result->subject) - 1] = '\0';
		result->text[sizeof(result->text) - 1] = '\0';
		result->expected[sizeof(result->expected) - 1] = '\0';
		result->hint[sizeof(result->hint) - 1] = '\0';
		if (result->check >= ri_check_count() || result->code >= RI_CODE_COUNT ||
			result->status >= RI_CHECK_STATUS_COUNT)
			run->count--;
	}
	run->dropped += run->shared->dropped;
	run->shared->count = run->shared->dropped = 0;
}

/* The check has not ended as one does, or not begun. */
static void add_unknown(struct run *run, size_t number, const struct fault *fault)
{
	struct ri_checking checking = run->plan->checking;
	const char *id = ri_check_ids()[number];

	if (run->count == RI_CHECKS_RESULTS) {
		run->dropped++;
		return;
	}
	checking.number = number;
	checking.results = &run->kept[run->count];
	checking.count = 0;
	ri_check_unknown(&checking, fault->code, fault->subject == NULL ? id : fault->subject,
		"%s", fault->text);
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if ((ri_check_at(number)->topics & 1u << topic) != 0)
			ri_check_asked(&checking, ri_demands_find(checking.demands,
				(enum ri_topic)topic));
	ri_check_hint(&checking, "%s", fault->hint);
	run->kept[run->count].problem = true;
	run->count++;
}

static int64_t limit_of(size_t number)
{
	unsigned limit_ms = ri_check_at(number)->limit_ms;

	return (int64_t)(limit_ms == 0 ? RI_CHECK_MS : limit_ms) * 1000;
}

/* When the check that runs now is over its time, or all are. No word of the child's is believed. */
static int64_t deadline(struct run *run)
{
	uint32_t number = run->shared->running;
	int64_t since = run->shared->since_us, share;

	if (number >= ri_check_count())
		return run->end_us;
	if (since < run->begun_us || since > run->end_us)
		since = run->begun_us;
	share = (run->end_us - since) / RI_CHECKS_SHARE;
	run->granted_us = limit_of(number);
	if (ri_check_at(number)->limit_ms == 0 && run->granted_us > share)
		run->granted_us = share;
	since += run->granted_us;
	return since < run->end_us ? since : run->end_us;
}

/* Wait for the child's end or for its time. Returns true where it must not be followed. */
static bool watch(struct run *run, pid_t pid, bool *hung, int *status)
{
	for (;;) {
		siginfo_t info;
		int64_t now = ri_now_us(), look = (run->end_us - now) / LOOKS;
		int64_t left = deadline(run) - now;
		int number = ri_mask_wait_for(RI_MASK_MAY_STOP | RI_MASK_OF(SIGCHLD), &info,
			left <= 0 || look <= 0 ? 0 : (left < look ? left : look) / 1000 + 1);
		/* an orphan's end is none of this one's */
		bool ended = waitpid(pid, status, WNOHANG) == pid;

		/* the kernel is asked what we ignore only where a signal came */
		if (number != 0 && number != SIGCHLD &&
			(ri_mask_stops() & RI_MASK_OF(number)) != 0)
			run->stop = number;
		if (run->stop != 0) {
			if (!ended)
				ri_helper_end(&pid, RI_MASK_OF(SIGCHLD), NULL);
			return true;
		}
		if (ended)
			return false;
		if (ri_now_us() < deadline(run))
			continue;
		*hung = true;
		ri_helper_end(&pid, RI_MASK_OF(SIGCHLD), NULL);
		return ri_now_us() > run->end_us - LEAST_MS * 1000;
	}
}

static void blame(struct run *run, size_t number, bool hung, int status)
{
	char text[160], hint[160], doing[RI_CHECK_SUBJECT];
	struct fault fault = { RI_CODE_CHECK_CRASHED, text, hint, NULL };

	/* the process that wrote it may have run wild */
	memcpy(doing, run->shared->doing, sizeof(doing));
	doing[sizeof(doing) - 1] = '\0';
	if (hung && doing[0] != '\0')
		fault.subject = doing;

	if (hung) {
		fault.code = RI_CODE_CHECK_HUNG;
		snprintf(text, sizeof(text), fault.subject == NULL
			? "did not end within %lld ms and was stopped"
			: "does not answer: waited for %lld ms",
			(long long)(run->granted_us / 1000));
	} else {
		snprintf(text, sizeof(text), "was ended by %s", WIFSIGNALED(status)
			? RI_SIGNAL_SHOWN(WTERMSIG(status)) : "an error of its own");
	}
	snprintf(hint, sizeof(hint), "%s--checks=default,^%s skips this check", hung
		? "a mount or a name server that does not answer makes a check hang; " : "",
		ri_check_ids()[number]);
	add_unknown(run, number, &fault);
}

/* Checks that were not reached. The first one says what to do for all of them. */
static void skip_rest(struct run *run, struct fault fault)
{
	for (size_t i = run->first; i < ri_check_count(); i++) {
		if (!ri_check_set_has(&run->plan->chosen, i))
			continue;
		add_unknown(run, i, &fault);
		fault.hint = "";
	}
}

/* One child after the other, until all checks were run. */
static void run_all(struct run *run)
{
	static const struct fault late = {
		RI_CODE_CHECK_UNREACHED, "not reached in time",
		"the time for all checks ran out before it; the results above say why", NULL,
	};
	const struct ri_helper_task task = {
		.body = child_main, .context = run, .signal = SIGCHLD,
	};

	char text[160];

	while (run->first < ri_check_count()) {
		bool hung = false, last;
		int status = 0, error;
		pid_t pid;

		if (!ri_check_set_has(&run->plan->chosen, run->first)) {
			run->first++;
			continue;
		}
		run->shared->running = (uint32_t)run->first;
		run->shared->since_us = ri_now_us();
		pid = ri_helper_start(&task);
		error = errno;
		if (pid == 0) {
			snprintf(text, sizeof(text), "not run: the kernel refused a process for "
				"the checks: %s", strerror(error));
			skip_rest(run, (struct fault){ RI_CODE_CHECK_REFUSED, text, error != EAGAIN
				? "" : "outside the image: docker run --pids-limit=-1 --ulimit "
				"nproc=-1; Kubernetes: node admin: podPidsLimit of the kubelet",
				NULL });
			return;
		}
		last = watch(run, pid, &hung, &status);
		take(run);
		if (run->stop != 0 || (!hung && WIFEXITED(status) && WEXITSTATUS(status) == 0))
			return;
		/* never one that is over, whatever the child says */
		if (run->shared->running > run->first && run->shared->running < ri_check_count())
			run->first = run->shared->running;
		blame(run, run->first++, hung, status);
		if (last) {
			skip_rest(run, late);
			return;
		}
	}
}

bool ri_check_was_begun(const struct ri_check_result *result)
{
	return result->code != RI_CODE_CHECK_UNREACHED && result->code != RI_CODE_CHECK_REFUSED;
}

/* For all of them; the runs of a program have time of their own, one for all that share it. */
static int64_t limit_of_all(const struct ri_check_plan *plan)
{
	int64_t limit = (int64_t)RI_CHECKS_MS * 1000;

	if (!plan->checking.deep || !plan->checking.host->live)
		return limit;
	for (size_t i = 0; i < ri_check_count(); i++) {
		const char *probe = ri_check_at(i)->probe;
		size_t first = 0;

		if (!ri_check_set_has(&plan->chosen, i) || probe == NULL)
			continue;
		while (!ri_check_set_has(&plan->chosen, first) ||
			ri_check_at(first)->probe == NULL ||
			strcmp(ri_check_at(first)->probe, probe) != 0)
			first++;
		if (first == i)
			limit += limit_of(i);
	}
	return limit;
}

int ri_checks_run(const struct ri_check_plan *plan, struct ri_check_report *out,
	struct ri_error *err)
{
	struct run run = { .plan = plan, .begun_us = ri_now_us() };

	run.kept = ri_pages(RI_CHECKS_RESULTS * sizeof(*run.kept));
	run.end_us = run.begun_us + limit_of_all(plan);
	run.shared = ri_pages_shared(sizeof(*run.shared));
	if (run.kept == NULL || run.shared == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "--checks", "no memory left for checks: %s",
			strerror(errno));
	run_all(&run);
	munmap(run.shared, sizeof(*run.shared));
	*out = (struct ri_check_report){
		.items = run.kept, .count = run.count, .dropped = run.dropped, .stop = run.stop,
	};
	for (size_t i = 0; i < run.count; i++)
		out->unfit |= run.kept[i].unfit;
	return 0;
}
