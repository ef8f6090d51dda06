/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/ends.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/course.h"
#include "link/link.h"
#include "report/culprit.h"
#include "report/restarts.h"
#include "report/verdict.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/own_proc.h"

void ri_failure_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out)
{
	const struct ri_tail_text text = ri_output_tail(output, index);
	const struct timespec traceback_at = ri_output_traceback(output, index);
	const struct ri_course_seen *seen = ri_course_of(index);
	int status = child->wait_status;

	out->pid = child->pid;
	out->told_to_stop = child->told_to_stop;
	/*
	 * One that was dying before a SIGTERM does not end of that signal. If it does, only its
	 * first thread had ended, and the others had gone on (pthread_exit(3)).
	 */
	if (child->gone_at.tv_sec != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
		out->told_to_stop = false;
	/* with a status, after a traceback, though it could not hear of what it was told */
	if (!child->lives && WIFEXITED(status) && child->unheeding && traceback_at.tv_sec != 0)
		out->told_to_stop = false;
	out->spoke = out->told_to_stop && child->spoke;
	out->leaving = child->leaving && child->lives && !child->told_to_stop;
	out->order = child->order;
	out->started = child->started;
	out->ended = child->ended;
	out->gone_at = child->gone_at;
	if (child->lives)
		out->end = RI_END_RUNNING;
	else
		ri_rank_take_status(out, status);
	out->wrote = (struct ri_rank_wrote){
		.tail = { text.bytes, text.length }, .head = text.head, .cut = text.cut,
	};
	out->traceback_at = traceback_at;
	/* what it was about before it was told */
	out->course = child->course == RI_COURSE_LEFT ||
		ri_child_was_looked_at(child, traceback_at) ? child->course : RI_COURSE_UNKNOWN;
	out->lingered_s = child->lingered_s;
	if (child->raised_at.tv_sec == 0 || seen == NULL)
		return;
	/* of what it has not said, a traceback as its memory has it */
	out->handled = child->handled && child->told_to_stop;
	if (out->handled || (child->course == RI_COURSE_LEFT && traceback_at.tv_sec == 0)) {
		out->traceback_at = child->raised_at;
		out->wrote = (struct ri_rank_wrote){
			.tail = { seen->words, strlen(seen->words) },
		};
	}
	if ((out->handled || child->lingered_s > 0) && seen->held[0] != '\0')
		out->held = seen->held;
}

/* By local rank: of one that failed, or lives and has printed an exception. */
static enum ri_class classes[RI_MAX_LOCAL];

/*
 * What each end is evidence of; of one that lives, what it would be if it ended now. Each is read
 * once: there may be hundreds.
 */
static void find_classes(const struct ri_children *children, struct ri_output *output,
	struct ri_judged *out)
{
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		struct ri_rank_outcome rank = { .pid = 0 };

		if (!ri_child_failed(child) &&
			!(child->lives && ri_output_traceback(output, i).tv_sec != 0))
			continue;
		ri_failure_describe(child, output, i, &rank);
		if (child->lives) {
			rank.end = RI_END_EXITED;
			rank.exit_code = 1;
			ri_clock_read(CLOCK_REALTIME, &rank.ended);
		}
		ri_class_find(&rank);
		classes[i] = rank.evidence.class;
		if (child->lives)
			continue;
		/* it died before a rank lost it, so its own words need not say so */
		if (rank.evidence.class == RI_CLASS_UNKNOWN && child->gone_at.tv_sec != 0)
			classes[i] = RI_CLASS_OWN;
		if (rank.evidence.loss != NULL && rank.evidence.loss->kind == RI_LOSS_CLOCK)
			out->timed_out = true;
	}
}

static bool has(const struct ri_children *children, enum ri_class class, bool lives)
{
	for (size_t i = 0; i < children->started; i++)
		if (classes[i] == class && children->items[i].lives == lives)
			return true;
	return false;
}

