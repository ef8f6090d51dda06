/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/linger.h"

#include "base/limits.h"
#include "base/path.h"
#include "hang/course.h"
#include "system/clock.h"
#include "watch/descendants.h"
#include "watch/first_failure.h"
#include "watch/others.h"
#include "watch/raisers.h"
#include "watch/silent.h"

enum {
	SAID = 4,		/* ranks of which a line is said */
	BUSY_MS = 1000,		/* another look is on its way */
};

struct rank {
	int64_t due;		/* CLOCK_MONOTONIC ms; 0: never */
	int64_t step;		/* ms until the next look */
	size_t lines;		/* behind its exception's first, some time later */
	bool counted;		/* these are known */
	bool asked;		/* it is looked at */
	bool ran;		/* its program did, after the traceback */
	bool over;		/* and was over afterwards */
};

static struct {
	struct rank ranks[RI_MAX_LOCAL];
	int64_t after_ms;
	int64_t next;		/* no rank is due before; 0: none is */
} own;

static void plan(struct rank *rank, int64_t due)
{
	rank->due = due;
	if (own.next == 0 || due < own.next)
		own.next = due;
}

void ri_linger_begin(size_t index, int64_t after_ms)
{
	struct rank *rank = &own.ranks[index];

	ri_raisers_begin(after_ms);
	own.after_ms = after_ms;
	if (after_ms == 0)
		return;
	*rank = (struct rank){ .step = after_ms };
	plan(rank, ri_now_ms() + after_ms / 2);
}

int64_t ri_linger_due(const struct ri_output *output)
{
	int64_t others = ri_raisers_due(), silent = ri_silent_due(output);

	others = silent < others ? silent : others;
	return own.next == 0 || others < own.next ? others : own.next;
}

/*
 * Shall it be looked at now? By half of its time the message is printed, however long that is: what
 * comes after it shows that the rank gets on.
 */
static bool is_suspect(struct rank *rank, const struct ri_child *child, struct ri_output *output,
	size_t index)
{
	struct ri_words words;

	rank->due = 0;
	if (!ri_settle_may_linger(child, output, index, &words))
		return false;
	if (rank->counted && words.lines_since == rank->lines)
		return true;
	rank->due = ri_now_ms() + (rank->counted ? own.after_ms : own.after_ms - own.after_ms / 2);
	rank->lines = words.lines_since;
	rank->counted = true;
	return false;
}

static struct ri_course_others wish_silent(struct ri_children *children,
	const struct ri_output *output, struct ri_course_others others)
{
	struct ri_course_others all;

	if (ri_silent_due(output) > ri_now_ms())
		return others;
	if (ri_course_is_asked()) {
		ri_silent_wait();
		return others;
	}
	all = ri_silent_wish(children);
	return others.count > 0 ? others : all;
}

void ri_linger_act(struct ri_children *children, struct ri_output *output)
{
	struct ri_course_others others = { .count = 0 };
	int64_t now = ri_now_ms();
	bool busy = ri_course_is_asked();

	own.next = 0;
	if (ri_raisers_due() <= now && !busy)
		others = ri_raisers_wish(output);
	for (size_t i = 0; i < children->started; i++) {
		struct rank *rank = &own.ranks[i];

		if (rank->due != 0 && rank->due <= now && busy)
			rank->due = now + BUSY_MS;
		else if (rank->due != 0 && rank->due <= now)
			children->items[i].doubtful = rank->asked =
				is_suspect(rank, &children->items[i], output, i);
		if (rank->due != 0)
			plan(rank, rank->due);
	}
	others = wish_silent(children, output, others);
	if (!busy && ri_descendants_are_shown())
		ri_course_ask(children, others);
	if (!ri_course_is_asked())
		ri_silent_wait();
	if (ri_raisers_due() <= now || (others.count > 0 && !ri_course_is_asked()))
		ri_raisers_wait();
	/* without a look there is no answer */
	for (size_t i = 0; i < children->started && !ri_course_is_asked(); i++)
		own.ranks[i].asked = children->items[i].doubtful = false;
}

