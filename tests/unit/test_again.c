/* SPDX-License-Identifier: Apache-2.0 */
/* --restarts: when ranks start again, and what one attempt leaves for the next. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/restarts.h"
#include "words/words.h"

static const struct ri_loss loss = { .kind = RI_LOSS_CLOCK };
static struct ri_again_case failed;
static struct ri_carried carried, got;
static unsigned char bytes[RI_CARRIED_SIZE];

static int begin(void **state)
{
	struct ri_restart *restart = &carried.restarts.items[0];

	(void)state;
	failed = (struct ri_again_case){
		.restarts = 3, .attempt = 1, .why = { RI_CAUSE_KILLED, RI_RETRY_SAME },
		.signature = "killed 1 3 0 9", .before = "killed 2 3 0 9",
		.lines = 10, .lines_before = 10, .lasted_ms = 1000,
	};
	carried = (struct ri_carried){
		.pid = 7, .attempt = 2, .mask = ~(uint64_t)0, .began = { 1769817600, 5 },
		.lines = 12, .program = 5, .name = "rankinit", .signature = "killed 1 3 0 9",
		.failure = "rank 1 failed", .last_line = "verdict cause=killed",
		.link = { .on = true, .key = { [31] = 7 }, .place = 6,
			.verdict = { .why = { RI_CAUSE_KILLED, RI_RETRY_SAME },
				.class = RI_CLASS_OWN, .status = 122, .rank = 3, .node = -1,
				.mark = 9 },
			.text = "rank 1 failed first\n  ValueError: bad\n" },
		.port = { .name = 8, .number = 29510 },
		.restarts = { .launcher = ri_restarts_own, .count = 1, .all = 2 },
	};
	*restart = (struct ri_restart){
		.number = 2, .most = 3, .known = true, .at.tv_sec = 1769817601,
		.words = "ValueError: bad\nbatch", .first = {
			.rank = 1, .local_rank = 1, .pid = 17, .end = RI_END_SIGNALED,
			.signal = SIGKILL, .core = true, .started.tv_sec = 3, .ended.tv_sec = 4,
			.evidence = { .class = RI_CLASS_LOSS, .loss = &loss },
		},
	};
	return 0;
}

static const char *reason(void)
{
	static char line[512];
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_again_add(&out, ri_again_decide(&failed), &failed);
	return line;
}

static void test_ranks_start_again(void **state)
{
	(void)state;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
	failed.why = (struct ri_why){ RI_CAUSE_XID, RI_RETRY_OTHER_NODE };
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
}

static void test_what_ends_the_job(void **state)
{
	bool *const facts[] = {
		&failed.stopped, &failed.ordered, &failed.unstarted,
	};
	static const enum ri_again whys[] = {
		RI_AGAIN_STOPPED, RI_AGAIN_ORDERED, RI_AGAIN_NO_START,
	};

	(void)state;
	failed.remains = true;
	failed.error = EFBIG;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_REMAINS);
	failed.remains = false;
	assert_string_equal(reason(),
		"rankinit cannot execute itself: File too large [restarts.refused]");
	failed.why = (struct ri_why){ RI_CAUSE_EXCEPTION, RI_RETRY_NEVER };
	for (size_t i = 3; i-- > 0;) {	/* each counts before those behind it */
		*facts[i] = true;
		assert_int_equal(ri_again_decide(&failed), whys[i]);
	}
}

static void test_what_would_come_again(void **state)
{
	(void)state;
	failed.why = (struct ri_why){ RI_CAUSE_DEVICE_ASSERT, RI_RETRY_NEVER };
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_NEVER);
	assert_string_equal(reason(),
		"the next attempt would end the same way (cause=device_assert, retry=never)");
}

static void test_restarts_are_used_up(void **state)
{
	(void)state;
	failed.attempt = 2;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
	failed.attempt = 3;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_USED_UP);
	assert_string_equal(reason(), "--restarts=3 is used up");
	failed.restarts = failed.attempt = 0;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_USED_UP);
}

