/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/topology.h"
#include "topology_of.h"

/* A topology by hand, as the sources would have left it. */
static void know(enum ri_fact_id id, uint64_t number)
{
	struct ri_fact *fact = &topology.facts[id];

	fact->state = RI_STATE_KNOWN;
	fact->strength = RI_STRENGTH_SAID;
	fact->number = number;
	fact->origin.source = topology.identity = "test";
	topology.scope = RI_SCOPE_PROCESS;
	fact->origin.variable = ri_fact_name(id);
}

static void know_tuple(uint64_t rank, uint64_t size, uint64_t local, uint64_t local_size)
{
	know(RI_FACT_RANK, rank);
	know(RI_FACT_WORLD_SIZE, size);
	know(RI_FACT_LOCAL_RANK, local);
	know(RI_FACT_LOCAL_WORLD_SIZE, local_size);
}

static void complete(void)
{
	assert_int_equal(ri_topology_count(&topology, &context, &err), 0);
	ri_topology_complete(&topology, &context);
	assert_int_equal(err.code, RI_CODE_NONE);
}

static void assert_breaks(enum ri_code code, const char *subject)
{
	assert_int_equal(ri_topology_count(&topology, &context, &err), -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.subject, subject);
}

static void assert_derived(enum ri_fact_id id, unsigned from)
{
	assert_string_equal(topology.facts[id].origin.source, "derived");
	assert_null(topology.facts[id].origin.variable);
	assert_int_equal(topology.facts[id].origin.from, from);
}

static void test_facts_have_names_and_ranges(void **state)
{
	(void)state;
	for (enum ri_fact_id a = 0; a < RI_FACT_COUNT; a++) {
		assert_non_null(ri_fact_name(a));
		assert_true(ri_fact_range(a).min <= ri_fact_range(a).max);
		for (enum ri_fact_id b = 0; b < a; b++)
			assert_string_not_equal(ri_fact_name(a), ri_fact_name(b));
	}
	assert_int_equal(ri_fact_range(RI_FACT_WORLD_SIZE).min, 1);
	assert_int_equal(ri_fact_range(RI_FACT_LOCAL_WORLD_SIZE).min, 1);
	assert_int_equal(ri_fact_range(RI_FACT_NNODES).min, 1);
	assert_int_equal(ri_fact_range(RI_FACT_MASTER_PORT).min, 1);
	assert_int_equal(ri_fact_range(RI_FACT_MASTER_PORT).max, 65535);
}

static void test_unknown_facts_are_not_got(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_false(ri_topology_get(&topology, RI_FACT_RANK, &value));
	assert_int_equal(value, 77);
	assert_false(ri_topology_knows(&topology, RI_FACT_RANK));
	topology.facts[RI_FACT_NODE_RANK].state = RI_STATE_OPEN;
	assert_false(ri_topology_knows(&topology, RI_FACT_NODE_RANK));
}

static void test_subject_is_the_variable_behind_a_fact(void **state)
{
	(void)state;
	know_tuple(0, 4, 0, 2);
	know(RI_FACT_HOSTS, 2);
	topology.facts[RI_FACT_HOSTS].origin.variable = "HOST_LIST";
	complete();
	assert_string_equal(ri_topology_subject(&topology, RI_FACT_HOSTS), "HOST_LIST");
	assert_string_equal(ri_topology_subject(&topology, RI_FACT_NNODES), "HOST_LIST");
	assert_string_equal(ri_topology_subject(&topology, RI_FACT_NODE_RANK), "node_rank");
}

static bool is_wide(enum ri_fact_id id, uint64_t number, enum ri_fact_id other, uint64_t and)
{
	give_back(NULL);
	know(id, number);
	know(other, and);
	return ri_topology_is_wide(&topology);
}

static void test_a_job_is_wide_where_it_is_known_to_be(void **state)
{
	(void)state;
	assert_false(ri_topology_is_wide(&topology));
	assert_true(is_wide(RI_FACT_NNODES, 2, RI_FACT_NODE_RANK, 0));
	assert_false(is_wide(RI_FACT_NNODES, 1, RI_FACT_NODE_RANK, 0));
	/* without a count: the second node, or ranks that are not here */
	assert_true(is_wide(RI_FACT_NODE_RANK, 1, RI_FACT_RANK, 0));
	assert_false(is_wide(RI_FACT_NODE_RANK, 0, RI_FACT_RANK, 0));
	assert_true(is_wide(RI_FACT_WORLD_SIZE, 4, RI_FACT_LOCAL_WORLD_SIZE, 2));
	assert_false(is_wide(RI_FACT_WORLD_SIZE, 4, RI_FACT_LOCAL_WORLD_SIZE, 4));
	assert_false(is_wide(RI_FACT_WORLD_SIZE, 4, RI_FACT_RANK, 0));
	assert_false(is_wide(RI_FACT_LOCAL_WORLD_SIZE, 4, RI_FACT_RANK, 0));
}

