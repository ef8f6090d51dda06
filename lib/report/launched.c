/* SPDX-License-Identifier: Apache-2.0 */
#include "report/launched.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/limits.h"
#include "report/culprit.h"
#include "report/outcome.h"
#include "words/words.h"

enum {
	SAID = 64,		/* ends that a launcher tells of */
	NAMED = 16,		/* ranks that one exception names */
	TRACEBACKS = 64,	/* in which that of the first failure is looked for */
	HOST = 64,		/* bytes of an address */
};

/*
 * Copy the lines of a rank, or with NULL those that bear no owner, to *room, which lies in
 * source->room and moves behind them; as far as there is room. Returns them; at is NULL where
 * there are none. *place is where they stand; NULL: that is not asked for.
 */
static struct ri_span lines_of(const struct ri_launched_source *source,
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
	return !rank->told_to_stop && rank->wrote.tail.length == 0 && rank->end == other->end &&
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

/*
 * Give each rank that has no words yet its own, in its tail. Those that bear no owner go to the
 * first failure that has none, if they explain it; and to all that ended as it did, if they tell of
 * as many losses.
 */
static void give_words(const struct ri_launched_source *source,
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
		rank->wrote.tail = lines_of(source, &owner, &room, &place);
		note_place(rank, &place, &unowned);
		if (rank->wrote.tail.length == 0 && ri_rank_failed(rank) && !rank->told_to_stop &&
			(silent == NULL || rank->order < silent->order))
			silent = rank;
	}
	if (silent == NULL)
		return;
	shared = cut_shared(lines_of(source, NULL, &room, NULL));
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

enum { RANK_LENGTH = 4 };

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

/* Does a driver that wrote this to its stderr end with an exception of Ray's? */
static bool is_rays(struct ri_span text)
{
	struct ri_traceback traceback;

	return find_traceback(text, &traceback) && ri_span_has(traceback.whole, "ray.exceptions.");
}

bool ri_actor_find(struct ri_span text, struct ri_actor *out)
{
	struct ri_rank_said said[NAMED], *last = NULL;
	struct ri_traceback traceback;
	struct ri_span before;
	size_t count;

	if (!find_traceback(text, &traceback))
		return false;
	count = ri_launcher_words_read(traceback.whole, said, NAMED);
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

static void describe(const struct ri_launched *seen, struct ri_rank_outcome *out)
{
	*out = (struct ri_rank_outcome){
		.rank = (uint64_t)seen->rank, .pid = seen->pid, .order = seen->order,
		.local_rank = (uint64_t)(seen->local_rank < 0 ? seen->rank : seen->local_rank),
		.started = seen->started, .ended = seen->ended, .end = RI_END_RUNNING,
	};
	if (seen->has_status)
		ri_rank_take_status(out, seen->wait_status);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct ri_rank_outcome *one = a, *other = b;

	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Did its launcher start its ranks again since? */
static bool is_past(const struct ri_launched_source *source, const struct ri_launched *seen)
{
	for (size_t i = 0; i < source->count; i++)
		if (source->seen[i].is_rank && source->seen[i].parent == seen->parent &&
			source->seen[i].restarts > seen->restarts)
			return true;
	return false;
}

static bool is_shared(const struct ri_launched_source *source,
	const struct ri_launched_stream *one)
{
	for (size_t i = 0; i < source->stream_count; i++)
		if (&source->streams[i] != one && source->streams[i].inode == one->inode &&
			source->streams[i].device == one->device)
			return true;
	return false;
}

/* What it wrote to a file of its own, or why that is not known. */
static void take_stream(const struct ri_launched_source *source, size_t index,
	struct ri_rank_outcome *out)
{
	if (source->seen[index].has_file)
		out->wrote.unread = RI_UNREAD_FILE;
	else if (source->text.at == NULL)
		out->wrote.unread = RI_UNREAD_TERMINAL;
	for (size_t i = 0; i < source->stream_count; i++) {
		const struct ri_launched_stream *stream = &source->streams[i];

		if (stream->item != index || stream->length > RI_LAUNCHED_STREAM)
			continue;
		out->wrote.unread = RI_UNREAD_NOT;
		if (is_shared(source, stream))
			return;
		out->wrote.tail = (struct ri_span){ stream->bytes, stream->length };
		/* its last traceback is no younger; another clock's time says nothing */
		if (!ri_time_is_before(out->ended, stream->written))
			out->traceback_at = stream->written;
	}
}

/* A launcher that restarts its ranks gives each number again: the last one counts. */
static size_t take_seen(const struct ri_launched_source *source, struct ri_rank_outcome *out,
	size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < source->count; i++) {
		const struct ri_launched *seen = &source->seen[i];
		size_t at = 0;

		if (!seen->is_rank || is_past(source, seen))
			continue;
		while (at < count && out[at].rank != (uint64_t)seen->rank)
			at++;
		if (at == room)
			continue;
		describe(seen, &out[at]);
		if (source->command != NULL && seen->pid == source->command->pid) {
			out[at].end = source->command->end;
			out[at].exit_code = source->command->exit_code;
			out[at].signal = source->command->signal;
		}
		take_stream(source, i, &out[at]);
		for (size_t k = 0; k < source->error_count; k++) {
			const struct ri_launched_error *error = &source->errors[k];

			if (error->item == i && error->length <= RI_LAUNCHED_ERROR &&
				out[at].wrote.torch_error.at == NULL)
				out[at].wrote.torch_error = (struct ri_span){ error->bytes,
					error->length };
		}
		for (size_t k = 0; k < source->held_count; k++) {
			const struct ri_launched_held *held = &source->held[k];

			/* one that ended of itself said its own words */
			if (held->index != i || out[at].end == RI_END_EXITED)
				continue;
			out[at].handled = held->handled;
			out[at].course = held->handled ? RI_COURSE_RUNNING : RI_COURSE_LEFT;
			out[at].traceback_at = held->raised;
			out[at].lingered_s = held->lingered_s;
			out[at].held = held->handled || held->lingered_s > 0 ? held->held : NULL;
			out[at].wrote.tail = held->words;
		}
		count += at == count;
	}
	return count;
}

/* Launchers send SIGTERM to the ranks that are left after a failure, and then SIGKILL. */
static bool may_be_stopped(const struct ri_rank_outcome *rank, bool whole)
{
	return rank->end == RI_END_SIGNALED &&
		(rank->signal == SIGTERM || (rank->signal == SIGKILL && !whole));
}

static bool is_before(const struct ri_rank_outcome *a, const struct ri_rank_outcome *b)
{
	if ((a->lingered_s > 0) != (b->lingered_s > 0))
		return a->lingered_s > 0;
	if (a->order > 0 && b->order > 0)
		return a->order < b->order;
	return a->first_said || (a->order > 0 && !b->first_said);
}

/*
 * The first that ended in a failure of its own, or NULL. One that the launcher says was first, and
 * that was not seen, had ended before there was a look. Who stops a job sends SIGTERM first: one
 * that SIGKILL ended before the launcher told of an end by SIGTERM, and that alone, was not
 * stopped, unless the kernel told who was first.
 */
static struct ri_rank_outcome *find_first(struct ri_rank_outcome *ranks, size_t count, bool whole)
{
	struct ri_rank_outcome *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (ri_rank_failed(&ranks[i]) &&
			(ranks[i].first_said || ranks[i].lingered_s > 0 ||
				!may_be_stopped(&ranks[i], whole)) &&
			(first == NULL || is_before(&ranks[i], first)))
			first = &ranks[i];
	if (first != NULL)
		return first;
	for (size_t i = 0; i < count; i++)
		if (ranks[i].order > 0 || (ranks[i].signal == SIGKILL) != (i == 0))
			return NULL;
	return count > 0 ? &ranks[0] : NULL;
}

/* The rank that a record is of, by the surest number that both have, or NULL. */
static struct ri_rank_outcome *find_said(const struct ri_rank_said *said,
	struct ri_rank_outcome *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &ranks[i];

		if (said->pid > 0 && rank->pid > 0 ? said->pid == rank->pid
			: said->rank >= 0 ? (uint64_t)said->rank == rank->rank
			: said->local_rank >= 0 && (uint64_t)said->local_rank == rank->local_rank)
			return rank;
	}
	return NULL;
}

/* Is it of one that was seen, but of an earlier start? */
static bool is_of_past(const struct ri_rank_said *said, const struct ri_launched_source *source)
{
	for (size_t i = 0; i < source->count && said->pid > 0; i++)
		if (source->seen[i].pid == said->pid)
			return is_past(source, &source->seen[i]);
	return false;
}

static bool is_known(const struct ri_rank_outcome *rank)
{
	return rank->end == RI_END_EXITED || rank->end == RI_END_SIGNALED;
}

/* Another process under the same number, from before or after a restart: the last word counts. */
static struct ri_rank_outcome *find_namesake(uint64_t number, struct ri_rank_outcome *ranks,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ranks[i].rank != number)
			continue;
		if (ranks[i].word_of != NULL)
			ranks[i].end = RI_END_RUNNING;
		ranks[i].pid = is_known(&ranks[i]) ? ranks[i].pid : 0;
		return &ranks[i];
	}
	return NULL;
}