void ri_failure_judge(const struct ri_children *children, struct ri_output *output,
	int64_t settle_ms, struct ri_judged *out)
{
	/* this process is the judge, or PID 1: each is shown by its own number */
	bool own, lost, looks = !ri_course_is_asked() && ri_proc_is_ours(getpid());
	struct timespec first = ri_children_first_failure(children), fresh;

	find_classes(children, output, out);
	own = has(children, RI_CLASS_OWN, false);
	lost = !own && has(children, RI_CLASS_LOSS, false);
	out->lost = lost;
	out->open = !own && (lost || has(children, RI_CLASS_LOSS, true));
	ri_clock_read(CLOCK_REALTIME, &fresh);
	fresh.tv_sec -= (time_t)(settle_ms / 1000);
	fresh.tv_nsec -= settle_ms % 1000 * 1000000;
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		const struct timespec at = ri_output_traceback(output, i);
		bool left = child->course == RI_COURSE_LEFT, has_words;

		/* it has printed an exception that it may be ending of */
		has_words = child->lives && !child->told_to_stop && classes[i] == RI_CLASS_OWN;
		/*
		 * To be looked at is one that has printed it since the last look, and where losses
		 * alone were seen each, since what was lost may have an exception that it has not
		 * printed. What had left its program may have executed another one since.
		 */
		if (looks)
			out->doubtful[i] = child->lives && !child->told_to_stop &&
				(((lost || left) && !ri_child_was_looked_at(child, first)) ||
				(has_words && !ri_child_was_looked_at(child, at)));
		/* may one end of it, or have one, as far as is known by now? */
		if (child->lives && (looks ? out->doubtful[i] != 0 : child->doubtful) &&
			(has_words || lost || left))
			out->open = true;
		else if (has_words && !left && ri_time_is_before(fresh, at))
			out->open = true;
	}
	if (children->refused != 0)
		out->open = false;
}

/* --- the other nodes ---------------------------------------------------------- */

/* What this end says of the job; what is blamed on a rank that hangs, or left, is less sure. */
static enum ri_class class_of(const struct ri_outcome *outcome)
{
	enum ri_class class;

	if (outcome->culprit != RI_CULPRIT_FIRST)
		return RI_CLASS_LOSS;
	class = outcome->ranks[outcome->first].evidence.class;
	return class < RI_CLASS_LOSS ? RI_CLASS_UNKNOWN : class;
}

void ri_link_judge_end(const struct ri_link_job *job, const struct ri_outcome *outcome,
	struct ri_link_message *out)
{
	static char lines[RI_VERDICT_SIZE];
	static struct ri_restart restart;
	/* FNV-1a (isthe.com/chongo/tech/comp/fnv) */
	uint64_t mark = UINT64_C(14695981039346656037);
	RI_TEXT(known_by, RI_CARRIED_SIGNATURE);
	const struct ri_rank_outcome *first;
	struct ri_link_end *end = &out->end;
	struct timespec at;
	struct ri_text text;

	if (outcome->first < 0 && outcome->stop.signal == 0)
		return;
	out->kind = RI_LINK_END;
	/* from outside; not where that came for a failure, or after it */
	if (outcome->first < 0 ||
		(outcome->stop.signal != 0 && class_of(outcome) == RI_CLASS_LOSS)) {
		ri_link_make_stop(job, outcome->stop.signal, end);
		return;
	}
	first = &outcome->ranks[outcome->first];
	at = ri_moment_find(first).at;
	*end = (struct ri_link_end){
		.verdict = { .why = ri_why_find(outcome), .class = class_of(outcome),
			.rank = ri_verdict_rank(outcome), .node = -1 },
		.fatal = job->part.may_stop, .lives = first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000,
	};
	/* by what is that end known, if the ranks end so again? */
	restart = (struct ri_restart){ .known = false };
	ri_restart_describe(&restart, outcome);
	ri_again_sign(&known_by, end->verdict.why.cause, &restart.first, restart.words);
	for (size_t i = 0; i < known_by.length; i++)
		mark = (mark ^ (unsigned char)known_by.bytes[i]) * UINT64_C(1099511628211);
	end->verdict.mark = (mark & RI_VERDICT_MARK) | 2;	/* 0 and 1 mean something else */
	text = ri_text_of(lines, sizeof(lines));
	ri_verdict_render_job(outcome, &text);
	ri_link_text_set(end->text, RI_LINK_TEXT, lines);
}

