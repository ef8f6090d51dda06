/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for programs: why a job ended, or the ranks of a node, and which rank failed first.
 * The judge finds it (brief.h), the link tells it to the other nodes, a restart carries it to the
 * next attempt, an inner rankinit leaves it for an outer one, and the report and its last line have
 * it. verdict_lines.h has the one for people.
 */
#ifndef RI_REPORT_VERDICT_H
#define RI_REPORT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Why a job ended, in one word. */
enum ri_cause_word {
#define RI_CAUSE(symbol, word, retry, meaning, seen, example) RI_CAUSE_##symbol,
#include "report/causes.def"
#undef RI_CAUSE
	RI_CAUSE_COUNT
};

enum ri_retry {
	RI_RETRY_SAME,		/* also where nothing is known */
	RI_RETRY_NEVER,
	RI_RETRY_OTHER_NODE,
	RI_RETRY_COUNT
};

/* Both are decided together: the table has the retry of a cause, and the rule of the others. */
struct ri_why {
	enum ri_cause_word cause;
	enum ri_retry retry;
};

/* What an end is evidence of, from the least to the most: blame.h. */
enum ri_class {
	RI_CLASS_NONE,		/* it did not fail */
	RI_CLASS_STOPPED,
	RI_CLASS_LOSS,
	RI_CLASS_UNKNOWN,
	RI_CLASS_OWN,
};

enum { RI_VERDICT_HOST = 65 };	/* bytes of a host's name, '\0' included */

/* The greatest mark, of 63 bits, as JSON's numbers are. */
#define RI_VERDICT_MARK INT64_MAX

struct ri_verdict {
	struct ri_why why;
	enum ri_class class;
	int status;		/* of this rankinit, before --exit-map */
	int64_t rank, node;	/* that failed first; -1: not known */
	uint64_t retries;	/* how often the ranks had been started again */
	uint64_t mark;		/* the same of the same failure; 0: not known */
	/* of a stop from outside: had a rank failed before, without having ended? */
	bool failed_before;
	char host[RI_VERDICT_HOST];	/* of that node; "": not known */
};

/* Is each member in its range? Another process may have written it. */
static inline bool ri_verdict_is_sound(const struct ri_verdict *verdict)
{
	return (unsigned)verdict->why.cause < RI_CAUSE_COUNT &&
		(unsigned)verdict->why.retry < RI_RETRY_COUNT &&
		(unsigned)verdict->class <= RI_CLASS_OWN &&
		verdict->status >= 0 && verdict->status <= 255 &&
		verdict->rank >= -1 && verdict->node >= -1 && verdict->mark <= RI_VERDICT_MARK &&
		*(const unsigned char *)&verdict->failed_before <= 1 &&
		memchr(verdict->host, '\0', sizeof(verdict->host)) != NULL;
}

#endif
