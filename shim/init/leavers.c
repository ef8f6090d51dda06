/* SPDX-License-Identifier: Apache-2.0 */
#include "init/leavers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/course.h"
#include "init/signalling.h"
#include "init/judged.h"
#include "init/others.h"
#include "report/culprit.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/own_proc.h"

enum {
	SHARE = 64,		/* of the time, at most, goes into looking for those that die */
	COLUMNS = 32,		/* of a command's name */
	WHO = 80,		/* bytes of a rank, as it is named */
	SAID = 4,		/* ranks of which a line is said after one look */
	TELL_MS = 30000,	/* after an exception: most programs have ended by then */
	SOON_MS = 200,		/* after a traceback: what it is of may be aborted at its exit */
	FRESH_S = 2,		/* so long a rank may end of what it has printed */
	BUSY_MS = 1000,		/* another look is on its way */
};

/*
 * Does its first thread wait for a signal that it has blocked? While it does, the kernel shows that
 * as not blocked (kernel/signal.c, do_sigtimedwait; proc(5), wchan).
 */
static bool waits_for_signal(pid_t pid)
{
	static const char function[] = "do_sigtimedwait";
	char text[sizeof(function)];

	return ri_proc_text(text, sizeof(text), "/proc/%d/wchan", (int)pid) > 0 &&
		strcmp(text, function) == 0;
}

void ri_leavers_look(struct ri_children *children, bool always)
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

		if (!child->lives || child->told_to_stop || child->gone_at.tv_sec != 0 ||
			!ri_proc_read(child->pid, &process))
			continue;
		if (process.dying)
			child->gone_at = now;
	}
	next = begun + SHARE * (ri_now_us() - begun);
}

void ri_leavers_prepare_stop(struct ri_children *children, const struct ri_output *output,
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

/* One that is looked at already, or that /proc does not show, is not looked at again. */
bool ri_leavers_ask(struct ri_children *children, const uint8_t *doubtful)
{
	const struct ri_launched *others = NULL;
	size_t count = doubtful == NULL ? ri_others_seen(&others) : 0;

	if (ri_course_is_asked() || !ri_descendants_are_shown())
		return ri_course_is_asked();
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		child->doubtful = child->lives &&
			(doubtful == NULL || (!child->told_to_stop && doubtful[i] != 0));
	}
	ri_course_ask(children, others, count);
	return ri_course_is_asked();
}

bool ri_leavers_find(struct ri_children *children, const struct ri_output *output)
{
	uint8_t doubtful[RI_MAX_LOCAL] = { 0 };
	bool found = false;

	/* what had left its program may have executed another one since */
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		struct timespec since = ri_children_first_failure(children),
			at = ri_output_traceback(output, i);

		doubtful[i] = (child->course == RI_COURSE_LEFT &&
				!ri_child_was_looked_at(child, since)) ||
			(at.tv_sec != 0 && !ri_child_was_looked_at(child, at));
	}
	ri_leavers_ask(children, doubtful);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		bool leaves = child->lives && !child->told_to_stop &&
			child->course == RI_COURSE_LEFT;

		if (leaves != child->leaving)
			ri_judge_news();
		child->leaving = leaves;
		found = found || leaves;
	}
	return found;
}

/* Has it said nothing, or only what a process that it left has? A signal needs no word. */
static bool was_silent(const struct ri_child *child, struct timespec traceback)
{
	return ri_child_failed(child) && WIFEXITED(child->wait_status) &&
		(traceback.tv_sec == 0 || ri_time_is_before(child->ended, traceback));
}

bool ri_leavers_may_speak(const struct ri_children *children, const struct ri_output *output)
{
	for (size_t i = 0; i < children->started; i++)
		if (was_silent(&children->items[i], ri_output_traceback(output, i)) &&
			ri_output_is_held(output, i))
			return true;
	return false;
}

