/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a dump of torch's Flight Recorder, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blame/flight.h"

#define BYTES(text) (text), sizeof(text) - 1

static struct ri_pickle pickle;
static struct ri_arena arena;

static int end(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static void pickles(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		enum ri_pickle_kind kind;
		int64_t number;
	} rows[] = {
		{ BYTES("\x80\2N."), RI_PICKLE_NONE, 0 },
		{ BYTES("\x80\3\x88."), RI_PICKLE_BOOL, 1 },
		{ BYTES("\x80\5\x89."), RI_PICKLE_BOOL, 0 },
		{ BYTES("\x80\2K\xff."), RI_PICKLE_INT, 255 },
		{ BYTES("\x80\2M\xff\xff."), RI_PICKLE_INT, 65535 },
		{ BYTES("\x80\2J\xff\xff\xff\xff."), RI_PICKLE_INT, -1 },
		{ BYTES("\x80\2J\xff\xff\xff\x7f."), RI_PICKLE_INT, INT32_MAX },
		{ BYTES("\x80\2\x8a\0."), RI_PICKLE_INT, 0 },
		{ BYTES("\x80\2\x8a\1\xff."), RI_PICKLE_INT, -1 },
		{ BYTES("\x80\2\x8a\2\xff\0."), RI_PICKLE_INT, 255 },
		{ BYTES("\x80\2\x8a\10\0\0\0\0\0\0\0\x80."), RI_PICKLE_INT, INT64_MIN },
		{ BYTES("\x80\2G01234567."), RI_PICKLE_NONE, 0 },
		{ BYTES("\x80\4\x95\0\0\0\0\0\0\0\0\x8c\2ab."), RI_PICKLE_STRING, 13 },
		{ BYTES("\x80\2X\2\0\0\0ab."), RI_PICKLE_STRING, 7 },
		{ BYTES("\x80\4\x8d\2\0\0\0\0\0\0\0ab."), RI_PICKLE_STRING, 11 },
		{ BYTES("\x80\2)."), RI_PICKLE_TUPLE, 0 }, { BYTES("\x80\2]."), RI_PICKLE_LIST, 0 },
		{ BYTES("\x80\2}."), RI_PICKLE_DICT, 0 },
		{ BYTES("\x80\2K\1q\0h\0\x86."), RI_PICKLE_TUPLE, 0 },
		{ BYTES("\x80\4]\x94(h\0h\0e."), RI_PICKLE_LIST, 0 },
		{ BYTES("\x80\2}r\0\0\0\0K\1j\0\0\0\0s."), RI_PICKLE_DICT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ri_pickle_read(&pickle, rows[i].bytes, rows[i].length) < 0)
			fail_msg("row %zu", i);
		assert_int_equal(pickle.root.kind, rows[i].kind);
		assert_int_equal(pickle.root.number, rows[i].number);
		/* cut anywhere it is none */
		for (size_t length = 0; length < rows[i].length; length++)
			assert_int_equal(ri_pickle_read(&pickle, rows[i].bytes, length), -1);
	}
}

