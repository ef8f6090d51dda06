/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a node failed, by the clock of node 0: ten thousand nodes whose clocks drift, are set and
 * stand still. What is said holds the true time each time, and is exact where nothing happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "link/member.h"

enum { RUNS = 10000 };

#define S INT64_C(1000000)

/* A node, in true microseconds since it was up; node 0 has no wall clock of interest. */
static struct {
	int64_t ppm, ppm_0;	/* by which the clocks go wrong */
	int64_t stood_at, stood;	/* it stood still, its CLOCK_BOOTTIME with it, so long */
	int64_t set_at, set;	/* its wall clock was set, by so much */
	struct ri_clocks wall, node_0;
} node;

static uint64_t seed;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003) 14. */
static int64_t draw(int64_t least, int64_t most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return least + (int64_t)((seed * 0x2545f4914f6cdd1dULL >> 16) %
		(uint64_t)(most - least + 1));
}

static int64_t boot(int64_t t)
{
	int64_t stood = t < node.stood_at ? 0 : t - node.stood_at;

	t -= stood < node.stood ? stood : node.stood;
	return 500 * S + t + t / 1000000 * node.ppm;
}

static int64_t boot_0(int64_t t)
{
	return 9000 * S + t + t / 1000000 * node.ppm_0;
}

static int64_t wall(int64_t t)
{
	return 1769860800 * S + boot(t) + (t >= node.set_at ? node.set : 0);
}

static void look(int64_t t)
{
	ri_clocks_see(&node.wall, wall(t) - boot(t), 1, boot(t));
}

/* The question takes a while to node 0, and the answer back. Returns when that is here. */
static int64_t compare(int64_t t)
{
	int64_t there = t + draw(1, 50000), back = there + draw(1, 50000);
	int64_t half = (boot(back) - boot(t)) / 2;

	look(t);
	ri_clocks_see(&node.node_0, boot(back) - half - boot_0(there), half + 1, boot_0(there));
	return back;
}

/* It failed then, and says so now. */
static struct ri_link_end fail_at(int64_t t, int64_t now)
{
	struct ri_link_end end = { .at_us = (uint64_t)wall(t) };

	look(now);
	ri_clocks_convert(&node.wall, &end);
	compare(now);
	ri_clocks_convert(&node.node_0, &end);
	return end;
}

static int64_t how_wrong(const struct ri_link_end *end, int64_t t)
{
	return llabs((int64_t)end->at_us - boot_0(t));
}

/* Up, and compared with node 0 every five minutes: the last time then. */
static int64_t begin(int64_t until)
{
	int64_t t = S;

	node.wall = (struct ri_clocks){ .drift = false };
	node.node_0 = (struct ri_clocks){ .drift = true };
	for (; t < until; t += 300 * S)
		compare(t);
	return t - 300 * S;
}

static void test_random_clocks(void **state)
{
	size_t exact = 0;

	(void)state;
	for (seed = 1; seed <= RUNS; ) {
		uint64_t run = seed;
		int64_t failed = draw(400 * S, 90000 * S), now = failed + draw(0, 60 * S);
		bool sets = draw(0, 1) == 1, stands = draw(0, 1) == 1;
		struct ri_link_end end;
		int64_t last;

		node.ppm = draw(-49, 49);
		node.ppm_0 = draw(-49, 49);
		node.set_at = node.stood_at = INT64_MAX;
		last = begin(failed);
		if (sets)
			node.set_at = draw(last + 200000, now);
		if (stands)
			node.stood_at = draw(last + 200000, now);
		node.set = draw(-4000 * S, 4000 * S);
		node.stood = draw(S / 10, 100 * S);
		/* nothing happens there meanwhile */
		if (stands && failed > node.stood_at && failed < node.stood_at + node.stood)
			failed = node.stood_at;
		if (stands && now < node.stood_at + node.stood)
			now = node.stood_at + node.stood;
		last = begin(failed);
		end = fail_at(failed, now);
		assert_true(end.at_us != 0 && end.error_us != 0);
		if (how_wrong(&end, failed) > (int64_t)end.error_us)
			fail_msg("run %llu: %lld us wrong, error %llu", (unsigned long long)run,
				(long long)how_wrong(&end, failed),
				(unsigned long long)end.error_us);
		/* half a way, and 100 ppm of a minute */
		exact += !sets && !stands;
		assert_true(sets || stands || end.error_us < 50000 + 6000 + 10);
		seed = run + 1;
	}
	assert_in_range(exact, RUNS / 5, RUNS / 3);
}