static void test_rank_is_below_world_size(void **state)
{
	(void)state;
	know_tuple(4, 4, 0, 2);
	assert_breaks(RI_CODE_RANK_RANGE, "rank");
}

static void test_local_rank_is_below_local_size(void **state)
{
	(void)state;
	know_tuple(2, 4, 2, 2);
	assert_breaks(RI_CODE_LOCAL_RANK_RANGE, "local_rank");
}

static void test_local_size_is_at_most_world_size(void **state)
{
	(void)state;
	know_tuple(2, 4, 2, 5);
	assert_breaks(RI_CODE_LOCAL_SIZE_RANGE, "local_world_size");
}

static void test_node_rank_out_of_range_is_dropped(void **state)
{
	(void)state;
	know_tuple(3, 4, 1, 2);
	know(RI_FACT_NNODES, 2);
	know(RI_FACT_NODE_RANK, 2);
	complete();
	assert_found(RI_CODE_NODE_RANK_RANGE, "node_rank");
	assert_true(topology.facts[RI_FACT_NODE_RANK].number != 2 ||
		!ri_topology_knows(&topology, RI_FACT_NODE_RANK));
}

static void test_nodes_without_ranks_for_each_are_dropped(void **state)
{
	(void)state;
	know_tuple(3, 4, 1, 2);
	know(RI_FACT_NNODES, 4);
	complete();
	assert_found(RI_CODE_NODES_COUNT, "nnodes");
	assert_unknown(RI_FACT_NNODES);
	assert_unknown(RI_FACT_NODE_RANK);
}

static void test_host_count_other_than_nodes_is_dropped(void **state)
{
	(void)state;
	know_tuple(3, 4, 1, 2);
	know(RI_FACT_NNODES, 2);
	know(RI_FACT_HOSTS, 3);
	complete();
	assert_found(RI_CODE_HOSTS_COUNT, "hosts");
	assert_unknown(RI_FACT_HOSTS);
	assert_number(RI_FACT_NNODES, 2);
}

static void test_all_ranks_here_is_one_node(void **state)
{
	(void)state;
	know_tuple(3, 4, 3, 4);
	complete();
	assert_number(RI_FACT_NNODES, 1);
	assert_derived(RI_FACT_NNODES, RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
	assert_number(RI_FACT_NODE_RANK, 0);
	assert_derived(RI_FACT_NODE_RANK, RI_FROM(NNODES));
	assert_int_equal(findings.count, 0);
}

static void test_one_node_has_its_master_here(void **state)
{
	(void)state;
	know_tuple(0, 1, 0, 1);
	complete();
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "127.0.0.1");
	assert_derived(RI_FACT_MASTER_ADDR, RI_FROM(NNODES));
	assert_number(RI_FACT_MASTER_PORT, 29500);
	assert_string_equal(topology.facts[RI_FACT_MASTER_PORT].origin.source, "default");
}

static void test_hosts_count_the_nodes(void **state)
{
	(void)state;
	know_tuple(5, 6, 1, 2);
	know(RI_FACT_HOSTS, 3);
	complete();
	assert_number(RI_FACT_NNODES, 3);
	assert_derived(RI_FACT_NNODES, RI_FROM(HOSTS));
}

static void test_even_nodes_are_assumed_and_said(void **state)
{
	(void)state;
	know_tuple(13, 16, 5, 8);
	complete();
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_derived(RI_FACT_NODE_RANK, RI_FROM(RANK) | RI_FROM(LOCAL_WORLD_SIZE));
	assert_number(RI_FACT_NNODES, 2);
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
}

