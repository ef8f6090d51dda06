/* SPDX-License-Identifier: Apache-2.0 */

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/host.h"
#include "base/signals.h"
#include "redact/redact.h"
#include "report/culprit.h"
#include "report/restarts.h"
#include "words/words.h"

enum {
	MAX_GROUPS = 6,		/* of ranks that ended alike */
	ACTOR_WORDS = 128,	/* bytes of its name, and of its host's; half of them are shown */
	BEFORE_WORDS = 40,	/* columns for "  rank 1048575 had printed: " */
	AROUND_WORDS = 90,	/* and for ".. had raised .., 59 s before this stop, and .." */
};

static void add_command(struct ri_text *out, const struct ri_outcome *outcome)
{
	char command[PATH_MAX];

	ri_text_copy(command, sizeof(command),
		outcome->command == NULL ? "the command" : outcome->command);
	ri_redact_word_in_place(command, sizeof(command));
	ri_text_add_shown(out, ri_path_name(command), 40);
}

/* "the actor Worker (pid 17 on node-a)", "rank 2 (the actor Worker, pid 17 on node-a)". */
static void add_actor(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_actor *actor)
{
	char text[ACTOR_WORDS];

	if (actor->rank >= 0)
		ri_text_addf(out, "rank %lld (", (long long)actor->rank);
	ri_text_add(out, actor->is_task ? "the task " : "the actor ");
	snprintf(text, sizeof(text), "%.*s", (int)actor->name.length, actor->name.at);
	ri_text_add_shown(out, text, ACTOR_WORDS / 2);
	ri_text_addf(out, "%spid %lld", actor->rank >= 0 ? ", " : " (", (long long)actor->pid);
	if (actor->host.length > 0)
		snprintf(text, sizeof(text), "%.*s", (int)actor->host.length, actor->host.at);
	else
		ri_text_copy(text, sizeof(text), outcome->host == NULL ? "" : outcome->host);
	ri_text_add(out, text[0] == '\0' ? "" : " on ");
	ri_text_add_shown(out, text, ACTOR_WORDS / 2);
	ri_text_add(out, ")");
}

/* "rank 2 (local rank 2, pid 17 on node-a)", or the command of a plain init. */
static void add_who(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	if (rank->actor != NULL) {
		add_actor(out, outcome, rank->actor);
		return;
	}
	if (ri_outcome_has_ranks(outcome)) {
		ri_text_addf(out, "rank %llu (local rank %llu, ", (unsigned long long)rank->rank,
			(unsigned long long)rank->local_rank);
	} else {
		add_command(out, outcome);
		ri_text_add(out, " (");
	}
	if (rank->pid > 0)
		ri_text_addf(out, "pid %d", (int)rank->pid);
	else
		ri_text_add(out, "no process");
	if (rank->below > 0)
		ri_text_addf(out, " below %d", (int)rank->below);
	if (outcome->host != NULL && outcome->host[0] != '\0') {
		ri_text_add(out, " on ");
		ri_text_add_shown(out, outcome->host, 64);
	}
	ri_text_add(out, ")");
}

/* How and when it ended. */
static void add_end(struct ri_text *out, const struct ri_rank_outcome *rank)
{
	ri_rank_add_end(out, rank);
	if (rank->ended.tv_sec > 0 && rank->end != RI_END_EXEC_FAILED) {
		ri_rank_add_life(out, rank);
		ri_text_add(out, ", at ");
		ri_time_add(out, rank->ended);
	}
	ri_text_add(out, "\n");
}

/* Did they end alike? */
static bool is_same(const struct ri_rank_outcome *a, const struct ri_rank_outcome *b)
{
	return a->end == b->end && a->told_to_stop == b->told_to_stop &&
		a->exit_code == b->exit_code && a->signal == b->signal && a->oom == b->oom &&
		a->word_of == b->word_of && (a->lingered_s > 0) == (b->lingered_s > 0) &&
		(a->evidence.loss == NULL) == (b->evidence.loss == NULL) &&
		(a->evidence.loss == NULL || a->evidence.loss->kind == b->evidence.loss->kind);
}

/* Did this node fail too, and not because of the other one? */
static bool fails_too(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *rank = &outcome->ranks[outcome->first];

	return outcome->first >= 0 && !outcome->link.is_here && !rank->told_to_stop &&
		outcome->culprit == RI_CULPRIT_FIRST &&
		(rank->evidence.class == RI_CLASS_OWN || rank->evidence.class == RI_CLASS_UNKNOWN);
}