bool ri_leavers_spoke(const struct ri_children *children, const struct ri_output *output)
{
	for (size_t i = 0; i < children->started; i++) {
		struct timespec at = ri_output_traceback(output, i);

		if (at.tv_sec != 0 && was_silent(&children->items[i], at) &&
			!ri_output_is_held(output, i))
			return true;
	}
	return false;
}

bool ri_leavers_may_fail(const struct ri_children *children, struct ri_output *output)
{
	struct timespec fresh;

	if (!ri_descendants_are_shown() || !ri_output_catch_up(output))
		return true;
	ri_clock_read(CLOCK_REALTIME, &fresh);
	fresh.tv_sec -= FRESH_S;
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		struct timespec at = ri_output_traceback(output, i);
		struct ri_procstat process;

		if (!child->lives)
			continue;
		if (child->leaving || child->gone_at.tv_sec != 0 ||
			!ri_proc_read(child->pid, &process) || process.dying)
			return true;
		/* one that it goes on with was caught; in the first moment that may change */
		if (at.tv_sec != 0 && (ri_time_is_before(fresh, at) ||
			child->course != RI_COURSE_RUNNING || !ri_child_was_looked_at(child, at)))
			return true;
	}
	return ri_leavers_may_speak(children, output);
}

/* --- those that do not get to their end ------------------------------------ */

/* What the looks have seen of one. */
struct seen {
	uint64_t exception;	/* 0: none */
	int64_t since;		/* CLOCK_MONOTONIC ms: as far as is known it was raised then */
	int64_t left;		/* since then it is known to have left its program; 0: it is not */
	unsigned lingered_s;	/* it was ended so long after its exception; 0: it was not */
	bool said;		/* of this one a line was */
	/* as it was when it was told of with an exception in hand; NULL: it was not */
	const struct ri_course_seen *handled;
	int64_t in_hand_since;
};

static struct {
	const struct ri_options *options;
	struct seen *of;	/* of each child and then of each other; NULL: there was no look */
	int64_t tell_ms;
	int64_t due;		/* after a traceback, or for what was seen; 0: never */
	int64_t looked;		/* when the last look began; 0: there was none */
	int64_t heard, step;	/* the job is silent since then: when that is looked at */
	bool asked;		/* the look that is on its way is ours */
	bool suspects;		/* a traceback has begun, or an exception was seen */
	bool over;
	struct ri_launched_held held[RI_LAUNCHED];
	struct timespec stopped;	/* a launcher, for one of its ranks; 0: not by us */
} own;

void ri_linger_begin(const struct ri_options *options)
{
	int64_t linger = (int64_t)options->linger_ms;

	own.options = options;
	own.tell_ms = linger > 0 && linger < TELL_MS ? linger : TELL_MS;
	own.heard = ri_now_ms();
	own.step = own.tell_ms / 2;
}

static void plan(int64_t due)
{
	if (own.due == 0 || due < own.due)
		own.due = due;
}

/* Soon; of one that prints tracebacks without end seldom. */
void ri_linger_suspect(void)
{
	int64_t next;

	if (own.options == NULL)
		return;
	own.suspects = true;
	next = own.looked == 0 ? 0 : own.looked + own.tell_ms / 2;
	plan(next > ri_now_ms() + SOON_MS ? next : ri_now_ms() + SOON_MS);
}

void ri_linger_end(void)
{
	own.over = true;
}

int64_t ri_linger_due(const struct ri_output *output)
{
	if (own.asked)
		return ri_course_due();
	if (own.options == NULL || own.over)
		return INT64_MAX;
	if (output->heard_ms > own.heard) {
		own.heard = output->heard_ms;
		own.step = own.tell_ms / 2;
	}
	return own.due != 0 && own.due < own.heard + own.step ? own.due : own.heard + own.step;
}

