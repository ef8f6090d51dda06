/* SPDX-License-Identifier: Apache-2.0 */
/* Which reports are of one attempt of one job, and which of these is the newest. */
#include "blame/reports.h"

#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000000)	/* us: no clock goes so wrong, and no node comes so late */

enum { LIVES = 32 };	/* of a job that are told apart by the clock: what is older is one */

int ri_reports_begin(struct ri_reports *job, size_t files)
{
	*job = (struct ri_reports){ .verdict_node = -1 };
	job->list = ri_arena_array(&job->arena, files, sizeof(struct ri_node_report *));
	job->skips = ri_arena_array(&job->arena, files, sizeof(*job->skips));
	return job->list == NULL || job->skips == NULL ? -1 : 0;
}

void ri_reports_skip(struct ri_reports *job, const char *file, const char *why)
{
	const char *copy = ri_arena_copy(&job->arena, why, strlen(why));

	job->skips[job->skip_count++] = (struct ri_skipped_file){
		file, copy == NULL ? "no memory left for it" : copy,
	};
}

void ri_reports_add(struct ri_reports *job, const char *file, const char *bytes, size_t length)
{
	bool full = ri_arena_size(&job->arena) > RI_REPORTS_BYTES;
	struct ri_node_report *report = full ? NULL : ri_arena_alloc(&job->arena, sizeof(*report));
	uint64_t digest = length, word;
	char why[RI_REPORTED_WHY];

	if (report == NULL) {
		ri_reports_skip(job, file, full ? "there is no room left for more reports"
			: "no memory left for it");
	} else if (ri_node_report_read(report, bytes, length, &job->arena, why) < 0) {
		ri_reports_skip(job, file, why);
	} else {
		/* eight bytes at a time: it tells copies from each other, and no more than that */
		for (size_t part; length > 0; bytes += part, length -= part) {
			word = 0;
			part = length < sizeof(word) ? length : sizeof(word);
			memcpy(&word, bytes, part);
			digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
			digest ^= digest >> 32;
		}
		report->file = file;
		report->digest = digest;
		job->list[job->count++] = report;
	}
}