static void test_the_same_failure_twice(void **state)
{
	(void)state;
	failed.before = failed.signature;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_SAME);
	failed.lines = 9;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_SAME);
	failed.lines = 11;	/* rank 0 got further */
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
	failed.lines = 10;
	failed.lasted_ms = 60000;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
	failed.lasted_ms = 59999;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_SAME);
	/* of the first attempt, and of one that nothing is known of, there is none before */
	failed.attempt = 0;
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
	failed.attempt = 1;
	failed.signature = failed.before = "";
	assert_int_equal(ri_again_decide(&failed), RI_AGAIN_YES);
}

static const char *sign(const char *words)
{
	static char line[128];
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_again_sign(&out, RI_CAUSE_KILLED, &carried.restarts.items[0].first, words);
	return line;
}

static void test_a_signature(void **state)
{
	(void)state;
	assert_string_equal(sign("ValueError: bad\nbatch"), "killed 1 ValueError: bad");
	assert_string_equal(sign(""), "killed 1 3 0 9");
	carried.restarts.items[0].first.signal = SIGTERM;
	assert_string_equal(sign(""), "killed 1 3 0 15");
}

static void test_what_is_carried_comes_back(void **state)
{
	const struct ri_restart *restart = &got.restarts.items[0];
	size_t length = ri_carried_write(&carried, bytes);

	(void)state;
	assert_true(ri_carried_read(&got, bytes, length));
	assert_int_equal(got.pid, 7);
	assert_int_equal(got.attempt, 2);
	assert_true(got.mask == ~(uint64_t)0);
	assert_int_equal(got.began.tv_sec, 1769817600);
	assert_int_equal(got.began.tv_nsec, 5);
	assert_int_equal(got.lines, 12);
	assert_int_equal(got.program, 5);
	assert_string_equal(got.name, "rankinit");
	assert_string_equal(got.signature, "killed 1 3 0 9");
	assert_string_equal(got.failure, "rank 1 failed");
	assert_string_equal(got.last_line, "verdict cause=killed");
	assert_true(got.link.on);
	assert_memory_equal(got.link.key, carried.link.key, RI_CARRIED_KEY);
	assert_int_equal(got.link.place, 6);
	assert_int_equal(got.port.name, 8);
	assert_int_equal(got.port.number, 29510);
	assert_memory_equal(&got.link.verdict, &carried.link.verdict, sizeof(got.link.verdict));
	assert_string_equal(got.link.text, carried.link.text);
	assert_ptr_equal(got.restarts.launcher, ri_restarts_own);
	assert_int_equal(got.restarts.count, 1);
	assert_int_equal(got.restarts.all, 2);
	assert_int_equal(restart->number, 2);
	assert_true(restart->known && !restart->alone && restart->first.core);
	assert_string_equal(restart->words, "ValueError: bad\nbatch");
	assert_int_equal(restart->first.signal, SIGKILL);
	assert_int_equal(restart->first.evidence.class, RI_CLASS_LOSS);
	assert_int_equal(restart->first.evidence.loss->kind, RI_LOSS_CLOCK);
}

static void test_what_was_not_written_here_is_not_read(void **state)
{
	size_t length = ri_carried_write(&carried, bytes);

	(void)state;
	got.pid = -1;
	carried.restarts.items[0].verdict.node = -2;
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length));
	carried.restarts.items[0].verdict.node = 0;
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length - 1));
	assert_false(ri_carried_read(&got, bytes, 0));
	bytes[0] ^= 1;
	assert_false(ri_carried_read(&got, bytes, length));
	bytes[0] ^= 1;
	carried.attempt = 0;
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length));
	carried.attempt = 2;
	carried.link.place = -1;
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length));
	carried.link.place = 0;
	carried.port.number = 65536;
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length));
	carried.port.number = 0;
	strcpy(carried.failure, "rank\033[1m");
	ri_carried_write(&carried, bytes);
	assert_false(ri_carried_read(&got, bytes, length));
	assert_int_equal(got.pid, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ranks_start_again, begin),
		cmocka_unit_test_setup(test_what_ends_the_job, begin),
		cmocka_unit_test_setup(test_what_would_come_again, begin),
		cmocka_unit_test_setup(test_restarts_are_used_up, begin),
		cmocka_unit_test_setup(test_the_same_failure_twice, begin),
		cmocka_unit_test_setup(test_a_signature, begin),
		cmocka_unit_test_setup(test_what_is_carried_comes_back, begin),
		cmocka_unit_test_setup(test_what_was_not_written_here_is_not_read, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
