/* SPDX-License-Identifier: Apache-2.0 */
/* ri_ompi_node_rank against every small job that mpirun could have placed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "from/hosts.h"

enum { NODES = 4, SLOTS = 4, RANKS = NODES * SLOTS };

/* One job: how many ranks each node has, and where each rank is. */
struct job {
	unsigned nodes;
	unsigned slots[NODES];
	unsigned size;
	unsigned node_of[RANKS];
	unsigned local_of[RANKS];
};

static void put(struct job *job, unsigned *used, unsigned node)
{
	job->node_of[job->size] = node;
	job->local_of[job->size] = used[node]++;
	job->size++;
}

static void place_by_slot(struct job *job)
{
	unsigned used[NODES] = { 0 };

	for (unsigned node = 0; node < job->nodes; node++)
		while (used[node] < job->slots[node])
			put(job, used, node);
}

static void place_round_robin(struct job *job)
{
	unsigned used[NODES] = { 0 }, before;

	do {
		before = job->size;
		for (unsigned node = 0; node < job->nodes; node++)
			if (used[node] < job->slots[node])
				put(job, used, node);
	} while (job->size != before);
}

struct score {
	unsigned right, wrong, absent;
};

/* offset: mpirun's node has no rank; idle: nor has one at the end. */
static void ask(const struct job *job, unsigned offset, unsigned idle, struct score *score)
{
	for (unsigned rank = 0; rank < job->size; rank++) {
		unsigned node = job->node_of[rank];
		struct ri_ompi_place place = {
			.rank = rank, .world_size = job->size, .local_rank = job->local_of[rank],
			.local_world_size = job->slots[node], .daemon = node + offset,
			.nodes = job->nodes,
			.daemons = node + offset == 0 ? 0 : job->nodes + offset + idle,
		};
		uint64_t answer;

		if (!ri_ompi_node_rank(&place, &answer))
			score->absent++;
		else if (answer == node)
			score->right++;
		else
			score->wrong++;
	}
}

/* The same as Open MPI 5 tells it: no counts. */
static void ask_without_counts(const struct job *job, unsigned offset, struct score *score)
{
	for (unsigned rank = 0; rank < job->size; rank++) {
		unsigned node = job->node_of[rank];
		struct ri_ompi_place place = {
			.rank = rank, .world_size = job->size, .local_rank = job->local_of[rank],
			.local_world_size = job->slots[node], .daemon = node + offset,
		};
		uint64_t answer;

		if (!ri_ompi_node_rank(&place, &answer))
			score->absent++;
		else if (answer == node)
			score->right++;
		else
			score->wrong++;
	}
}

/* Job number code of that many nodes: each digit of it is a node's ranks. */
static struct job make_job(unsigned nodes, unsigned code, void (*place)(struct job *))
{
	struct job job = { .nodes = nodes };

	for (unsigned node = 0; node < nodes; node++, code /= SLOTS)
		job.slots[node] = 1 + code % SLOTS;
	place(&job);
	return job;
}

static unsigned count_codes(unsigned nodes)
{
	return nodes == 0 ? 1 : SLOTS * count_codes(nodes - 1);
}

static void for_all_jobs(void (*visit)(const struct job *job, struct score *), struct score *score)
{
	for (unsigned nodes = 1; nodes <= NODES; nodes++) {
		for (unsigned code = 0; code < count_codes(nodes); code++) {
			struct job by_slot = make_job(nodes, code, place_by_slot);
			struct job in_turn = make_job(nodes, code, place_round_robin);

			visit(&by_slot, score);
			visit(&in_turn, score);
		}
	}
}

static int is_even(const struct job *job)
{
	for (unsigned node = 1; node < job->nodes; node++)
		if (job->slots[node] != job->slots[0])
			return 0;
	return 1;
}

static void visit_ordinary(const struct job *job, struct score *score)
{
	ask(job, 0, 0, score);
}

/* mpirun on the first node, all nodes used: always the right answer. */
static void test_ordinary_jobs_are_always_right(void **state)
{
	struct score score = { 0 };

	(void)state;
	for_all_jobs(visit_ordinary, &score);
	assert_int_equal(score.wrong, 0);
	assert_int_equal(score.absent, 0);
	assert_true(score.right > 6000);
}

static void visit_even(const struct job *job, struct score *score)
{
	if (!is_even(job))
		return;
	ask(job, 1, 0, score);
	ask(job, 0, 1, score);
	ask(job, 1, 1, score);
}

/* Nodes without ranks: right or absent, as long as the others are even. */
static void test_even_jobs_are_never_wrong(void **state)
{
	struct score score = { 0 };

	(void)state;
	for_all_jobs(visit_even, &score);
	assert_int_equal(score.wrong, 0);
	assert_true(score.absent * 20 < score.right);
}

static void visit_without_counts(const struct job *job, struct score *score)
{
	ask_without_counts(job, 0, score);
	if (is_even(job))
		ask_without_counts(job, 1, score);
}

static void test_open_mpi_5_is_never_wrong(void **state)
{
	struct score score = { 0 };

	(void)state;
	for_all_jobs(visit_without_counts, &score);
	assert_int_equal(score.wrong, 0);
	assert_true(score.right > 1500);
}

static void test_fewer_daemons_than_nodes_is_nonsense(void **state)
{
	struct ri_ompi_place place = {
		.rank = 3, .world_size = 4, .local_rank = 1, .local_world_size = 2, .daemon = 1,
		.nodes = 2, .daemons = 1,
	};
	uint64_t answer = 77;

	(void)state;
	assert_false(ri_ompi_node_rank(&place, &answer));
	assert_int_equal(answer, 77);
}

/* mpirun's node has no rank, so the daemon is number 1 of a first node or not. */
static void test_a_first_rank_is_not_on_node_0(void **state)
{
	struct ri_ompi_place place = {
		.rank = 3, .world_size = 4, .local_rank = 0, .local_world_size = 1, .daemon = 1,
		.nodes = 2, .daemons = 3,
	};
	uint64_t answer;

	(void)state;
	assert_true(ri_ompi_node_rank(&place, &answer));
	assert_int_equal(answer, 1);
}

/* Nine ranks on four nodes: which of them has three is not known. */
static void test_uneven_jobs_are_not_calculated(void **state)
{
	struct ri_ompi_place place = {
		.rank = 3, .world_size = 9, .local_rank = 1, .local_world_size = 2, .daemon = 1,
		.nodes = 4, .daemons = 5,
	};
	uint64_t answer;

	(void)state;
	assert_false(ri_ompi_node_rank(&place, &answer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordinary_jobs_are_always_right),
		cmocka_unit_test(test_even_jobs_are_never_wrong),
		cmocka_unit_test(test_open_mpi_5_is_never_wrong),
		cmocka_unit_test(test_fewer_daemons_than_nodes_is_nonsense),
		cmocka_unit_test(test_a_first_rank_is_not_on_node_0),
		cmocka_unit_test(test_uneven_jobs_are_not_calculated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
