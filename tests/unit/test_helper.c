/* SPDX-License-Identifier: Apache-2.0 */
/* Children that wait4(-1) does not know: whose SIGIO is ours, and what was left is reaped. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "base/arena.h"

#include "system/mask.h"
#include "system/helper.h"

enum { PATIENCE_MS = 10000 };

static void stay(void *context)
{
	(void)context;
	for (;;)
		pause();
}

static pid_t start_of(int signal)
{
	pid_t pid = ri_helper_start(&(struct ri_helper_task){ .body = stay, .signal = signal });

	assert_true(pid > 0);
	return pid;
}

static pid_t start(void)
{
	return start_of(SIGIO);
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
	pid = start_of(0);
	assert_false(ri_helper_took(&(siginfo_t){ .si_signo = SIGIO, .si_code = POLL_IN }));
	assert_true(ri_helper_end(&pid, 0, NULL));
}

static void test_one_that_is_left_is_reaped(void **state)
{
	pid_t helper = start(), pid = helper;

	(void)state;
	assert_true(ri_helper_is_one(pid));
	assert_true(ri_helper_leave(&helper));
	assert_int_equal(helper, 0);
	assert_true(ri_helper_is_one(pid));
	assert_true(take_one());
	assert_false(ri_helper_is_one(pid));
	assert_int_equal(waitpid(pid, NULL, __WCLONE | WNOHANG), -1);
}

static void test_an_end_is_waited_for(void **state)
{
	pid_t helper = start(), pid = helper;
	int status = 0;

	(void)state;
	assert_true(ri_helper_end(&helper, 0, &status));
	assert_int_equal(helper, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_false(ri_helper_is_one(pid));
	assert_true(take_one());
	/* also where another one has reaped it */
	status = -1;
	helper = pid;
	assert_true(ri_helper_reap(&helper, &status));
	assert_int_equal(helper, 0);
	assert_int_equal(status, -1);
	/* none */
	assert_false(ri_helper_reap(&helper, NULL));
	assert_false(ri_helper_leave(&helper));
	assert_false(ri_helper_end(&helper, 0, NULL));
}

static void test_what_is_not_hidden_is_ended_too(void **state)
{
	pid_t helper = start_of(SIGCHLD), pid = helper;

	(void)state;
	assert_false(ri_helper_is_one(pid));
	assert_false(ri_helper_reap(&helper, NULL));
	assert_true(ri_helper_end(&helper, RI_MASK_OF(SIGCHLD), NULL));
	assert_int_equal(waitpid(pid, NULL, __WALL | WNOHANG), -1);
}

static void test_as_many_as_there_can_be(void **state)
{
	pid_t helpers[8], pids[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		helpers[i] = pids[i] = start();
		assert_true(ri_helper_is_one(pids[i]));
	}
	for (int i = 0; i < 8; i++)
		assert_true(ri_helper_end(&helpers[i], 0, NULL));
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

/* What one sees of itself. */
static struct seen {
	uid_t user;
	bool has_capabilities, is_traceable, has_stdin;
	char name[16];
} *seen;

static void look_at_oneself(void *context)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { .effective = 0 } };
	struct __user_cap_data_struct held[2] = { { .effective = 0 } }; /* valgrind knows of one */

	(void)context;
	seen->user = geteuid();
	seen->has_capabilities = syscall(SYS_capget, &header, held) < 0 ||
		memcmp(held, none, sizeof(none)) != 0;
	seen->is_traceable = prctl(PR_GET_DUMPABLE) != 0;
	seen->has_stdin = lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0 || errno != EBADF;
	prctl(PR_GET_NAME, seen->name);
}

static int status_of(const struct ri_helper_task *task)
{
	pid_t pid = ri_helper_start(task);
	int status = -1;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	return status;
}

/* A user namespace may lack this user, and a container the right to become it. */
static bool may_become_nobody(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
			setresuid(65534, 65534, 65534) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void test_the_rights_of_one_that_hears_strangers(void **state)
{
	const struct ri_helper_task task = {
		.body = look_at_oneself, .signal = SIGCHLD, .user = RI_HELPER_NOBODY,
		.name = "hears", .seconds = 60,
	};

	(void)state;
	seen = ri_pages_shared(sizeof(*seen));
	assert_int_equal(status_of(&task), 0);
	assert_int_equal(seen->user, may_become_nobody() ? 65534 : geteuid());
	assert_false(seen->has_capabilities);
	assert_false(seen->is_traceable);
	assert_false(seen->has_stdin);
	assert_string_equal(seen->name, "hears");
}

/* One that is gone has no user: root does not look in its place. */
static void test_whose_user_it_becomes(void **state)
{
	struct ri_helper_task task = {
		.body = look_at_oneself, .signal = SIGCHLD, .user = RI_HELPER_OWNER,
		.name = "looks", .owned = getpid(),
	};
	pid_t gone;

	(void)state;
	seen = ri_pages_shared(sizeof(*seen));
	assert_int_equal(status_of(&task), 0);
	assert_int_equal(seen->user, geteuid());
	if (geteuid() != 0)
		return;
	task.owned = gone = start_of(SIGCHLD);
	assert_true(ri_helper_end(&gone, RI_MASK_OF(SIGCHLD), NULL));
	assert_int_equal(status_of(&task), 1 << 8);
}

static void test_its_time(void **state)
{
	(void)state;
	assert_int_equal(status_of(&(struct ri_helper_task){
		.body = stay, .signal = SIGCHLD, .seconds = 1 }), SIGALRM);
}

static void stop_oneself(void *context)
{
	(void)context;
	kill(getpid(), SIGSTOP);
}

/* Stopped it hears no SIGALRM: what is seen of it is the same. */
static void test_one_that_is_stopped_in_its_time(void **state)
{
	pid_t helper = ri_helper_start(&(struct ri_helper_task){
		.body = stop_oneself, .signal = SIGIO, .seconds = 1 });
	pid_t pid = helper;
	int status = 0;

	(void)state;
	assert_true(pid > 0);
	assert_true(ri_helper_due(pid) < INT64_MAX);
	for (int i = 0; i < PATIENCE_MS && !ri_helper_reap(&helper, &status); i++)
		ri_mask_pause(1);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	assert_true(ri_helper_due(pid) == INT64_MAX);
	assert_true(take_one());
	assert_false(ri_helper_is_one(pid));
	assert_int_equal(waitpid(pid, NULL, __WALL | WNOHANG), -1);
}

static void test_without_a_time_it_is_never_given_up(void **state)
{
	pid_t pid = ri_helper_start(&(struct ri_helper_task){
		.body = stop_oneself, .signal = SIGIO });

	(void)state;
	assert_true(ri_helper_due(pid) == INT64_MAX);
	assert_int_equal(waitpid(pid, NULL, __WALL | WUNTRACED), pid);
	assert_false(ri_helper_reap(&pid, NULL));
	assert_true(ri_helper_end(&pid, RI_MASK_OF(SIGIO), NULL));
	assert_true(ri_helper_due(0) == INT64_MAX);
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
		cmocka_unit_test(test_the_rights_of_one_that_hears_strangers),
		cmocka_unit_test(test_whose_user_it_becomes),
		cmocka_unit_test(test_its_time),
		cmocka_unit_test(test_one_that_is_stopped_in_its_time),
		cmocka_unit_test(test_without_a_time_it_is_never_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