/* Is it told of in the first lines? */
static bool is_told_of(const struct ri_outcome *outcome, size_t i)
{
	bool named = outcome->culprit == RI_CULPRIT_LEFT || outcome->culprit == RI_CULPRIT_HELD;

	if (outcome->link.verdict != NULL && !outcome->link.is_here && !fails_too(outcome))
		return false;
	return (ssize_t)i == outcome->first || (named && i == outcome->named);
}

static bool is_member(const struct ri_outcome *outcome, size_t leader, size_t i)
{
	return !is_told_of(outcome, i) && is_same(&outcome->ranks[leader], &outcome->ranks[i]);
}

static bool is_listed(const struct ri_outcome *outcome, size_t leader, bool lost, size_t i)
{
	return lost ? outcome->ranks[i].evidence.class == RI_CLASS_LOSS
		: is_member(outcome, leader, i);
}

/* "ranks 0-1, 3, 5-511": from the leader on those that lost others, or ended as it did. */
static size_t add_members(struct ri_text *out, const struct ri_outcome *outcome, size_t leader,
	bool lost)
{
	struct ri_ranges list;
	size_t count = 0;

	for (size_t i = leader; i < outcome->count; i++)
		count += is_listed(outcome, leader, lost, i);
	list = ri_rank_list_begin(out, count);
	for (size_t i = leader; i < outcome->count; i++)
		if (is_listed(outcome, leader, lost, i))
			ri_ranges_add(&list, outcome->ranks[i].rank);
	ri_ranges_end(&list);
	return count;
}

/* " (node 0 of 2)", where there are several. */
static void add_node(struct ri_text *out, const struct ri_outcome *outcome)
{
	uint64_t nodes = ri_outcome_nodes(outcome), node;

	if (nodes > 1 && ri_topology_get(outcome->topology, RI_FACT_NODE_RANK, &node))
		ri_text_addf(out, " (node %llu of %llu)", (unsigned long long)node,
			(unsigned long long)nodes);
	else if (nodes > 1)
		ri_text_addf(out, " (one of %llu nodes)", (unsigned long long)nodes);
}

/* "failed first", and of whom, as far as this node can tell. */
static void add_first(struct ri_text *out, const struct ri_outcome *outcome, bool of_job)
{
	const struct ri_rank_outcome *ranks = outcome->ranks, *first = &ranks[outcome->first];
	bool lost = first->evidence.class == RI_CLASS_LOSS;
	bool lives = first->end == RI_END_RUNNING && first->ended.tv_sec == 0;

	ri_text_add(out, outcome->count > 1 || (of_job && !lost) ? " failed first" : " failed");
	if (!of_job && ri_outcome_nodes(outcome) > 1 && outcome->count > 1) {
		ri_text_addf(out, " of ranks %llu-%llu", (unsigned long long)ranks[0].rank,
			(unsigned long long)ranks[outcome->count - 1].rank);
	}
	add_node(out, outcome);
	if (first->leaving && first->word_of != NULL) {
		ri_text_addf(out, ": raised the error below (by %s's word)\n", first->word_of);
		return;
	}
	if (first->leaving) {
		ri_text_add(out, ": raised the error below, and has not ended yet\n");
		return;
	}
	if (first->lingered_s > 0) {
		ri_text_addf(out, ": raised the error below, and %s not ended %u s later",
			lives ? "has" : "had", first->lingered_s);
		ri_text_add(out, lives ? "\n" : ": ");
		if (!lives)
			add_end(out, first);
		return;
	}
	/* the stop for one that ended sooner was faster than its own way out */
	ri_text_add(out, first->told_to_stop
			? ": raised the error below, then was stopped while exiting: " : ": ");
	add_end(out, first);
}

/* Losses alone, and not the one that caused them. */
static void add_losers(struct ri_text *out, const struct ri_outcome *outcome, bool of_job)
{
	const struct ri_loss *loss = outcome->ranks[outcome->first].evidence.loss;

	if (outcome->culprit == RI_CULPRIT_UNKNOWN)
		ri_text_add(out, "cannot tell which rank failed first: ");
	add_members(out, outcome, 0, true);
	ri_text_addf(out, " %s", ri_outcome_deed(loss));
	if (outcome->culprit == RI_CULPRIT_ELSEWHERE && ri_outcome_nodes(outcome) > 1) {
		ri_text_add(out, " on another node");
		add_node(out, outcome);
		/* who reads it as a part of the job's verdict may be on that node */
		ri_text_add(out, loss->kind == RI_LOSS_MISMATCH || of_job ? ""
			: "; a rank there went first: look at that node's log");
	} else if (outcome->culprit == RI_CULPRIT_ELSEWHERE) {
		ri_text_add(out, "; another rank of the job went first: look at its log");
	}
	ri_text_add(out, "\n");
}

