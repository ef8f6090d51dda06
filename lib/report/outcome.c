/* SPDX-License-Identifier: Apache-2.0 */
#include "report/outcome.h"

bool ri_rank_failed(const struct ri_rank_outcome *rank)
{
	return rank->leaving || rank->end == RI_END_EXEC_FAILED ||
		rank->end == RI_END_SIGNALED ||
		(rank->end == RI_END_EXITED && rank->exit_code != 0);
}

enum {
	OLD_TRACEBACK = 50,	/* lines after it */
	OLD_BEFORE_SIGNAL = 3,
	MESSAGE_SECONDS = 10,	/* for a long message, and what Python does before its end */
};

/*
 * Lines after it may all be its message, of which a tensor has thousands: Python ends with 1 then.
 * Of one that was stopped at its exit a few lines would be no such message.
 */
static bool may_be_message(const struct ri_rank_outcome *rank)
{
	bool recent = rank->traceback_at.tv_sec > 0 &&
		rank->ended.tv_sec - rank->traceback_at.tv_sec <= MESSAGE_SECONDS;

	return recent && (rank->end == RI_END_EXITED ? rank->exit_code == 1
		: rank->wrote.head > 0 && rank->course == RI_COURSE_ENDING);
}

bool ri_rank_ended_of(const struct ri_rank_outcome *rank, const struct ri_words *words)
{
	if (!words->has_traceback)
		return false;
	if (may_be_message(rank))
		return true;
	if (rank->end == RI_END_EXITED || rank->leaving)
		return words->traceback.lines_after <= OLD_TRACEBACK;
	return words->lines_since <= OLD_BEFORE_SIGNAL;
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
	char buffer[64];
	struct ri_text text;

	if (at.tv_sec == 0)
		return json_null();
	ri_text_init(&text, buffer, sizeof(buffer));
	ri_time_add(&text, at);
	return json_string(buffer);
}