/* Texts that may be missing; one that is, comes first. */
static int compare_texts(const char *a, const char *b)
{
	return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Do they say that they are of one job? */
static int compare_jobs(const struct ri_node_report *a, const struct ri_node_report *b)
{
	return compare_texts(a->job, b->job) ?: compare_numbers(a->nodes, b->nodes) ?:
		compare_numbers(a->world, b->world);
}

static int compare_lives(const struct ri_node_report *a, const struct ri_node_report *b)
{
	return compare_jobs(a, b) ?: compare_numbers(a->attempt, b->attempt);
}

/* Jobs together, and of each what began last at first. */
static int compare(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	return compare_lives(a, b) ?: -compare_numbers(a->began, b->began) ?:
		(a->digest > b->digest) - (a->digest < b->digest) ?: strcmp(a->file, b->file);
}

/* Where a report stands in its job: its node, or its rank, or its machine. */
static int compare_places(const struct ri_node_report *a, const struct ri_node_report *b)
{
	bool placed = a->node >= 0 || a->ranks[0].rank >= 0;

	return compare_numbers(a->node, b->node) ?:
		compare_numbers(a->ranks[0].rank, b->ranks[0].rank) ?:
		placed ? 0 : compare_texts(a->host, b->host);
}

/* By the clock of its own node, which two reports of that node have in common. */
static int64_t own_start(const struct ri_node_report *report)
{
	return report->began + report->ahead;
}

static int compare_places_and_times(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	return compare_places(a, b) ?: -compare_numbers(own_start(a), own_start(b));
}

static bool is_again(const struct ri_node_report *const *list, size_t count, size_t index)
{
	return index < count && index > 0 && compare_places(list[index - 1], list[index]) == 0;
}

/* When two attempts began, by the places that have reports of both, sorted by place. */
static bool find_two(const struct ri_node_report *const *list, size_t count, int64_t *last,
	int64_t *before)
{
	double late = 0, early = 0;
	size_t pairs = 0;

	for (size_t i = 1; i < count; i++) {
		if (!is_again(list, count, i) || is_again(list, count, i - 1))
			continue;
		late += (double)own_start(list[i - 1]);
		early += (double)own_start(list[i]);
		pairs++;
	}
	if (pairs == 0)
		return false;
	*last = (int64_t)(late / (double)pairs);
	*before = (int64_t)(early / (double)pairs);
	return true;
}

/*
 * Of one job, the newest attempt at first: what ended long before that began is older, and so is
 * the second report of one place, and what began when those did. Where no place has two, a clock
 * may be wrong instead. Returns how many reports are of it; the others stand behind.
 */
static size_t split(const struct ri_node_report **list, size_t count,
	const struct ri_node_report **spare)
{
	int64_t newest = list[0]->began, last = 0, before = 0;
	size_t kept = 0, old = 0;
	bool two;

	qsort(list, count, sizeof(*list), compare_places_and_times);
	two = find_two(list, count, &last, &before);
	for (size_t i = 0; i < count; i++) {
		bool again = kept > 0 && compare_places(list[kept - 1], list[i]) == 0;
		bool alone = !again && !is_again(list, count, i + 1);
		int64_t start = own_start(list[i]);
		bool early = list[i]->ended < newest - (two ? RI_REPORTS_MINUTE_US : HOUR) ||
			(two && alone && llabs(start - before) < llabs(start - last));

		/* an attempt that the platform tells need not be told by the clock */
		if (again || (list[i]->attempt < 0 && early))
			spare[old++] = list[i];
		else
			list[kept++] = list[i];
	}
	memcpy(list + kept, spare, old * sizeof(*spare));
	return kept;
}

/* The job that ended last at first, and of each its newest attempt. */
static int compare_attempts(const void *first, const void *second)
{
	const struct ri_attempt *a = first, *b = second;
	const struct ri_node_report *one = a->reports[0], *other = b->reports[0];

	return -compare_numbers(a->job_ended, b->job_ended) ?: compare_jobs(one, other) ?:
		-compare_numbers(one->attempt, other->attempt) ?:
		-compare_numbers(a->ended, b->ended) ?: strcmp(one->file, other->file);
}

/* A report that was copied, or named twice, is one. Returns how many there are; sorted. */
static size_t drop_copies(struct ri_reports *job, const struct ri_node_report **list)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->count; i++) {
		const struct ri_node_report *last = kept == 0 ? NULL : list[kept - 1];

		if (last != NULL && compare_lives(last, list[i]) == 0 &&
			compare_places(last, list[i]) == 0 && last->began == list[i]->began &&
			last->ended == list[i]->ended && last->digest == list[i]->digest)
			ri_reports_skip(job, list[i]->file, "another file has the same report");
		else
			list[kept++] = list[i];
	}
	return kept;
}

int ri_reports_find_attempts(struct ri_reports *job)
{
	const struct ri_node_report **list = ri_arena_array(&job->arena, job->count, sizeof(*list));
	const struct ri_node_report **spare =
		ri_arena_array(&job->arena, job->count, sizeof(*spare));
	struct ri_attempt *attempt;
	size_t end, kept, count;

	job->attempts = ri_arena_array(&job->arena, job->count, sizeof(*job->attempts));
	if (list == NULL || spare == NULL || job->attempts == NULL)
		return -1;
	memcpy(list, job->list, job->count * sizeof(*list));
	qsort(list, job->count, sizeof(*list), compare);
	count = drop_copies(job, list);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && compare_lives(list[i], list[end]) == 0; end++)
			;
		kept = 0;
		for (size_t at = i, nth = 0; at < end; at += kept, nth++) {
			qsort(list + at, end - at, sizeof(*list), compare);
			kept = nth == LIVES ? end - at : split(list + at, end - at, spare);
			attempt = &job->attempts[job->attempt_count++];
			*attempt = (struct ri_attempt){ .reports = list + at, .count = kept,
				.began = list[at]->began };
			for (size_t k = at; k < at + kept; k++) {
				if (list[k]->began < attempt->began)
					attempt->began = list[k]->began;
				if (list[k]->ended > attempt->ended)
					attempt->ended = list[k]->ended;
			}
		}
	}
	/* attempts of one job stand side by side, as they were made */
	for (size_t i = 0; i < job->attempt_count; i = end) {
		int64_t last = 0;

		for (end = i; end < job->attempt_count && compare_jobs(job->attempts[i].reports[0],
			job->attempts[end].reports[0]) == 0; end++)
			last = job->attempts[end].ended > last ? job->attempts[end].ended : last;
		for (size_t k = i; k < end; k++)
			job->attempts[k].job_ended = last;
	}
	qsort(job->attempts, job->attempt_count, sizeof(*job->attempts), compare_attempts);
	return 0;
}
