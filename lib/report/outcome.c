/* SPDX-License-Identifier: Apache-2.0 */
#include "report/outcome.h"

#include <sys/wait.h>

#include "base/signals.h"

void ri_rank_take_status(struct ri_rank_outcome *rank, int wait_status)
{
	if (WIFSIGNALED(wait_status)) {
		rank->end = RI_END_SIGNALED;
		rank->signal = WTERMSIG(wait_status);
		rank->core = WCOREDUMP(wait_status);
	} else {
		rank->end = RI_END_EXITED;
		rank->exit_code = WEXITSTATUS(wait_status);
	}
}

bool ri_rank_failed(const struct ri_rank_outcome *rank)
{
	return rank->leaving || rank->lingered_s > 0 || rank->end == RI_END_EXEC_FAILED ||
		rank->end == RI_END_SIGNALED ||
		(rank->end == RI_END_EXITED && rank->exit_code != 0) ||
		(rank->end == RI_END_RUNNING && rank->word_of != NULL);
}

bool ri_outcome_is_alone(const struct ri_outcome *outcome)
{
	return outcome->count == 1 && !outcome->launched &&
		!ri_topology_knows(outcome->topology, RI_FACT_RANK);
}

bool ri_outcome_is_silent(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *rank = outcome->ranks;

	return outcome->first >= 0 && outcome->launches && !outcome->launched &&
		rank->end == RI_END_EXITED && rank->wrote.tail.at != NULL &&
		rank->wrote.tail.length == 0;
}

bool ri_outcome_has_ranks(const struct ri_outcome *outcome)
{
	return outcome->count > 1 || outcome->launched ||
		(outcome->topology != NULL && ri_topology_knows(outcome->topology, RI_FACT_RANK));
}

ssize_t ri_outcome_named(const struct ri_outcome *outcome)
{
	if (outcome->first < 0 || outcome->culprit == RI_CULPRIT_UNKNOWN ||
		outcome->culprit == RI_CULPRIT_ELSEWHERE)
		return -1;
	return outcome->culprit == RI_CULPRIT_FIRST ? outcome->first : (ssize_t)outcome->named;
}

void ri_rank_add_end(struct ri_text *out, const struct ri_rank_outcome *rank)
{
	switch (rank->end) {
	case RI_END_NOT_STARTED:
		ri_text_add(out, "not started");
		break;
	case RI_END_RUNNING:
		ri_text_add(out, rank->ended.tv_sec > 0 ? "ended, how is not known"
			: "cannot be killed");
		break;
	case RI_END_EXITED:
		ri_text_addf(out, "exit status %d", rank->exit_code);
		break;
	case RI_END_EXEC_FAILED:
		ri_text_add(out, "could not be started");
		break;
	case RI_END_SIGNALED:
		ri_text_addf(out, "killed by %s (%d)%s%s", RI_SIGNAL_SHOWN(rank->signal),
			rank->signal, rank->core ? ", core dumped" : "",
			rank->oom ? ": out of memory (the cgroup's oom_kill count rose)" : "");
		break;
	}
	if (rank->word_of != NULL)
		ri_text_addf(out, " (by %s's word)", rank->word_of);
}

void ri_stop_add_sender(struct ri_text *out, const struct ri_stop *stop)
{
	if (stop->by_terminal)
		ri_text_add(out, "the terminal");
	else if (stop->sender == 0)
		ri_text_add(out, "outside this container");
	else
		ri_text_addf(out, "pid %d", (int)stop->sender);
}

const char *ri_outcome_deed(const struct ri_loss *loss)
{
	if (loss == NULL)
		return "failed";
	switch (loss->kind) {
	case RI_LOSS_CLOCK:
		return "timed out waiting for a peer";
	case RI_LOSS_STORE:
		return "lost the store";
	case RI_LOSS_MISMATCH:
		return "ran another collective than a peer";
	default:
		return "lost a peer";
	}
}

void ri_rank_add_life(struct ri_text *out, const struct ri_rank_outcome *rank)
{
	if (rank->ended.tv_sec > 0)
		ri_text_addf(out, ", after %.3f s",
			ri_seconds_between(rank->started, rank->ended));
}

void ri_cause_add(struct ri_text *out, const struct ri_cause *cause)
{
	if (cause != NULL && !cause->shown)
		ri_text_addf(out, "%s %s: %s [%s]", cause->subject, cause->text, cause->hint,
			ri_code_name(cause->code));
}

void ri_time_add(struct ri_text *out, struct timespec at)
{
	struct tm parts;

	if (gmtime_r(&at.tv_sec, &parts) == NULL)
		parts = (struct tm){ .tm_mday = 1 };
	ri_text_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
		parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
		(int)(at.tv_nsec / 1000000));
}

json_t *ri_time_json(struct timespec at)
{
	RI_TEXT(text, 64);

	if (at.tv_sec == 0)
		return json_null();
	ri_time_add(&text, at);
	return json_string(text.bytes);
}
