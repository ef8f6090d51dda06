/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "from/hosts.h"
#include "from/reading.h"
#include "out_of_memory.h"
#include "reading_of.h"
#include "thinned.h"
#include "topology_of.h"

static struct ri_span slice(const char *text)
{
	return (struct ri_span){ text, strlen(text) };
}

static void assert_endpoint(const char *text, const char *host, unsigned port)
{
	struct ri_endpoint got;

	if (!ri_endpoint_read(slice(text), &got))
		fail_msg("\"%s\" is not read", text);
	assert_int_equal(got.host.length, strlen(host));
	assert_memory_equal(got.host.at, host, got.host.length);
	assert_int_equal(got.port, port);
}

static void test_endpoint_forms(void **state)
{
	(void)state;
	assert_endpoint("10.0.0.4", "10.0.0.4", 0);
	assert_endpoint("10.0.0.4:6000", "10.0.0.4", 6000);
	assert_endpoint(" \tnode-0.local:1\n", "node-0.local", 1);
	assert_endpoint("my_host", "my_host", 0);
	assert_endpoint("azAZ09.z\r\n", "azAZ09.z", 0);
	assert_endpoint("Z:1", "Z", 1);
	assert_endpoint("A", "A", 0);
	assert_endpoint("z", "z", 0);
	assert_endpoint("fd00::2", "fd00::2", 0);
	assert_endpoint("::1", "::1", 0);
	assert_endpoint("[fd00::2]", "fd00::2", 0);
	assert_endpoint("[fd00::2]:65535", "fd00::2", 65535);
	assert_endpoint("fe80::1%eth0", "fe80::1%eth0", 0);
	assert_endpoint("fec0::1", "fec0::1", 0);
	assert_endpoint("::ffff:10.0.0.4", "::ffff:10.0.0.4", 0);
}

static void test_addresses(void **state)
{
	static const char *const wrong[] = {
		"10.0.0.0.1", "10.0.0.", "10..0.1", "010.0.0.1", "1000.0.0.1", "10.0.0.256",
		"10", ".", "::g", "1::2::3", "::1%", "::1%eth 0",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1",
	};

	(void)state;
	assert_true(ri_is_host(slice("0.0.0.0")));
	assert_true(ri_is_host(slice("255.255.255.255")));
	assert_true(ri_is_host(slice("10.0.0.a")));
	/* what stands behind the slice is none of its business */
	assert_true(ri_is_host((struct ri_span){ "10.0.0.259", 9 }));
	assert_false(ri_is_host((struct ri_span){ "::1\0", 4 }));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (ri_is_host(slice(wrong[i])))
			fail_msg("\"%s\" is a host", wrong[i]);
}

static void test_what_was_expected_of_an_endpoint(void **state)
{
	static const char *const ports[] = {
		"10.0.0.4:99999", "node0:0", " node0:x ", "node0:", "[fd00::2]:70000",
	};
	static const char *const hosts[] = {
		"", "a b", ":29500", "-x:99999", "http://node0", "a:1/b", "[node0]:99999", "1.2.3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		assert_string_equal(ri_endpoint_expect(ports[i], strlen(ports[i])),
			"a port from 1 to 65535 after the colon");
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_string_equal(ri_endpoint_expect(hosts[i], strlen(hosts[i])),
			"one host name or address");
	assert_non_null(strstr(ri_endpoint_expect("[FE80::1]:1", 11), "with its zone"));
}