bool ri_link_judge(const struct ri_link_job *job, struct ri_outcome *outcome)
{
	const struct ri_link_decision *decision = ri_link_decision();
	int64_t named = decision->verdict.rank, first = ri_verdict_rank(outcome);
	bool is_us = decision->verdict.node == (int64_t)job->part.node && outcome->first >= 0;

	outcome->link.verdict = &decision->verdict;
	outcome->link.text = decision->text;
	/* what was heard here since then may be of another rank: all nodes name the same one */
	outcome->link.is_here = is_us && (named < 0 || first < 0 || named == first);
	if (*job->ordered)
		return true;
	/*
	 * What ended here of itself, or well, before anything was stopped keeps its own status, and
	 * so does a loss where no node is named: some node has to say that the job failed.
	 */
	return decision->order && !is_us && job->stop->signal == 0 &&
		outcome->first >= 0 && class_of(outcome) == RI_CLASS_LOSS &&
		decision->verdict.node >= 0;
}

void ri_link_say_why_not(const struct ri_link_job *job)
{
	const struct ri_link_decision *decision = ri_link_decision();
	const char *why = ri_link_why_not(RI_LINK_LEAVE);

	/* where all leave it is this node alone that cannot, and knows why */
	if (job->restarts == 0 || job->stop->signal != 0 || ri_link_key() != NULL ||
		(decision != NULL && !decision->again))
		return;
	if (why != NULL)
		ri_log(RI_LEVEL_ALWAYS, "%.*s", (int)strcspn(why, "\n"), why);
	else
		ri_log(RI_LEVEL_ALWAYS, "the ranks do not start again: %s", decision == NULL
			? "the link has no verdict on the job"
			: "node 0 has not said that all nodes can");
}

/* --- a command alone ---------------------------------------------------------- */

void ri_oom_watch(struct ri_oom *oom)
{
	oom->host = (struct ri_host){ .root = AT_FDCWD, .live = true };
	oom->known = ri_cgroup_oom_find(&oom->host, &oom->file, &oom->kills) == 0;
}

bool ri_oom_is_counted(struct ri_oom *oom)
{
	uint64_t kills;

	return oom->known && ri_cgroup_oom_read(&oom->host, &oom->file, &kills) == 0 &&
		kills > oom->kills;
}

/* Only a SIGKILL can come from the out-of-memory killer. */
static void add_oom(struct ri_text *out, struct ri_oom *oom)
{
	uint64_t kills;

	if (!oom->known || ri_cgroup_oom_read(&oom->host, &oom->file, &kills) < 0)
		ri_text_add(out, "; the cgroup does not show whether memory ran out");
	else if (kills > oom->kills)
		ri_text_addf(out, ": out of memory (the cgroup's oom_kill count rose from %llu to "
			"%llu)",
			(unsigned long long)oom->kills, (unsigned long long)kills);
	else
		ri_text_add(out, ", not for lack of memory, by the cgroup's count");
}

void ri_obituary_say(const struct ri_child *child, const char *command, int64_t rank, pid_t below,
	const struct ri_stop *stop, struct ri_oom *oom)
{
	int status = child->wait_status, number = WTERMSIG(status);
	long kib = child->peak_kib;
	RI_TEXT(out, RI_MAX_LINE);

	if (!WIFSIGNALED(status))
		return;
	if (rank >= 0)
		ri_text_addf(&out, "rank %lld", (long long)rank);
	else
		ri_text_addf(&out, "%.64s", ri_path_name(command));
	ri_text_addf(&out, " (pid %d", (int)child->pid);
	if (below > 0)
		ri_text_addf(&out, " below %d", (int)below);
	ri_text_addf(&out, ") was killed by %s (%d)", RI_SIGNAL_SHOWN(number), number);
	if (WCOREDUMP(status))
		ri_text_add(&out, ", core dumped");
	if (number == SIGKILL)
		add_oom(&out, oom);
	if (kib >= 1024 * 1024)
		ri_text_addf(&out, "; peak memory %.1f GiB", (double)kib / (1024 * 1024));
	else if (kib >= 1024)
		ri_text_addf(&out, "; peak memory %ld MiB", kib / 1024);
	else
		ri_text_addf(&out, "; peak memory %ld KiB", kib);
	if (stop->signal != 0 && stop->at_ms <= child->ended_ms) {
		ri_text_addf(&out, "; %lld ms after a stop from ",
			(long long)(child->ended_ms - stop->at_ms));
		ri_stop_add_sender(&out, stop);
		if (!stop->by_terminal && stop->sender != 0)
			ri_text_addf(&out, " of uid %u", (unsigned)stop->sender_uid);
	}
	ri_log(RI_LEVEL_ALWAYS, "%s", out.bytes);
}
