/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/first_failure.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/course.h"
#include "report/class.h"
#include "system/clock.h"
#include "system/own_proc.h"
#include "watch/descendants.h"

enum { SHARE = 64 };	/* of the time, at most, goes into looking */

/*
 * Does its first thread wait for a signal that it has blocked? While it does, the kernel shows that
 * as not blocked (kernel/signal.c, do_sigtimedwait; proc(5), wchan).
 */
static bool waits_for_signal(pid_t pid)
{
	static const char function[] = "do_sigtimedwait";
	char path[32], text[sizeof(function)] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strcmp(text, function) == 0;
}

void ri_settle_look(struct ri_children *children, bool always)
{
	static int64_t next;
	int64_t begun = ri_now_us();
	struct timespec now;

	if (children->count < 2 || (begun < next && !always) || !ri_descendants_are_shown())
		return;
	ri_clock_read(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		if (!child->lives || child->told || child->gone_at.tv_sec != 0 ||
			!ri_proc_read(child->pid, &process))
			continue;
		if (process.dying)
			child->gone_at = now;
	}
	next = begun + SHARE * (ri_now_us() - begun);
}

static void describe_end(const struct ri_child *child, struct ri_rank_outcome *out)
{
	int status = child->wait_status;

	if (child->lives) {
		out->end = RI_END_RUNNING;
	} else if (WIFSIGNALED(status)) {
		out->end = RI_END_SIGNALED;
		out->signal = WTERMSIG(status);
		out->core = WCOREDUMP(status);
	} else {
		out->end = RI_END_EXITED;
		out->exit_code = WEXITSTATUS(status);
	}
}

/*
 * Was it dying before a SIGTERM? Then it does not end of that signal. If it does, only its first
 * thread had ended, and the others had gone on (pthread_exit(3)).
 */
static bool was_dying(const struct ri_child *child)
{
	return child->gone_at.tv_sec != 0 &&
		!(WIFSIGNALED(child->wait_status) && WTERMSIG(child->wait_status) == SIGTERM);
}

/* It was looked at since then. */
static bool was_looked_at(const struct ri_child *child, struct timespec then)
{
	return child->course_at.tv_sec != 0 && !ri_time_is_before(child->course_at, then);
}

/* With a status, after a traceback, though its program could not hear of what it was told. */
static bool ended_itself(const struct ri_child *child, const struct ri_output *output,
	size_t index)
{
	return !child->lives && WIFEXITED(child->wait_status) && child->unheeding &&
		ri_output_traceback(output, index).tv_sec != 0;
}

/* Of what it has not said, a traceback as its memory has it. */
static void describe_unsaid(const struct ri_child *child, size_t index,
	struct ri_rank_outcome *out)
{
	const struct ri_course_seen *seen = ri_course_child(index);
	bool unsaid = child->course == RI_COURSE_LEFT && out->traceback_at.tv_sec == 0;

	out->in_hand = child->in_hand && child->told && seen != NULL;
	if (!out->in_hand && (!unsaid || seen == NULL))
		return;
	out->traceback_at = child->raised_at;
	out->wrote = (struct ri_rank_wrote){ .tail = { seen->words, strlen(seen->words) } };
}

void ri_settle_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out)
{
	const struct ri_tail_text text = ri_output_tail(output, index);

	out->pid = child->pid;
	out->told = child->told && !was_dying(child) && !ended_itself(child, output, index);
	out->spoke = out->told && child->spoke;
	out->leaving = child->leaving && child->lives && !child->told;
	out->order = child->order;
	out->started = child->started;
	out->ended = child->ended;
	out->gone_at = child->gone_at;
	describe_end(child, out);
	out->wrote = (struct ri_rank_wrote){
		.tail = { text.bytes, text.length }, .head = text.head, .cut = text.cut,
		.total = text.total,
	};
	out->traceback_at = ri_output_traceback(output, index);
	/* what it was about before it was told */
	out->course = child->course == RI_COURSE_LEFT ||
		was_looked_at(child, out->traceback_at) ? child->course : RI_COURSE_UNKNOWN;
	out->lingered_s = child->lingered_s;
	if (child->raised_at.tv_sec == 0)
		return;
	describe_unsaid(child, index, out);
	if ((out->in_hand || child->lingered_s > 0) && ri_course_child(index) != NULL &&
		ri_course_child(index)->held[0] != '\0')
		out->held = ri_course_child(index)->held;
}

/* What its end is evidence of; of one that lives, what it would be if it ended now. */
static struct ri_evidence judge(const struct ri_child *child, struct ri_output *output,
	size_t index)
{
	struct ri_rank_outcome rank = { .pid = 0 };

	ri_settle_describe(child, output, index, &rank);
	if (child->lives) {
		rank.end = RI_END_EXITED;
		rank.exit_code = 1;
		ri_clock_read(CLOCK_REALTIME, &rank.ended);
	}
	ri_class_find(&rank);
	return rank.evidence;
}