bool ri_linger_ask(struct ri_children *children, struct ri_output *output)
{
	struct ri_words words;

	if (ri_course_is_asked() || !ri_descendants_are_shown())
		return ri_course_is_asked();
	for (size_t i = 0; i < children->started; i++)
		children->items[i].doubtful =
			ri_settle_may_linger(&children->items[i], output, i, &words);
	ri_course_ask(children, ri_raisers_wish(output));
	return ri_course_is_asked();
}

static void say(const struct ri_children *children, size_t index, const struct ri_end *end,
	struct ri_span exception)
{
	const struct ri_child *child = &children->items[index];
	char who[64];
	struct ri_text text;

	ri_text_init(&text, who, sizeof(who));
	if (children->count > 1 || end->rank >= 0)
		ri_text_addf(&text, "rank %lld", end->rank >= 0 ? (long long)end->rank
			: (long long)(children->first_rank + index));
	else
		ri_text_add_shown(&text, ri_path_name(end->command), sizeof(who) / 2);
	ri_text_addf(&text, " (pid %d)", (int)child->pid);
	ri_verdict_lingers(who, exception, child->lingered_s, ri_course_held(index));
}

/* By the clock that has its traceback's time; at least 1. */
static unsigned seconds_since(struct timespec at)
{
	struct timespec now;

	ri_clock_read(CLOCK_REALTIME, &now);
	return now.tv_sec > at.tv_sec ? (unsigned)(now.tv_sec - at.tv_sec) : 1;
}

/* It was looked at: is it at its end, and does it stay there? */
static bool lingers(struct rank *rank, enum ri_course course)
{
	bool seen_over = rank->over || !rank->ran;

	rank->over = course == RI_COURSE_LEFT;
	rank->ran = rank->ran || course == RI_COURSE_RUNNING;
	if (rank->over && seen_over)
		return true;
	rank->step *= rank->over ? 1 : 2;
	plan(rank, ri_now_ms() + (rank->over ? own.after_ms : rank->step));
	return false;
}

/* Those of ours that have said nothing: as lingers(). Returns how many there are by now. */
static unsigned take_silent(struct ri_children *children, const struct ri_end *end, unsigned found)
{
	for (size_t i = 0; i < children->started && !ri_others_are_watched(); i++) {
		struct ri_child *child = &children->items[i];
		unsigned seconds = ri_silent_stands(i);

		if (seconds == 0 || !child->lives || child->told || child->lingered_s > 0)
			continue;
		child->lingered_s = seconds;
		ri_clock_read(CLOCK_REALTIME, &child->raised_at);
		child->raised_at.tv_sec -= seconds;
		if (found++ < SAID)
			say(children, i, end, ri_course_exception(ri_course_child(i)));
	}
	return found;
}

/* The same of a launcher's. */
static bool take_silent_others(struct ri_output *output)
{
	const struct ri_launched *others;
	size_t count = ri_others_seen(&others);
	bool held = false;

	for (size_t i = 0; i < count; i++) {
		unsigned seconds = ri_silent_stands(RI_MAX_LOCAL + i);

		held = (seconds > 0 && ri_raisers_hold(output, i, seconds)) || held;
	}
	if (held)
		ri_raisers_keep(output);
	return held;
}

bool ri_linger_take(struct ri_children *children, struct ri_output *output,
	const struct ri_end *end)
{
	struct ri_words words;
	unsigned found = 0;
	bool held = false;

	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		if (!own.ranks[i].asked)
			continue;
		own.ranks[i].asked = false;
		if (!lingers(&own.ranks[i], child->course) ||
			!ri_settle_may_linger(child, output, i, &words))
			continue;
		child->lingered_s = seconds_since(ri_output_traceback(output, i));
		if (found++ < SAID)
			say(children, i, end, words.traceback.last);
	}
	if (ri_silent_take(children)) {
		found = take_silent(children, end, found);
		held = take_silent_others(output);
	}
	if (found > SAID)
		ri_verdict_more_linger(found - SAID);
	return ri_raisers_take(output, false) > 0 || found > 0 || held;
}
