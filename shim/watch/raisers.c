/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/raisers.h"

#include <string.h>

#include "base/pages.h"
#include "report/class.h"
#include "system/clock.h"
#include "watch/obituary.h"
#include "watch/others.h"
#include "watch/restarted.h"

enum {
	SAID = 4,		/* ranks of which a line is said */
	BUSY_MS = 1000,		/* another look is on its way */
	STILL_TICKS = 2,	/* of a CPU, between two looks, for one that waits */
};

/* Of one that was seen: what the look before told. */
struct raiser {
	bool over;		/* its program was, of an exception: */
	size_t lines;		/* behind its first */
	struct timespec raised;
	uint64_t hash, ticks;	/* of its stack; of a CPU */
};

struct room {
	struct raiser items[RI_LAUNCHED];
	bool marks[RI_LAUNCHED];	/* a label says that a traceback is its own */
	struct ri_launched_held held[RI_LAUNCHED];
	char text[RI_OUTPUT_TAIL], words[RI_LAUNCHED_WORDS];
};

static struct {
	struct room *room;	/* NULL: no traceback has begun */
	int64_t after_ms, due, step;	/* due 0: never */
	bool asked;		/* the look that is on its way is for them */
	bool over;		/* they are not looked at any more */
	size_t held_count, text_length;
	bool cut;
	struct timespec stopped;	/* 0: not by us */
} own;

void ri_raisers_begin(int64_t after_ms)
{
	const struct ri_launched *seen;
	int64_t due = ri_now_ms() + after_ms / 2;

	ri_others_seen(&seen);
	if (seen == NULL || own.over)
		return;
	if (own.room == NULL)
		own.room = ri_pages(sizeof(*own.room));
	if (after_ms == 0 || own.asked)
		return;
	own.after_ms = after_ms;
	own.step = after_ms - after_ms / 2;
	if (own.due == 0 || due < own.due)
		own.due = due;
}

int64_t ri_raisers_due(void)
{
	return own.due == 0 || own.over ? INT64_MAX : own.due;
}

static bool lives(const struct ri_launched *rank)
{
	return rank->is_rank && rank->order == 0;
}

static struct ri_launched_source source_of(struct ri_output *output)
{
	const struct ri_tail_text tail = ri_restarted_last_text(output);
	struct ri_launched_source source = {
		.text = { tail.bytes, tail.length }, .cut = tail.cut, .room = own.room->words,
	};

	source.count = ri_others_seen(&source.seen);
	return source;
}

/* What stands in the launcher's stderr by now, and whose label which traceback bears. */
static struct ri_launched_source read_text(struct ri_output *output)
{
	struct ri_launched_source source = source_of(output);

	for (size_t i = 0; i < source.count; i++)
		own.room->marks[i] = lives(&source.seen[i]) &&
			ri_launched_has_traceback(&source, &source.seen[i]);
	return source;
}

/* Its label may be that of one that had the number before, and no restart is known. */
static bool is_second(const struct ri_launched_source *source, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (source->seen[i].is_rank && source->seen[i].rank == source->seen[index].rank &&
			!ri_launched_is_past(source, &source->seen[i]))
			return true;
	return false;
}

static bool has_raised(const struct ri_launched_source *source, size_t i, struct ri_words *words)
{
	return own.room->marks[i] && !is_second(source, i) &&
		ri_launched_raised(source, &source->seen[i], words);
}

struct ri_course_others ri_raisers_wish(struct ri_output *output)
{
	struct ri_course_others others = { .count = 0 };
	struct ri_launched_source source;
	struct ri_words words;

	own.due = 0;
	if (own.room == NULL || own.over || ri_restarted_last_text(output).bytes == NULL)
		return others;
	source = read_text(output);
	own.asked = ri_launched_raised(&source, NULL, &words);
	for (size_t i = 0; i < source.count && !own.asked; i++)
		own.asked = has_raised(&source, i, &words);
	if (own.asked)
		others = (struct ri_course_others){ source.seen, source.count };
	return others;
}

void ri_raisers_wait(void)
{
	own.asked = false;
	own.due = own.after_ms > 0 ? ri_now_ms() + BUSY_MS : 0;
}

/* What a look showed. */
struct sight {
	struct ri_launched_source source;
	struct timespec traceback;	/* when the last one began */
	ssize_t alone;		/* whose words those are that bear no owner; -1: that is unknown */
	bool still;		/* all that run on wait where they waited before */
	bool stop;		/* it was before one from outside */
};

static ssize_t find_alone(const struct ri_launched_source *source)
{
	ssize_t found = -1;
	int64_t living = 0, most = 0;

	for (size_t i = 0; i < source->count; i++) {
		const struct ri_launched *rank = &source->seen[i];
		unsigned char course = ri_course_other(i)->course;

		if (!rank->is_rank || ri_launched_is_past(source, rank))
			continue;
		living++;
		most = rank->local_ranks > most ? rank->local_ranks : most;
		if (rank->order != 0 || course == RI_COURSE_UNKNOWN)
			return -1;
		if (course != RI_COURSE_LEFT || own.room->marks[i])
			continue;
		if (found >= 0)
			return -1;
		found = (ssize_t)i;
	}
	return living < most ? -1 : found;
}

