/* SPDX-License-Identifier: Apache-2.0 */
/* One that its launcher stopped on its way out, since it saw a victim of that end first. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "culprit_of.h"

/* As torch's hook writes it, which is called for what no code caught. */
#define HOOK(rank) "[rank" rank "]: Traceback (most recent call last):\n" \
	"[rank" rank "]:   File \"a.py\", line 1, in f\n"
#define HOOKED(rank) HOOK(rank) "[rank" rank "]: ValueError: bad batch 17\n"

}

/* Its launcher saw the abort of one that lost it first, and stopped it. */
static void begin_raised(const char *words)
{
	give_back(NULL);
	begin(NULL);
	exits(0, 0, LOST "terminate called without an active exception\n", 151);
	is_killed(0, SIGABRT);
	exits(1, 0, words, 150);
	is_stopped(1);
	exits(2, 1, LOST, 152);
	is_stopped(3);
}

static void one_that_was_stopped_of_what_it_did_not_catch(void **state)
{
	(void)state;
	begin_raised(HOOKED("1"));
	expect(1, RI_CULPRIT_FIRST);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	assert_true(ranks[1].evidence.ended_of_traceback);
	assert_false(ranks[1].evidence.printed);
	/* what libraries say behind it; on several nodes; as a launcher's text has it */
	begin_raised(HOOKED("1") "[rank1]:[W1122 01:02:03.4 a.cpp:1] x\nwandb: x\n");
	expect(1, RI_CULPRIT_FIRST);
	begin_raised(HOOKED("1"));
	of_two_nodes();
	expect(1, RI_CULPRIT_FIRST);
	begin_raised(OWN);
	ranks[0].traceback_at.tv_sec = ranks[1].traceback_at.tv_sec =
		ranks[2].traceback_at.tv_sec = 0;
	ranks[1].wrote.hooked = true;
	ranks[1].wrote.place = 5;
	ranks[0].wrote.place = 6;
	ranks[2].wrote.place = 7;
	expect(1, RI_CULPRIT_FIRST);
	ranks[2].wrote.place = 4;
	expect(0, RI_CULPRIT_UNKNOWN);
	ranks[2].wrote.place = 0;
	expect(0, RI_CULPRIT_UNKNOWN);
}

/* Each of them may be well, or a victim. */
static void one_that_may_have_caught_what_it_printed(void **state)
{
	static const char *const words[] = {
		/* it may have caught it, and so it may where another rank's number is there */
		OWN, HOOKED("3"), "[rank1]: 12:00 ERROR " OWN,
		/* it went on */
		HOOKED("1") "step 7 of 9\n",
		/* it lost another one; a stop, a thread; it breaks off */
		HOOK("1") "[rank1]: RuntimeError: Connection closed by peer [::1]:1\n",
		HOOK("1") "[rank1]: KeyboardInterrupt\n",
		"Exception in thread Thread-1:\n" HOOKED("1"),
		HOOK("1"), "",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		begin_raised(words[i]);
		expect(2, RI_CULPRIT_UNKNOWN);
	}
	/* its program ran afterwards; a minute passed to its end; the others lost one before */
	begin_raised(HOOKED("1"));
	ranks[1].course = RI_COURSE_RUNNING;
	expect(2, RI_CULPRIT_UNKNOWN);
	begin_raised(HOOKED("1"));
	ranks[1].traceback_at.tv_sec = 140;
	expect(2, RI_CULPRIT_UNKNOWN);
	begin_raised(HOOKED("1"));
	ranks[2].traceback_at.tv_sec = 149;
	expect(2, RI_CULPRIT_UNKNOWN);
	/* it is not alone: each may have come of the other */
	begin_raised(HOOKED("1"));
	exits(3, 0, HOOKED("3"), 150);
	expect(2, RI_CULPRIT_UNKNOWN);
	exits(3, 0, OWN, 150);
	expect(2, RI_CULPRIT_UNKNOWN);
	/* one that ended with 0 is what the others lost, and one that was killed is the first */
	begin_raised(HOOKED("1"));
	ranks[3] = (struct ri_rank_outcome){ .end = RI_END_EXITED, .ended.tv_sec = 140 };
	expect(2, RI_CULPRIT_LEFT);
	begin_raised(HOOKED("1"));
	is_killed(2, SIGSEGV);
	expect(2, RI_CULPRIT_FIRST);
	/* and where somebody stopped the job none of them is told of */
	begin_raised(HOOKED("1"));
	outcome.stop.signal = SIGTERM;
	expect(2, RI_CULPRIT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_that_was_stopped_of_what_it_did_not_catch, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_may_have_caught_what_it_printed, begin,
			finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
