/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 believes of a judge that runs wild: whatever stands in the memory that both share,
 * nothing leads out of it or out of a table. The input: a byte that says what is asked, where the
 * judge stops and how it is waited for, two that say from where on the rest is laid over a sound
 * answer, so that more than the first check is reached. What init/judged.c calls is played here.
 */
#include "fuzz.h"

#include <errno.h>

#include "init/judged.h"
#include "report/restarts.h"
#include "system/helper.h"
#include "system/log.h"

enum { DIES = 4, IS_LATE = 8, IS_WAITED_FOR = 16, STOPS_EARLY = 32 };

static struct {
	const uint8_t *data;
	size_t size;
	unsigned how;
	struct ri_judged *page;
} wild;

static const struct ri_helper_task *task;

static void lay_over(void)
{
	size_t from, room;

	if (wild.size < 2)
		return;
	from = (size_t)(wild.data[0] << 8 | wild.data[1]) % sizeof(*wild.page);
	room = sizeof(*wild.page) - from;
	memcpy((char *)wild.page + from, wild.data + 2,
		wild.size - 2 < room ? wild.size - 2 : room);
}

static void answer(enum ri_question question, struct ri_judged *out, void *context)
{
	static const char line[] = "rankinit: rank 1 failed\n";

	(void)question;
	(void)context;
	wild.page = out;
	out->said = (struct ri_link_message){ .kind = RI_LINK_END };
	out->said.end.verdict.rank = 1;
	strcpy(out->said.end.text, line);
	strcpy(out->last_line, "verdict rank=1");
	strcpy(out->text, line);
	out->length = sizeof(line) - 1;
	out->first = 1;
	out->failed = out->tells = true;
	out->stage = RI_JUDGED_SAID;
	if (wild.how & STOPS_EARLY)
		lay_over();
}

/* The judge has done its work, or died of it; what runs wild afterwards does so as well. */
int ri_apart(const struct ri_apart *call)
{
	call->work(call->argument);
	call->meanwhile(call->argument);
	if (!(wild.how & STOPS_EARLY))
		lay_over();
	call->meanwhile(call->argument);
	errno = wild.how & DIES ? ECANCELED : ETIMEDOUT;
	return wild.how & (DIES | IS_LATE) ? -1 : 0;
}

pid_t ri_helper_start(const struct ri_helper_task *given)
{
	task = given;
	task->body(task->context);
	if (!(wild.how & STOPS_EARLY))
		lay_over();
	return 1;
}

bool ri_helper_leave(pid_t *helper)
{
	bool was = *helper == 1;

	*helper = 0;
	return was;
}

bool ri_helper_reap(pid_t *helper, int *status)
{
	(void)status;
	return ri_helper_leave(helper);
}

int64_t ri_helper_due(pid_t pid)
{
	return pid;
}

void ri_log_through(bool (*take)(const char *line, size_t length))
{
	CHECK(take("", 0));
}

void ri_log(enum ri_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

void ri_log_lines(char *bytes, size_t length)
{
	size_t from = (size_t)(bytes - wild.page->text);

	CHECK(from <= RI_JUDGED_TEXT && length <= RI_JUDGED_TEXT - from);
}

/* As tell.c, attempt.c and phases.c use it. */
static void use(const struct ri_judged *page)
{
	static struct ri_carried carried;
	struct ri_inner_word word = {
		.verdict = page->verdict, .of_rank = -1, .exit_status = 1,
	};
	char bytes[RI_LINK_FRAME];
	struct ri_text text;

	CHECK(page->first >= -1 && page->first < RI_MAX_LOCAL);
	CHECK(page->inner_status < 256 && strlen(page->last_line) < sizeof(page->last_line));
	CHECK(page->length <= sizeof(page->text));
	CHECK(page->carried_length <= sizeof(page->carried));
	CHECK(ri_exit_class(1, page->verdict.why.retry) != 0);
	word.verdict.status = 1;
	ri_inner_word_write(&word, bytes);
	CHECK(ri_inner_word_read(&word, bytes, RI_INNER_WORD));
	text = ri_text_of(bytes, sizeof(bytes));
	if (page->said.kind == RI_LINK_END)
		ri_link_message_render(&page->said, &text);
	ri_carried_read(&carried, page->carried, page->carried_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ri_apart limits = { .subject = "--report", .path = "report" };
	const struct ri_judged *page = NULL;
	enum ri_question question;
	const char *why;

	if (size == 0)
		return 0;
	wild.how = data[0];
	wild.data = data + 1;
	wild.size = size - 1;
	question = (enum ri_question)(data[0] % RI_ASK_NOTHING);
	ri_judge_plan(answer, NULL, RI_MAX_LOCAL);
	if (wild.how & IS_WAITED_FOR) {
		page = ri_judge_wait(question, &limits, &why);
		CHECK(page != NULL || why != NULL);
	} else {
		CHECK(ri_judge_ask(question));
		CHECK(ri_judge_take(&page) == question);
	}
	if (page != NULL)
		use(page);
	return 0;
}
