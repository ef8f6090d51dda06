/* SPDX-License-Identifier: Apache-2.0 */
/* Facts by hand: what the golden cases of "manual" cannot show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "from/hosts.h"
#include "model/context.h"
#include "out_of_memory.h"
#include "reading_of.h"
#include "topology_of.h"

static struct ri_hostfile hostfile;

static const char *host_name;	/* of this machine */

static void take_wishes(const struct ri_wishes *wishes, int expected)
{
	struct ri_host machine = { .root = -1, .name = host_name };
	const struct ri_context asked = {
		.env = &env, .wishes = wishes, .arena = &arena, .findings = &findings,
		.command = &no_command,
		.host = &machine,
	};

	assert_int_equal(ri_env_init(&env, LIST(RANK_13), &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &asked, &err), expected);
}

static void take_hosts(const char *hosts, const char *name)
{
	const struct ri_wishes wishes = { .facts[RI_FACT_HOSTS] = { "--hosts", hosts } };

	give_back(NULL);
	host_name = name;
	take_wishes(&wishes, 0);
}

static void test_hosts_give_place_and_master(void **state)
{
	(void)state;
	take_hosts("a,b", "b");
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_number(RI_FACT_NNODES, 2);
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.source, "manual");
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.variable, "--hosts");
	assert_string_equal(topology.facts[RI_FACT_NODE_RANK].origin.raw, "a,b");
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "a");
	assert_int_equal(findings.count, 0);
}

static void test_own_name_may_be_short_or_long(void **state)
{
	(void)state;
	take_hosts("x.example,A.example", "a");
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_int_equal(findings.count, 0);
	take_hosts("x,a", "a.example");
	assert_int_equal(findings.count, 0);
	/* two long names are one host only if they are equal */
	take_hosts("x,a.other", "a.example");
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
}

static void test_own_name_that_does_not_decide(void **state)
{
	(void)state;
	take_hosts("a.x,a.y", "a");
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
	take_hosts("a,b", "c");
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
	take_hosts("a,b", NULL);
	assert_found(RI_CODE_NODE_RANK_ASSUMED, "NODE_RANK");
}

/* Nobody says who this is, and the list does not help: it says why. */
static void test_hosts_of_others_alone(void **state)
{
	const struct ri_wishes wishes = { .facts[RI_FACT_HOSTS] = { "--hosts", "a,b" } };
	struct ri_host machine = { .root = -1, .name = "c" };
	const struct ri_context asked = {
		.env = &env, .wishes = &wishes, .arena = &arena, .findings = &findings,
		.command = &no_command,
		.host = &machine,
	};

	(void)state;
	assert_int_equal(ri_env_init(&env, LIST("HOME=/"), &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &asked, &err), 0);
	assert_null(topology.identity);
	assert_int_equal(findings.count, 1);
	assert_found(RI_CODE_SOURCE_INCOMPLETE, "--hosts");
	assert_non_null(strstr(findings.items[0].text, "which of its 2 hosts this machine is"));
	assert_string_equal(findings.items[0].hint, "state --node-rank");
}

static void test_single_facts_beat_those_of_the_list(void **state)
{
	const struct ri_wishes wishes = {
		.facts[RI_FACT_HOSTS] = { "--hosts", "a,b" },
		.facts[RI_FACT_NODE_RANK] = { "--node-rank", "1" },
		.facts[RI_FACT_MASTER_ADDR] = { "--master-addr", "c" },
	};

	(void)state;
	host_name = "a";
	take_wishes(&wishes, 0);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "c");
}