/*
 * What the launcher says of ends that the kernel did not tell. A line that bears the label of a
 * rank is that rank's, whatever it says.
 */
static size_t take_words(const struct ri_launched_source *source, struct ri_rank_outcome *ranks,
	size_t count, size_t room)
{
	struct ri_rank_said said[SAID];
	size_t records = source->text.at == NULL ? 0
		: ri_launcher_words_read(source->text, said, SAID);

	for (size_t i = 0; i < records; i++) {
		struct ri_rank_outcome *rank = find_said(&said[i], ranks, count);
		int64_t number = said[i].rank >= 0 ? said[i].rank
			: source->later_node ? -1 : said[i].local_rank;
		/* that ends itself then, which is the first rank of the node */
		bool of_lightning = source->command != NULL && source->command->signal == SIGKILL &&
			strcmp(said[i].launcher, "lightning") == 0;

		if ((source->python && !of_lightning) || said[i].owned ||
			(said[i].exit_code < 0 && said[i].signal < 0) ||
			is_of_past(&said[i], source))
			continue;
		if (rank == NULL && number >= 0)
			rank = find_namesake((uint64_t)number, ranks, count);
		if (rank == NULL && number >= 0 && count < room) {
			rank = &ranks[count++];
			*rank = (struct ri_rank_outcome){
				.rank = (uint64_t)number, .started = source->started,
				.local_rank = (uint64_t)(said[i].local_rank < 0 ? number
					: said[i].local_rank),
			};
			if (of_lightning && count == 1 && room > 1)
				ranks[count++] = (struct ri_rank_outcome){ .signal = SIGKILL,
					.pid = source->command->pid, .end = RI_END_SIGNALED };
		}
		if (rank != NULL && !is_known(rank)) {
			/* One whose end was not seen. */
			rank->word_of = said[i].launcher;
			rank->ended = source->ended;
			rank->end = said[i].signal > 0 ? RI_END_SIGNALED : RI_END_EXITED;
			rank->signal = said[i].signal > 0 ? said[i].signal : 0;
			rank->exit_code = said[i].exit_code > 0 ? said[i].exit_code : 0;
			rank->oom = said[i].out_of_memory && rank->signal == SIGKILL;
			if (rank->pid == 0 && said[i].pid > 0)
				rank->pid = (pid_t)said[i].pid;
			rank->first_said = said[i].first;
		}
	}
	return count;
}

