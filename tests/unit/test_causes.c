/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job ended, in one word, and what to do with it next. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/causes.h"
#include "report/outcome.h"
#include "words/loss.h"

static void each_word_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < RI_CAUSE_COUNT; i++) {
		const char *name = ri_cause_word_name((enum ri_cause_word)i);

		assert_int_equal(ri_cause_word_of(name), i);
		assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
		assert_non_null(ri_retry_name(ri_cause_word_retry((enum ri_cause_word)i)));
	}
	assert_int_equal(RI_CAUSE_UNKNOWN, 0);
	assert_int_equal(ri_cause_word_of(NULL), RI_CAUSE_UNKNOWN);
	assert_int_equal(ri_cause_word_of("oom"), RI_CAUSE_UNKNOWN);
	assert_int_equal(ri_cause_word_of("ECC"), RI_CAUSE_UNKNOWN);
}

static void only_a_bad_node_means_another_one(void **state)
{
	int others = 0;

	(void)state;
	for (int i = 0; i < RI_CAUSE_COUNT; i++)
		others += ri_cause_word_retry((enum ri_cause_word)i) == RI_RETRY_OTHER_NODE;
	assert_int_equal(others, 4);
	assert_int_equal(ri_cause_word_retry(RI_CAUSE_ECC), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_cause_word_retry(RI_CAUSE_XID), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_cause_word_retry(RI_CAUSE_NIC), RI_RETRY_OTHER_NODE);
	assert_int_equal(ri_cause_word_retry(RI_CAUSE_UNFIT), RI_RETRY_OTHER_NODE);
}

static enum ri_cause_word of(struct ri_rank_outcome rank, enum ri_blame blame)
{
	const struct ri_outcome outcome = { .ranks = &rank, .count = 1, .blame = blame };

	return ri_cause_word_find(&outcome);
}

static enum ri_cause_word of_loss(enum ri_loss_kind kind, enum ri_blame blame)
{
	const struct ri_loss loss = { .kind = kind, .words = "", .also = "" };

	return of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
		.evidence = { .class = RI_CLASS_LOSS, .loss = &loss } }, blame);
}

static void ends(void **state)
{
	(void)state;
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXEC_FAILED }, 0),
		RI_CAUSE_EXEC);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 3 }, 0),
		RI_CAUSE_UNKNOWN);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGSEGV },
			0), RI_CAUSE_SIGNAL);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGKILL },
			0), RI_CAUSE_KILLED);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_SIGNALED, .signal = SIGKILL,
			.oom = true }, 0), RI_CAUSE_OOM_HOST);
	assert_int_equal(of((struct ri_rank_outcome){ .end = RI_END_EXITED, .exit_code = 1,
			.evidence.ended_of_traceback = true }, 0), RI_CAUSE_EXCEPTION);
}

static void losses(void **state)
{
	(void)state;
	assert_int_equal(of_loss(RI_LOSS_PEER, RI_BLAME_ELSEWHERE), RI_CAUSE_UNKNOWN);
	assert_int_equal(of_loss(RI_LOSS_STORE, RI_BLAME_ELSEWHERE), RI_CAUSE_RENDEZVOUS);
	assert_int_equal(of_loss(RI_LOSS_CLOCK, RI_BLAME_HELD), RI_CAUSE_TIMEOUT);
	assert_int_equal(of_loss(RI_LOSS_MISMATCH, RI_BLAME_UNKNOWN), RI_CAUSE_MISMATCH);
	assert_int_equal(of_loss(RI_LOSS_PEER, RI_BLAME_LEFT), RI_CAUSE_EARLY_EXIT);
}

static void nothing_failed(void **state)
{
	struct ri_outcome outcome = { .first = -1 };

	(void)state;
	assert_int_equal(ri_cause_word_find(&outcome), RI_CAUSE_UNKNOWN);
	outcome.stop.signal = SIGTERM;
	assert_int_equal(ri_cause_word_find(&outcome), RI_CAUSE_PREEMPTED);
}

static void refusals(void **state)
{
	static const char *const names[] = {
		"unknown", "unfit", "dns", "refused", "exec", "exec", "unknown",
	};

	(void)state;
	for (int i = 0; i < 7; i++)
		assert_string_equal(ri_cause_word_name(ri_cause_word_of_refusal(122 + i)),
			names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_has_a_name_of_its_own),
		cmocka_unit_test(only_a_bad_node_means_another_one),
		cmocka_unit_test(ends),
		cmocka_unit_test(losses),
		cmocka_unit_test(nothing_failed),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