static void test_endpoint_refuses_all_else(void **state)
{
	static const char *const wrong[] = {
		"", " ", ":", ":80", "host:", "host:0", "host:65536", "host:+1", "host: 1",
		"host:1 2", "a b", "a,b", "http://a", "a/b", "-a", ".a", "10.0.0", "10.0.0.256",
		"1:2:3", "[", "]", "[]", "[]:1", "[::1", "::1]", "[::1]:", "[::1]1", "[::1]:0",
		"[host]", "[host]:1", "[[::1]]", "fe80::1%", "fe80::1%a b", "a\nb", "a\x01",
		"fe80::1", "[fe80::1]:1", "febf::1",
		"\xc3\xa4", "*", "$HOST", "host:123456789", "host:12345678",
	};
	struct ri_endpoint got = { .port = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (ri_endpoint_read(slice(wrong[i]), &got))
			fail_msg("\"%s\" is read", wrong[i]);
	assert_int_equal(got.port, 77);
	/* blanks on both sides of the slice */
	assert_false(ri_endpoint_read((struct ri_span){ " :1", 1 }, &got));
	assert_false(ri_endpoint_read((struct ri_span){ "  :1", 1 }, &got));
	assert_int_equal(got.port, 77);
}

static void test_host_name_has_a_longest(void **state)
{
	char name[RI_MAX_NAME + 2];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_true(ri_is_host((struct ri_span){ name, RI_MAX_NAME }));
	assert_false(ri_is_host((struct ri_span){ name, RI_MAX_NAME + 1 }));
	assert_false(ri_is_host((struct ri_span){ "a\0b", 3 }));
	assert_false(ri_is_host((struct ri_span){ "", 0 }));
}

static void test_uri_index(void **state)
{
	uint64_t index = 77;

	(void)state;
	assert_true(ri_ompi_uri_index("2092433408.1;tcp://172.18.0.2:39331", &index));
	assert_int_equal(index, 1);
	assert_true(ri_ompi_uri_index("prterun-a.b.c-57@0.12;tcp4://127.0.0.1:1", &index));
	assert_int_equal(index, 12);
	assert_true(ri_ompi_uri_index("1.3", &index));
	assert_int_equal(index, 3);
	assert_false(ri_ompi_uri_index("", &index));
	assert_false(ri_ompi_uri_index("1", &index));
	assert_false(ri_ompi_uri_index(".1", &index));
	assert_false(ri_ompi_uri_index("1.", &index));
	assert_false(ri_ompi_uri_index("1.x;", &index));
	assert_false(ri_ompi_uri_index("1. 2;", &index));
	assert_false(ri_ompi_uri_index("1;tcp://10.0.0.4:1", &index));
	assert_false(ri_ompi_uri_index("1.99999999999999999999", &index));
	assert_false(ri_ompi_uri_index("1.0000000000000001", &index));
	assert_int_equal(index, 3);
}

static void assert_address(const char *uri, const char *other, const char *expected)
{
	struct ri_span got;

	assert_true(ri_ompi_uri_address(uri, other, &got));
	assert_int_equal(got.length, strlen(expected));
	assert_memory_equal(got.at, expected, got.length);
}

static void test_uri_address_is_the_first_of_its_own(void **state)
{
	(void)state;
	assert_address("1.0;tcp://10.0.0.4:1", NULL, "10.0.0.4");
	assert_address("1.0;tcp://127.0.0.1,10.0.0.4:1", NULL, "10.0.0.4");
	assert_address("1.0;tcp://172.17.0.1,10.0.0.4:1", "1.1;tcp://172.17.0.1,10.0.0.5:2",
		"10.0.0.4");
	assert_address("1.0;tcp://10.0.0.4:1;tcp://10.1.0.4:1", "1.1;tcp://10.0.0.4:1",
		"10.1.0.4");
	assert_address("1.0;usock;tcp6://[::1,fd00::2]:1", NULL, "fd00::2");
	assert_address("1.0;tcp4://10.0.0.4:1", "", "10.0.0.4");
}

static void test_uri_without_an_address(void **state)
{
	static const char *const none[] = {
		"", "1.0", "1.0;", "1.0;;;", "1.0;tcp://", "1.0;tcp://:1", "1.0;tcp://10.0.0.4",
		"1.0;tcp://127.0.0.1:1;tcp6://[::1]:1", "1.0;tcp6://[", "1.0;tcp6://[]:1",
		"1.0;udp://10.0.0.4:1", "1.0;tcp://a b,,c d:1",
	};
	struct ri_span got = { .at = NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(ri_ompi_uri_address(none[i], NULL, &got));
	assert_false(ri_ompi_uri_address("1.0;tcp://a:1", "1.1;tcp://b,a:2", &got));
	assert_null(got.at);
}

static void assert_node(const char *regex, uint64_t index, const char *expected)
{
	const char *name = ri_ompi_regex_host(regex, index, reading_of(&arena));

	if (expected == NULL)
		assert_null(name);
	else
		assert_string_equal(name, expected);
}

static void test_regex_expands(void **state)
{
	(void)state;
	assert_node("eco-w[1:0-1]@0(2)", 0, "eco-w0");
	assert_node("eco-w[1:0-1]@0(2)", 1, "eco-w1");
	assert_node("vm,n[1:0-1]@0(3)", 0, "vm");
	assert_node("vm,n[1:0-1]@0(3)", 2, "n1");
	assert_node("ip-[3:192]-168-2-54,w-[1:0-1]@0(3)", 0, "ip-192-168-2-54");
	assert_node("n[3:8-10,20]@0(4)", 1, "n009");
	assert_node("n[3:8-10,20]@0(4)", 3, "n020");
	assert_node("n[1:5-5]@0(1)", 0, "n5");
	assert_node("n[15:7]@0(1)", 0, "n000000000000007");
	assert_node("n[16:7]@0(1)", 0, NULL);
	assert_node("a,b,c@0,2(2)", 1, NULL);
	assert_node("a,b,c@0,2(2)", 3, "c");
}

static void test_regex_that_does_not_say(void **state)
{
	(void)state;
	assert_node("", 0, NULL);
	assert_node("a,b", 0, NULL);
	assert_node("a@", 0, NULL);
	assert_node("a@0(2", 1, NULL);
	assert_node("a@0(2)", 2, NULL);
	assert_node("a@0(5)", 4, NULL);
	assert_node("@0", 0, NULL);
	assert_node("n[1:0-@0(2)", 0, NULL);
	assert_node("n[0-1]@0(2)", 0, NULL);
	assert_node("n[99:0-1]@0(2)", 0, NULL);
	assert_node("n[1:5-2]@0(2)", 0, NULL);
	assert_node("n]1:0[@0(2)", 0, NULL);
	assert_node("n[1:0-4294967295]@0(4294967295)", 4294967294, NULL);
	assert_node("n[1:0-1,@0(2)", 0, NULL);
	assert_node("n[", 0, NULL);
	assert_node("n[@0", 0, NULL);
}

static bool names(const struct ri_source_row *reads, const char *variable)
{
	for (; reads->name != NULL; reads++)
		if (strcmp(reads->name, variable) == 0)
			return true;
	return false;
}

static bool shows_itself(const struct ri_source *source)
{
	bool sign = source->detect != NULL;

	for (const struct ri_source_row *row = source->reads; row->name != NULL; row++)
		sign |= row->sign != RI_NO_SIGN;
	return sign;
}

static bool claims(const struct ri_source_row *row)
{
	while (row->name != NULL && row->take == RI_TAKE_NOTHING)
		row++;
	return row->name != NULL;
}

/* Every field that the tables promise is there, and no name stands twice. */
static void test_sources_are_complete(void **state)
{
	const struct ri_source *source;
	size_t count = 0;

	(void)state;
	for (; (source = ri_sources[count]) != NULL; count++) {
		assert_true(source->name != NULL && *source->name != '\0');
		assert_true(source->summary != NULL && *source->summary != '\0');
		assert_true(shows_itself(source) || strcmp(source->name, "manual") == 0);
		assert_true(source->read != NULL || claims(source->reads));
		assert_non_null(source->reads[0].name);
		assert_true(source->job == NULL || names(source->reads, source->job));
		for (const struct ri_source_row *v = source->reads; v->name != NULL; v++) {
			assert_true(*v->name != '\0');
			assert_true(v->meaning != NULL && *v->meaning != '\0');
			assert_true((v->cite != NULL ? v->cite : source->cite)[0] != '\0');
		}
		for (size_t i = 0; i < count; i++)
			assert_string_not_equal(source->name, ri_sources[i]->name);
	}
	assert_true(count > 0);
	assert_int_equal(count, RI_SOURCE_COUNT);
}

static void test_plain_environment_allocates_nothing(void **state)
{
	size_t used;

	(void)state;
	assert_int_equal(ri_env_init(&env, LIST("PATH=/bin", "HOME=/"), &arena, &err), 0);
	used = arena.used;
	assert_int_equal(ri_topology_read(&topology, &context, &err), 0);
	assert_int_equal(arena.used, used);
	assert_null(arena.chunks);
	assert_null(topology.identity);
	assert_int_equal(topology.source_count, 0);
	assert_int_equal(findings.count, 0);
}

static void test_facts_carry_their_origin(void **state)
{
	const struct ri_fact *rank = &topology.facts[RI_FACT_RANK];

	(void)state;
	take(LIST(RANK_13, "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"));
	assert_string_equal(topology.identity, "openmpi");
	assert_int_equal(topology.source_count, 2);
	assert_string_equal(topology.sources[0], "openmpi");
	assert_string_equal(topology.sources[1], "azure_batch");
	assert_string_equal(rank->origin.source, "openmpi");
	assert_string_equal(rank->origin.variable, "OMPI_COMM_WORLD_RANK");
	assert_string_equal(rank->origin.raw, "13");
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "10.0.0.4");
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].origin.raw, "10.0.0.4:6000");
	assert_string_equal(topology.facts[RI_FACT_MASTER_PORT].origin.source, "azure_batch");
}

