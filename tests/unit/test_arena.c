/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "out_of_memory.h"

static struct ri_arena arena;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static bool in_first(const void *p)
{
	const unsigned char *byte = p;

	return byte >= arena.first && byte < arena.first + sizeof(arena.first);
}

static void assert_zero(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], 0);
}

static void test_zeroed_and_aligned(void **state)
{
	(void)state;
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *p = ri_arena_alloc(&arena, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_zero(p, size);
		memset(p, 0xa5, size);
	}
}

static void test_no_two_overlap(void **state)
{
	enum { COUNT = 600 };
	static unsigned char *made[COUNT];
	static size_t sizes[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		sizes[i] = i * 37 % 4001;
		made[i] = ri_arena_alloc(&arena, sizes[i]);
		assert_non_null(made[i]);
		memset(made[i], (int)(i % 251), sizes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < sizes[i]; j++)
			assert_int_equal(made[i][j], i % 251);
}

static void test_first_bytes_cost_no_mapping(void **state)
{
	(void)state;
	for (size_t used = 0; used < RI_ARENA_FIRST; used += 1024)
		assert_true(in_first(ri_arena_alloc(&arena, 1024)));
	assert_null(arena.chunks);
	assert_false(in_first(ri_arena_alloc(&arena, 1)));
	assert_non_null(arena.chunks);
}

static void test_first_at_its_end(void **state)
{
	unsigned char *p;

	(void)state;
	p = ri_arena_alloc(&arena, RI_ARENA_FIRST - 15);
	assert_true(in_first(p));
	memset(p, 1, RI_ARENA_FIRST - 15);
	assert_non_null(ri_arena_alloc(&arena, 0));
	assert_null(arena.chunks);
	p = ri_arena_alloc(&arena, 1);
	assert_false(in_first(p));
}

static void test_larger_than_a_chunk(void **state)
{
	enum { SIZE = 3 * 1024 * 1024 + 5 };
	unsigned char *p = ri_arena_alloc(&arena, SIZE), *q;

	(void)state;
	assert_non_null(p);
	assert_zero(p, SIZE);
	memset(p, 1, SIZE);
	q = ri_arena_alloc(&arena, 300000);
	assert_non_null(q);
	assert_zero(q, 300000);
}

static void test_array(void **state)
{
	(void)state;
	assert_non_null(ri_arena_array(&arena, 10, 16));
	assert_int_equal(arena.used, 160);
	assert_non_null(ri_arena_array(&arena, 0, 16));
	assert_null(ri_arena_array(&arena, SIZE_MAX / 2 + 1, 2));
	assert_null(ri_arena_array(&arena, SIZE_MAX / 16 + 2, 16));
	assert_null(ri_arena_array(&arena, SIZE_MAX, SIZE_MAX));
	assert_int_equal(arena.used, 160);
}

static void test_sizes_past_every_memory(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, SIZE_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_null(ri_arena_alloc(&arena, sizes[i]));
	assert_non_null(ri_arena_alloc(&arena, 1));
}

static void test_copy(void **state)
{
	static const char text[] = { 'a', '\0', 'b', 'c' };
	char *copy = ri_arena_copy(&arena, text, sizeof(text));

	(void)state;
	assert_memory_equal(copy, text, sizeof(text));
	assert_int_equal(copy[sizeof(text)], '\0');
	assert_string_equal(ri_arena_copy(&arena, "hello", 4), "hell");
	assert_string_equal(ri_arena_copy(&arena, "hello", 0), "");
}

static void test_number(void **state)
{
	(void)state;
	assert_string_equal(ri_arena_number(&arena, 0), "0");
	assert_string_equal(ri_arena_number(&arena, 10), "10");
	assert_string_equal(ri_arena_number(&arena, UINT64_MAX), "18446744073709551615");
}

static void test_format(void **state)
{
	char *text;

	(void)state;
	assert_string_equal(ri_arena_format(&arena, "%s:%d", "node", 7), "node:7");
	assert_string_equal(ri_arena_format(&arena, "%s", ""), "");
	text = ri_arena_format(&arena, "%*d|", 70000, 1);
	assert_int_equal(strlen(text), 70001);
	assert_string_equal(text + 69998, " 1|");
}

static void test_release_to_reuse(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		unsigned char *small = ri_arena_alloc(&arena, 1000);
		unsigned char *large = ri_arena_alloc(&arena, 400000);

		assert_true(in_first(small));
		assert_zero(small, 1000);
		assert_zero(large, 400000);
		memset(small, 0xff, 1000);
		memset(large, 0xff, 400000);
		ri_arena_release(&arena);
		assert_null(arena.chunks);
		assert_int_equal(arena.used, 0);
	}
	ri_arena_release(&arena);
}

static int run_out(void)
{
	static const char text[8];

	if (!memory_exhaust(&arena))
		return 1;
	if (ri_arena_alloc(&arena, MEMORY_LARGE) != NULL)
		return 2;
	if (ri_arena_array(&arena, MEMORY_LARGE / 8, 8) != NULL)
		return 3;
	if (ri_arena_copy(&arena, text, 0) == NULL)
		return 4;	/* the chunk that is there still gives */
	return ri_arena_format(&arena, "%*d", MEMORY_LARGE, 1) == NULL ? 0 : 5;
}

static void test_null_only_when_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(run_out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_zeroed_and_aligned, give_back),
		cmocka_unit_test_teardown(test_no_two_overlap, give_back),
		cmocka_unit_test_teardown(test_first_bytes_cost_no_mapping, give_back),
		cmocka_unit_test_teardown(test_first_at_its_end, give_back),
		cmocka_unit_test_teardown(test_larger_than_a_chunk, give_back),
		cmocka_unit_test_teardown(test_array, give_back),
		cmocka_unit_test_teardown(test_sizes_past_every_memory, give_back),
		cmocka_unit_test_teardown(test_copy, give_back),
		cmocka_unit_test_teardown(test_number, give_back),
		cmocka_unit_test_teardown(test_format, give_back),
		cmocka_unit_test_teardown(test_release_to_reuse, give_back),
		cmocka_unit_test_teardown(test_null_only_when_out_of_memory, give_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
