/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/case.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE INT64_C(60000000)
#define HOUR (60 * MINUTE)	/* no clock goes so wrong, and no node comes so late */

enum { LIVES = 32 };	/* of a job that are told apart by the clock: what is older is one */

int ri_case_begin(struct ri_case *c, size_t files)
{
	*c = (struct ri_case){ .verdict_node = -1 };
	c->witnesses = ri_arena_array(&c->arena, files, sizeof(struct ri_witness *));
	c->skips = ri_arena_array(&c->arena, files, sizeof(*c->skips));
	return c->witnesses == NULL || c->skips == NULL ? -1 : 0;
}

void ri_case_skip(struct ri_case *c, const char *file, const char *why)
{
	const char *copy = ri_arena_copy(&c->arena, why, strlen(why));

	c->skips[c->skip_count++] = (struct ri_case_skip){
		file, copy == NULL ? "no memory left for it" : copy,
	};
}

/* Eight bytes at a time: it tells copies from each other, and no more than that. */
static uint64_t digest_of(const char *bytes, size_t length)
{
	uint64_t digest = length, word;

	for (size_t part; length > 0; bytes += part, length -= part) {
		word = 0;
		part = length < sizeof(word) ? length : sizeof(word);
		memcpy(&word, bytes, part);
		digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		digest ^= digest >> 32;
	}
	return digest;
}

void ri_case_add(struct ri_case *c, const char *file, const char *bytes, size_t length)
{
	struct ri_witness *witness;
	uint64_t digest = digest_of(bytes, length);
	char why[RI_WITNESS_WHY];

	if (c->kept > RI_CASE_BYTES) {
		ri_case_skip(c, file, "there is no room left for more reports");
		return;
	}
	witness = ri_arena_alloc(&c->arena, sizeof(*witness));
	if (witness == NULL) {
		ri_case_skip(c, file, "no memory left for it");
	} else if (ri_witness_read(witness, bytes, length, &c->arena, why) < 0) {
		ri_case_skip(c, file, why);
	} else {
		witness->file = file;
		witness->digest = digest;
		c->witnesses[c->count++] = witness;
	}
	c->kept = ri_arena_size(&c->arena);
}

