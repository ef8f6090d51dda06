/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/linger.h"

#include "redact/redact.h"
#include "system/clock.h"
#include "system/log.h"
#include "watch/first_failure.h"

enum { SHOWN = 200 };	/* bytes of an exception */

static struct {
	int64_t begun, after_ms;
	int64_t due;		/* 0: never */
} own;

void ri_linger_begin(int64_t after_ms)
{
	own.begun = ri_now_ms();
	own.after_ms = after_ms;
	own.due = after_ms > 0 ? own.begun + after_ms : 0;
}

int64_t ri_linger_due(void)
{
	return own.due == 0 ? INT64_MAX : own.due;
}

void ri_linger_look(struct ri_children *children, struct ri_output *output)
{
	own.due = 0;
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].course == RI_COURSE_RUNNING)
			children->items[i].course_at.tv_sec = 0;
	if (ri_settle_ask(children, output))
		own.due = ri_now_ms() + 2 * (ri_now_ms() - own.begun);
}

static void say(const struct ri_children *children, size_t index, struct ri_span exception)
{
	char shown[SHOWN];
	struct ri_text text;

	ri_text_init(&text, shown, sizeof(shown));
	ri_redact(&text, exception);
	ri_text_replace_controls(shown);
	ri_log(RI_LEVEL_ALWAYS, "rank %llu (pid %d) raised %s; its program is over, and it has not "
		"ended for %lld s: it is stopped now (--linger)",
		(unsigned long long)(children->first_rank + index),
		(int)children->items[index].pid, shown,
		(long long)(ri_now_ms() - own.begun) / 1000);
}

struct ri_child *ri_linger_find(const struct ri_children *children, struct ri_output *output)
{
	struct ri_words words;

	for (size_t i = 0; own.begun != 0 && i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		if (!ri_settle_is_over(child, output, i, &words) ||
			ri_now_ms() - own.begun < own.after_ms)
			continue;
		say(children, i, words.traceback.last);
		return child;
	}
	return NULL;
}