static void test_losers_are_kept(void **state)
{
	const struct ri_fact *lost;

	(void)state;
	take(LIST(RANK_13, "AZ_BATCH_MASTER_NODE=10.0.0.4:6000", "MASTER_ADDR=10.0.0.9",
		"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5", "AZ_BATCH_NODE_LIST=10.0.0.4;10.0.0.6"));
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].origin.source, "env");
	lost = topology.facts[RI_FACT_MASTER_ADDR].next;
	assert_non_null(lost);
	assert_string_equal(lost->origin.variable, "AZ_BATCH_MASTER_NODE");
	assert_null(lost->next);
	assert_found(RI_CODE_ENV_DIFFERS, "MASTER_ADDR");
	assert_string_equal(topology.facts[RI_FACT_HOSTS].origin.variable, "AZ_BATCH_HOST_LIST");
	assert_string_equal(topology.facts[RI_FACT_HOSTS].list[1], "10.0.0.5");
	assert_string_equal(
		topology.facts[RI_FACT_HOSTS].next->origin.variable, "AZ_BATCH_NODE_LIST");
}

static void test_an_outer_master_beats_what_mpirun_lets_guess(void **state)
{
	(void)state;
	take(LIST(RANK_13, "OMPI_MCA_orte_num_nodes=2", "OMPI_MCA_ess_base_num_procs=2",
		"OMPI_MCA_orte_hnp_uri=1.0;tcp://10.1.0.4:1",
		"OMPI_MCA_orte_local_daemon_uri=1.1;tcp://10.1.0.5:1",
		"AZ_BATCH_MASTER_NODE=10.0.0.4:6000"));
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].text, "10.0.0.4");
	assert_string_equal(topology.facts[RI_FACT_MASTER_ADDR].next->text, "10.1.0.4");
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_int_equal(findings.count, 0);
}