static void test_a_twin_is_the_one_to_blame(void **state)
{
	const struct ri_wishes wishes = { .facts[RI_FACT_RANK] = { "RANKINIT_RANK", "1e3" } };
	const struct ri_context asked = {
		.env = &env, .wishes = &wishes, .arena = &arena, .findings = &findings,
		.command = &no_command,
	};

	(void)state;
	assert_int_equal(ri_env_init(&env, LIST("RANKINIT_RANK=1e3"), &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &asked, &err), -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_string_equal(err.subject, "RANKINIT_RANK");
	assert_non_null(strstr(err.text, "\"1e3\", expected a whole number from 0 to"));
	assert_int_equal(topology.facts[RI_FACT_RANK].next->fault_at, 1);
}

static void test_a_larger_world_is_not_the_identity(void **state)
{
	const struct ri_wishes wishes = {
		.facts[RI_FACT_RANK] = { "--rank", "1" },
		.facts[RI_FACT_WORLD_SIZE] = { "--world-size", "2" },
		.facts[RI_FACT_LOCAL_RANK] = { "--local-rank", "1" },
		.facts[RI_FACT_LOCAL_WORLD_SIZE] = { "--local-world-size", "2" },
	};
	const struct ri_context asked = {
		.env = &env, .wishes = &wishes, .arena = &arena, .findings = &findings,
		.command = &no_command,
	};

	(void)state;
	assert_int_equal(ri_env_init(&env, LIST("RANK=5", "WORLD_SIZE=16", "LOCAL_RANK=5",
		"LOCAL_WORLD_SIZE=8"), &arena, &err), 0);
	assert_int_equal(ri_topology_read(&topology, &asked, &err), 0);
	assert_string_equal(topology.identity, "manual");
}

static void assert_master_refused(const char *value, const char *expected, size_t at)
{
	const struct ri_wishes wishes = {
		.facts[RI_FACT_MASTER_ADDR] = { "--master-addr", value },
	};

	give_back(NULL);
	take_wishes(&wishes, -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_non_null(strstr(err.text, expected));
	assert_int_equal(topology.facts[RI_FACT_MASTER_ADDR].next->fault_at, at);
}

static void test_what_is_wrong_with_a_master(void **state)
{
	(void)state;
	assert_master_refused("10.0.0.4:29500", "expected a host without a port", 8);
	assert_master_refused("a b", "expected one host name or address", 1);
}

static void take_file(const char *text, int expected)
{
	const struct ri_wishes wishes = {
		.hostfile = { "--hostfile", "/job/hostfile" },
		.hostfile_text = text,
	};

	give_back(NULL);
	host_name = "worker-1";
	take_wishes(&wishes, expected);
}

static void test_hostfile_gives_hosts(void **state)
{
	(void)state;
	take_file("# made by hand\nworker-0 slots=8\nworker-1 slots=8\n", 0);
	assert_number(RI_FACT_HOSTS, 2);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "worker-0");
	assert_string_equal(topology.facts[RI_FACT_HOSTS].origin.raw, "/job/hostfile");
	assert_string_equal(topology.facts[RI_FACT_HOSTS].origin.variable, "--hostfile");
}

static void test_hostfile_that_is_none(void **state)
{
	(void)state;
	take_file("a\nb slots=0\n", -1);
	assert_int_equal(err.code, RI_CODE_FILE_SYNTAX);
	assert_string_equal(err.subject, "/job/hostfile");
	assert_non_null(strstr(err.text, "line 2 "));
	take_file("# nobody\n", -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_string_equal(err.subject, "--hostfile");
}

static void read_file(const char *text)
{
	give_back(NULL);
	assert_true(ri_hostfile_read(&hostfile, text, reading_of(&arena)));
}

static void test_hostfile_grammar(void **state)
{
	(void)state;
	read_file("b\r\n\n  a\tslots=2 max_slots=4 # four\nb slots=1\nc:8\nb");
	assert_int_equal(hostfile.bad_line, 0);
	assert_int_equal(hostfile.count, 3);
	assert_string_equal(hostfile.hosts[0], "b");
	assert_string_equal(hostfile.hosts[1], "a");
	assert_string_equal(hostfile.hosts[2], "c");
	read_file("");
	assert_int_equal(hostfile.count, 0);
	assert_int_equal(hostfile.bad_line, 0);
}

static void test_hostfile_slots(void **state)
{
	(void)state;
	read_file("b\na slots=2 max_slots=4\nb slots=1\nc:8\nb\n[::1]:3 slots=5");
	assert_int_equal(hostfile.count, 4);
	assert_int_equal(hostfile.slots[0], 3);
	assert_int_equal(hostfile.slots[1], 2);
	assert_int_equal(hostfile.slots[2], 8);
	assert_int_equal(hostfile.slots[3], 5);
	read_file("a max-slots=4\nb slots=1048576\nb slots=1048576");
	assert_int_equal(hostfile.slots[0], 1);
	assert_int_equal(hostfile.slots[1], 1048576);
}

static void test_hostfile_share(void **state)
{
	(void)state;
	read_file("b\na\na\nc:2\n");
	assert_int_equal(ri_hostfile_share(&hostfile, 0), 0);
	assert_int_equal(ri_hostfile_share(&hostfile, 1), 2);
	assert_int_equal(ri_hostfile_share(&hostfile, 2), 2);
	assert_int_equal(ri_hostfile_share(&hostfile, 3), 0);
	read_file("a slots=4\nb slots=4");
	assert_int_equal(ri_hostfile_share(&hostfile, 0), 4);
	read_file("");
	assert_int_equal(ri_hostfile_share(&hostfile, 0), 0);
}

/* The table fits into what is left over, the pointers do not. */
static int read_file_without_memory(void)
{
	static char text[4096];

	memset(text, '\n', sizeof(text) - 1);
	text[0] = 'a';
	if (!memory_exhaust(&arena))
		return 1;
	/* two of these leave 60 kB of a chunk */
	while (ri_arena_alloc(&arena, 100000) != NULL)
		;
	return !ri_hostfile_read(&hostfile, text, reading_of(&arena)) ? 0 : 2;
}

static void test_hostfile_without_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(read_file_without_memory), 0);
}

