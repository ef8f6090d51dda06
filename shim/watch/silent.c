/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/silent.h"

#include "base/limits.h"
#include "base/pages.h"
#include "hang/stall.h"
#include "system/clock.h"
#include "watch/descendants.h"
#include "watch/others.h"

enum {
	STILL_TICKS = 2,	/* of a CPU, and one more each second: other threads look around */
	SECOND_MS = 1000,
	SPOKE_TIMES = 4,
};

/* Where a rank was at the look before. */
struct place {
	uint64_t exception, hash, ticks;
	int64_t since;		/* when it was first seen there, CLOCK_MONOTONIC ms */
};

static struct {
	const struct ri_options *options;
	struct place *places;	/* of each child and each other; NULL: there was no look yet */
	int64_t after_ms, step;
	int64_t spoke;		/* when the job last did, as far as it is known */
	int64_t due;		/* 0: never */
	bool asked;		/* the look that is on its way is for them */
} own;

static void plan(int64_t from)
{
	own.spoke = from;
	own.step = own.after_ms / 2;
	own.due = from + own.step;
}

void ri_silent_begin(const struct ri_options *options)
{
	own.options = options;
	own.after_ms = (int64_t)options->linger_ms;
	if (own.after_ms > 0)
		plan(ri_now_ms());
}

void ri_silent_end(void)
{
	own.due = 0;
}

/* Where that cannot be known it may be silent. */
static bool is_silent(const struct ri_children *children)
{
	return !ri_stall_knows_silence(own.options) ||
		ri_stall_is_silent(own.options, children, (uint64_t)own.after_ms / 2);
}

int64_t ri_silent_due(const struct ri_output *output)
{
	if (own.due != 0 && output->heard_ms > own.spoke)
		plan(output->heard_ms);
	return own.due == 0 ? INT64_MAX : own.due;
}

struct ri_course_others ri_silent_wish(struct ri_children *children)
{
	struct ri_course_others others = { .count = 0 };

	own.due = 0;
	if (!is_silent(children)) {
		own.due = ri_now_ms() + SPOKE_TIMES * own.after_ms;
		own.step = own.after_ms / 2;
		return others;
	}
	if (own.places == NULL)
		own.places = ri_pages((RI_MAX_LOCAL + RI_LAUNCHED) * sizeof(*own.places));
	if (own.places == NULL || !ri_descendants_are_shown())
		return others;
	own.asked = true;
	others.count = ri_others_seen(&others.items);
	for (size_t i = 0; i < children->started && !ri_others_are_watched(); i++)
		if (children->items[i].lives)
			children->items[i].doubtful = true;
	return others;
}

void ri_silent_wait(void)
{
	int64_t now = ri_now_ms();

	if (own.asked || (own.due != 0 && own.due <= now))
		own.due = now + own.after_ms;
	own.asked = false;
}

bool ri_silent_take(void)
{
	bool asked = own.asked;

	own.asked = false;
	if (!asked)
		return false;
	own.step *= 2;
	own.due = ri_now_ms() + own.step;
	return true;
}

unsigned ri_silent_stands(size_t index)
{
	const struct ri_course_seen *seen = ri_course_child(index);
	struct place *place = &own.places[index];
	int64_t now = ri_now_ms(), stood = now - place->since;
	uint64_t most = STILL_TICKS + (uint64_t)(stood / SECOND_MS);

	/* the next look is to be after the time, not after twice as long */
	if (seen->exception != 0 && own.due > now + own.after_ms)
		own.due = now + own.after_ms;
	if (seen->exception == 0 || seen->exception != place->exception ||
		seen->hash != place->hash || seen->ticks - place->ticks > most) {
		*place = (struct place){ seen->exception, seen->hash, seen->ticks, now };
		return 0;
	}
	if (stood < own.after_ms)
		return 0;
	return stood < SECOND_MS ? 1 : (unsigned)(stood / SECOND_MS);
}
