/* SPDX-License-Identifier: Apache-2.0 */
#include "report/again.h"

#include <string.h>

#include "base/error.h"

enum { LONG_MS = 60000 };	/* an attempt of that length has got somewhere */

enum ri_again ri_again_decide(const struct ri_again_case *failed)
{
	if (failed->stopped)
		return RI_AGAIN_STOPPED;
	if (failed->ordered)
		return RI_AGAIN_ORDERED;
	if (failed->unstarted)
		return RI_AGAIN_NO_START;
	if (failed->why.retry == RI_RETRY_NEVER)
		return RI_AGAIN_NEVER;
	if (failed->attempt >= failed->restarts)
		return RI_AGAIN_USED_UP;
	/* nothing was gained by the last start, and nothing will be by another one */
	if (failed->attempt > 0 && failed->signature[0] != '\0' &&
		strcmp(failed->signature, failed->before) == 0 &&
		failed->lines <= failed->lines_before && failed->lasted_ms < LONG_MS)
		return RI_AGAIN_SAME;
	if (failed->remains)
		return RI_AGAIN_REMAINS;
	return failed->error != 0 ? RI_AGAIN_REFUSED : RI_AGAIN_YES;
}

void ri_again_add(struct ri_text *out, enum ri_again why, const struct ri_again_case *failed)
{
	static const char *const reasons[] = {
		[RI_AGAIN_YES] = "",
		[RI_AGAIN_STOPPED] = "a stop came from outside",
		[RI_AGAIN_ORDERED] = "another node's failure stopped this one",
		[RI_AGAIN_NO_START] = "not all could be started",
		[RI_AGAIN_REMAINS] = "a process that was left is still there",
		[RI_AGAIN_SAME] = "the same failure came twice, and this attempt printed no "
			"more than the one before it",
	};

	if (why == RI_AGAIN_USED_UP)
		ri_text_addf(out, "--restarts=%llu is used up",
			(unsigned long long)failed->restarts);
	else if (why == RI_AGAIN_NEVER)
		ri_text_addf(out, "the next attempt would end the same way (cause=%s, "
			"retry=never)",
			ri_cause_word_name(failed->why.cause));
	else if (why == RI_AGAIN_REFUSED)
		ri_text_addf(out, "rankinit cannot execute itself: %s [%s]",
			strerror(failed->error), ri_code_name(RI_CODE_RESTARTS_REFUSED));
	else
		ri_text_add(out, reasons[why]);
}

void ri_again_sign(struct ri_text *out, enum ri_cause_word cause,
	const struct ri_rank_outcome *first, const char *words)
{
	ri_text_addf(out, "%s %llu ", ri_cause_word_name(cause),
		(unsigned long long)first->rank);
	if (words[0] != '\0')
		ri_text_add_bytes(out, words, strcspn(words, "\n"));
	else
		ri_text_addf(out, "%d %d %d", (int)first->end, first->exit_code, first->signal);
}