/* Who lost it first, with the words below. */
static void add_first_loser(struct ri_text *out, const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *ranks = outcome->ranks, *rank = &ranks[outcome->first];
	const struct ri_rank_outcome *left = &ranks[outcome->named];
	struct timespec at = rank->evidence.witnessed ? rank->traceback_at : rank->ended;
	enum ri_loss_kind kind = rank->evidence.loss->kind;

	ri_text_addf(out, "  rank %llu %s first", (unsigned long long)rank->rank,
		kind == RI_LOSS_MISMATCH ? "said so" : kind == RI_LOSS_CLOCK ? "timed out"
		: "lost it");
	/* it closes its connections on its way out, and ends later */
	if (outcome->culprit == RI_CULPRIT_LEFT && ri_time_is_before(at, left->ended))
		ri_text_addf(out, ", while rank %llu was ending", (unsigned long long)left->rank);
	else if (outcome->culprit == RI_CULPRIT_LEFT)
		ri_text_addf(out, ", %.3f s after rank %llu had ended",
			ri_seconds_between(left->ended, at), (unsigned long long)left->rank);
	ri_text_add(out, ": ");
	add_end(out, rank);
}

static void add_headline(struct ri_text *out, const struct ri_outcome *outcome, bool of_job)
{
	const struct ri_rank_outcome *named = &outcome->ranks[outcome->named];
	const struct ri_rank_outcome *first = &outcome->ranks[outcome->first];
	struct ri_collectives works;
	bool other;

	switch (outcome->culprit) {
	case RI_CULPRIT_FIRST:
		add_who(out, outcome, first);
		add_first(out, outcome, of_job);
		return;
	case RI_CULPRIT_LEFT:
		add_who(out, outcome, named);
		ri_text_add(out, " had ended before the others: ");
		add_end(out, named);
		break;
	case RI_CULPRIT_HELD:
		/* by torch's own comparison, or by what NCCL's watchdogs say */
		ri_collectives_find(outcome, &works);
		other = first->evidence.loss->kind == RI_LOSS_MISMATCH ||
			(works.odd == (ssize_t)outcome->named && works.step == RI_STEP_APART);
		add_who(out, outcome, named);
		ri_text_add(out, other
			? " did not run the collective of all others: "
			: " did not come when all others waited for it: ");
		ri_text_add(out, named->told_to_stop ? "told to stop, " : "");
		add_end(out, named);
		break;
	case RI_CULPRIT_UNKNOWN:
	case RI_CULPRIT_ELSEWHERE:
		if (first->evidence.loss == NULL) {
			ri_text_addf(out, "cannot tell which rank failed first\n  rank %llu ended "
				"first: ", (unsigned long long)first->rank);
			add_end(out, first);
			return;
		}
		add_losers(out, outcome, of_job);
		break;
	}
	add_first_loser(out, outcome);
}

/* Is rank i the first one of its kind? */
static bool leads_group(const struct ri_outcome *outcome, size_t i)
{
	if (is_told_of(outcome, i))
		return false;
	for (size_t j = 0; j < i; j++)
		if (is_member(outcome, i, j))
			return false;
	return true;
}

static void add_group(struct ri_text *out, const struct ri_outcome *outcome, size_t leader)
{
	const struct ri_rank_outcome *rank = &outcome->ranks[leader];
	size_t count = 1;

	ri_text_add(out, "  ");
	if (ri_outcome_has_ranks(outcome))
		count = add_members(out, outcome, leader, false);
	else
		add_command(out, outcome);
	ri_text_add(out, ": ");
	if (rank->evidence.loss != NULL)
		ri_text_addf(out, "%s, ", ri_outcome_deed(rank->evidence.loss));
	ri_text_add(out, rank->lingered_s > 0 ? "had not ended of an exception, " : "");
	ri_text_add(out, rank->told_to_stop ? "told to stop, " : "");
	ri_rank_add_end(out, rank);
	if (rank->end == RI_END_RUNNING && count == 1)
		ri_text_addf(out, " (pid %d)", (int)rank->pid);
	ri_text_add(out, "\n");
}

