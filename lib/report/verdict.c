/* SPDX-License-Identifier: Apache-2.0 */
#include "report/verdict.h"

#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "base/signals.h"
#include "report/redact_words.h"

enum {
	MAX_GROUPS = 6,		/* of ranks that ended alike */
	MAX_RANGES = 12,
};

static void add_how(struct ri_text *out, const struct ri_rank_outcome *rank)
{
	char name[RI_SIGNAL_NAME];

	switch (rank->end) {
	case RI_END_NOT_STARTED:
		ri_text_add(out, "not started");
		break;
	case RI_END_RUNNING:
		ri_text_add(out, "cannot be killed");
		break;
	case RI_END_EXITED:
		ri_text_addf(out, "exit status %d", rank->exit_code);
		break;
	case RI_END_EXEC_FAILED:
		ri_text_add(out, "could not be started");
		break;
	case RI_END_SIGNALED:
		ri_text_addf(out, "killed by %s (%d)%s%s", ri_signal_name(rank->signal, name),
			rank->signal, rank->core ? ", core dumped" : "",
			rank->oom ? ": out of memory (the cgroup's oom_kill count rose)" : "");
		break;
	}
}

/* "rank 2 (local rank 2, pid 17 on node-a)", or the command of a plain init. */
static void add_who(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	char command[PATH_MAX];

	ri_text_copy(command, sizeof(command),
		outcome->command == NULL ? "the command" : outcome->command);
	ri_redact_word_in_place(command, sizeof(command));
	if (outcome->count > 1 || ri_topology_knows(outcome->topology, RI_FACT_RANK))
		ri_text_addf(out, "rank %llu (local rank %llu, ", (unsigned long long)rank->rank,
			(unsigned long long)rank->local_rank);
	else {
		ri_text_add_shown(out, ri_path_name(command), 40);
		ri_text_add(out, " (");
	}
	if (rank->pid > 0)
		ri_text_addf(out, "pid %d", (int)rank->pid);
	else
		ri_text_add(out, "no process");
	if (outcome->host != NULL && outcome->host[0] != '\0') {
		ri_text_add(out, " on ");
		ri_text_add_shown(out, outcome->host, 64);
	}
	ri_text_add(out, ")");
}

static void add_headline(struct ri_text *out, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	add_who(out, outcome, rank);
	ri_text_add(out, outcome->count > 1 ? " failed first: " : " failed: ");
	/* the stop for one that ended sooner was faster than its own way out */
	ri_text_add(out, rank->told ? "raised the error below, then was stopped while exiting: "
				    : "");
	add_how(out, rank);
	if (rank->ended.tv_sec > 0 && rank->end != RI_END_EXEC_FAILED) {
		ri_text_addf(out, ", after %.3f s, at ",
			(double)(rank->ended.tv_sec - rank->started.tv_sec) +
			(double)(rank->ended.tv_nsec - rank->started.tv_nsec) / 1e9);
		ri_time_add(out, rank->ended);
	}
	ri_text_add(out, "\n");
}

/* As the error said it, which may be far above by now. */
static void add_refusal(struct ri_text *out, const struct ri_cause *cause)
{
	char words[4 * RI_VERDICT_COLUMNS];
	struct ri_text text;

	if (cause == NULL)
		return;
	ri_text_init(&text, words, sizeof(words));
	ri_text_addf(&text, "%s: %s%s%s [%s]", cause->subject, cause->text,
		cause->hint[0] == '\0' ? "" : "; ", cause->hint, ri_code_name(cause->code));
	ri_reason_add_line(out, "  ", (struct ri_span){ words, text.length });
}

/* Did they end alike? */
static bool is_same(const struct ri_rank_outcome *a, const struct ri_rank_outcome *b)
{
	return a->end == b->end && a->told == b->told && a->exit_code == b->exit_code &&
		a->signal == b->signal && a->oom == b->oom;
}