/* Whatever says that the nodes are not even and in order forbids to assume. */
static void test_evidence_forbids_the_assumption(void **state)
{
	static const struct {
		uint64_t rank, size, local, local_size, hosts;
	} cases[] = {
		{ 13, 16, 5, 8, 3 },	/* three hosts for two times eight */
		{ 6, 7, 1, 2, 0 },	/* seven ranks are not pairs */
		{ 2, 4, 1, 2, 0 },	/* by slot rank 2 has local rank 0 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		know_tuple(cases[i].rank, cases[i].size, cases[i].local, cases[i].local_size);
		if (cases[i].hosts > 0)
			know(RI_FACT_HOSTS, cases[i].hosts);
		complete();
		assert_unknown(RI_FACT_NODE_RANK);
		assert_found(RI_CODE_NODE_RANK_ABSENT, "NODE_RANK");
		give_back(state);
	}
}

static void test_open_evidence_forbids_the_assumption(void **state)
{
	(void)state;
	know_tuple(13, 16, 5, 8);
	topology.facts[RI_FACT_NODE_RANK].state = RI_STATE_OPEN;
	topology.facts[RI_FACT_NODE_RANK].reason = "both fit";
	complete();
	assert_unknown(RI_FACT_NODE_RANK);
	assert_string_equal(find_finding(RI_CODE_NODE_RANK_ABSENT)->text,
		"cannot tell which node this is: both fit");
}

static void test_the_node_of_rank_0_is_node_0(void **state)
{
	(void)state;
	know_tuple(1, 4, 1, 3);
	complete();
	assert_number(RI_FACT_NODE_RANK, 0);
	assert_derived(RI_FACT_NODE_RANK, RI_FROM(RANK) | RI_FROM(LOCAL_RANK));
	assert_null(find_finding(RI_CODE_NODE_RANK_ABSENT));
}

static void test_no_master_on_several_nodes_is_said(void **state)
{
	(void)state;
	know_tuple(13, 16, 5, 8);
	complete();
	assert_unknown(RI_FACT_MASTER_ADDR);
	assert_found(RI_CODE_MASTER_ABSENT, "MASTER_ADDR");
}

static void test_what_was_read_is_not_derived(void **state)
{
	(void)state;
	know_tuple(13, 16, 5, 8);
	know(RI_FACT_NNODES, 2);
	know(RI_FACT_NODE_RANK, 0);
	know(RI_FACT_MASTER_PORT, 6105);
	know(RI_FACT_MASTER_ADDR, 0);
	topology.facts[RI_FACT_MASTER_ADDR].text = "a";
	complete();
	assert_number(RI_FACT_NODE_RANK, 0);
	assert_number(RI_FACT_MASTER_PORT, 6105);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "a");
	assert_int_equal(findings.count, 0);
}

/* The tuple of a launcher that does not say the local size. */
static void know_three(uint64_t rank, uint64_t size, uint64_t local)
{
	know(RI_FACT_RANK, rank);
	know(RI_FACT_WORLD_SIZE, size);
	know(RI_FACT_LOCAL_RANK, local);
}

static void test_local_size_follows_from_the_nodes(void **state)
{
	(void)state;
	know_three(13, 16, 5);
	know(RI_FACT_NNODES, 2);
	complete();
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 8);
	assert_derived(RI_FACT_LOCAL_WORLD_SIZE, RI_FROM(WORLD_SIZE) | RI_FROM(NNODES));
	assert_string_equal(topology.facts[RI_FACT_NNODES].origin.source, "test");
	assert_found(RI_CODE_LOCAL_SIZE_ASSUMED, "LOCAL_WORLD_SIZE");
}

static void test_local_size_follows_from_the_ranks_below(void **state)
{
	(void)state;
	know_three(13, 16, 5);
	know(RI_FACT_NODE_RANK, 1);
	complete();
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 8);
	assert_derived(RI_FACT_LOCAL_WORLD_SIZE,
		RI_FROM(RANK) | RI_FROM(LOCAL_RANK) | RI_FROM(NODE_RANK));
	assert_number(RI_FACT_NNODES, 2);
	assert_derived(RI_FACT_NNODES, RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_WORLD_SIZE));
}

static void test_one_rank_on_each_node(void **state)
{
	(void)state;
	know_three(3, 4, 0);
	know(RI_FACT_NNODES, 4);
	complete();
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 1);
	assert_null(find_finding(RI_CODE_NODES_COUNT));
}

static void test_a_world_of_one_needs_no_assumption(void **state)
{
	(void)state;
	know_three(0, 1, 0);
	complete();
	assert_number(RI_FACT_LOCAL_WORLD_SIZE, 1);
	assert_number(RI_FACT_NNODES, 1);
	assert_int_equal(findings.count, 0);
}

/* Facts that equally filled nodes do not have leave the local size open. */
static void test_local_size_is_not_guessed(void **state)
{
	static const struct {
		uint64_t rank, size, local, nodes, node;
	} cases[] = {
		{ 5, 7, 1, 2, 1 },	/* seven are not two times as many */
		{ 5, 8, 2, 2, 1 },	/* rank 5 is the second of the second four */
		{ 5, 8, 1, 2, 0 },	/* which is not the first node */
		{ 1, 8, 5, 2, 0 },	/* five ranks here are below rank 1 */
		{ 5, 8, 5, 0, 0 },	/* on the first node nothing is below */
		{ 0, 8, 0, 0, 1 },	/* no ranks on the node before */
		{ 6, 8, 1, 0, 2 },	/* five ranks on two nodes */
		{ 4, 8, 1, 0, 1 },	/* three on the first of them, of eight */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		know_three(cases[i].rank, cases[i].size, cases[i].local);
		if (cases[i].nodes > 0)
			know(RI_FACT_NNODES, cases[i].nodes);
		know(RI_FACT_NODE_RANK, cases[i].node);
		complete();
		assert_unknown(RI_FACT_LOCAL_WORLD_SIZE);
		assert_null(find_finding(RI_CODE_LOCAL_SIZE_ASSUMED));
		give_back(state);
	}
}

