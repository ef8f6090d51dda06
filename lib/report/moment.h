/* SPDX-License-Identifier: Apache-2.0 */
/* When a rank failed, as far as it can be told. */
#ifndef RI_REPORT_MOMENT_H
#define RI_REPORT_MOMENT_H

#include "report/outcome.h"

struct ri_moment {
	int64_t second;		/* torch cuts its time to these */
	struct timespec at;
	unsigned order;		/* 0: unknown */
	bool witnessed;		/* by a file or a traceback */
};

/*
 * The second in its torch error file, then the time when the traceback that it
 * ended of appeared, or else that when it was seen to be dying, or its end.
 * ri_class_find has been asked before.
 */
struct ri_moment ri_moment_find(const struct ri_rank_outcome *rank);

/* By time; of two ends by the order of reaping, since a clock may be set meanwhile. */
bool ri_moment_is_earlier(const struct ri_moment *a, const struct ri_moment *b);

bool ri_time_is_before(struct timespec a, struct timespec b);

#endif