/* Is rank i the first one of its kind, the first failure aside? */
static bool leads_group(const struct ri_outcome *outcome, size_t i)
{
	if ((ssize_t)i == outcome->first)
		return false;
	for (size_t j = 0; j < i; j++)
		if ((ssize_t)j != outcome->first && is_same(&outcome->ranks[i], &outcome->ranks[j]))
			return false;
	return true;
}

static bool is_member(const struct ri_outcome *outcome, size_t leader, size_t i)
{
	return i < outcome->count && (ssize_t)i != outcome->first &&
		is_same(&outcome->ranks[leader], &outcome->ranks[i]);
}

static void add_range(struct ri_text *out, uint64_t from, uint64_t to)
{
	if (from == to)
		ri_text_addf(out, " %llu", (unsigned long long)from);
	else
		ri_text_addf(out, " %llu-%llu", (unsigned long long)from, (unsigned long long)to);
}

/* " 0-1, 3, 5-511": neighbours in the list whose ranks follow each other. */
static void add_members(struct ri_text *out, const struct ri_outcome *outcome, size_t leader)
{
	const struct ri_rank_outcome *ranks = outcome->ranks;
	size_t ranges = 0, end;

	for (size_t i = leader; i < outcome->count; i = end + 1) {
		end = i;
		if (!is_member(outcome, leader, i))
			continue;
		while (is_member(outcome, leader, end + 1) &&
			ranks[end + 1].rank == ranks[end].rank + 1)
			end++;
		if (ranges++ == MAX_RANGES) {
			ri_text_add(out, ", ...");
			return;
		}
		ri_text_add(out, ranges > 1 ? "," : "");
		add_range(out, ranks[i].rank, ranks[end].rank);
	}
}

static void add_group(struct ri_text *out, const struct ri_outcome *outcome, size_t leader)
{
	const struct ri_rank_outcome *rank = &outcome->ranks[leader];
	size_t count = 0;

	for (size_t i = leader; i < outcome->count; i++)
		count += is_member(outcome, leader, i);
	ri_text_addf(out, "  %s", count == 1 ? "rank" : "ranks");
	add_members(out, outcome, leader);
	ri_text_add(out, rank->told ? ": told to stop, " : ": ");
	add_how(out, rank);
	if (rank->end == RI_END_RUNNING && count == 1)
		ri_text_addf(out, " (pid %d)", (int)rank->pid);
	ri_text_add(out, "\n");
}

static void add_others(struct ri_text *out, const struct ri_outcome *outcome)
{
	size_t groups = 0, left = 0;

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
}

static void add_stop(struct ri_text *out, const struct ri_outcome *outcome)
{
	char name[RI_SIGNAL_NAME];

	ri_text_addf(out, "stopped by %s from ", ri_signal_name(outcome->stop_signal, name));
	if (outcome->stopped_by_terminal)
		ri_text_add(out, "the terminal");
	else if (outcome->stop_sender == 0)
		ri_text_add(out, "outside this container");
	else
		ri_text_addf(out, "pid %d", (int)outcome->stop_sender);
	ri_text_addf(out, "; exit status %d\n", outcome->exit_status);
}

static void add_cause(struct ri_text *out, const struct ri_cause *cause)
{
	if (cause == NULL || cause->shown)
		return;
	ri_text_add(out, "  ");
	ri_cause_add(out, cause);
	ri_text_add(out, "\n");
}

void ri_verdict_render(const struct ri_outcome *outcome, const struct ri_reason *reason,
	struct ri_text *out)
{
	if (outcome->first >= 0) {
		add_headline(out, outcome, &outcome->ranks[outcome->first]);
		ri_reason_add(out, &outcome->ranks[outcome->first], reason);
		if (outcome->ranks[outcome->first].end == RI_END_EXEC_FAILED)
			add_refusal(out, outcome->cause);
		else
			add_cause(out, outcome->cause);
	} else if (outcome->stop_signal != 0 && outcome->exit_status != 0) {
		add_stop(out, outcome);
	} else {
		return;
	}
	add_others(out, outcome);
	if (outcome->first >= 0 && outcome->count > 1)
		ri_text_addf(out, "  the job's exit status is %d\n", outcome->exit_status);
}
