/* SPDX-License-Identifier: Apache-2.0 */
/* Which host of a list is this machine, by the texts of /proc/net. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "from/hosts.h"
#include "reading_of.h"
#include "topology_of.h"

#define LEAF(address, kind) "           |-- " address "\n              " kind "\n"
#define LOCAL "/32 host LOCAL"
#define INET6(digits, scope) digits " 02 40 " scope " 80     eth0\n"

static const char one[] =
	"Main:\n  +-- 0.0.0.0/0 3 0 5\n" LEAF("0.0.0.0", "/0 universe UNICAST")
	LEAF("127.0.0.1", LOCAL) LEAF("10.0.0.0", "/24 link UNICAST") LEAF("10.0.0.5", LOCAL)
	LEAF("10.0.0.255", "/32 link BROADCAST") "Local:\n" LEAF("10.0.0.5", LOCAL);

static struct ri_own_machine own;

static void parse(const char *fib_trie, const char *if_inet6)
{
	give_back(NULL);
	assert_true(ri_own_parse(&own, fib_trie, if_inet6, reading_of(&arena)));
}

static void test_local_addresses_alone_are_own(void **state)
{
	(void)state;
	parse(one, NULL);
	assert_int_equal(ri_own_is(&own, "10.0.0.5"), RI_OWN_YES);
	assert_int_equal(ri_own_is(&own, "::ffff:10.0.0.5"), RI_OWN_YES);
	assert_int_equal(ri_own_is(&own, "10.0.0.4"), RI_OWN_NO);
	assert_int_equal(ri_own_is(&own, "10.0.0.0"), RI_OWN_NO);
	assert_int_equal(ri_own_is(&own, "10.0.0.255"), RI_OWN_NO);
}

static void test_what_every_machine_has_says_nothing(void **state)
{
	(void)state;
	parse("|-- 127.0.0.2\n" LOCAL "\n|-- 169.254.1.1\n" LOCAL "\n|-- 0.0.0.1\n" LOCAL "\n",
		INET6("00000000000000000000000000000001", "10")
		INET6("fe800000000000000000000000000001", "20"));
	assert_int_equal(own.count, 0);
	assert_int_equal(ri_own_is(&own, "127.0.0.2"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "localhost"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "0.0.0.1"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "169.254.1.1"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "::1"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "fe80::1"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "febf::1"), RI_OWN_UNKNOWN);
	/* their neighbours */
	assert_int_equal(ri_own_is(&own, "169.253.1.1"), RI_OWN_NO);
	assert_int_equal(ri_own_is(&own, "168.254.1.1"), RI_OWN_NO);
	assert_int_equal(ri_own_is(&own, "fec0::1"), RI_OWN_NO);
	assert_int_equal(ri_own_is(&own, "ff80::1"), RI_OWN_NO);
}

static void test_ipv6(void **state)
{
	(void)state;
	parse(NULL, INET6("20010db8000000000000000000000005", "00")
		"20010db8000000000000000000000006\n" "20010DB8000000000000000000000007 02\n"
		"20010db800000000000000000000000x 02\n" "20010db80000000000000000000000089 02\n");
	assert_int_equal(own.count, 1);
	assert_int_equal(ri_own_is(&own, "2001:db8::5"), RI_OWN_YES);
	assert_int_equal(ri_own_is(&own, "2001:db8:0::5"), RI_OWN_YES);
	assert_int_equal(ri_own_is(&own, "2001:db8::6"), RI_OWN_NO);
}

static void test_a_file_that_is_not_there(void **state)
{
	(void)state;
	parse(NULL, NULL);
	assert_int_equal(ri_own_is(&own, "10.0.0.5"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "2001:db8::5"), RI_OWN_UNKNOWN);
	parse(one, NULL);
	assert_int_equal(ri_own_is(&own, "2001:db8::5"), RI_OWN_UNKNOWN);
	parse(NULL, "");
	assert_int_equal(ri_own_is(&own, "10.0.0.5"), RI_OWN_UNKNOWN);
	assert_int_equal(ri_own_is(&own, "2001:db8::5"), RI_OWN_NO);
}

