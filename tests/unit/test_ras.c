/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a status of NCCL's RAS, as NCCL 2.24 and 2.28 write it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hang/ras.h"

#define VERSION "NCCL version 2.28.3 compiled with CUDA 12.9\n\n"
#define COMMUNICATOR "#0-0 (27a079b828ff1a75) "
#define DIFFER "  Communicator ranks have different "
#define NAME " of communicator 0x27a079b828ff1a75 "

static struct ri_ras read_from(const char *text)
{
	struct ri_ras ras;

	memset(&ras, 7, sizeof(ras));
	ri_ras_read((struct ri_span){ text, strlen(text) }, &ras);
	return ras;
}

static void expect_fact(const char *text, const char *fact)
{
	struct ri_ras ras = read_from(text);
	struct ri_text out;
	char words[256];

	assert_int_equal(ras.answer, RI_RAS_READ);
	assert_int_equal(ras.count, 1);
	ri_text_init(&out, words, sizeof(words));
	ri_ras_add_fact(&out, &ras.facts[0]);
	assert_string_equal(words, fact);
}

static void ranks_that_are_behind(void **state)
{
	(void)state;
	expect_fact(VERSION COMMUNICATOR "MISMATCH\n" DIFFER "collective operation counts\n"
		"  29 ranks have launched up to operation 6650\n"
		"  3 ranks have launched up to operation 6649\n"
		"  Rank 0 -- GPU 0 managed by process 83 on node 172.16.64.210\n"
		"  Rank 1 -- [process information not found]\n"
		"  Rank 7 -- GPU 2 managed by process 84 on node 172.16.64.210\n\n",
		"ranks 0-1, 7" NAME "have begun 6649 operations, others 6650");
	expect_fact(VERSION COMMUNICATOR "MISMATCH\n" DIFFER "Broadcast operation counts\n"
		"  3 ranks have launched up to operation 2\n"
		"  Rank 5 has not launched any operations -- GPU 5 managed by process 9 on node "
		"10.0.0.1\n", "rank 5" NAME "has begun 0 operations of Broadcast, others 2");
	/* of one rank alone that is ahead the others are behind, and are not listed */
	expect_fact(VERSION COMMUNICATOR "MISMATCH\n" DIFFER "AllReduce operation counts\n"
		"  20 ranks have launched up to operation 1\n"
		"  Rank 5 has launched up to operation 2 -- GPU 5\n",
		"20 ranks" NAME "have begun 1 operation of AllReduce, others 2");
}

static void ranks_that_do_not_answer(void **state)
{
	struct ri_ras ras = read_from(VERSION "INCOMPLETE\n  Missing communicator data from 2 job "
		"processes\n  Process 1 on node 10.0.0.2 managing GPU 3\n\nDEAD\n  1 job process "
		"is considered dead (unreachable via the RAS network)\n  Process 4 on node "
		"10.0.0.2 managing GPU 5\n\n");

	(void)state;
	assert_int_equal(ras.answer, RI_RAS_READ);
	assert_int_equal(ras.silent, 2);
	assert_int_equal(ras.dead, 1);
	assert_int_equal(ras.count, 0);
	expect_fact(VERSION COMMUNICATOR "INCOMPLETE\n  Missing communicator data from 2 ranks\n"
		"  Rank 3 -- GPU 3 managed by process 48 on node 10.0.0.2\n"
		"  Rank 4 -- GPU 4 managed by process 49 on node 10.0.0.2\n\n",
		"ranks 3-4" NAME "have not answered");
}

/* Counts need a communicator, and two of them. */
static void nothing_to_tell(void **state)
{
	static const char *const texts[] = {
		VERSION,
		VERSION DIFFER "AllReduce operation counts\n  3 ranks have launched up to "
			"operation 2\n  Rank 1 has launched up to operation 1 -- GPU\n",
		VERSION COMMUNICATOR "MISMATCH\n" DIFFER "AllReduce operation counts\n"
			"  3 ranks have launched up to operation 2\n  Rank 1 has launched up to op",
		VERSION COMMUNICATOR "MISMATCH\n  Communicator ranks have different status\n"
			"  3 ranks have status RUNNING\n  Rank 1 has status ABORT -- GPU 1\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ri_ras ras = read_from(texts[i]);

		assert_int_equal(ras.answer, RI_RAS_READ);
		assert_int_equal(ras.count, 0);
		assert_int_equal(ras.dead + ras.silent + ras.left_out, 0);
	}
}

static void addresses(void **state)
{
	static const char *const others[] = {
		"", "localhost", "localhost:0", "localhost:65536", "localhost.localdomain:28028",
		"0.0.0.0:28028", "10.0.0.1:28028", "::1", "[::]:28028", "[::ffff:127.0.0.1]:28028",
	};
	struct ri_ras_place place;

	(void)state;
	assert_true(ri_ras_place_read(RI_RAS_DEFAULT, &place));
	assert_true(place.has_ipv4 && place.has_ipv6 && place.port == 28028);
	assert_true(ri_ras_place_read("127.0.0.2:1", &place));
	assert_true(place.has_ipv4 && !place.has_ipv6 && place.ipv4[3] == 2);
	assert_true(ri_ras_place_read("[::1]:28028", &place));
	assert_true(place.has_ipv6 && !place.has_ipv4);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(ri_ras_place_read(others[i], &place));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_are_behind),
		cmocka_unit_test(ranks_that_do_not_answer),
		cmocka_unit_test(nothing_to_tell),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