/*
 * "rank 0 had printed: ValueError: bad sample"; of one that was held "rank 1 had raised ValueError:
 * bad batch 17, 9 h before this stop, and had not ended"; where it had that in hand "rank 1 had
 * raised ValueError: bad batch 17: it is in main (train.py:11)"
 */
static void add_words(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank, bool held, struct ri_span words)
{
	long long ago = (long long)(outcome->stop.at.tv_sec - rank->traceback_at.tv_sec);
	RI_TEXT(text, 4 * RI_VERDICT_COLUMNS);

	ri_text_add_bytes(&text, words.at, words.length);
	ri_text_addf(out, "rank %llu had %s", (unsigned long long)rank->rank,
		held ? "raised " : "printed: ");
	ri_text_add_shown(out, text.bytes,
		RI_VERDICT_COLUMNS - (held ? AROUND_WORDS : BEFORE_WORDS));
	if (!held) {
		ri_text_add(out, "\n");
		return;
	}
	if (rank->handled) {
		ri_text_add(out, rank->held == NULL ? "" : ": ");
		ri_text_add_shown(out, rank->held == NULL ? "" : rank->held, RI_VERDICT_COLUMNS);
		ri_text_add(out, "\n");
		return;
	}
	if (ago < 120)
		ri_text_addf(out, ", %lld s", ago < 0 ? 0 : ago);
	else if (ago < 7200)
		ri_text_addf(out, ", %lld min", ago / 60);
	else
		ri_text_addf(out, ", %lld h", ago / 3600);
	ri_text_add(out, " before this stop, and had not ended\n");
}

/* One that left with 0 before the others may have said why: the error that it had logged. */
static size_t add_leaver(struct ri_text *out, const struct ri_outcome *outcome,
	struct ri_reason *scratch)
{
	const struct ri_rank_outcome left = {
		.rank = outcome->ranks[outcome->named].rank,
		.wrote = outcome->ranks[outcome->named].wrote,
		.evidence = { .telling = RI_TELLING_WORD },
	};

	ri_reason_find(&left, scratch);
	if (scratch->words.count == 0)
		return 0;
	add_words(out, outcome, &left, false, scratch->words.lines[0]);
	return 1;
}

void ri_verdict_add_printed(struct ri_text *out, const struct ri_outcome *outcome,
	struct ri_reason *scratch)
{
	size_t lines = 0, left = 0;

	if (outcome->first >= 0 && outcome->culprit == RI_CULPRIT_LEFT)
		lines = add_leaver(out, outcome, scratch);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];
		bool held = rank->handled || ri_class_was_held(outcome, rank);

		if (!rank->evidence.printed && !held)
			continue;
		if (lines == RI_VERDICT_PRINTED - 1) {
			left++;
			continue;
		}
		ri_reason_find(rank, scratch);
		if (!scratch->has_traceback)
			continue;
		add_words(out, outcome, rank, held, scratch->traceback.last);
		lines++;
	}
	if (left > 0)
		ri_text_addf(out, "%zu more %s had printed exceptions\n", left,
			left == 1 ? "rank" : "ranks");
}

/* Lines that were made before, each as one of those below the first. */
static void add_lines(struct ri_text *out, const char *lines)
{
	for (const char *end; lines != NULL && *lines != '\0'; lines = end) {
		end = lines + strcspn(lines, "\n");
		end += *end == '\n';
		ri_text_addf(out, "  %.*s", (int)(end - lines), lines);
	}
}

static void add_others(struct ri_text *out, const struct ri_outcome *outcome)
{
	const char *line = outcome->printed;
	size_t groups = 0, left = 0;

	for (; line != NULL && (line = strchr(line, '\n')) != NULL; line++)
		groups++;
	for (size_t i = 0; i < outcome->count; i++) {
		if (!leads_group(outcome, i))
			continue;
		if (groups++ < MAX_GROUPS)
			add_group(out, outcome, i);
		else
			left++;
	}
	if (left > 0)
		ri_text_addf(out, "  other ranks ended in %zu more ways\n", left);
	add_lines(out, outcome->printed);
}

