/* SPDX-License-Identifier: Apache-2.0 */
/* Who ran which collective, by torch's message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })
#define SAYS "RuntimeError: Detected mismatch between collectives on ranks. Rank "
#define RUNS " is running collective: CollectiveFingerPrint"
#define MORE ", TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default)))"

static void both(void **state)
{
	struct ri_fingerprint found[2];

	(void)state;
	/* the other's is taken apart only up to where it differs */
	assert_true(ri_fingerprints_find(SPAN_OF("x\n" SAYS "1" RUNS "(SequenceNumber=152517, "
		"OpType=BROADCAST, TensorShape=[4, 16]" MORE ", but Rank 12" RUNS
		"(SequenceNumber=0OpType=REDUCE).Collectives differ in the following aspects: x\n"
		"later\n"), found));
	assert_int_equal(found[0].rank, 1);
	assert_string_equal(found[0].op, "BROADCAST");
	assert_true(found[0].has_sequence);
	assert_int_equal(found[0].sequence, 152517);
	assert_string_equal(found[0].shape, "4, 16");
	assert_int_equal(found[1].rank, 12);
	assert_string_equal(found[1].op, "REDUCE");
	assert_int_equal(found[1].sequence, 0);
	assert_string_equal(found[1].shape, "");
	/* torch 1.13 has no number; of two messages the last */
	assert_true(ri_fingerprints_find(SPAN_OF(SAYS "5" RUNS "(OpType=A), but Rank 6" RUNS
		"(OpType=B)\n" SAYS "0" RUNS "(OpType=ALLGATHER, TensorShape=[4]" MORE
		", but Rank 2" RUNS "(OpType=ALLGATHER, TensorShape=[5]" MORE "."), found));
	assert_int_equal(found[0].rank, 0);
	assert_int_equal(found[1].rank, 2);
	assert_false(found[0].has_sequence);
	assert_string_equal(found[1].shape, "5");
}

static void none_or_half_of_it(void **state)
{
	static const char *const texts[] = {
		"", "Rank 1" RUNS "(OpType=A), but Rank 2" RUNS "(OpType=B)", SAYS,
		SAYS "x" RUNS "(OpType=A), but Rank 2" RUNS "(OpType=B)",
		SAYS "1" RUNS "(OpType=A)", SAYS "1" RUNS "(OpType=A), but Rank ",
		SAYS "1" RUNS "(OpType=A), but Rank 2 is running",
		SAYS "1" RUNS "(OpType=), but Rank 2" RUNS "(OpType=B)",
		SAYS "1" RUNS "(OpType=A), but Rank 2" RUNS "(",
	};
	struct ri_fingerprint found[2], before[2];

	(void)state;
	memset(found, 7, sizeof(found));
	memcpy(before, found, sizeof(found));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ri_fingerprints_find(SPAN_OF(texts[i]), found))
			fail_msg("%s", texts[i]);
		assert_memory_equal(found, before, sizeof(found));
	}
}

/* A name or a shape that is longer than the room for it. */
static void long_ones(void **state)
{
	static char text[2048];
	struct ri_fingerprint found[2];

	(void)state;
	strcpy(text, SAYS "1" RUNS "(SequenceNumber=99999999999999999999999, OpType=");
	for (int i = 0; i < 20; i++)
		strcat(text, "ALLREDUCE_");
	strcat(text, ", TensorShape=[1");
	for (int i = 0; i < 50; i++)
		strcat(text, ", 1");
	strcat(text, "]" MORE ", but Rank 2" RUNS "(OpType=B\x1b[2J)");
	assert_true(ri_fingerprints_find(SPAN_OF(text), found));
	assert_int_equal(strlen(found[0].op), RI_FINGERPRINT_OP - 1);
	assert_int_equal(strlen(found[0].shape), RI_FINGERPRINT_SHAPE - 1);
	assert_false(found[0].has_sequence);
	assert_string_equal(found[1].op, "B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both),
		cmocka_unit_test(none_or_half_of_it),
		cmocka_unit_test(long_ones),
	};

	return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