/* Node 0 fails, and this node of it a quarter of a second later. */
static void named(int64_t set_at, int64_t set, bool *first, bool *tie)
{
	const int64_t at = 1000 * S;
	const struct ri_link_end node_0 = { .at_us = (uint64_t)boot_0(at), .error_us = 1 };
	struct ri_link_end end;

	seed = 7;
	node.ppm = node.ppm_0 = 0;
	node.stood_at = INT64_MAX;
	node.set_at = set_at;
	node.set = set;
	begin(at);
	end = fail_at(at + S / 4, at + S / 2);
	assert_false(ri_link_end_is_earlier(&end, &node_0));
	*first = ri_link_end_is_earlier(&node_0, &end);
	*tie = ri_link_end_is_tie(&node_0, &end);
}

static void test_a_clock_is_set_back(void **state)
{
	bool first, tie;

	(void)state;
	named(INT64_MAX, 0, &first, &tie);
	assert_true(first && !tie);
	/* since the last look, and a failure before it may look the same */
	named(950 * S, -3 * S, &first, &tie);
	assert_true(!first && tie);
	named(1000 * S + S / 3, 3 * S, &first, &tie);
	assert_true(!first && tie);
	/* it may not, or is later, too */
	named(950 * S, 3 * S, &first, &tie);
	assert_true(first && !tie);
	named(1000 * S + S / 3, -3 * S, &first, &tie);
	assert_true(first && !tie);
	/* before the last look */
	for (int64_t set = -3 * S; set <= 3 * S; set += 6 * S) {
		named(500 * S, set, &first, &tie);
		assert_true(first && !tie);
	}
}

/* An answer that took long says less than what was known, unless it cannot be true. */
static void test_a_late_answer(void **state)
{
	struct ri_clocks clocks = { .drift = true };

	(void)state;
	assert_true(ri_clocks_see(&clocks, 5000, 100, S));
	assert_false(ri_clocks_see(&clocks, 5900, 1000, 2 * S));
	assert_int_equal(clocks.ahead_us, 5000);
	assert_true(ri_clocks_see(&clocks, 5050, 50, 2 * S));
	assert_int_equal(clocks.set_us, 0);
	assert_true(ri_clocks_see(&clocks, 90000, 1000, 3 * S));
	assert_int_equal(clocks.ahead_us, 90000);
	assert_int_equal(clocks.before_us, 5050);
	assert_int_equal(clocks.set_us, 3 * S);
}

static void test_times_that_are_not_known(void **state)
{
	const struct { int64_t ahead, seen; uint64_t at, said; } cases[] = {
		{ 2 * S, S, 5 * S, 3 * S }, { -2 * S, S, 5 * S, 7 * S }, { 0, S, 0, 0 },
		{ 2 * S, 0, 5 * S, 0 }, { -RI_LINK_CLOCK, S, 5 * S, 0 },
		/* before node 0's machine was up */
		{ 6 * S, S, 5 * S, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ri_clocks clocks = { .ahead_us = cases[i].ahead, .error_us = 70,
			.seen_us = cases[i].seen };
		struct ri_link_end end = { .at_us = cases[i].at, .error_us = 5 };

		ri_clocks_convert(&clocks, &end);
		assert_int_equal(end.at_us, cases[i].said);
		assert_int_equal(end.error_us, cases[i].said == 0 ? 0 : 75);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_clocks),
		cmocka_unit_test(test_a_clock_is_set_back),
		cmocka_unit_test(test_a_late_answer),
		cmocka_unit_test(test_times_that_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
