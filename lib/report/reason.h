/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a rank ended, as far as it said so itself: what stands below the first
 * line of the verdict.
 */
#ifndef RI_REPORT_REASON_H
#define RI_REPORT_REASON_H

#include "base/text.h"
#include "report/outcome.h"
#include "words/words.h"

enum {
	RI_VERDICT_COLUMNS = 240,
	RI_REASON_LINES = 14,	/* that ri_reason_add appends, at most */
	RI_MAX_TAIL = 65536,	/* bytes of it that are looked at */
};

/*
 * Why a rank ended, as far as it said so itself, without secrets. It is large:
 * keep it in static storage.
 */
struct ri_reason {
	const struct ri_rank_outcome *rank;	/* whose it is, of so many bytes: */
	uint64_t total;		/* 0: not known */
	bool shows;		/* a traceback in these: it ended of it, or had printed it */
	char text[2 * RI_MAX_TAIL];	/* what it wrote; the spans point in here */
	bool has_traceback;
	struct ri_traceback traceback;
	struct ri_last_words words;	/* without a traceback, or shortly before it */
	struct ri_span lines[RI_LAST_LINES];	/* the last ones that are no noise */
	size_t line_count;	/* where there is only noise: that */
};

/*
 * Look for the reason in what a rank wrote to stderr: ri_class_find has said which of its words
 * explain its end. Where *out is the reason of this rank and the same bytes already, it stays.
 */
void ri_reason_find(const struct ri_rank_outcome *rank, struct ri_reason *out);

/*
 * Append the lines that tell the reason, each ended by '\n': the exception, what
 * caused it and the innermost frames; or torch's error file; or the words that a
 * runtime died with and the last lines, or where to look if there are none; then
 * where its log is.
 */
void ri_reason_add(struct ri_text *out, const struct ri_rank_outcome *rank,
	const struct ri_reason *reason);

/* Append a line that somebody else wrote behind words of ours, cut to what fits, and its end. */
void ri_reason_add_line(struct ri_text *out, const char *before, struct ri_span line);

#endif
