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
	FEW_BYTES = 1 << 20,	/* what other threads log meanwhile */
};

/* Where a rank was at the look before. */
struct place {
	uint64_t exception, hash, ticks, bytes;
	int64_t since;		/* when it was first seen there, CLOCK_MONOTONIC ms */
	unsigned stands;	/* seconds; 0: not for the whole time */
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

/* Is it where it was at the look before? */
static bool is_there(const struct place *place, const struct ri_course_seen *seen, int64_t stood)
{
	return seen->hand.exception == place->exception && seen->hash == place->hash &&
		!seen->hand.works &&
		seen->ticks - place->ticks <= STILL_TICKS + (uint64_t)(stood / SECOND_MS) &&
		seen->hand.bytes - place->bytes <= FEW_BYTES;
}

static unsigned compare(struct place *place, const struct ri_course_seen *seen, int64_t now)
{
	int64_t stood = now - place->since;

	/* the next look is to be after the time, not after twice as long */
	if (seen->hand.exception != 0 && own.due > now + own.after_ms)
		own.due = now + own.after_ms;
	if (seen->hand.exception == 0 || !is_there(place, seen, stood)) {
		*place = (struct place){ .exception = seen->hand.exception, .hash = seen->hash,
			.ticks = seen->ticks, .bytes = seen->hand.bytes, .since = now };
		return 0;
	}
	if (stood < own.after_ms)
		return 0;
	return stood < SECOND_MS ? 1 : (unsigned)(stood / SECOND_MS);
}

/* The children from 0 on, or the others from RI_MAX_LOCAL on. Returns the end of their indices. */
static size_t find_ranks(const struct ri_children *children, size_t *first)
{
	const struct ri_launched *others;

	*first = ri_others_are_watched() ? RI_MAX_LOCAL : 0;
	return *first == 0 ? children->started : *first + ri_others_seen(&others);
}

static bool was_looked_at(const struct ri_children *children, size_t index)
{
	const struct ri_launched *others;

	if (index < RI_MAX_LOCAL)
		return children->items[index].lives;
	ri_others_seen(&others);
	return others[index - RI_MAX_LOCAL].is_rank && others[index - RI_MAX_LOCAL].order == 0;
}

static void judge(const struct ri_children *children)
{
	size_t first, end = find_ranks(children, &first);
	bool moves = false, others_work = false;
	int64_t now = ri_now_ms();

	for (size_t i = first; i < end; i++) {
		const struct ri_course_seen *seen = ri_course_child(i);
		struct place *place = &own.places[i];

		place->stands = 0;
		if (!was_looked_at(children, i))
			continue;
		place->stands = compare(place, seen, now);
		others_work |= seen->known && seen->hand.exception == 0;
		moves |= seen->hand.exception != 0 && place->stands == 0;
	}
	for (size_t i = first; i < end; i++)
		if (moves || (!others_work && ri_course_child(i)->hand.for_peers))
			own.places[i].stands = 0;
}

bool ri_silent_take(const struct ri_children *children)
{
	bool asked = own.asked;

	own.asked = false;
	if (!asked)
		return false;
	own.step *= 2;
	own.due = ri_now_ms() + own.step;
	judge(children);
	return true;
}

unsigned ri_silent_stands(size_t index)
{
	return own.places[index].stands;
}