static void no_pickles(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} rows[] = {
		{ BYTES("N.") }, { BYTES("\x80\1N.") }, { BYTES("\x80\6N.") }, { BYTES("\x80\2.") },
		{ BYTES("{}") }, { BYTES("\x80\2NN.") }, { BYTES("\x80\2(N.") },
		/* a class, a call, a name of the system's */
		{ BYTES("\x80\2cos\nsystem\n.") }, { BYTES("\x80\4\x8c\2os\x8c\6system\x93.") },
		{ BYTES("\x80\2NN\x52.") }, { BYTES("\x80\2N\x81.") }, { BYTES("\x80\2Nb.") },
		/* lengths and numbers that cannot be */
		{ BYTES("\x80\2X\xff\xff\xff\x7fzz.") },
		{ BYTES("\x80\4\x8d\xff\xff\xff\xff\xff\xff\xff\xffz.") },
		{ BYTES("\x80\2\x8a\x09" "123456789.") },
		/* what was not put; what is not there, or below a mark */
		{ BYTES("\x80\2h\0.") }, { BYTES("\x80\2Nq\1.") }, { BYTES("\x80\2q\0N.") },
		{ BYTES("\x80\2]N](ea.") }, { BYTES("\x80\2a.") }, { BYTES("\x80\2]e.") },
		{ BYTES("\x80\2](NNa.") }, { BYTES("\x80\2\x86.") }, { BYTES("\x80\2N(N\x86.") },
		{ BYTES("\x80\2t.") },
		/* no list; a key without a value */
		{ BYTES("\x80\2}Na.") }, { BYTES("\x80\2]NNs.") }, { BYTES("\x80\2}(Nu.") },
		{ BYTES("\x80\2)Na.") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (ri_pickle_read(&pickle, rows[i].bytes, rows[i].length) == 0)
			fail_msg("row %zu", i);
}

/* However much it is, there is an end: marks, values, containers, items and the memo. */
static void what_is_too_much(void **state)
{
	static const struct {
		const char *start, *again;
		bool few_are_one;
	} rows[] = {
		{ "", "(", false }, { "", "N", false }, { "", "]", false }, { "]", "Na", true },
		{ "]", "(NNNNe", true }, { "]", "]a", true }, { "N", "\x94", true },
		{ "N", "\x85", true },
	};
	static char bytes[8 << 20];
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		length = 2 + strlen(rows[i].start);
		memcpy(bytes, "\x80\2", 2);
		memcpy(bytes + 2, rows[i].start, strlen(rows[i].start));
		while (length + strlen(rows[i].again) < sizeof(bytes)) {
			memcpy(bytes + length, rows[i].again, strlen(rows[i].again));
			length += strlen(rows[i].again);
			if (length < 1000)
				continue;
			bytes[length] = '.';
			if (length < 1010)
				assert_int_equal(ri_pickle_read(&pickle, bytes, length + 1),
					rows[i].few_are_one ? 0 : -1);
		}
		bytes[length++] = '.';
		assert_int_equal(ri_pickle_read(&pickle, bytes, length), -1);
	}
	assert_true(sizeof(pickle) <= 16 << 20);
}

static void what_a_dict_has(void **state)
{
	static const char text[] = "\x80\2}(X\1\0\0\0aK\1X\1\0\0\0bK\2X\1\0\0\0aK\3u.";
	static const char list[] = "\x80\2](K\7K\10e.";
	uint32_t first;

	(void)state;
	assert_int_equal(ri_pickle_read(&pickle, BYTES(text)), 0);
	/* the last one of a key counts, as in Python */
	assert_int_equal(ri_pickle_get(&pickle, pickle.root, "a").number, 3);
	assert_int_equal(ri_pickle_get(&pickle, pickle.root, "b").number, 2);
	assert_int_equal(ri_pickle_get(&pickle, pickle.root, "c").kind, RI_PICKLE_NONE);
	assert_int_equal(ri_pickle_first(&pickle, pickle.root), 0);
	assert_int_equal(ri_pickle_count(&pickle, pickle.root), 0);
	assert_int_equal(ri_pickle_read(&pickle, BYTES(list)), 0);
	first = ri_pickle_first(&pickle, pickle.root);
	assert_int_equal(ri_pickle_count(&pickle, pickle.root), 2);
	assert_int_equal(ri_pickle_item(&pickle, first).number, 7);
	first = ri_pickle_next(&pickle, first);
	assert_int_equal(ri_pickle_item(&pickle, first).number, 8);
	assert_int_equal(ri_pickle_next(&pickle, first), 0);
	assert_int_equal(ri_pickle_get(&pickle, pickle.root, "a").kind, RI_PICKLE_NONE);
	assert_int_equal(ri_pickle_string(&pickle, pickle.root).length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pickles),
		cmocka_unit_test(no_pickles),
		cmocka_unit_test(what_is_too_much),
		cmocka_unit_test_teardown(what_a_dict_has, end),
	};

	return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