/* Of the others nothing is known: an older kernel, and a launcher that does not speak of them. */
static size_t drop_unknown(struct ri_rank_outcome *ranks, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_known(&ranks[i]) || ranks[i].course == RI_COURSE_LEFT)
			ranks[kept++] = ranks[i];
	return kept;
}

/* --- of Ray's drivers ------------------------------------------------------ */

/* Does another launcher tell of an end? Then the ranks are its own, and use Ray. */
static bool has_other_words(const struct ri_launched_source *source)
{
	struct ri_rank_said said[SAID];
	size_t count = ri_launcher_words_read(source->text, said, SAID);

	for (size_t i = 0; i < count; i++)
		if (strcmp(said[i].launcher, "ray") != 0 &&
			(said[i].exit_code > 0 || said[i].signal > 0))
			return true;
	return false;
}

/* The index among those that were seen; -1: it was not, or ran on another node. */
static ssize_t find_actor(const struct ri_launched_source *source, const struct ri_actor *actor)
{
	char host[HOST];

	snprintf(host, sizeof(host), "%.*s", (int)actor->host.length, actor->host.at);
	if (host[0] != '\0' && source->is_here != NULL && !source->is_here(host))
		return -1;
	for (size_t i = 0; i < source->count; i++)
		if (source->seen[i].is_rank && source->seen[i].pid == actor->pid)
			return (ssize_t)i;
	return -1;
}

/* How it failed, where the kernel does not tell: an actor outlives what it raises. */
static void describe_actor(const struct ri_launched_source *source, const struct ri_actor *actor,
	struct ri_rank_outcome *rank)
{
	if (!actor->raised && is_known(rank))
		return;
	rank->word_of = "ray";
	rank->leaving = actor->raised;
	rank->end = RI_END_RUNNING;
	rank->ended = source->traceback.tv_sec != 0 ? source->traceback : source->ended;
	if (actor->raised || actor->exit_code < 0)
		return;
	rank->end = RI_END_EXITED;
	rank->exit_code = actor->exit_code;
}

/*
 * All others ended because the driver did. Where the one that is named lost another one, that may
 * be the first of those that had ended before.
 */
static void tell_others_of(const struct ri_launched_source *source,
	const struct ri_rank_outcome *named, struct ri_rank_outcome *out, size_t count)
{
	char *room = source->room + RI_LAUNCHED_WORDS / 2;
	bool lost = named->evidence.class == RI_CLASS_LOSS;

	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &out[i];

		if (rank == named)
			continue;
		rank->order += lost ? 0 : 1;
		rank->told_to_stop = !lost || !ri_time_is_before(rank->ended, source->traceback);
		if (!rank->told_to_stop)
			rank->wrote.tail = lines_of(source, &(struct ri_owner){ .rank = -1,
				.local_rank = -1, .pid = rank->pid }, &room, NULL);
	}
}

