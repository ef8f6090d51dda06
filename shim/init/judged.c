/* SPDX-License-Identifier: Apache-2.0 */
#include "init/judged.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "system/helper.h"
#include "system/log.h"

/* What a judge may take: some ms for the words of each rank, on a busy machine a hundredfold. */
enum { MOST_S = 10, RANKS_A_SECOND = 4 };

static struct {
	ri_judge judge;
	void *context;
	unsigned most_s;		/* that it may take */
	struct ri_judged *page;		/* NULL: none was asked yet */
	uint64_t news, seen[RI_ASK_NOTHING];	/* those that the last of each question knew */
	enum ri_question asked;		/* what the judge at work was asked */
	pid_t helper;			/* 0: none is */
	bool waits[RI_ASK_NOTHING];	/* a question does, until that one has ended */
	unsigned killed;
	uint32_t printed;		/* bytes of what an RI_ASK_ENDED says */
} own;

void ri_judge_plan(ri_judge judge, void *context, size_t ranks)
{
	own.judge = judge;
	own.most_s = MOST_S + (unsigned)ranks / RANKS_A_SECOND;
	own.context = context;
}

void ri_judge_news(void)
{
	own.news++;
}

bool ri_judge_is_old(const struct ri_judged *answer)
{
	return answer->news < own.news;
}

bool ri_judge_is_news(enum ri_question question)
{
	return own.seen[question] < own.news;
}

/* In the judge: a line of its own is for PID 1 to print. What finds no room is lost. */
static bool keep_line(const char *line, size_t length)
{
	struct ri_judged *page = own.page;

	if (length > RI_JUDGED_TEXT - page->length)
		return true;
	memcpy(page->text + page->length, line, length);
	__atomic_store_n(&page->length, page->length + (uint32_t)length, __ATOMIC_RELEASE);
	return true;
}

static int judge(void *context)
{
	(void)context;
	ri_log_through(keep_line);
	own.judge(own.asked, own.page, own.context);
	__atomic_store_n(&own.page->stage, RI_JUDGED_WHOLE, __ATOMIC_RELEASE);
	return 0;
}

static void judge_alone(void *context)
{
	judge(context);
}

/* Before each question: what the last one left is nothing any more. */
static bool begin(enum ri_question question)
{
	if (own.judge == NULL)
		return false;
	if (own.page == NULL)
		own.page = ri_pages_shared(sizeof(*own.page));
	if (own.page == NULL)
		return false;
	memset(own.page, 0, offsetof(struct ri_judged, text));
	own.page->first = -1;
	own.page->news = own.news;
	own.seen[question] = own.news;
	own.asked = question;
	own.printed = 0;
	own.waits[question] = false;
	return true;
}

static bool start(enum ri_question question)
{
	if (!begin(question))
		return false;
	own.helper = ri_helper_start(&(struct ri_helper_task){
		.body = judge_alone, .signal = SIGIO, .user = RI_HELPER_SAME,
		.name = "rankinit-judge", .seconds = own.most_s,
	});
	return own.helper != 0;
}

bool ri_judge_ask(enum ri_question question)
{
	if (own.helper == 0)
		return start(question);
	own.waits[question] = true;
	return true;
}

int64_t ri_judge_due(void)
{
	return ri_helper_due(own.helper);
}

/*
 * NULL where it is not whole or not sound: all of it but text, which is bytes that are printed, and
 * what is carried, which is bytes.
 */
static const struct ri_judged *answer(void)
{
	struct ri_judged *page = own.page;
	struct ri_link_message *said = &page->said;

	if (page->stage != RI_JUDGED_WHOLE)
		return NULL;
	if (said->kind == RI_LINK_END && !ri_link_packet_check(said, sizeof(*said)))
		return NULL;
	page->last_line[sizeof(page->last_line) - 1] = '\0';
	return page->news <= own.news && page->length <= RI_JUDGED_TEXT &&
		page->carried_length <= RI_CARRIED_SIZE &&
		page->first >= -1 && page->first < RI_MAX_LOCAL &&
		page->inner_status < 256 && ri_verdict_is_sound(&page->verdict) ? page : NULL;
}

enum ri_question ri_judge_take(const struct ri_judged **out)
{
	enum ri_question question = own.asked;
	int status = 0;

	if (!ri_helper_reap(&own.helper, &status))
		return RI_ASK_NOTHING;
	own.killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	*out = answer();
	return question;
}

unsigned ri_judge_killed(void)
{
	return own.killed;
}

void ri_judge_go_on(void)
{
	/* where none can be forked any more, what it would have seen is news still */
	for (int question = 0; question < RI_ASK_NOTHING && own.helper == 0; question++)
		if (own.waits[question] && !start((enum ri_question)question))
			own.seen[question] = 0;
}

/* What it has said since the last time. */
static void print(void *unused)
{
	uint32_t stage = __atomic_load_n(&own.page->stage, __ATOMIC_ACQUIRE);
	uint32_t length = __atomic_load_n(&own.page->length, __ATOMIC_ACQUIRE);

	(void)unused;
	if (own.asked != RI_ASK_ENDED || stage == 0 || length > RI_JUDGED_TEXT ||
		length < own.printed)
		return;
	ri_log_lines(own.page->text + own.printed, length - own.printed);
	own.printed = length;
}

const struct ri_judged *ri_judge_wait(enum ri_question question, const struct ri_apart *limits,
	const char **why)
{
	struct ri_apart call = { .deaf_ms = own.most_s * 1000 };
	bool late, files_lost = false;
	int status;

	ri_judge_end();
	*why = "no process can be made that reads what they wrote";
	if (!begin(question))
		return NULL;
	if (limits != NULL)
		call = *limits;
	if (call.most_ms < own.most_s * 1000)
		call.most_ms = own.most_s * 1000;
	call.work = judge;
	call.argument = NULL;
	call.forked = true;
	call.meanwhile = print;
	status = ri_apart(&call);
	late = status < 0 && (errno == ETIMEDOUT || errno == EINTR);
	if (late)
		*why = "what they wrote could not be read in time";
	else if (status < 0 && errno == ECANCELED)
		*why = "the process that read what they wrote has crashed";
	else if (status >= 0)
		*why = "the process that read what they wrote left nothing that makes sense";
	/* the verdict is there, and its files are late or lost */
	if (own.page->stage == RI_JUDGED_SAID) {
		own.page->stage = RI_JUDGED_WHOLE;
		files_lost = true;
	}
	if (answer() == NULL)
		return NULL;
	print(NULL);
	if (files_lost && call.subject != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: the report cannot be written: %s [%s]", call.subject,
			late ? "its file system does not answer" : "its process has crashed",
			ri_code_name(RI_CODE_FILE_SLOW));
	return own.page;
}

const struct ri_judged *ri_judge_here(enum ri_question question)
{
	if (!begin(question))
		return NULL;
	own.judge(question, own.page, own.context);
	return own.page;
}

void ri_judge_end(void)
{
	/* its answer is not taken any more, so that what it saw is news still */
	if (own.helper != 0)
		own.seen[own.asked] = 0;
	ri_helper_leave(&own.helper);
	memset(own.waits, 0, sizeof(own.waits));
}
