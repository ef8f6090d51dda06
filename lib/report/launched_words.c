/* SPDX-License-Identifier: Apache-2.0 */
#include "report/blame.h"

#include <signal.h>
#include <strings.h>

#include "base/limits.h"
#include "report/launched.h"
#include "report/outcome.h"
#include "words/words.h"

enum { TRACEBACKS = 64 };	/* in which that of the first failure is looked for */

struct ri_span ri_launched_lines(const struct ri_launched_source *source,
	const struct ri_owner *owner, char **room, struct ri_words_place *place)
{
	struct ri_span out = { *room, 0 };

	out.length = ri_lines_of(source->text, owner, *room,
		(size_t)(source->room + RI_LAUNCHED_WORDS - *room), place);
	*room += out.length;
	/* the launcher may have put its words elsewhere: that it wrote none is not known */
	if (out.length == 0)
		out.at = NULL;
	return out;
}

/* Is it what the end of another process, or a stop, makes of a rank? */
static bool is_news(struct ri_span exception)
{
	static const char *const types[] = {
		"ConnectionResetError", "BrokenPipeError", "EOFError", "KeyboardInterrupt",
	};

	return ri_span_has_any(exception, types, 4) || ri_loss_of_exception(exception) != NULL;
}

/*
 * Words without an owner, which several may have written: up to the last exception that brings no
 * news. One before it may be what another rank had caught.
 */
static struct ri_span cut_shared(struct ri_span shared)
{
	struct ri_span rest = shared;
	struct ri_traceback one;

	for (int i = 0; i < TRACEBACKS && ri_traceback_find(rest, &one); i++) {
		const char *end = one.whole.at + one.whole.length;

		if (!is_news(one.last))
			return (struct ri_span){ shared.at, (size_t)(end - shared.at) };
		rest.length = (size_t)(one.whole.at - rest.at);
	}
	return shared;
}

/* Do words without an owner explain exactly this end? Else they may be another rank's. */
static bool explain(const struct ri_launched_source *source, struct ri_rank_outcome rank,
	struct ri_span words)
{
	struct ri_last_words last;

	rank.wrote.tail = words;
	rank.traceback_at = source->traceback;
	ri_class_find(&rank);
	ri_last_words_find(words, NULL, rank.evidence.telling, ri_rank_signal(&rank), &last);
	return rank.evidence.ended_of_traceback || rank.evidence.loss != NULL || last.count > 0;
}

/*
 * How many ranks these words tell to have lost others as the loser did: each says so once, in a
 * runtime's words on its abort, or in its exception.
 */
static size_t count_losses(const struct ri_rank_outcome *loser, struct ri_span words)
{
	bool aborted = ri_rank_signal(loser) == SIGABRT;
	struct ri_last_words last;
	struct ri_traceback one;
	struct ri_span line;
	size_t count = 0;

	while (aborted && ri_span_line(&words, &line)) {
		if (!ri_shape_fits(line, loser->evidence.loss->shape))
			continue;
		ri_last_words_find(line, NULL, RI_TELLING_HANDLER, 0, &last);
		count += last.count > 0;
	}
	while (!aborted && count < TRACEBACKS && ri_traceback_find(words, &one)) {
		count += ri_loss_of_exception(one.last) != NULL;
		words.length = (size_t)(one.whole.at - words.at);
	}
	return count;
}

/* Did it end as the other one did, and has no words of its own? */
static bool is_alike(const struct ri_rank_outcome *rank, const struct ri_rank_outcome *other)
{
	return !rank->told && rank->wrote.tail.length == 0 && rank->end == other->end &&
		rank->signal == other->signal && rank->exit_code == other->exit_code;
}

/* Words of a loss that bear no owner may be of any: what begins behind them is not before all. */
static void note_place(struct ri_rank_outcome *rank, const struct ri_words_place *own,
	const struct ri_words_place *shared)
{
	bool late = own->traceback == 0 || (own->loss > 0 && own->loss < own->traceback);

	rank->wrote.hooked = own->hooked && (shared->loss == 0 || own->traceback < shared->loss);
	rank->wrote.place = late ? own->loss : own->traceback;
}

void ri_launched_give_words(const struct ri_launched_source *source,
	struct ri_rank_outcome *ranks, size_t count)
{
	struct ri_words_place unowned, place;
	struct ri_rank_outcome *silent = NULL;
	char *room = source->room;
	struct ri_span shared, words;
	size_t alike = 1;