static void test_names(void **state)
{
	(void)state;
	parse(one, NULL);
	assert_int_equal(ri_own_is(&own, "node1"), RI_OWN_UNKNOWN);
	own.name = "node1";
	assert_int_equal(ri_own_is(&own, "node1.cluster"), RI_OWN_YES);
	assert_int_equal(ri_own_is(&own, "node2"), RI_OWN_UNKNOWN);
	/* a name of every machine is nobody's own, even where the kernel has it */
	own.name = "localhost";
	assert_int_equal(ri_own_is(&own, "localhost"), RI_OWN_UNKNOWN);
	own.name = "10gpu";
	assert_int_equal(ri_own_is(&own, "10gpu"), RI_OWN_YES);
}

static void test_same_host(void **state)
{
	(void)state;
	assert_true(ri_is_same_host("node7", "NODE7"));
	assert_true(ri_is_same_host("node7", "node7.cluster"));
	assert_true(ri_is_same_host("node7.cluster.local", "node7"));
	assert_true(ri_is_same_host("node7.cluster", "node7.cluster"));
	assert_false(ri_is_same_host("node7", "node70"));
	assert_false(ri_is_same_host("node70.cluster", "node7"));
	assert_false(ri_is_same_host("node7.a", "node7.b"));
	assert_false(ri_is_same_host("node7.cluster", "node7.cluster.local"));
	assert_false(ri_is_same_host("node7.", "node7.cluster"));
}

static bool find(const char *const *list, size_t count, uint64_t *place)
{
	const struct ri_fact hosts = { .list = list, .number = count };

	return ri_own_find(&own, &hosts, place);
}

/* A bridge has the same address everywhere. */
static void test_just_one_of_the_list(void **state)
{
	static const char *const list[] = { "10.0.0.4", "10.0.0.5", "172.17.0.1" };
	uint64_t place = 9;

	(void)state;
	parse(one, NULL);
	assert_true(find(list, 3, &place));
	assert_int_equal(place, 1);
	assert_false(find(list, 1, &place));
	parse("|-- 10.0.0.5\n" LOCAL "\n|-- 172.17.0.1\n" LOCAL "\n", NULL);
	assert_true(find(list, 2, &place));
	assert_false(find(list, 3, &place));
}

static void test_how_others_reach_it(void **state)
{
	(void)state;
	parse(one, INET6("20010db8000000000000000000000005", "00"));
	own.name = "node1";
	assert_string_equal(ri_own_host(&own, &arena), "10.0.0.5");
	parse("|-- 172.17.0.1\n" LOCAL "\n|-- 10.0.0.5\n" LOCAL "\n", NULL);
	assert_string_equal(ri_own_host(&own, &arena), "10.0.0.5");
	parse("|-- 172.17.0.1\n" LOCAL "\n", NULL);
	assert_null(ri_own_host(&own, &arena));
	own.name = "node1";
	assert_string_equal(ri_own_host(&own, &arena), "node1");
	own.name = "(none)";
	assert_null(ri_own_host(&own, &arena));
	own.name = "localhost";
	assert_null(ri_own_host(&own, &arena));
	/* which of two nobody can tell */
	parse("|-- 10.1.0.5\n" LOCAL "\n|-- 10.0.0.5\n" LOCAL "\n", NULL);
	own.name = "node1";
	assert_string_equal(ri_own_host(&own, &arena), "node1");
}

static void test_text_that_is_none_of_it(void **state)
{
	(void)state;
	parse("|-- 10.0.0.5000000000000000000\n" LOCAL "\n|-- \n" LOCAL "\n" LOCAL
		"\n|-- 10.0.0.6\n/32 host LOCALE\n/31 host LOCAL\n   \n|-- 10.0.0.7\n" LOCAL,
		"x\n\n");
	assert_int_equal(own.count, 1);
	assert_int_equal(ri_own_is(&own, "10.0.0.7"), RI_OWN_YES);
	parse("|-- 10.0.0.7\n|-- \n" LOCAL "\n|-- 10.0.0.700000000\n" LOCAL "\n", NULL);
	assert_int_equal(own.count, 0);
	parse(NULL, "20010db8000000000000000000000005 ");
	assert_int_equal(own.count, 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_local_addresses_alone_are_own),
		TEST(test_what_every_machine_has_says_nothing),
		TEST(test_ipv6),
		TEST(test_a_file_that_is_not_there),
		TEST(test_names),
		TEST(test_same_host),
		TEST(test_just_one_of_the_list),
		TEST(test_how_others_reach_it),
		TEST(test_text_that_is_none_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