static void test_half_a_tuple_is_no_identity(void **state)
{
	(void)state;
	take(LIST("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"));
	assert_null(topology.identity);
	assert_unknown(RI_FACT_RANK);
	assert_found(RI_CODE_SOURCE_INCOMPLETE, "OMPI_COMM_WORLD_SIZE");
}

static void test_sources_are_those_with_something_to_say(void **state)
{
	(void)state;
	take(LIST(RANK_13, "TORCHELASTIC_RUN_ID=x", "MASTER_ADDR=", "RANKINIT=1:node"));
	assert_int_equal(topology.source_count, 1);
	assert_string_equal(topology.sources[0], "openmpi");
}

/* Between tuples of two layers there is no mixing, and the losers are kept. */
static void test_a_larger_world_was_made_inside(void **state)
{
	const struct ri_fact *rank = &topology.facts[RI_FACT_RANK];

	(void)state;
	take(LIST("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "RANK=9",
		"WORLD_SIZE=16", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8"));
	assert_string_equal(topology.identity, "env");
	for (enum ri_fact_id id = RI_FACT_RANK; id <= RI_FACT_LOCAL_WORLD_SIZE; id++)
		assert_string_equal(topology.facts[id].origin.source, "env");
	assert_number(RI_FACT_RANK, 9);
	assert_string_equal(rank->next->origin.variable, "OMPI_COMM_WORLD_RANK");
}

static void test_service_links_are_absent(void **state)
{
	(void)state;
	take(LIST("OMPI_COMM_WORLD_RANK=tcp://10.0.0.1:80", "OMPI_COMM_WORLD_SIZE=2",
		"MASTER_PORT=tcp://10.0.0.1:80", "AZ_BATCH_MASTER_NODE=tcp://10.0.0.1:80"));
	assert_null(topology.identity);
	assert_int_equal(topology.source_count, 0);
	assert_int_equal(findings.count, 0);
}

static void test_broken_tuple_names_value_and_expectation(void **state)
{
	(void)state;
	assert_refused(LIST("OMPI_COMM_WORLD_RANK=3x", "OMPI_COMM_WORLD_SIZE=4",
		"OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"),
		RI_CODE_ENV_VALUE, "OMPI_COMM_WORLD_RANK");
	assert_non_null(strstr(err.text, "\"3x\""));
	assert_non_null(strstr(err.text, "from 0 to 1048575"));
	assert_int_equal(ri_code_status(err.code), 125);
}

static void test_failure_leaves_the_candidates(void **state)
{
	(void)state;
	assert_refused(LIST(RANK_13, "MASTER_ADDR=a b"), RI_CODE_ENV_VALUE, "MASTER_ADDR");
	assert_string_equal(topology.identity, "openmpi");
	assert_int_equal(topology.facts[RI_FACT_MASTER_ADDR].next->state, RI_STATE_BROKEN);
	assert_int_equal(topology.facts[RI_FACT_MASTER_ADDR].next->fault_at, 1);
}

static void test_broken_values_without_identity_are_findings(void **state)
{
	(void)state;
	take(LIST("MASTER_ADDR=a b", "MASTER_PORT=0", "AZ_BATCH_HOST_LIST=a,,b"));
	assert_null(topology.identity);
	assert_int_equal(findings.count, 3);
	for (size_t i = 0; i < findings.count; i++)
		assert_int_equal(findings.items[i].code, RI_CODE_ENV_IGNORED);
}

/* The daemon counts when it is Open MPI's own; Slurm's PMIx server is not. */
static void test_openmpi_5_daemon(void **state)
{
	(void)state;
	take(LIST(RANK_13, "PMIX_SERVER_URI41=prterun-a-57@0.1;tcp4://127.0.0.1:1"));
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_string_equal(
		topology.facts[RI_FACT_NODE_RANK].origin.variable, "PMIX_SERVER_URI41");
	assert_null(find_finding(RI_CODE_NODE_RANK_ASSUMED));
	give_back(state);
	take(LIST(RANK_13, "PMIX_SERVER_URI41=slurm.pmix.7.0.1;tcp4://127.0.0.1:1"));
	assert_non_null(find_finding(RI_CODE_NODE_RANK_ASSUMED));
}

static char *many_hosts(size_t count)
{
	char *text = malloc(32 + count * 16), *at = text;

	assert_non_null(text);
	at += sprintf(at, "AZ_BATCH_HOST_LIST=");
	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "%s10.%zu.%zu.%zu", i == 0 ? "" : ",", i / 65536, i / 256 % 256,
			i % 256);
	return text;
}

static void test_many_hosts(void **state)
{
	char *list = many_hosts(100000);

	(void)state;
	take(LIST(list));
	assert_number(RI_FACT_HOSTS, 100000);
	assert_string_equal(topology.facts[RI_FACT_HOSTS].list[0], "10.0.0.0");
	assert_string_equal(topology.facts[RI_FACT_HOSTS].list[99999], "10.1.134.159");
	free(list);
}

/* The bound on the hosts is that on the ranks: one more is one too many. */
static void test_most_hosts(void **state)
{
	static char list[32 + 2 * (RI_MAX_RANKS + 1)];
	size_t start = (size_t)sprintf(list, "AZ_BATCH_HOST_LIST=");

	if (below_valgrind()) {
		puts("skip test_most_hosts: below valgrind the list of test_many_hosts is enough");
		skip();
	}
	for (size_t i = 0; i <= RI_MAX_RANKS; i++)
		memcpy(list + start + 2 * i, "a,", 2);
	list[start + 2 * RI_MAX_RANKS - 1] = '\0';
	take(LIST(list));
	assert_number(RI_FACT_HOSTS, RI_MAX_RANKS);
	give_back(state);
	list[start + 2 * RI_MAX_RANKS - 1] = ',';
	list[start + 2 * RI_MAX_RANKS + 1] = '\0';
	take(LIST(list));
	assert_unknown(RI_FACT_HOSTS);
	assert_found(RI_CODE_ENV_IGNORED, "AZ_BATCH_HOST_LIST");
}

/* Leave exactly so much memory, and read. */
static int read_with_room_for(size_t left)
{
	void *last = &arena;

	if (ri_env_init(&env, LIST(RANK_13, "AZ_BATCH_HOST_LIST=a,b", "MASTER_ADDR=a:1",
		"CCP_NODES=1 a 1"),
		&arena, &err) < 0 || !memory_exhaust(&arena))
		return 99;
	while (last != NULL)
		last = ri_arena_alloc(&arena, 16);
	arena.used -= left;
	if (ri_topology_read(&topology, &context, &err) == 0)
		return 0;
	return err.code == RI_CODE_MEMORY ? 1 : 97;
}

static int read_in_little_memory(void)
{
	size_t left = 0;
	int result;

	for (; left < 16384; left += 16) {
		result = read_with_room_for(left);
		give_back(NULL);
		if (result != 1)
			break;
	}
	return left > 7 * sizeof(struct ri_fact) ? result : 96;
}

/* Nothing is claimed in the name of what nobody said; an empty value was said. */
static void test_a_claim_has_raw_text(void **state)
{
	static const struct ri_source_row rows[] = { { .name = NULL } };
	static const struct ri_source source = { .name = "test", .port = 6105, .reads = rows };
	struct ri_reading reading = { .context = &context, .source = &source, .err = &err };
	const struct ri_fact *claim;

	(void)state;
	assert_int_equal(ri_env_init(&env, LIST("THERE=", "LINK=tcp://10.0.0.1:80"), &arena, &err),
		0);
	assert_null(ri_claim(&reading, RI_FACT_RANK, "ABSENT"));
	assert_null(ri_claim(&reading, RI_FACT_RANK, "LINK"));
	assert_null(ri_claim(&reading, RI_FACT_RANK, "--rank"));
	assert_null(ri_claim_open(&reading, RI_FACT_RANK, "ABSENT", "why"));
	assert_null(ri_claim_broken(&reading, RI_FACT_RANK, "ABSENT", "what"));
	assert_int_equal(reading.claim_count, 0);
	assert_int_equal(err.code, RI_CODE_NONE);
	claim = ri_claim(&reading, RI_FACT_RANK, "THERE");
	assert_string_equal(claim->origin.raw, "");
	ri_source_read(&source, &reading);
	assert_null(reading.claims[RI_FACT_MASTER_PORT]->origin.variable);
	assert_string_equal(reading.claims[RI_FACT_MASTER_PORT]->origin.raw, "");
	assert_int_equal(reading.claim_count, 2);
}

/* Wherever memory ends, that is the error, and nothing is half done. */
static void test_out_of_memory(void **state)
{
	(void)state;
	if (below_valgrind()) {
		puts("skip test_out_of_memory: valgrind ends where it gets no memory of its own");
		skip();
	}
	assert_int_equal(memory_limited(read_in_little_memory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_endpoint_forms),
		TEST(test_addresses),
		TEST(test_endpoint_refuses_all_else),
		TEST(test_what_was_expected_of_an_endpoint),
		TEST(test_host_name_has_a_longest),
		TEST(test_uri_index),
		TEST(test_uri_address_is_the_first_of_its_own),
		TEST(test_uri_without_an_address),
		TEST(test_regex_expands),
		TEST(test_regex_that_does_not_say),
		TEST(test_sources_are_complete),
		TEST(test_plain_environment_allocates_nothing),
		TEST(test_facts_carry_their_origin),
		TEST(test_losers_are_kept),
		TEST(test_an_outer_master_beats_what_mpirun_lets_guess),
		TEST(test_half_a_tuple_is_no_identity),
		TEST(test_sources_are_those_with_something_to_say),
		TEST(test_a_larger_world_was_made_inside),
		TEST(test_service_links_are_absent),
		TEST(test_broken_tuple_names_value_and_expectation),
		TEST(test_failure_leaves_the_candidates),
		TEST(test_broken_values_without_identity_are_findings),
		TEST(test_openmpi_5_daemon),
		TEST(test_many_hosts),
		TEST(test_most_hosts),
		TEST(test_a_claim_has_raw_text),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