static void test_hostfile_refuses(void **state)
{
	static const char *const lines[] = {
		"a b", "a slots", "a slots=", "a slots=x", "a slots=-1", "a cpus=2", "a,b",
		"slots=2", "a: slots=1",
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), "good\n%s\n", lines[i]);
		read_file(text);
		assert_int_equal(hostfile.bad_line, 2);
		assert_int_equal(hostfile.count, 0);
	}
}

static void test_lists_of_names(void **state)
{
	const struct ri_wishes some = { .frameworks = "torch,jax" };
	const struct ri_wishes none = { .frameworks = "none", .source = { "--source", "none" } };

	(void)state;
	assert_true(ri_wishes_allow_framework(&no_wishes, "torch"));
	assert_true(ri_wishes_allow_framework(&some, "torch"));
	assert_true(ri_wishes_allow_framework(&some, "jax"));
	assert_false(ri_wishes_allow_framework(&some, "tor"));
	assert_false(ri_wishes_allow_framework(&some, "tensorflow"));
	assert_false(ri_wishes_allow_framework(&none, "torch"));
	assert_true(ri_wishes_refuse_all(&none));
	assert_false(ri_wishes_refuse_all(&some));
	assert_false(ri_wishes_refuse_all(&no_wishes));
	assert_true(ri_wishes_allow_source(&no_wishes, "env"));
	assert_false(ri_wishes_allow_source(&none, "env"));
	assert_null(ri_wishes_subject(&no_wishes));
	assert_null(ri_wishes_get(&no_wishes, "--rank"));
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hosts_give_place_and_master),
		TEST(test_own_name_may_be_short_or_long),
		TEST(test_own_name_that_does_not_decide),
		TEST(test_hosts_of_others_alone),
		TEST(test_single_facts_beat_those_of_the_list),
		TEST(test_a_twin_is_the_one_to_blame),
		TEST(test_a_larger_world_is_not_the_identity),
		TEST(test_what_is_wrong_with_a_master),
		TEST(test_hostfile_gives_hosts),
		TEST(test_hostfile_that_is_none),
		TEST(test_hostfile_grammar),
		TEST(test_hostfile_slots),
		TEST(test_hostfile_share),
		TEST(test_hostfile_without_memory),
		TEST(test_hostfile_refuses),
		TEST(test_lists_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