void ri_linger_act(struct ri_children *children)
{
	int64_t now = ri_now_ms();
	bool busy = ri_course_is_asked();

	if (own.asked)
		return;
	if (now >= own.heard + own.step)
		own.step += own.step;
	own.looked = now;
	own.due = busy ? now + BUSY_MS : 0;
	own.asked = !busy && ri_leavers_ask(children, NULL);
}

bool ri_linger_ask(struct ri_children *children)
{
	return own.suspects && ri_leavers_ask(children, NULL);
}

/* Which of the lines is said, if any. */
enum say {
	SAY_NOTHING,
	SAY_RAISED,
	SAY_ENDED,
};

/*
 * The exception was raised when its traceback began, or as far as is known when it was first seen.
 * --linger counts from the proof, and anew where a person has let go of it.
 */
static enum say note(struct seen *seen, const struct ri_course_seen *now, int64_t raised)
{
	int64_t at = ri_now_ms(), linger = (int64_t)own.options->linger_ms;
	bool left = now->course == RI_COURSE_LEFT;

	if (now->exception == 0) {
		seen->exception = 0;
		return SAY_NOTHING;
	}
	own.suspects = true;
	if (now->exception != seen->exception)
		*seen = (struct seen){ .exception = now->exception, .said = seen->said,
			.since = left && raised != 0 ? raised : at, .handled = seen->handled,
			.in_hand_since = seen->in_hand_since };
	if (!left || now->by_person)
		seen->left = 0;
	else if (seen->left == 0)
		seen->left = at;
	if (linger > 0 && seen->left != 0 && at >= seen->left + linger)
		return SAY_ENDED;
	if (linger > 0 && left)
		plan(seen->left == 0 ? at + linger : seen->left + linger);
	/* one that is soon ended is told of then */
	if (seen->said || (left && linger > 0 && linger <= TELL_MS))
		return SAY_NOTHING;
	if (at < seen->since + own.tell_ms) {
		plan(seen->since + own.tell_ms);
		return SAY_NOTHING;
	}
	seen->said = true;
	return SAY_RAISED;
}

static unsigned seconds_since(const struct seen *seen)
{
	int64_t seconds = (ri_now_ms() - seen->since) / 1000;

	return seconds < 1 ? 1 : (unsigned)seconds;
}

/* CLOCK_MONOTONIC ms, of a time of CLOCK_REALTIME; 0 stays 0. */
static int64_t monotonic(struct timespec at)
{
	struct timespec now;

	if (at.tv_sec == 0)
		return 0;
	ri_clock_read(CLOCK_REALTIME, &now);
	return ri_now_ms() - (now.tv_sec - at.tv_sec) * 1000 -
		(now.tv_nsec - at.tv_nsec) / 1000000;
}

/*
 * One that lives and was not told to stop, by its place in own.of: "rank 1 (pid 17)". Its exception
 * was raised then, as far as its stderr tells. Returns whether it is to be ended.
 */
static bool take(size_t at, const char *who, int64_t raised, unsigned *said)
{
	const struct ri_course_seen *now = ri_course_of(at);
	struct seen *seen = &own.of[at];
	enum say what = now == NULL ? SAY_NOTHING : note(seen, now, raised);
	RI_TEXT(inner, 128);

	if (what == SAY_NOTHING)
		return false;
	if (now->inner != 0)
		ri_text_addf(&inner, "the python (pid %d) of ", (int)now->inner);
	ri_text_add(&inner, who);
	if ((*said)++ < SAID)
		ri_log(RI_LEVEL_ALWAYS, "%s raised %s and has not ended for %u s%s%s%s",
			inner.bytes, now->shown, seconds_since(seen),
			now->held[0] == '\0' ? "" : ": ", now->held,
			what == SAY_ENDED ? "; --linger stops it now" : "");
	if (what == SAY_RAISED && now->handled && now->inner == 0) {
		/* that leaves its program, whatever its teardown raises after it */
		struct ri_course_seen *copy = ri_pages(sizeof(*copy));

		if (copy != NULL)
			*copy = *now;
		seen->handled = copy;
		seen->in_hand_since = seen->since;
	}
	if (what == SAY_ENDED)
		seen->lingered_s = seconds_since(seen);
	return what == SAY_ENDED;
}

