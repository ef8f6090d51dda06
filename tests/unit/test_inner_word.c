/* SPDX-License-Identifier: Apache-2.0 */
/* What an inner rankinit leaves for an outer one, whoever wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/inner_word.h"

static const struct ri_inner_word honest = {
	.why = { RI_CAUSE_KILLED, RI_RETRY_OTHER_NODE }, .class = RI_CLASS_OWN, .rank = 3,
	.of_rank = -1,
	.status = 137, .exit_status = 220,
};

static void what_is_written_reads_the_same(void **state)
{
	char bytes[RI_INNER_WORD];
	struct ri_inner_word out;

	(void)state;
	ri_inner_word_write(&honest, bytes);
	memset(&out, 0, sizeof(out));
	assert_true(ri_inner_word_read(&out, bytes, sizeof(bytes)));
	assert_int_equal(out.why.cause, honest.why.cause);
	assert_int_equal(out.why.retry, honest.why.retry);
	assert_int_equal(out.class, honest.class);
	assert_int_equal(out.rank, 3);
	assert_int_equal(out.of_rank, -1);
	assert_int_equal(out.status, 137);
	assert_int_equal(out.exit_status, 220);
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_false(ri_inner_word_read(&out, bytes, length));
}

static void another_version_is_none(void **state)
{
	char bytes[RI_INNER_WORD];
	struct ri_inner_word out;

	(void)state;
	for (size_t i = 0; i < 24; i++) {
		ri_inner_word_write(&honest, bytes);
		bytes[i] ^= 1;
		assert_false(ri_inner_word_read(&out, bytes, sizeof(bytes)));
	}
}

/* In the order of the seven numbers: the least and the most that a word has. */
static void a_number_that_no_word_has(void **state)
{
	static const int64_t limits[][2] = {
		{ 0, RI_CAUSE_COUNT - 1 }, { 0, RI_RETRY_COUNT - 1 },
		{ RI_CLASS_NONE, RI_CLASS_OWN },
		{ -1, INT64_MAX }, { -1, INT64_MAX }, { 1, 255 }, { 1, 255 },
	};
	static const int64_t numbers[] = {
		INT64_MIN, -256, -2, -1, 0, 1, 255, 256, 1LL << 32, INT64_MAX,
	};
	char bytes[RI_INNER_WORD];
	struct ri_inner_word out;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			ri_inner_word_write(&honest, bytes);
			memcpy(bytes + 24 + 8 * i, &numbers[j], sizeof(numbers[j]));
			assert_int_equal(ri_inner_word_read(&out, bytes, sizeof(bytes)),
				numbers[j] >= limits[i][0] && numbers[j] <= limits[i][1]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(another_version_is_none),
		cmocka_unit_test(a_number_that_no_word_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
