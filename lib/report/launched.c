/* SPDX-License-Identifier: Apache-2.0 */
#include "report/blame.h"
#include "report/launched.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "words/words.h"

enum {
	SAID = 64,		/* ends that a launcher tells of */
	HOST = 64,		/* bytes of an address */
};

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
		rank->told = !lost || !ri_time_is_before(rank->ended, source->traceback);
		if (!rank->told)
			rank->wrote.tail = ri_launched_lines(source, &(struct ri_owner){ .rank = -1,
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
	named->told = source->stopped.tv_sec != 0 &&
		!ri_time_is_before(named->ended, source->stopped);

	/* One that died may have said why; what another raised is in its driver's words. */
	words = source->room + driver.length;
	named->wrote.tail.at = NULL;
	if (!actor->raised)
		named->wrote.tail = ri_launched_lines(source, &(struct ri_owner){ .rank = -1,
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
	driver = ri_launched_lines(source, NULL, &words, NULL);
	if (!source->of_ray && (has_other_words(source) || !ri_actor_is_rays(driver)))
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

		rank->told = stopped || (first != NULL && rank != first &&
			may_be_stopped(rank, rank->order > 0 && rank->order < first->order));
		rank->order = rank == first ? 1 : rank->order + 2;
	}
	/* The words may be in one file of all of them: "torchrun ... 2>FILE" in a script. */
	for (size_t i = 0; i < all.stream_count; i++)
		if (all.streams[i].length <= RI_LAUNCHED_STREAM &&
			is_shared(&all, &all.streams[i]))
			all.text = (struct ri_span){ all.streams[i].bytes, all.streams[i].length };
	if (source->text.at != NULL)
		ri_launched_give_words(source, out, count);
	qsort(out, count, sizeof(*out), compare_ranks);
	return count;
}
