/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole jobs in a made-up world: nodes that come late, fail, are killed, stopped from outside
 * or started again, over a network that delays, breaks and repeats. Each run follows from its
 * seed. Whatever happens: no rank is stopped but for a failure of its own job, and who heard
 * one centre has one verdict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "link_world.h"
#include "thinned.h"

/* Worlds for a test; below valgrind so many that each kind of event is among them. */
static size_t runs;

static void check(uint64_t seed, bool good, const char *what)
{
	if (!good)
		fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

static void check_agreement(uint64_t seed)
{
	for (size_t i = 0; i < LIVES; i++)
		for (size_t j = 0; j < i; j++) {
			const struct life *a = &world.lives[i], *b = &world.lives[j];

			check(seed, !a->judged || !b->judged || a->judge != b->judge ||
				(a->decision.verdict.node == b->decision.verdict.node &&
				strcmp(a->decision.text, b->decision.text) == 0),
				"two members of one centre have two verdicts");
		}
}

/* Nobody fails: whatever the network does nobody is stopped, and nobody is named. */
static void test_no_false_stop(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		begin_world(seed, true, true);
		for (size_t i = 0; i < world.count; i++)
			if (happens(30))
				plan(100000 + (int64_t)draw(1000), DONE, i);
		run_world();
		for (size_t i = 0; i < LIVES; i++)
			check(seed, !world.lives[i].judged, "a verdict without a failure");
	}
}

/*
 * The same beside copies of containers, which run, fail, end and are killed: a copy is no node, and
 * is known not to be while the first life of its node calls again.
 */
static void test_copies_decide_nothing(void **state)
{
	size_t guests = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs / 2; seed++) {
		begin_world(seed, true, true);
		for (size_t i = 1; i < world.count; i++) {
			if (!happens(60))
				continue;
			plan_node(1, i, 200000);
			plan(210000 + (int64_t)draw(100000), happens(50) ? FAIL : DONE, NODES + i);
			plan(320000, DIE, NODES + i);
		}
		run_world();
		for (size_t i = 0; i < world.count; i++) {
			check(seed, !world.lives[i].judged, "a verdict of a copy");
			guests += world.lives[NODES + i].member.was_joined;
		}
	}
	assert_true(guests > runs / 4);
}

/* One rank fails of itself, in a network that is well: everybody knows which, and is stopped. */
static void test_one_failure(void **state)
{
	size_t told = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		size_t culprit;
		bool all_there = true;

		begin_world(seed, true, false);
		culprit = draw(world.count);
		plan(70000 + (int64_t)draw(1000), FAIL, culprit);
		run_world();
		for (size_t i = 0; i < world.count; i++)
			all_there = all_there && world.lives[i].said == 0;
		for (size_t i = 0; i < world.count; i++) {
			const struct life *life = &world.lives[i];

			if (!life->judged)
				continue;
			told++;
			check(seed, life->decision.verdict.node < 0 ||
				life->decision.verdict.node == (int64_t)culprit ||
				world.culprit[0] != culprit, "another node is named");
			check(seed, i != culprit || !life->decision.order,
				"the culprit is stopped");
			check(seed, i == culprit || life->decision.order || world.cut,
				"no order");
		}
		check_agreement(seed);
	}
	assert_true(told > runs * 2);
}

/* The same without a secret: nobody is judged, and none is stopped. */
static void test_no_secret(void **state)
{
	size_t said = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs / 10; seed++) {
		begin_world(seed, false, false);
		plan(70000, FAIL, draw(world.count));
		run_world();
		for (size_t i = 0; i < world.count; i++) {
			check(seed, !world.lives[i].judged, "judged without a secret");
			said += world.lives[i].said;
		}
	}
	assert_true(said > 0);
}

/*
 * A second attempt after the first one failed, beside what is left of it: nodes that do not
 * know yet, names that are old, connections that break. What fails in one attempt stops nobody
 * of the other.
 */
static void test_two_attempts(void **state)
{
	size_t mixed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		begin_world(seed, true, true);
		plan(20000 + (int64_t)draw(50000), FAIL, draw(world.count));
		for (size_t i = 0; i < world.count; i++)
			plan_node(1, i, 75000);
		/* all but a few of the first one are ended before */
		for (size_t i = 0; i < world.count; i++)
			if (!happens(20))
				plan(74000, DIE, i);
		run_world();
		check_agreement(seed);
		for (size_t i = 0; i < world.count; i++) {
			const struct life *life = &world.lives[NODES + i];

			/* a centre of one attempt had taken a life of the other */
			mixed += life->judged && life->decision.order && !world.something_failed[1];
		}
	}
	assert_true(mixed < RUNS / 500);	/* what docs/link.md cannot rule out is rare */
}

/* A container is killed and started again, and its peers wait for it for ever. */
static void test_restart_without_a_word(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs / 10; seed++) {
		size_t killed;

		begin_world(seed, true, false);
		killed = 1 + draw(world.count - 1);
		/* so late that it is not taken for what is left of an older attempt */
		plan(140000, DIE, killed);
		plan_node(1, killed, 140100);
		run_world();
		for (size_t i = 0; i < world.count; i++) {
			const struct life *life = &world.lives[i];

			if (i == killed)
				continue;
			check(seed, life->judged, "nobody says who failed");
			check(seed, life->decision.verdict.node == (int64_t)killed &&
				life->decision.order, "another verdict");
		}
		check(seed, !world.lives[NODES + killed].judged, "the new life is told");
	}
}

/* A stop from outside, on one node or all, and ranks that lose each other of it. */
static void test_stops_from_outside(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		size_t first;

		begin_world(seed, true, false);
		first = draw(world.count);
		plan(70000, STOP, first);
		for (size_t i = 0; i < world.count; i++)
			plan(70400 + (int64_t)draw(2000), happens(50) ? LOSE : STOP, i);
		run_world();
		for (size_t i = 0; i < world.count; i++)
			check(seed, !world.lives[i].judged || !world.lives[i].decision.order,
				"stopped after a stop from outside");
		check_agreement(seed);
	}
}

/* As all ranks end well one by one, one fails on its way out: the others keep their time. */
static void test_a_failure_in_the_teardown(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs / 10; seed++) {
		begin_world(seed, true, false);
		plan(70000, DONE, 0);
		plan(70400 + (int64_t)draw(1000), FAIL, 1 + draw(world.count - 1));
		run_world();
		for (size_t i = 0; i < world.count; i++)
			check(seed, !world.lives[i].judged || !world.lives[i].decision.order,
				"stopped while the job was ending well");
	}
}

static void test_something_happened(void **state)
{
	(void)state;
	print_message("%zu verdicts, %zu of them with a name, %zu with an order\n", verdicts, named,
		orders);
	assert_true(verdicts > runs && named > runs && orders > runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_false_stop),
		cmocka_unit_test(test_copies_decide_nothing),
		cmocka_unit_test(test_one_failure),
		cmocka_unit_test(test_no_secret),
		cmocka_unit_test(test_two_attempts),
		cmocka_unit_test(test_restart_without_a_word),
		cmocka_unit_test(test_stops_from_outside),
		cmocka_unit_test(test_a_failure_in_the_teardown),
		cmocka_unit_test(test_something_happened),
	};

	runs = thinned(RUNS, RUNS / 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
