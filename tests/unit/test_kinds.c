/* SPDX-License-Identifier: Apache-2.0 */
/* How many ranks called the same, and their numbers as ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"

static bool is_same(const void *a, const void *b)
{
	return strcmp(a, b) == 0;
}

static void fewest_first_and_the_rest_left_out(void **state)
{
	static const char *const calls[] = { "a", "b", "a", "c", "d", "e", "d", "a", "b", "e" };
	struct ri_kinds kinds = { .is_same = is_same };

	(void)state;
	ri_kinds_sort(&kinds);
	assert_int_equal(kinds.count, 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		ri_kinds_add(&kinds, calls[i]);
	ri_kinds_sort(&kinds);
	assert_int_equal(kinds.count, RI_KINDS);
	/* those of as many stay in their order, and each is the first of its kind */
	assert_ptr_equal(kinds.calls[0], calls[3]);
	assert_ptr_equal(kinds.calls[1], calls[1]);
	assert_ptr_equal(kinds.calls[2], calls[4]);
	assert_ptr_equal(kinds.calls[3], calls[0]);
	for (size_t i = 0; i < RI_KINDS; i++)
		assert_int_equal(kinds.ranks[i], i == 0 ? 1 : i == 3 ? 3 : 2);
}

static void expect(const uint64_t *ranks, size_t count, const char *words)
{
	char bytes[256];
	struct ri_ranges list;
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	list = ri_rank_list_begin(&text, count);
	for (size_t i = 0; i < count; i++)
		ri_ranges_add(&list, ranks[i]);
	ri_ranges_end(&list);
	assert_string_equal(bytes, words);
}

static void ranges(void **state)
{
	static const uint64_t some[] = { 0, 1, 3, 5, 6, 7 }, last[] = { UINT64_MAX };
	uint64_t even[14];

	(void)state;
	expect(some, 0, "ranks ");
	expect(some, 1, "rank 0");
	expect(some, 2, "ranks 0-1");
	expect(some, 6, "ranks 0-1, 3, 5-7");
	expect(some + 2, 1, "rank 3");
	expect(last, 1, "rank 18446744073709551615");
	for (size_t i = 0; i < 14; i++)
		even[i] = 2 * i;
	expect(even, 12, "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22");
	expect(even, 13, "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ...");
	expect(even, 14, "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewest_first_and_the_rest_left_out),
		cmocka_unit_test(ranges),
	};

	return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
