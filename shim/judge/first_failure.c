/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/first_failure.h"

#include <string.h>
#include <sys/wait.h>

#include "hang/course.h"
#include "init/descendants.h"
#include "report/blame.h"
#include "system/clock.h"

void ri_failure_describe(const struct ri_child *child, struct ri_output *output, size_t index,
	struct ri_rank_outcome *out)
{
	const struct ri_tail_text text = ri_output_tail(output, index);
	const struct timespec traceback_at = ri_output_traceback(output, index);
	const struct ri_course_seen *seen = ri_course_of(index);
	int status = child->wait_status;

	out->pid = child->pid;
	out->told = child->told;
	/*
	 * One that was dying before a SIGTERM does not end of that signal. If it does, only its
	 * first thread had ended, and the others had gone on (pthread_exit(3)).
	 */
	if (child->gone_at.tv_sec != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
		out->told = false;
	/* with a status, after a traceback, though it could not hear of what it was told */
	if (!child->lives && WIFEXITED(status) && child->unheeding && traceback_at.tv_sec != 0)
		out->told = false;
	out->spoke = out->told && child->spoke;
	out->leaving = child->leaving && child->lives && !child->told;
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
		.total = text.total,
	};
	out->traceback_at = traceback_at;
	/* what it was about before it was told */
	out->course = child->course == RI_COURSE_LEFT ||
		ri_child_was_looked_at(child, traceback_at) ? child->course : RI_COURSE_UNKNOWN;
	out->lingered_s = child->lingered_s;
	if (child->raised_at.tv_sec == 0 || seen == NULL)
		return;
	/* of what it has not said, a traceback as its memory has it */
	out->in_hand = child->in_hand && child->told;
	if (out->in_hand || (child->course == RI_COURSE_LEFT && traceback_at.tv_sec == 0)) {
		out->traceback_at = child->raised_at;
		out->wrote = (struct ri_rank_wrote){
			.tail = { seen->words, strlen(seen->words) },
		};
	}
	if ((out->in_hand || child->lingered_s > 0) && seen->held[0] != '\0')
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
	bool own, lost, looks = !ri_course_is_asked() && ri_descendants_are_shown();
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
		has_words = child->lives && !child->told && classes[i] == RI_CLASS_OWN;
		/*
		 * To be looked at is one that has printed it since the last look, and where losses
		 * alone were seen each, since what was lost may have an exception that it has not
		 * printed. What had left its program may have executed another one since.
		 */
		if (looks)
			out->doubtful[i] = child->lives && !child->told &&
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