/* Texts that may be missing; one that is, comes first. */
static int compare_texts(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Do they say that they are of one job? */
static int compare_jobs(const struct ri_witness *a, const struct ri_witness *b)
{
	int order = compare_texts(a->job, b->job);

	if (order == 0)
		order = compare_numbers(a->nodes, b->nodes);
	return order != 0 ? order : compare_numbers(a->world, b->world);
}

static int compare_lives(const struct ri_witness *a, const struct ri_witness *b)
{
	int order = compare_jobs(a, b);

	return order != 0 ? order : compare_numbers(a->attempt, b->attempt);
}

/* Jobs together, and of each what began last at first. */
static int compare(const void *first, const void *second)
{
	const struct ri_witness *a = *(const struct ri_witness *const *)first;
	const struct ri_witness *b = *(const struct ri_witness *const *)second;
	int order = compare_lives(a, b);

	if (order == 0)
		order = compare_numbers(ri_witness_true(b, b->began), ri_witness_true(a, a->began));
	if (order == 0)
		order = (a->digest > b->digest) - (a->digest < b->digest);
	return order != 0 ? order : strcmp(a->file, b->file);
}

/* Where a report stands in its job: its node, or its rank, or its machine. */
static int compare_places(const void *first, const void *second)
{
	const struct ri_witness *a = *(const struct ri_witness *const *)first;
	const struct ri_witness *b = *(const struct ri_witness *const *)second;
	int order = compare_numbers(a->node, b->node);

	if (order == 0)
		order = compare_numbers(a->ranks[0].rank, b->ranks[0].rank);
	if (order == 0 && a->node < 0 && a->ranks[0].rank < 0)
		order = compare_texts(a->host, b->host);
	return order;
}

static int compare_places_and_times(const void *first, const void *second)
{
	const struct ri_witness *a = *(const struct ri_witness *const *)first;
	const struct ri_witness *b = *(const struct ri_witness *const *)second;
	int order = compare_places(first, second);

	return order != 0 ? order : -compare_numbers(a->began, b->began);
}

static bool is_again(const struct ri_witness *const *list, size_t count, size_t index)
{
	return index < count && index > 0 && compare_places(&list[index - 1], &list[index]) == 0;
}

/* When two attempts began, by the places that have reports of both, sorted by place. */
static bool find_two(const struct ri_witness *const *list, size_t count, int64_t *last,
	int64_t *before)
{
	double late = 0, early = 0;
	size_t pairs = 0;

	for (size_t i = 1; i < count; i++) {
		if (!is_again(list, count, i) || is_again(list, count, i - 1))
			continue;
		late += (double)list[i - 1]->began;
		early += (double)list[i]->began;
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
static size_t split(const struct ri_witness **list, size_t count, const struct ri_witness **spare)
{
	int64_t newest = ri_witness_true(list[0], list[0]->began), last = 0, before = 0;
	size_t kept = 0, old = 0;
	bool two;

	qsort(list, count, sizeof(*list), compare_places_and_times);
	two = find_two(list, count, &last, &before);
	for (size_t i = 0; i < count; i++) {
		bool again = kept > 0 && compare_places(&list[kept - 1], &list[i]) == 0;
		bool alone = !again && !is_again(list, count, i + 1);
		bool early = ri_witness_true(list[i], list[i]->ended) <
				newest - (two ? MINUTE : HOUR) ||
			(two && alone &&
				llabs(list[i]->began - before) < llabs(list[i]->began - last));

		/* an attempt that the platform tells need not be told by the clock */
		if (again || (list[i]->attempt < 0 && early))
			spare[old++] = list[i];
		else
			list[kept++] = list[i];
	}
	memcpy(list + kept, spare, old * sizeof(*spare));
	return kept;
}

static void add_attempt(struct ri_case *c, const struct ri_witness **list, size_t count)
{
	struct ri_case_attempt *attempt = &c->attempts[c->attempt_count++];

	*attempt = (struct ri_case_attempt){ .witnesses = list, .count = count };
	for (size_t i = 0; i < count; i++) {
		int64_t began = ri_witness_true(list[i], list[i]->began);
		int64_t ended = ri_witness_true(list[i], list[i]->ended);

		if (attempt->began == 0 || began < attempt->began)
			attempt->began = began;
		if (ended > attempt->ended)
			attempt->ended = ended;
	}
}

/* The job that ended last at first, and of each its newest attempt. */
static int compare_attempts(const void *first, const void *second)
{
	const struct ri_case_attempt *a = first, *b = second;
	const struct ri_witness *one = a->witnesses[0], *other = b->witnesses[0];
	int order = -compare_numbers(a->job_ended, b->job_ended);

	if (order == 0)
		order = compare_jobs(one, other);
	if (order == 0)
		order = -compare_numbers(one->attempt, other->attempt);
	if (order == 0)
		order = -compare_numbers(a->ended, b->ended);
	return order != 0 ? order : strcmp(one->file, other->file);
}

/* Attempts of one job stand side by side, as they were made. */
static void find_ends_of_jobs(struct ri_case *c)
{
	size_t end;

	for (size_t i = 0; i < c->attempt_count; i = end) {
		int64_t last = 0;

		for (end = i; end < c->attempt_count && compare_jobs(c->attempts[i].witnesses[0],
			c->attempts[end].witnesses[0]) == 0; end++)
			last = c->attempts[end].ended > last ? c->attempts[end].ended : last;
		for (size_t k = i; k < end; k++)
			c->attempts[k].job_ended = last;
	}
}

/* A report that was copied, or named twice, is one. Returns how many there are; sorted. */
static size_t drop_copies(struct ri_case *c, const struct ri_witness **list)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct ri_witness *last = kept == 0 ? NULL : list[kept - 1];

		if (last != NULL && compare_lives(last, list[i]) == 0 &&
			compare_places(&last, &list[i]) == 0 && last->began == list[i]->began &&
			last->ended == list[i]->ended && last->digest == list[i]->digest)
			ri_case_skip(c, list[i]->file, "another file has the same report");
		else
			list[kept++] = list[i];
	}
	return kept;
}

static int find_attempts(struct ri_case *c)
{
	const struct ri_witness **list = ri_arena_array(&c->arena, c->count, sizeof(*list));
	const struct ri_witness **spare = ri_arena_array(&c->arena, c->count, sizeof(*spare));
	size_t end, kept, count;

	c->attempts = ri_arena_array(&c->arena, c->count, sizeof(*c->attempts));
	if (list == NULL || spare == NULL || c->attempts == NULL)
		return -1;
	memcpy(list, c->witnesses, c->count * sizeof(*list));
	qsort(list, c->count, sizeof(*list), compare);
	count = drop_copies(c, list);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && compare_lives(list[i], list[end]) == 0; end++)
			;
		kept = 0;
		for (size_t at = i, nth = 0; at < end; at += kept, nth++) {
			qsort(list + at, end - at, sizeof(*list), compare);
			kept = nth == LIVES ? end - at : split(list + at, end - at, spare);
			add_attempt(c, list + at, kept);
		}
	}
	find_ends_of_jobs(c);
	qsort(c->attempts, c->attempt_count, sizeof(*c->attempts), compare_attempts);
	return 0;
}

