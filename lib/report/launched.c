/* SPDX-License-Identifier: Apache-2.0 */
#include "report/launched.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/number.h"
#include "report/class.h"

enum { TRACEBACKS = 64 };	/* in which that of the first failure is looked for */

static void describe(const struct ri_launched *seen, struct ri_rank_outcome *out)
{
	*out = (struct ri_rank_outcome){
		.rank = (uint64_t)seen->rank, .pid = seen->pid, .order = seen->order,
		.local_rank = (uint64_t)(seen->local_rank < 0 ? seen->rank : seen->local_rank),
		.started = seen->started, .ended = seen->ended, .end = RI_END_RUNNING,
	};
	if (!seen->has_status)
		return;
	out->end = RI_END_EXITED;
	if (WIFSIGNALED(seen->wait_status)) {
		out->end = RI_END_SIGNALED;
		out->signal = WTERMSIG(seen->wait_status);
		out->core = WCOREDUMP(seen->wait_status);
	} else {
		out->exit_code = WEXITSTATUS(seen->wait_status);
	}
}

static int compare_ranks(const void *a, const void *b)
{
	const struct ri_rank_outcome *one = a, *other = b;

	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* A launcher that restarts its ranks gives each number again: the last one counts. */
static size_t take_seen(const struct ri_launched_source *source, struct ri_rank_outcome *out,
	size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < source->count; i++) {
		const struct ri_launched *seen = &source->seen[i];
		size_t at = 0;

		if (!seen->is_rank)
			continue;
		while (at < count && out[at].rank != (uint64_t)seen->rank)
			at++;
		if (at == room)
			continue;
		describe(seen, &out[at]);
		count += at == count;
	}
	return count;
}

/* Was each rank of the node seen? One that was not may have failed before all of these. */
static bool is_whole(const struct ri_launched_source *source, size_t count)
{
	int64_t most = 0;

	for (size_t i = 0; i < source->count; i++)
		if (source->seen[i].is_rank && source->seen[i].local_ranks > most)
			most = source->seen[i].local_ranks;
	return most > 0 && count >= (size_t)most;
}

/* Launchers send SIGTERM to the ranks that are left after a failure, and then SIGKILL. */
static bool may_be_stopped(const struct ri_rank_outcome *rank, bool whole)
{
	return rank->end == RI_END_SIGNALED &&
		(rank->signal == SIGTERM || (rank->signal == SIGKILL && !whole));
}

/* The first that ended in a failure of its own, or NULL. */
static struct ri_rank_outcome *find_first(struct ri_rank_outcome *ranks, size_t count, bool whole)
{
	struct ri_rank_outcome *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (ri_rank_failed(&ranks[i]) && ranks[i].order > 0 &&
			!may_be_stopped(&ranks[i], whole) &&
			(first == NULL || ranks[i].order < first->order))
			first = &ranks[i];
	return first;
}

static void mark_told(const struct ri_launched_source *source, struct ri_rank_outcome *ranks,
	size_t count, unsigned first)
{
	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &ranks[i];
		bool stopped = source->stopped.tv_sec != 0 &&
			!ri_time_is_before(rank->ended, source->stopped);

		rank->told = stopped || may_be_stopped(rank, rank->order <= first);
	}
}

/*
 * "[rank3]: " stands before each line of an exception that reaches the end of a program that called
 * init_process_group (torch/distributed/distributed_c10d.py, _get_exception_logger's hook).
 */
static bool find_owner(struct ri_span *line, uint64_t *rank)
{
	static const char start[] = "[rank";
	char number[24];
	size_t length;

	if (!ri_span_starts(*line, start))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)(line->length - sizeof(start) + 1),
		line->at + sizeof(start) - 1);
	length = ri_digits_read(number, rank);
	if (length == 0 || strncmp(number + length, "]:", 2) != 0)
		return false;
	*line = ri_span_skip(*line, sizeof(start) - 1 + length + 2);
	if (ri_span_starts(*line, " "))
		*line = ri_span_skip(*line, 1);
	return true;
}

/* The agent's log, which stands between the words of ranks. */
static bool is_launchers(struct ri_span line)
{
	return ri_span_has(line, "torch/distributed/elastic/") ||
		ri_span_has(line, "torch/distributed/run.py:");
}

/* Copies the lines of a rank, or those of no owner, to *room. Returns them. */
static struct ri_span copy_lines(struct ri_span text, const struct ri_rank_outcome *rank,
	char **room)
{
	struct ri_span out = { *room, 0 }, line;
	uint64_t owner;

	while (ri_span_line(&text, &line)) {
		bool owned = find_owner(&line, &owner);

		if (rank == NULL ? owned || is_launchers(line) : !owned || owner != rank->rank)
			continue;
		memcpy(*room, line.at, line.length);
		*room += line.length;
		*(*room)++ = '\n';
	}
	out.length = (size_t)(*room - out.at);
	return out;
}

/*
 * Words without an owner, which several may have written: up to the first exception that tells of
 * no loss, of those that are looked at.
 */
static struct ri_span cut_shared(struct ri_span shared)
{
	struct ri_span rest = shared, found = shared;
	struct ri_traceback one;

	for (int i = 0; i < TRACEBACKS && ri_traceback_find(rest, &one); i++) {
		const char *end = one.whole.at + one.whole.length;

		if (ri_loss_of_exception(one.last) == NULL)
			found.length = (size_t)(end - shared.at);
		rest.length = (size_t)(one.whole.at - rest.at);
	}
	return found;
}

/* Words that bear no owner go to the first failure that has none of its own. */
static void give_words(const struct ri_launched_source *source, struct ri_rank_outcome *ranks,
	size_t count)
{
	struct ri_rank_outcome *silent = NULL;
	char *room = source->room;

	for (size_t i = 0; i < count; i++) {
		struct ri_rank_outcome *rank = &ranks[i];

		if (!ri_rank_failed(rank))
			continue;
		rank->wrote.tail = copy_lines(source->text, rank, &room);
		if (rank->wrote.tail.length == 0 && !rank->told &&
			(silent == NULL || rank->order < silent->order))
			silent = rank;
	}
	if (silent != NULL)
		silent->wrote.tail = cut_shared(copy_lines(source->text, NULL, &room));
}

size_t ri_launched_outcomes(const struct ri_launched_source *source, struct ri_rank_outcome *out,
	size_t room)
{
	size_t count = take_seen(source, out, room);
	struct ri_rank_outcome *first = find_first(out, count, is_whole(source, count));

	if (first == NULL)
		return 0;
	mark_told(source, out, count, first->order);
	if (source->text.at != NULL)
		give_words(source, out, count);
	qsort(out, count, sizeof(*out), compare_ranks);
	return count;
}