static bool stands_still(const struct raiser *before, const struct ri_course_seen *now)
{
	return now->hash == before->hash && now->ticks - before->ticks <= STILL_TICKS;
}

static bool stand_still(const struct ri_launched_source *source)
{
	for (size_t i = 0; i < source->count; i++)
		if (lives(&source->seen[i]) && ri_course_other(i)->course == RI_COURSE_RUNNING &&
			!stands_still(&own.room->items[i], ri_course_other(i)))
			return false;
	return true;
}

/* By the clock that has its traceback's time; at least 1. */
static unsigned seconds_since(struct timespec at)
{
	struct timespec now;

	ri_clock_read(CLOCK_REALTIME, &now);
	return now.tv_sec > at.tv_sec ? (unsigned)(now.tv_sec - at.tv_sec) : 1;
}

static void hold(const struct sight *sight, size_t index, struct ri_span exception)
{
	const struct ri_launched *rank = &sight->source.seen[index];
	const struct raiser *item = &own.room->items[index];
	struct ri_launched_held *held = &own.room->held[own.held_count++];
	const char *where = ri_course_other(index)->held, *unsaid = ri_course_other(index)->words;
	char who[80];
	struct ri_text text;

	*held = (struct ri_launched_held){
		.index = index, .raised = item->raised, .held = where[0] == '\0' ? NULL : where,
		.lingered_s = sight->stop ? 0 : seconds_since(item->raised),
		.unsaid = { unsaid[0] == '\0' ? NULL : unsaid, strlen(unsaid) },
	};
	if (sight->stop || own.held_count > SAID)
		return;
	ri_text_init(&text, who, sizeof(who));
	ri_text_addf(&text, "rank %lld (local rank %lld, pid %d)", (long long)rank->rank,
		(long long)(rank->local_rank < 0 ? rank->rank : rank->local_rank), (int)rank->pid);
	ri_verdict_lingers(who, exception, held->lingered_s, held->held);
}

/* Returns whether it was seen at its end. */
static bool note(const struct sight *sight, size_t index)
{
	const struct ri_course_seen *seen = ri_course_other(index);
	const struct ri_launched *rank = &sight->source.seen[index];
	struct raiser *item = &own.room->items[index];
	struct ri_words words;
	bool labelled = has_raised(&sight->source, index, &words);
	bool over = seen->course == RI_COURSE_LEFT &&
		!ri_time_is_before(sight->traceback, rank->started) &&
		(labelled || ((ssize_t)index == sight->alone &&
			ri_launched_raised(&sight->source, NULL, &words)));
	bool again = over && item->over && item->lines == words.lines_since;

	if (over && !again)
		item->raised = sight->traceback;
	if (over)
		item->lines = words.lines_since;
	item->over = over;
	item->hash = seen->hash;
	item->ticks = seen->ticks;
	if (sight->stop ? over : again && (labelled || sight->still))
		hold(sight, index, words.traceback.last);
	return over;
}

/* Of what is said later the launcher's end is the cause. */
static void keep(const struct ri_launched_source *source, bool stop)
{
	own.over = true;
	own.text_length = source->text.length;
	own.cut = source->cut;
	if (own.text_length > 0)
		memcpy(own.room->text, source->text.at, own.text_length);
	if (!stop)
		ri_clock_read(CLOCK_REALTIME, &own.stopped);
	if (!stop && own.held_count > SAID)
		ri_verdict_more_linger((unsigned)(own.held_count - SAID));
}

size_t ri_raisers_take(struct ri_output *output, bool stop)
{
	struct sight sight = { .traceback = ri_output_traceback(output, 0), .stop = stop };
	bool any = false;

	if (!own.asked || ri_course_other(0) == NULL)
		return 0;
	own.asked = false;
	sight.source = read_text(output);
	sight.alone = find_alone(&sight.source);
	sight.still = stand_still(&sight.source);
	for (size_t i = 0; i < sight.source.count; i++)
		if (lives(&sight.source.seen[i]))
			any = note(&sight, i) || any;
	if (own.held_count > 0) {
		keep(&sight.source, stop);
		return own.held_count;
	}
	own.over = stop;
	own.due = ri_now_ms() + own.step;
	own.step = any ? own.after_ms : 2 * own.step;
	return 0;
}

bool ri_raisers_hold(struct ri_output *output, size_t index, unsigned seconds)
{
	struct sight sight = { .stop = false };
	struct raiser *item;

	if (own.room == NULL)
		own.room = ri_pages(sizeof(*own.room));
	if (own.room == NULL || own.over)
		return false;
	sight.source = source_of(output);
	if (!lives(&sight.source.seen[index]))
		return false;
	item = &own.room->items[index];
	ri_clock_read(CLOCK_REALTIME, &item->raised);
	item->raised.tv_sec -= seconds;
	hold(&sight, index, ri_course_exception(ri_course_other(index)));
	return true;
}

void ri_raisers_keep(struct ri_output *output)
{
	const struct ri_launched_source source = source_of(output);

	keep(&source, false);
}

bool ri_raisers_tell(struct ri_launched_source *source)
{
	if (own.held_count == 0)
		return false;
	source->held = own.room->held;
	source->held_count = own.held_count;
	source->text = (struct ri_span){ own.room->text, own.text_length };
	source->cut = own.cut;
	if (own.stopped.tv_sec != 0)
		source->stopped = own.stopped;
	return true;
}
