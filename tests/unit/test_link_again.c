/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole jobs with --restarts in a made-up world. Whatever happens: the ranks of two attempts never
 * run at once, none start again after a stop, and every node gets to an end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "again_world.h"
#include "thinned.h"

/* Worlds for a test. */
static size_t runs;

/* Some of everything, at any time. */
static void plan_troubles(void)
{
	for (size_t i = draw(6); i-- > 0;)
		plan(20000 + (int64_t)draw(400000), FAIL, draw(world.count));
	for (size_t i = 0; i < world.count; i++) {
		if (happens(10))
			plan(20000 + (int64_t)draw(400000), STOP, i);
		if (happens(5))
			plan(20000 + (int64_t)draw(400000), KILL, i);
		if (happens(5))
			plan(20000 + (int64_t)draw(400000), DONE, i);
	}
}

static void test_whatever_happens(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		begin_world(seed, true, SOUND);
		plan_troubles();
		run_world();
		for (size_t i = 0; i < world.count; i++)
			require(world.nodes[i].state == OVER ||
				world.nodes[i].state == RUNS_RANKS, "a node waits for ever");
	}
	print_message("%zu restarts, %zu refused, %zu ends\n", restarted, refused, ended);
	assert_true(restarted > runs / 3 && refused > runs / 20 && ended > runs);
}

static void plan_stop(void)
{
	size_t node = draw(world.count);

	plan(30000, FAIL, draw(world.count));
	if (happens(50))
		world.aimed = &world.nodes[node];
	else
		plan(29000 + (int64_t)draw(4000), STOP, node);
}

/*
 * A stop, and a failure at about the same time: before and behind each system call of a restart.
 * Where no connection breaks no node waits for one that was stopped.
 */
static void test_a_stop_beside_a_failure(void **state)
{
	(void)state;
	crossed = 0;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		begin_world(seed, seed % 2 == 0, SOUND);
		plan_stop();
		run_world();
		for (size_t i = 0; i < world.count; i++)
			require(world.nodes[i].state == OVER ||
				world.nodes[i].state == RUNS_RANKS, "a node waits for ever");
	}
	print_message("%zu stops while a node waits for the others\n", crossed);
	assert_true(crossed > runs / 100);
}

/* The control: where nothing else happens each restart that may be is there. */
static void test_nothing_but_failures(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		size_t failures, most;

		begin_world(seed, false, SOUND);
		failures = draw(5);
		most = world.nodes[0].restarts;
		for (size_t i = 0; i < failures; i++)
			plan(200000 * (1 + (int64_t)i), FAIL, draw(world.count));
		run_world();
		for (size_t i = 0; i < world.count; i++) {
			const struct node *node = &world.nodes[i];

			require(node->attempt == (failures < most ? failures : most),
				"a restart that may be is missing");
			require(node->state == (failures > most ? OVER : RUNS_RANKS) &&
				node->runs == (failures <= most), "not the end that it should be");
		}
	}
}

/*
 * A failure, and nodes that are frozen at about the same time, with their connections; where they
 * thaw soon behind the verdict, for which a node that has failed waits for seconds alone.
 */
static void run_frozen(uint64_t seed, bool thaws, enum mutant mutant)
{
	begin_world(seed, false, mutant);
	world.thaws = thaws;
	plan(30000, FAIL, draw(world.count));
	for (size_t i = 1 + draw(2); i-- > 0;)
		plan((thaws ? 33000 : 28000) + (int64_t)draw(5000), FREEZE, draw(world.count));
	run_world();
}

/* Those that wait though they are awake: for ever. */
static size_t count_waiting(void)
{
	size_t waiting = 0;

	for (size_t i = 0; i < world.count; i++)
		waiting += world.nodes[i].thaws_at < END_MS && world.nodes[i].state != OVER &&
			world.nodes[i].state != RUNS_RANKS;
	return waiting;
}

static void test_frozen_nodes(void **state)
{
	size_t before = refused, waiting = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		run_frozen(seed, false, SOUND);
		require(count_waiting() == 0, "a node waits for ever");
	}
	print_message("%zu refused\n", refused - before);
	assert_true(refused - before > runs / 20);
	/* the control, and one that is awake again in time costs no restart */
	for (uint64_t seed = 1; seed <= runs / 5; seed++) {
		run_frozen(seed, false, WAITS_ON);
		waiting += count_waiting();
	}
	assert_true(waiting > runs / 100);
	for (uint64_t seed = 1; seed <= runs / 5; seed++) {
		run_frozen(seed, true, SOUND);
		for (size_t i = 0; i < world.count; i++)
			require(world.nodes[i].attempt == (world.nodes[0].restarts > 0) &&
				world.nodes[i].runs == (world.nodes[0].restarts > 0),
				"a restart that may be is missing");
	}
}

/* The word that all start is lost on its way to one node, for good. Does any wait for its ranks? */
static size_t run_deaf(uint64_t seed, enum mutant mutant)
{
	size_t running = 0;

	begin_world(seed, false, mutant);
	world.deafened = &world.nodes[1 + draw(world.count - 1)];
	plan(30000, FAIL, draw(world.count));
	run_world();
	for (size_t i = 0; i < world.count; i++)
		running += world.nodes[i].runs;
	return running;
}

static void test_a_start_that_is_lost(void **state)
{
	size_t waiting = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++)
		require(run_deaf(seed, SOUND) == 0, "ranks wait for those of a node that has none");
	for (uint64_t seed = 1; seed <= runs / 5; seed++)
		waiting += run_deaf(seed, TELLS_NOBODY);
	assert_true(waiting > runs / 10);
}

/* The other control: what a test could miss is there, and noticed. */
static void test_mutants_are_noticed(void **state)
{
	static const enum mutant mutants[] = { IGNORES_STOP, STARTS_AT_ONCE, VOTES_EARLY,
		TAKES_STOP, ENDS_AT_ONCE, VOTES_UNSEEN };

	(void)state;
	for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++) {
		size_t wrong = 0;

		for (uint64_t seed = 1; seed <= runs / 5; seed++) {
			begin_world(seed, seed % 2 == 0, mutants[i]);
			if (world.harsh)
				plan_troubles();
			else
				plan_stop();
			run_world();
			wrong += world.wrong;
		}
		print_message("mutant %zu: %zu\n", i, wrong);
		assert_true(wrong > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whatever_happens),
		cmocka_unit_test(test_a_stop_beside_a_failure),
		cmocka_unit_test(test_nothing_but_failures),
		cmocka_unit_test(test_frozen_nodes),
		cmocka_unit_test(test_a_start_that_is_lost),
		cmocka_unit_test(test_mutants_are_noticed),
	};

	runs = thinned(RUNS, RUNS / 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
