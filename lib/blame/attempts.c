/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which reports are of one attempt of one job, and which of these is the newest. What is counted in
 * that beside the suspects: the nodes and the ranks that left no report, the ranks that ended for
 * another one's end, the reports that are of another life of their node, or whose clock goes wrong.
 */
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
			*attempt = (struct ri_attempt){ .reports = list + at, .count = kept };
			for (size_t k = at; k < at + kept; k++) {
				ri_time_see_earlier(&attempt->began, list[k]->began);
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
	job->judged = job->attempts;
	return 0;
}

bool ri_number_set_lacks(const struct ri_number_set *numbers, int64_t number)
{
	return number >= 0 && (size_t)number < numbers->all && !numbers->seen[number];
}

bool ri_number_set_next(const struct ri_number_set *numbers, size_t *first, size_t *end)
{
	for (*first = *end; *first < numbers->all && numbers->seen[*first]; (*first)++)
		;
	for (*end = *first; *end < numbers->all && !numbers->seen[*end]; (*end)++)
		;
	return *end > *first;
}

static int begin_numbers(struct ri_number_set *numbers, int64_t all, struct ri_arena *arena)
{
	numbers->all = numbers->missing = all < 0 ? 0 : (size_t)all;
	numbers->seen = ri_arena_alloc(arena, numbers->all + 1);
	return numbers->seen == NULL ? -1 : 0;
}

static void see(struct ri_number_set *numbers, int64_t number)
{
	if (ri_number_set_lacks(numbers, number)) {
		numbers->seen[number] = true;
		numbers->missing--;
	}
}

int ri_reports_count(struct ri_reports *job)
{
	if (begin_numbers(&job->nodes, job->judged->reports[0]->nodes, &job->arena) < 0 ||
		begin_numbers(&job->ranks, job->judged->reports[0]->world, &job->arena) < 0)
		return -1;
	for (size_t i = 0; i < job->judged->count; i++) {
		const struct ri_node_report *report = job->judged->reports[i];

		see(&job->nodes, report->node);
		for (size_t rank = 0; rank < report->count; rank++)
			see(&job->ranks, report->ranks[rank].rank);
		if (report->verdict == NULL || report->verdict_node < 0)
			continue;
		if (job->verdict == NULL)
			job->verdict = report;
		job->verdicts_differ |= report->verdict_node != job->verdict->verdict_node ||
			strcmp(report->verdict, job->verdict->verdict) != 0;
	}
	/* where no report tells its number none is called missing: the numbers are not known */
	if (job->nodes.missing == job->nodes.all)
		job->nodes.missing = job->nodes.all = 0;
	if (job->ranks.missing == job->ranks.all)
		job->ranks.missing = job->ranks.all = 0;
	if (job->verdict != NULL && !job->verdicts_differ)
		job->verdict_node = job->verdict->verdict_node;
	return 0;
}

/* Where the end of another one ended it, and it is no suspect. */
static void count_victim(struct ri_reports *job, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	struct ri_victims *victims = &job->victims;

	for (size_t i = 0; i < job->suspect_count; i++)
		if (job->suspects[i].report == report &&
			(job->suspects[i].rank == rank || job->suspects[i].rank == NULL))
			return;
	if (rank->class == RI_CLASS_LOSS)
		victims->lost++;
	else if (rank->class == RI_CLASS_STOPPED || rank->told || rank->state == RI_END_RUNNING ||
		rank->state == RI_END_NOT_STARTED)
		victims->stopped++;
	else if (rank->class == RI_CLASS_OWN || rank->class == RI_CLASS_UNKNOWN)
		victims->failed++;
	victims->ranks = victims->lost + victims->stopped + victims->failed;
}

static int compare_nodes(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	return compare_numbers(a->node, b->node) ?:
		a->node >= 0 ? 0 : compare_texts(a->host, b->host);
}

/* Of which life of its node the report is, by the earliest start and loss of all others. */
static enum ri_life life_of(const struct ri_attempt *attempt, const struct ri_node_report *report)
{
	int64_t start = 0, loss = 0;	/* there is none */

	for (size_t i = 0; i < attempt->count; i++) {
		if (attempt->reports[i] == report)
			continue;
		ri_time_see_earlier(&start, attempt->reports[i]->began);
		ri_time_see_earlier(&loss, attempt->reports[i]->first_loss);
	}
	if (loss != 0 && report->began > loss)
		return RI_LATER_LIFE;
	return start != 0 && report->ended < start ? RI_EARLIER_LIFE : RI_THIS_LIFE;
}

static int compare_starts(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	return compare_numbers(a->began, b->began);
}

int ri_reports_count_others(struct ri_reports *job)
{
	const struct ri_attempt *attempt = job->judged;
	const struct ri_node_report **list =
		ri_arena_array(&job->arena, attempt->count, sizeof(*list));
	size_t count = 0;

	if (list == NULL)
		return -1;
	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];
		size_t before = job->victims.ranks;

		for (size_t k = 0; k < report->count; k++)
			count_victim(job, report, &report->ranks[k]);
		if (job->victims.ranks > before)
			list[count++] = report;
	}
	/* reports of several ranks of one node are one node */
	qsort(list, count, sizeof(*list), compare_nodes);
	for (size_t i = 0; i < count; i++)
		job->victims.nodes += i == 0 || !ri_node_report_is_beside(list[i - 1], list[i]);
	for (size_t i = 0; i < job->suspect_count; i++)
		job->suspects[i].life = life_of(attempt, job->suspects[i].report);
	/* those that began a minute before or after the one in the middle go astray */
	memcpy(list, attempt->reports, attempt->count * sizeof(*list));
	qsort(list, attempt->count, sizeof(*list), compare_starts);
	job->usual_start = list[attempt->count / 2]->began;
	job->astray = list;
	for (size_t i = 0; i < attempt->count; i++)
		if (llabs(list[i]->began - job->usual_start) > RI_REPORTS_MINUTE_US)
			list[job->astray_count++] = list[i];
	return 0;
}
