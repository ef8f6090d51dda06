/* SPDX-License-Identifier: Apache-2.0 */
/* What an inner rankinit leaves for an outer one, whoever wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/verdict.h"

static const struct ri_inner_word honest = {
	.verdict = { .why = { RI_CAUSE_KILLED, RI_RETRY_OTHER_NODE }, .class = RI_CLASS_OWN,
		.status = 137, .rank = 3, .node = -1 },
	.of_rank = -1, .exit_status = 220,
};

static void what_is_written_reads_the_same(void **state)
{
	char bytes[RI_INNER_WORD];
	struct ri_inner_word out;

	(void)state;
	ri_inner_word_write(&honest, bytes);
	memset(&out, 0, sizeof(out));
	assert_true(ri_inner_word_read(&out, bytes, sizeof(bytes)));
	assert_memory_equal(&out, &honest, sizeof(out));
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

#define NUMBER(member_, ...) { offsetof(struct ri_inner_word, member_), \
	sizeof(((struct ri_inner_word *)NULL)->member_), __VA_ARGS__ }

/* The least and the most that a word has. */
static void a_number_that_no_word_has(void **state)
{
	static const struct {
		size_t at, size;
		int64_t least, most;
	} limits[] = {
		NUMBER(verdict.why.cause, 0, RI_CAUSE_COUNT - 1),
		NUMBER(verdict.why.retry, 0, RI_RETRY_COUNT - 1),
		NUMBER(verdict.class, RI_CLASS_NONE, RI_CLASS_OWN),
		NUMBER(verdict.status, 1, 255), NUMBER(verdict.rank, -1, INT64_MAX),
		NUMBER(verdict.node, -1, INT64_MAX), NUMBER(verdict.mark, 0, INT64_MAX),
		NUMBER(of_rank, -1, INT64_MAX), NUMBER(exit_status, 1, 255),
	};
	static const int64_t numbers[] = {
		INT64_MIN, -256, -2, -1, 0, 1, 255, 256, INT32_MIN, INT32_MAX, INT64_MAX,
	};
	char bytes[RI_INNER_WORD];
	struct ri_inner_word out;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			if (limits[i].size == sizeof(int) && (int)numbers[j] != numbers[j])
				continue;
			ri_inner_word_write(&honest, bytes);
			memcpy(bytes + 24 + limits[i].at, &numbers[j], limits[i].size);
			assert_int_equal(ri_inner_word_read(&out, bytes, sizeof(bytes)),
				numbers[j] >= limits[i].least && numbers[j] <= limits[i].most);
		}
	}
}

static void a_host_and_a_flag_that_no_word_has(void **state)
{
	struct ri_inner_word word = honest, out;
	char bytes[RI_INNER_WORD];

	(void)state;
	memset(word.verdict.host, 'h', sizeof(word.verdict.host));
	ri_inner_word_write(&word, bytes);
	assert_false(ri_inner_word_read(&out, bytes, sizeof(bytes)));
	ri_inner_word_write(&honest, bytes);
	bytes[24 + offsetof(struct ri_inner_word, verdict.failed_before)] = 2;
	assert_false(ri_inner_word_read(&out, bytes, sizeof(bytes)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(another_version_is_none),
		cmocka_unit_test(a_number_that_no_word_has),
		cmocka_unit_test(a_host_and_a_flag_that_no_word_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
