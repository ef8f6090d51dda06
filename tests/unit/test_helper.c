/* SPDX-License-Identifier: Apache-2.0 */
/* Children that wait4(-1) does not know: whose SIGIO is ours, and what was left is reaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/mask.h"
#include "system/helper.h"

enum { PATIENCE_MS = 10000 };

static pid_t start(void)
{
	pid_t pid = ri_helper_fork(SIGIO);

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static bool take_one(void)
{
	siginfo_t info;

	assert_int_equal(ri_mask_wait_for(RI_MASK_OF(SIGIO), &info, PATIENCE_MS), SIGIO);
	return ri_helper_took(&info);
}

static void test_nobody_was_started(void **state)
{
	pid_t pid;

	(void)state;
	assert_false(ri_helper_took(&(siginfo_t){ .si_signo = SIGIO, .si_code = POLL_IN }));
	pid = ri_helper_fork(0);
	if (pid == 0)
		_exit(0);
	assert_false(ri_helper_took(&(siginfo_t){ .si_signo = SIGIO, .si_code = POLL_IN }));
	assert_true(ri_helper_end(pid, 0, NULL));
}

static void test_one_that_is_left_is_reaped(void **state)
{
	pid_t pid = start();

	(void)state;
	assert_true(ri_helper_is_one(pid));
	assert_true(ri_helper_leave(pid));
	assert_true(ri_helper_is_one(pid));
	assert_true(take_one());
	assert_false(ri_helper_is_one(pid));
	assert_int_equal(waitpid(pid, NULL, __WCLONE | WNOHANG), -1);
}

static void test_an_end_is_waited_for(void **state)
{
	pid_t pid = start();
	int status = 0;

	(void)state;
	assert_true(ri_helper_end(pid, 0, &status));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_false(ri_helper_is_one(pid));
	assert_true(take_one());
	/* also where another one has reaped it */
	status = -1;
	assert_true(ri_helper_reap(pid, &status));
	assert_int_equal(status, -1);
}

static void test_what_is_not_hidden_is_ended_too(void **state)
{
	pid_t pid = ri_helper_fork(SIGCHLD);

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	assert_false(ri_helper_is_one(pid));
	assert_false(ri_helper_reap(pid, NULL));
	assert_true(ri_helper_end(pid, RI_MASK_OF(SIGCHLD), NULL));
	assert_int_equal(waitpid(pid, NULL, __WALL | WNOHANG), -1);
}

static void test_as_many_as_there_can_be(void **state)
{
	pid_t pids[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		pids[i] = start();
		assert_true(ri_helper_is_one(pids[i]));
	}
	for (int i = 0; i < 8; i++)
		assert_true(ri_helper_end(pids[i], 0, NULL));
	for (int i = 0; i < 8; i++)
		assert_false(ri_helper_is_one(pids[i]));
	assert_true(take_one());
}

static void test_one_that_was_reaped_before_its_signal(void **state)
{
	pid_t pid = start();

	(void)state;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, __WCLONE), pid);
	assert_true(take_one());
}

static void test_whoever_sends_one(void **state)
{
	(void)state;
	kill(getpid(), SIGIO);
	assert_false(take_one());
	assert_false(ri_helper_took(&(siginfo_t){
		.si_signo = SIGUSR1, .si_code = CLD_EXITED }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_was_started),
		cmocka_unit_test(test_one_that_is_left_is_reaped),
		cmocka_unit_test(test_an_end_is_waited_for),
		cmocka_unit_test(test_what_is_not_hidden_is_ended_too),
		cmocka_unit_test(test_as_many_as_there_can_be),
		cmocka_unit_test(test_one_that_was_reaped_before_its_signal),
		cmocka_unit_test(test_whoever_sends_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