static bool failed(const struct ri_child *child)
{
	return !child->lives && child->wait_status != 0;
}

/* Each end is judged once: there may be hundreds, one after the other. */
static bool has_ended(struct ri_children *children, struct ri_output *output, enum ri_class class)
{
	bool found = false;

	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		if (failed(child) && child->class == RI_CLASS_NONE)
			child->class = judge(child, output, i).class;
		/* it died before a rank lost it, so its own words need not say so */
		if (child->class == RI_CLASS_UNKNOWN && child->gone_at.tv_sec != 0)
			child->class = RI_CLASS_OWN;
		found = found || child->class == class;
	}
	return found;
}

bool ri_settle_timed_out(const struct ri_children *children, struct ri_output *output)
{
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_loss *loss = failed(&children->items[i])
			? judge(&children->items[i], output, i).loss : NULL;

		if (loss != NULL && loss->kind == RI_LOSS_CLOCK)
			return true;
	}
	return false;
}

/* One that lives may have said already that it lost another one. */
static bool has_lost(const struct ri_children *children, struct ri_output *output)
{
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives && ri_output_traceback(output, i).tv_sec != 0 &&
			judge(&children->items[i], output, i).class == RI_CLASS_LOSS)
			return true;
	return false;
}

/* It lives, and has printed an exception that it may be ending of. */
static bool has_own_words(const struct ri_child *child, struct ri_output *output, size_t index)
{
	return child->lives && !child->told && ri_output_traceback(output, index).tv_sec != 0 &&
		judge(child, output, index).class == RI_CLASS_OWN;
}

/* When the first of those that failed ended; 0: none did. */
static struct timespec first_failure(const struct ri_children *children)
{
	struct timespec first = { .tv_sec = 0 };

	for (size_t i = 0; i < children->started; i++)
		if (failed(&children->items[i]) && (first.tv_sec == 0 ||
			ri_time_is_before(children->items[i].ended, first)))
			first = children->items[i].ended;
	return first;
}

/* Where losses alone were seen, what was lost may have an exception that it has not printed. */
void ri_settle_ask(struct ri_children *children, struct ri_output *output)
{
	struct timespec first = first_failure(children);
	bool lost;

	if (ri_course_is_asked() || !ri_descendants_are_shown())
		return;
	lost = has_ended(children, output, RI_CLASS_LOSS) &&
		!has_ended(children, output, RI_CLASS_OWN);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		/* what had left its program may have executed another one since */
		child->doubtful = child->lives && !child->told &&
			(((lost || child->course == RI_COURSE_LEFT) &&
				!was_looked_at(child, first)) ||
			(!was_looked_at(child, ri_output_traceback(output, i)) &&
				has_own_words(child, output, i)));
	}
	ri_course_ask(children, (struct ri_course_others){ .count = 0 });
}

void ri_settle_prepare_stop(struct ri_children *children, const struct ri_output *output,
	int number)
{
	if (children->count < 2 || !ri_descendants_are_shown())
		return;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		if (!child->lives || !ri_proc_read(child->pid, &process))
			continue;
		/* one that its program does not hear of ends it at once, or does nothing */
		child->unheeding = number == 0 ||
			(((process.caught | process.blocked) >> (number - 1) & 1) == 0 &&
			(ri_output_traceback(output, i).tv_sec == 0 ||
			!waits_for_signal(child->pid)));
	}
}

/* Has it printed an exception, and may end of it, or may it have one, as far as is known by now? */
static bool is_undecided(const struct ri_child *child, struct ri_output *output, size_t index,
	int64_t settle_ms, bool lost)
{
	struct timespec at = ri_output_traceback(output, index), now;
	bool own;

	if (!child->lives)
		return false;
	own = has_own_words(child, output, index);
	if (child->doubtful && ri_course_is_asked() &&
		(own || lost || child->course == RI_COURSE_LEFT))
		return true;
	if (!own || child->course == RI_COURSE_LEFT)
		return false;
	ri_clock_read(CLOCK_REALTIME, &now);
	at.tv_sec += (time_t)(settle_ms / 1000);
	at.tv_nsec += settle_ms % 1000 * 1000000;
	return ri_time_is_before(now, at);
}

bool ri_settle_is_open(struct ri_children *children, struct ri_output *output, int64_t settle_ms)
{
	bool own, lost;

	if (children->refused != 0)
		return false;
	own = has_ended(children, output, RI_CLASS_OWN);
	lost = has_ended(children, output, RI_CLASS_LOSS);
	for (size_t i = 0; i < children->started; i++)
		if (is_undecided(&children->items[i], output, i, settle_ms, lost && !own))
			return true;
	return !own && (lost || has_lost(children, output));
}

bool ri_settle_find_leavers(struct ri_children *children, struct ri_output *output)
{
	bool found = false;

	ri_settle_ask(children, output);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		child->leaving = child->lives && !child->told && child->course == RI_COURSE_LEFT;
		found = found || child->leaving;
	}
	return found;
}