/* A master that each node takes for itself holds where there is one node. */
static void know_own_master(void)
{
	struct ri_fact *fact = &topology.facts[RI_FACT_MASTER_ADDR];

	fact->state = RI_STATE_OPEN;
	fact->text = "localhost";
	fact->reason = "each its own";
	fact->origin.source = "outer";
}

static void test_own_master_of_one_node(void **state)
{
	(void)state;
	know_tuple(1, 2, 1, 2);
	know_own_master();
	complete();
	assert_true(ri_topology_knows(&topology, RI_FACT_MASTER_ADDR));
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "localhost");
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].origin.source, "outer");
}

static void test_own_master_of_several_nodes(void **state)
{
	(void)state;
	know_tuple(3, 4, 1, 2);
	know_own_master();
	complete();
	assert_unknown(RI_FACT_MASTER_ADDR);
	assert_string_equal(find_finding(RI_CODE_MASTER_ABSENT)->text,
		"cannot tell where rank 0 of this job runs: each its own");
	give_back(state);
	know_tuple(3, 4, 1, 2);
	complete();
	assert_string_equal(find_finding(RI_CODE_MASTER_ABSENT)->text,
		"cannot tell where rank 0 of this job runs");
}

/* Whoever read a broken master refuses, and one word about it is enough. */
static void test_a_broken_master_is_not_absent(void **state)
{
	struct ri_fact lost = { .state = RI_STATE_BROKEN };

	(void)state;
	know_tuple(3, 4, 1, 2);
	topology.facts[RI_FACT_MASTER_ADDR].next = &lost;
	complete();
	assert_null(find_finding(RI_CODE_MASTER_ABSENT));
	give_back(state);
	know_tuple(3, 4, 1, 2);
	lost.state = RI_STATE_OPEN;
	topology.facts[RI_FACT_MASTER_ADDR].next = &lost;
	complete();
	assert_found(RI_CODE_MASTER_ABSENT, "MASTER_ADDR");
}

static void test_no_second_node_for_ranks_that_are_all_here(void **state)
{
	(void)state;
	know_tuple(3, 4, 3, 4);
	know(RI_FACT_NNODES, 2);
	complete();
	assert_found(RI_CODE_NODES_COUNT, "nnodes");
	assert_number(RI_FACT_NNODES, 1);
}

static void test_a_broken_rule_names_the_variables(void **state)
{
	(void)state;
	know_tuple(4, 4, 0, 2);
	topology.facts[RI_FACT_WORLD_SIZE].origin.variable = NULL;
	assert_breaks(RI_CODE_RANK_RANGE, "rank");
	assert_string_equal(err.text, "rank is 4 (rank) and world_size is 4, but ranks count "
		"from 0 to world_size - 1");
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_facts_have_names_and_ranges),
		TEST(test_unknown_facts_are_not_got),
		TEST(test_subject_is_the_variable_behind_a_fact),
		TEST(test_a_job_is_wide_where_it_is_known_to_be),
		TEST(test_rank_is_below_world_size),
		TEST(test_local_rank_is_below_local_size),
		TEST(test_local_size_is_at_most_world_size),
		TEST(test_node_rank_out_of_range_is_dropped),
		TEST(test_nodes_without_ranks_for_each_are_dropped),
		TEST(test_host_count_other_than_nodes_is_dropped),
		TEST(test_all_ranks_here_is_one_node),
		TEST(test_one_node_has_its_master_here),
		TEST(test_hosts_count_the_nodes),
		TEST(test_even_nodes_are_assumed_and_said),
		TEST(test_evidence_forbids_the_assumption),
		TEST(test_open_evidence_forbids_the_assumption),
		TEST(test_the_node_of_rank_0_is_node_0),
		TEST(test_no_master_on_several_nodes_is_said),
		TEST(test_what_was_read_is_not_derived),
		TEST(test_local_size_follows_from_the_nodes),
		TEST(test_local_size_follows_from_the_ranks_below),
		TEST(test_one_rank_on_each_node),
		TEST(test_a_world_of_one_needs_no_assumption),
		TEST(test_local_size_is_not_guessed),
		TEST(test_own_master_of_one_node),
		TEST(test_own_master_of_several_nodes),
		TEST(test_a_broken_master_is_not_absent),
		TEST(test_no_second_node_for_ranks_that_are_all_here),
		TEST(test_a_broken_rule_names_the_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
