/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/first_failure.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "hang/course.h"
#include "report/class.h"
#include "system/clock.h"
#include "system/own_proc.h"
#include "watch/descendants.h"

enum {
	SHARE = 64,		/* of the time, at most, goes into looking */
	FRESH_S = 10,		/* an exception that is older was caught, and its program went on */
	SAID_SINCE = 4,		/* lines that show the same */
};

static bool catches(const struct ri_procstat *process, int number)
{
	return (process->caught >> (number - 1) & 1) != 0;
}

void ri_settle_look(struct ri_children *children)
{
	static int64_t next;
	int64_t begun = ri_now_us();
	struct timespec now;

	if (children->count < 2 || begun < next || !ri_descendants_are_shown())
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
		if (!catches(&process, SIGINT))
			continue;
		child->interruptible = true;
		memcpy(child->program, process.name, sizeof(child->program));
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

/* What it has in hand was not said: a traceback of that, as its memory has it. */
static void describe_unsaid(const struct ri_child *child, size_t index,
	struct ri_rank_outcome *out)
{
	const char *words = ri_course_child(index)->words;

	out->traceback_at = child->raised_at;
	out->course = RI_COURSE_LEFT;
	out->wrote = (struct ri_rank_wrote){ .tail = { words, strlen(words) } };
}

/* Since its last traceback began. */
static bool was_looked_at(const struct ri_child *child, struct timespec traceback_at)
{
	return child->course_at.tv_sec != 0 && !ri_time_is_before(child->course_at, traceback_at);
}

/* Whether it ended, or was about to, before it was told. */
static enum ri_course course_of(const struct ri_child *child, struct timespec traceback_at)
{
	if (child->finalizing ||
		(!child->lives && WIFEXITED(child->wait_status) && child->unheeding))
		return RI_COURSE_LEFT;
	return was_looked_at(child, traceback_at) ? child->course : RI_COURSE_UNKNOWN;
}

void ri_settle_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out)
{
	const struct ri_tail_text text = ri_output_tail(output, index);

	out->pid = child->pid;
	out->told = child->told && !was_dying(child);
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
	out->course = course_of(child, out->traceback_at);
	out->lingered_s = child->lingered_s;
	out->held = child->lingered_s > 0 ? ri_course_held(index) : NULL;
	if (child->raised_at.tv_sec != 0)
		describe_unsaid(child, index, out);
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

/* It lives, and its last words are an exception of its own: these. */
static bool find_own_words(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_words *out)
{
	struct ri_evidence evidence;

	if (!child->lives || child->told || ri_output_traceback(output, index).tv_sec == 0)
		return false;
	evidence = judge(child, output, index);
	*out = evidence.words;
	return evidence.class == RI_CLASS_OWN;
}

static bool has_own_words(const struct ri_child *child, struct ri_output *output, size_t index)
{
	struct ri_words words;

	return find_own_words(child, output, index, &words);
}

void ri_settle_ask(struct ri_children *children, struct ri_output *output)
{
	if (ri_course_is_asked() || !ri_descendants_are_shown())
		return;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		child->doubtful = !was_looked_at(child, ri_output_traceback(output, i)) &&
			has_own_words(child, output, i);
		if (child->doubtful)
			child->uncaught = ri_proc_read(child->pid, &process) &&
				!catches(&process, SIGINT);
	}
	ri_course_ask(children, (struct ri_course_others){ .count = 0 });
}

bool ri_settle_may_linger(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_words *out)
{
	struct ri_evidence evidence;

	if (!child->lives || child->told || ri_output_traceback(output, index).tv_sec == 0)
		return false;
	evidence = judge(child, output, index);
	*out = evidence.words;
	return ri_class_left_program(&evidence);
}

/* A program that had no handler for SIGINT, or is no Python by now, cannot be judged by that. */
static bool is_finalizing(const struct ri_child *child, const struct ri_procstat *process)
{
	return child->interruptible && !catches(process, SIGINT) &&
		strncmp(child->program, process->name, sizeof(child->program)) == 0 &&
		!(child->uncaught && child->course == RI_COURSE_RUNNING);
}

void ri_settle_prepare_stop(struct ri_children *children, int number)
{
	if (children->count < 2 || !ri_descendants_are_shown())
		return;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		if (!child->lives || !ri_proc_read(child->pid, &process))
			continue;
		child->unheeding = number == 0 || !catches(&process, number);
		child->finalizing = is_finalizing(child, &process);
	}
}

/* Has it printed an exception, and may end of it, as far as can be told by now? */
static bool is_undecided(const struct ri_child *child, struct ri_output *output, size_t index,
	int64_t settle_ms)
{
	struct timespec at = ri_output_traceback(output, index), now;

	if (child->doubtful && ri_course_is_asked())
		return true;
	if (!has_own_words(child, output, index) ||
		(was_looked_at(child, at) && child->course == RI_COURSE_LEFT))
		return false;
	ri_clock_read(CLOCK_REALTIME, &now);
	at.tv_sec += (time_t)(settle_ms / 1000);
	at.tv_nsec += settle_ms % 1000 * 1000000;
	return ri_time_is_before(now, at);
}

bool ri_settle_is_open(struct ri_children *children, struct ri_output *output, int64_t settle_ms)
{
	if (children->refused != 0)
		return false;
	for (size_t i = 0; i < children->started; i++)
		if (is_undecided(&children->items[i], output, i, settle_ms))
			return true;
	if (has_ended(children, output, RI_CLASS_OWN))
		return false;
	return has_ended(children, output, RI_CLASS_LOSS) || has_lost(children, output);
}

/* Where its memory cannot tell: lines since, or a thread alone that ended, mean that it goes on. */
static bool goes_on(const struct ri_words *words)
{
	return !words->has_traceback || words->traceback.last.length == 0 ||
		words->traceback.lines_after >= SAID_SINCE || words->traceback.aside;
}

static bool is_leaving(const struct ri_child *child, struct ri_output *output, size_t index)
{
	struct timespec at = ri_output_traceback(output, index), now;
	struct ri_words words;

	if (!find_own_words(child, output, index, &words) ||
		(child->doubtful && ri_course_is_asked()))
		return false;
	if (was_looked_at(child, at) && child->course != RI_COURSE_UNKNOWN)
		return child->course == RI_COURSE_LEFT;
	ri_clock_read(CLOCK_REALTIME, &now);
	return (child->leaving || now.tv_sec - at.tv_sec <= FRESH_S) && !goes_on(&words);
}

bool ri_settle_find_leavers(struct ri_children *children, struct ri_output *output)
{
	bool found = false;

	ri_settle_ask(children, output);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		child->leaving = is_leaving(child, output, i);
		found = found || child->leaving;
	}
	return found;
}