static bool is_seen(const struct ri_case_roll *roll, size_t number)
{
	return (roll->seen[number / 8] & 1u << number % 8) != 0;
}

bool ri_case_is_missing(const struct ri_case_roll *roll, size_t number)
{
	return number < roll->all && !is_seen(roll, number);
}

static void see(struct ri_case_roll *roll, int64_t number)
{
	if (number < 0 || (size_t)number >= roll->all || is_seen(roll, (size_t)number))
		return;
	roll->seen[number / 8] |= (unsigned char)(1u << number % 8);
	roll->missing--;
}

static int begin_roll(struct ri_case_roll *roll, int64_t all, struct ri_arena *arena)
{
	*roll = (struct ri_case_roll){ .all = all < 0 ? 0 : (size_t)all };
	roll->missing = roll->all;
	roll->seen = ri_arena_alloc(arena, roll->all / 8 + 1);
	return roll->seen == NULL ? -1 : 0;
}

/* Where no report tells its number, none of them is called missing: the numbers are not known. */
static void end_roll(struct ri_case_roll *roll)
{
	if (roll->missing == roll->all)
		*roll = (struct ri_case_roll){ .seen = roll->seen };
}

static int call_rolls(struct ri_case *c)
{
	const struct ri_case_attempt *newest = &c->attempts[0];

	if (begin_roll(&c->nodes, newest->witnesses[0]->nodes, &c->arena) < 0 ||
		begin_roll(&c->ranks, newest->witnesses[0]->world, &c->arena) < 0)
		return -1;
	for (size_t i = 0; i < newest->count; i++) {
		const struct ri_witness *witness = newest->witnesses[i];

		see(&c->nodes, witness->node);
		for (size_t rank = 0; rank < witness->count; rank++)
			see(&c->ranks, witness->ranks[rank].rank);
	}
	end_roll(&c->nodes);
	end_roll(&c->ranks);
	return 0;
}

/* What the link said of the job, where all that heard it heard the same. */
static void find_verdict(struct ri_case *c)
{
	const struct ri_case_attempt *newest = &c->attempts[0];

	for (size_t i = 0; i < newest->count; i++) {
		const struct ri_witness *witness = newest->witnesses[i];

		if (witness->verdict == NULL || witness->verdict_node < 0)
			continue;
		if (c->verdict == NULL)
			c->verdict = witness;
		c->verdicts_differ |= witness->verdict_node != c->verdict->verdict_node ||
			strcmp(witness->verdict, c->verdict->verdict) != 0;
	}
	if (c->verdict != NULL && !c->verdicts_differ)
		c->verdict_node = c->verdict->verdict_node;
}

int ri_case_gather(struct ri_case *c)
{
	if (find_attempts(c) < 0 || call_rolls(c) < 0)
		return -1;
	find_verdict(c);
	return 0;
}