static void add_stop(struct ri_text *out, const struct ri_outcome *outcome)
{
	ri_text_addf(out, "stopped by %s from ", RI_SIGNAL_SHOWN(outcome->stop.signal));
	ri_stop_add_sender(out, &outcome->stop);
	if (outcome->link.verdict == NULL)
		ri_text_addf(out, "; exit status %d", outcome->exit_status);
	ri_text_add(out, "\n");
}

/* Which collectives ranks were in, where that is not the same: of a loss that this may explain. */
static void add_out_of_step(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_loss *loss)
{
	RI_TEXT(text, 4 * RI_VERDICT_COLUMNS);
	struct ri_collectives works;

	if (loss != NULL && loss->kind == RI_LOSS_MISMATCH)
		ri_mismatch_add(out, outcome);
	if (loss == NULL || loss->kind != RI_LOSS_CLOCK)
		return;
	ri_collectives_find(outcome, &works);
	ri_collectives_add(&text, &works);
	if (text.length > 0)
		ri_reason_add_line(out, "  ", (struct ri_span){ text.bytes, text.length });
}

/* The headline, and why. */
static void add_failure(struct ri_text *out, const struct ri_outcome *outcome, bool of_job)
{
	const struct ri_rank_outcome *first = &outcome->ranks[outcome->first];
	const struct ri_cause *cause = outcome->cause;
	RI_TEXT(text, 4 * RI_VERDICT_COLUMNS);
	int number;

	add_headline(out, outcome, of_job);
	if (first->held != NULL)
		ri_text_addf(out, "  seen before the stop: %s\n", first->held);
	add_out_of_step(out, outcome, first->evidence.loss);
	ri_reason_add(out, first, outcome->reason);
	number = ri_rank_signal(first);
	if (first->wrote.unread != RI_UNREAD_NOT && first->wrote.tail.at == NULL &&
		!first->evidence.ended_of_file && (number == 0 || number == SIGABRT))
		ri_text_addf(out, "  why is not known: %s\n",
			first->wrote.unread == RI_UNREAD_FILE
			? "rankinit could not read the file that was its stderr"
			: "stderr is a terminal, which rankinit does not read; start it "
				"with 2>&1 | cat behind the command");
	if (ri_outcome_is_silent(outcome))
		ri_text_add(out, "  if its ranks write files, look there: torchrun names their "
			"folder with --log-dir=DIR\n");
	if (outcome->of_hydra && first->end == RI_END_EXITED)
		ri_text_add(out, "  mpiexec stops the other ranks only if they use MPI\n");
	if (first->end == RI_END_EXEC_FAILED && cause != NULL) {
		/* as the error said it, which may be far above by now */
		ri_text_addf(&text, "%s: %s%s%s [%s]", cause->subject, cause->text,
			cause->hint[0] == '\0' ? "" : "; ", cause->hint, ri_code_name(cause->code));
		ri_reason_add_line(out, "  ", (struct ri_span){ text.bytes, text.length });
	} else if (cause != NULL && !cause->shown) {
		ri_text_add(out, "  ");
		ri_cause_add(out, cause);
		ri_text_add(out, "\n");
	}
}

void ri_verdict_render_job(const struct ri_outcome *outcome, struct ri_text *out)
{
	if (outcome->first >= 0)
		add_failure(out, outcome, true);
}

void ri_verdict_render(const struct ri_outcome *outcome, struct ri_text *out)
{
	static char lines[RI_VERDICT_SIZE];
	struct ri_text own = ri_text_of(lines, sizeof(lines));

	if (outcome->link.verdict != NULL) {
		/* and why this node ends, where that is another matter */
		ri_text_add(out, outcome->link.text);
		if (fails_too(outcome))
			add_failure(&own, outcome, true);
		else if (outcome->stop.signal != 0)
			add_stop(&own, outcome);
		add_lines(out, lines);
	} else if (outcome->first >= 0) {
		add_failure(out, outcome, false);
	} else if (outcome->stop.signal != 0 && outcome->exit_status != 0) {
		add_stop(out, outcome);
	} else {
		return;
	}
	add_others(out, outcome);
	if (outcome->restarts != NULL)
		ri_restarts_add(out, outcome->restarts);
	if (!outcome->goes_on &&
		(outcome->link.verdict != NULL || (outcome->first >= 0 &&
			(outcome->count > 1 || outcome->as_ranks))))
		ri_text_addf(out, "  %s exit status is %d\n",
			ri_outcome_nodes(outcome) > 1 ? "this node's" : "the job's",
			outcome->exit_status);
}
