/* SPDX-License-Identifier: Apache-2.0 */
#include "report/moment.h"

#include "report/torch_error.h"

bool ri_time_is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

struct ri_moment ri_moment_find(const struct ri_rank_outcome *rank)
{
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_moment moment = { .at = rank->ended, .order = rank->order };
	uint64_t second;

	if (rank->evidence.witnessed) {
		moment.at = rank->traceback_at;
		moment.witnessed = true;
	} else if (rank->gone_at.tv_sec > 0) {
		moment.at = rank->gone_at;
		moment.order = 0;
	}
	moment.second = moment.at.tv_sec;
	/* of another run, or by another clock: the file's time does not count */
	if (file.at != NULL && ri_torch_error_time(file, &second) &&
		(int64_t)second >= rank->started.tv_sec && (int64_t)second <= rank->ended.tv_sec) {
		moment.second = (int64_t)second;
		moment.witnessed = true;
	}
	return moment;
}

bool ri_moment_is_earlier(const struct ri_moment *a, const struct ri_moment *b)
{
	bool ordered = a->order > 0 && b->order > 0;

	if (ordered && !a->witnessed && !b->witnessed)
		return a->order < b->order;
	if (a->second != b->second)
		return a->second < b->second;
	if (ri_time_is_before(a->at, b->at) || ri_time_is_before(b->at, a->at))
		return ri_time_is_before(a->at, b->at);
	return ordered && a->order < b->order;
}