/* "rank 1 (pid 17)", "python3 (pid 17)" */
static void name_child(const struct ri_supervisor *sv, size_t index, struct ri_text *out)
{
	const struct ri_children *children = sv->children;

	if (children->count > 1 || sv->rank >= 0)
		ri_text_addf(out, "rank %lld", sv->rank >= 0 ? (long long)sv->rank
			: (long long)(children->first_rank + index));
	else
		ri_text_add_shown(out, ri_path_name(sv->launch->argv[0]), COLUMNS);
	ri_text_addf(out, " (pid %d)", (int)children->items[index].pid);
}

bool ri_linger_take(const struct ri_supervisor *sv)
{
	struct ri_children *children = sv->children;
	const struct ri_launched *others;
	size_t count = ri_others_seen(&others);
	unsigned said = 0;
	bool ended = false, launched = false;

	if (!own.asked)
		return false;
	own.asked = false;
	if (own.of == NULL)
		own.of = ri_pages((RI_MAX_LOCAL + RI_LAUNCHED) * sizeof(*own.of));
	if (own.of == NULL)
		return false;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		size_t at = 0;		/* Lightning's first rank is seen as one, too */
		RI_TEXT(who, WHO);

		while (at < count && others[at].pid != child->pid)
			at++;
		if (!child->lives || child->told_to_stop || at < count)
			continue;
		name_child(sv, i, &who);
		if (!take(i, who.bytes, monotonic(ri_output_traceback(sv->output, i)), &said))
			continue;
		child->lingered_s = own.of[i].lingered_s;
		ended = true;
	}
	for (size_t i = 0; i < count; i++) {
		const struct ri_launched *rank = &others[i];
		RI_TEXT(who, WHO);

		if (!rank->is_rank || rank->order != 0)
			continue;
		ri_text_addf(&who, "rank %lld (local rank %lld, pid %d)", (long long)rank->rank,
			(long long)(rank->local_rank < 0 ? rank->rank : rank->local_rank),
			(int)rank->pid);
		launched = take(RI_MAX_LOCAL + i, who.bytes, 0, &said) || launched;
	}
	if (said > SAID)
		ri_log(RI_LEVEL_ALWAYS, "and so have %u more ranks", said - SAID);
	if (launched)
		ri_clock_read(CLOCK_REALTIME, &own.stopped);
	return ended || launched;
}

/* What the last look saw is no evidence of one that has ended since without being told. */
void ri_linger_tell(struct ri_launched_source *source)
{
	struct timespec now;
	size_t count = 0;

	ri_clock_read(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < source->count; i++) {
		const struct ri_course_seen *seen = ri_course_of(RI_MAX_LOCAL + i);
		struct seen before = own.of == NULL ? (struct seen){ .since = 0 }
			: own.of[RI_MAX_LOCAL + i];

		if (before.handled != NULL && before.lingered_s == 0 &&
			(seen == NULL || seen->exception != before.handled->exception)) {
			seen = before.handled;
			before.since = before.in_hand_since;
		} else if (seen == NULL || seen->exception == 0 || seen->inner != 0) {
			continue;
		} else if (before.exception != seen->exception) {
			before = (struct seen){ .since = ri_now_ms() };
		}
		own.held[count++] = (struct ri_launched_held){
			.index = i, .lingered_s = before.lingered_s, .handled = seen->handled,
			.raised.tv_sec = now.tv_sec - (ri_now_ms() - before.since) / 1000,
			.held = seen->held[0] == '\0' ? NULL : seen->held,
			.words = { seen->words, strlen(seen->words) },
		};
	}
	source->held = own.held;
	source->held_count = count;
	if (own.stopped.tv_sec != 0)
		source->stopped = own.stopped;
}