	ri_lines_of(source->text, NULL, room, 0, &unowned);
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &ranks[i];
		const struct ri_owner owner = { .rank = (int64_t)rank->rank, .pid = rank->pid,
			.local_rank = (int64_t)rank->local_rank };

		/* one that left with 0 may have logged why */
		if ((!ri_rank_failed(rank) && rank->end != RI_END_EXITED) ||
			rank->wrote.tail.at != NULL)
			continue;
		rank->wrote.tail = ri_launched_lines(source, &owner, &room, &place);
		note_place(rank, &place, &unowned);
		if (rank->wrote.tail.length == 0 && ri_rank_failed(rank) && !rank->told &&
			(silent == NULL || rank->order < silent->order))
			silent = rank;
	}
	if (silent == NULL)
		return;
	shared = cut_shared(ri_launched_lines(source, NULL, &room, NULL));
	if (shared.at == NULL || !explain(source, *silent, shared))
		return;
	silent->wrote.tail = shared;
	silent->wrote.place = unowned.loss;
	ri_class_find(silent);
	if (silent->evidence.class != RI_CLASS_LOSS)
		return;
	/*
	 * Where words without an owner tell a loss as often as ranks ended so, each of these said
	 * it: none of them is to be taken for the one that was lost.
	 */
	words = silent->wrote.tail;
	for (size_t i = 0; i < count; i++)
		alike += is_alike(&ranks[i], silent);
	if (count_losses(silent, words) < alike)
		return;
	for (size_t i = 0; i < count; i++)
		if (is_alike(&ranks[i], silent)) {
			ranks[i].wrote.tail = words;
			ranks[i].wrote.place = silent->wrote.place;
		}
}

enum {
	SAID = 16,		/* that one exception names */
	RANK_LENGTH = 4,
};

/* "create.<locals>.Worker": the part behind the last dot; the others are in *before. */
static struct ri_span last_part(struct ri_span name, struct ri_span *before)
{
	const char *dot = memrchr(name.at, '.', name.length);

	*before = (struct ri_span){ name.at, 0 };
	if (dot == NULL)
		return name;
	before->length = (size_t)(dot - name.at);
	return ri_span_skip(name, before->length + 1);
}

/* A program's own repr(), as "Worker(rank=3)" or "<Rank 3>". -1: it tells none. */
static int64_t rank_in(struct ri_span repr)
{
	uint64_t number;

	/* Python's own has the name of a class, which may be Rank16Adapter */
	if (ri_span_has(repr, " object at 0x"))
		return -1;
	for (; repr.length > RANK_LENGTH; repr = ri_span_skip(repr, 1)) {
		struct ri_span rest = ri_span_skip(repr, RANK_LENGTH);

		if (strncasecmp(repr.at, "rank", RANK_LENGTH) != 0)
			continue;
		if (rest.at[0] != '\0' && strchr("=:_- ", rest.at[0]) != NULL)
			rest = ri_span_skip(rest, 1);
		if (ri_digits_of(rest, &number) > 0 && number < RI_MAX_RANKS)
			return (int64_t)number;
	}
	return -1;
}

static bool find_traceback(struct ri_span text, struct ri_traceback *out)
{
	return ri_traceback_find(text, out) && !out->aside && out->last.length > 0;
}

bool ri_actor_is_rays(struct ri_span text)
{
	struct ri_traceback traceback;

	return find_traceback(text, &traceback) && ri_span_has(traceback.whole, "ray.exceptions.");
}

bool ri_actor_find(struct ri_span text, struct ri_actor *out)
{
	struct ri_rank_said said[SAID], *last = NULL;
	struct ri_traceback traceback;
	struct ri_span before;
	size_t count;

	if (!find_traceback(text, &traceback))
		return false;
	count = ri_launcher_words_read(traceback.whole, said, SAID);
	for (size_t i = 0; i < count; i++)
		/* a line of raylet's, which may stand below it, tells of each worker that ended */
		if (said[i].pid > 0 && strcmp(said[i].launcher, "ray") == 0 && (said[i].raised ||
			said[i].actor.length > 0 || said[i].out_of_memory))
			last = &said[i];
	if (last == NULL)
		return false;
	*out = (struct ri_actor){
		.host = last->host, .pid = last->pid, .rank = rank_in(last->message),
		.raised = last->raised, .exit_code = last->exit_code,
		.out_of_memory = last->out_of_memory, .exception = traceback.last,
	};
	/* what raised is told by its method, "Worker.train", or is a function */
	out->name = last_part(last->actor, &before);
	out->is_task = last->raised && before.length == 0;
	if (last->raised && before.length > 0)
		out->name = last_part(before, &before);
	return true;
}