/* The outcomes where an actor is named. 0: it is known alone, and lost another one. */
static size_t tell_actor(const struct ri_launched_source *source, struct ri_span driver,
	struct ri_rank_outcome *out, size_t room)
{
	const struct ri_actor *actor = source->actor;
	ssize_t at = find_actor(source, actor);
	size_t count = drop_unknown(out, take_seen(source, out, room - 1));
	struct ri_rank_outcome *named = out;
	char *words;

	if (at >= 0) {
		/* its place among those that were seen, or behind them */
		while (named < out + count && named->rank != (uint64_t)source->seen[at].rank)
			named++;
		describe(&source->seen[at], named);
		count += named == out + count;
	} else {
		*named = (struct ri_rank_outcome){
			.actor = actor, .pid = (pid_t)actor->pid, .started = source->started,
		};
		count = 1;
	}
	describe_actor(source, actor, named);
	named->told_to_stop = source->stopped.tv_sec != 0 &&
		!ri_time_is_before(named->ended, source->stopped);

	/* One that died may have said why; what another raised is in its driver's words. */
	words = source->room + driver.length;
	named->wrote.tail.at = NULL;
	if (!actor->raised)
		named->wrote.tail = lines_of(source, &(struct ri_owner){ .rank = -1,
			.local_rank = -1, .pid = actor->pid }, &words, NULL);
	/* that the actor died is no more than is said already */
	if (named->wrote.tail.at == NULL &&
		(actor->raised || ri_loss_of_exception(actor->exception) == NULL))
		named->wrote.tail = driver;
	ri_class_find(named);
	named->order = named->evidence.class == RI_CLASS_LOSS ? named->order : 1;
	tell_others_of(source, named, out, count);
	if (count == 1 && named->evidence.class == RI_CLASS_LOSS)
		return 0;
	qsort(out, count, sizeof(*out), compare_ranks);
	return count;
}

/* Does a driver of Ray's own last exception say what failed? Then *count are the outcomes. */
static bool tell_rays(const struct ri_launched_source *source, struct ri_rank_outcome *out,
	size_t room, size_t *count)
{
	char *words = source->room;
	struct ri_span driver;

	if (source->actor == NULL || source->held_count > 0 || room < 2)
		return false;
	/* all of its actors end with it: without its words none is to be blamed */
	*count = 0;
	if (source->text.at == NULL)
		return source->of_ray;
	driver = lines_of(source, NULL, &words, NULL);
	if (!source->of_ray && (has_other_words(source) || !is_rays(driver)))
		return false;
	if (ri_actor_find(driver, source->actor))
		*count = tell_actor(source, driver, out, room);
	return true;
}

size_t ri_launched_outcomes(const struct ri_launched_source *given, struct ri_rank_outcome *out,
	size_t room)
{
	struct ri_launched_source all = *given;
	const struct ri_launched_source *source = &all;
	struct ri_rank_outcome *first;
	size_t count;
	struct ri_span half;
	bool whole, left = false;
	int64_t most = 0;

	/* what that line lost may have been the name of a secret */
	if (given->cut)
		ri_span_line(&all.text, &half);
	if (tell_rays(source, out, room, &count))
		return count;
	if (source->python && source->of_ray)
		return 0;
	count = take_seen(source, out, room);
	/* Was each rank of the node seen? One that was not may have failed before all of these. */
	for (size_t i = 0; i < source->count; i++)
		if (source->seen[i].is_rank && source->seen[i].local_ranks > most)
			most = source->seen[i].local_ranks;
	whole = most > 0 && count >= (size_t)most;
	count = drop_unknown(out, take_words(source, out, count, room));
	first = find_first(out, count, whole);
	for (size_t i = 0; i < count; i++)
		left |= out[i].course == RI_COURSE_LEFT;
	if (first == NULL && !left)
		return 0;
	/* The first one gets the first place where the kernel did not give it. */
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &out[i];
		bool stopped = source->stopped.tv_sec != 0 &&
			!ri_time_is_before(rank->ended, source->stopped);

		rank->told_to_stop = stopped || (first != NULL && rank != first &&
			may_be_stopped(rank, rank->order > 0 && rank->order < first->order));
		rank->order = rank == first ? 1 : rank->order + 2;
	}
	/* The words may be in one file of all of them: "torchrun ... 2>FILE" in a script. */
	for (size_t i = 0; i < all.stream_count; i++)
		if (all.streams[i].length <= RI_LAUNCHED_STREAM &&
			is_shared(&all, &all.streams[i]))
			all.text = (struct ri_span){ all.streams[i].bytes, all.streams[i].length };
	if (source->text.at != NULL)
		give_words(source, out, count);
	qsort(out, count, sizeof(*out), compare_ranks);
	return count;
}
