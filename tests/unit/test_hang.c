/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of processes that wait: classes, groups, the suspect, who moves. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "hang/hang.h"

static struct ri_call call_of(int number, uint64_t first, uint64_t second)
{
	return (struct ri_call){ .state = RI_CALL_INSIDE, .number = number,
		.arguments = { first, second } };
}

static struct ri_hang *hang;

static const struct ri_hang_frame idle_worker[] = {
	{ "/usr/lib/python3.11/multiprocessing/queues.py", "Queue.get", 1 },
	{ "/v/site-packages/torch/utils/data/_utils/worker.py", "_worker_loop", 2 },
};
static const struct ri_hang_frame busy_worker[] = {
	{ "/job/train.py", "Shards.__getitem__", 1 },
	{ "/v/site-packages/torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch", 2 },
	{ "/v/site-packages/torch/utils/data/_utils/worker.py", "_worker_loop", 3 },
};

static const struct ri_hang_frame collective[] = {
	{ "/v/site-packages/torch/distributed/distributed_c10d.py", "all_reduce", 10 },
	{ "/job/train.py", "step", 88 },
};
static const struct ri_hang_frame other_collective[] = {
	{ "/v/site-packages/torch/distributed/distributed_c10d.py", "barrier", 20 },
	{ "/job/train.py", "save", 95 },
};
static const struct ri_hang_frame training[] = { { "/job/train.py", "step", 55 } };

static void add(int64_t rank, const struct ri_hang_frame *frames, uint32_t count, int number)
{
	struct ri_hang_look *look = ri_hang_newer(hang);
	struct ri_hang_process *process = &look->processes[look->count++];

	*process = (struct ri_hang_process){
		.pid = 100 + (pid_t)rank, .parent = 1, .started = 1, .name = "python", .rank = rank,
		.is_rank = true, .state = 'S', .python = RI_HANG_HAS_PYTHON, .has_cpu = true,
		.since_us = 200000, .stack_count = 1, .child = -1,
		.call = call_of(number, 0, 0),
	};
	process->stacks[0] = (struct ri_hang_stack){ .frames = frames, .count = count,
		.depth = count, .hash = count == 0 ? 0 : frames[0].line };
}

/* Two looks: each rank waits in all_reduce, but for one that does something else. */
static void look_twice(int64_t ranks, int64_t odd, const struct ri_hang_frame *frames,
	uint32_t count, int number)
{
	hang->looks_taken = 0;
	for (unsigned i = 0; i < 2; i++) {
		hang->last = i;
		ri_hang_newer(hang)->count = 0;
		for (int64_t rank = 0; rank < ranks; rank++)
			if (rank == odd)
				add(rank, frames, count, number);
			else
				add(rank, collective, 2, SYS_futex);
		hang->looks_taken++;
		ri_hang_judge(hang);
	}
}

static int suspect(void)
{
	ri_hang_looks_agree(hang);
	return ri_hang_newer(hang)->suspect;
}

static void test_the_suspect(void **state)
{
	(void)state;
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	assert_int_equal(suspect(), 2);
	assert_int_equal(ri_hang_newer(hang)->processes[2].class, RI_HANG_SLEEPS);
	look_twice(4, 1, other_collective, 2, SYS_futex);
	assert_int_equal(suspect(), 1);
	/* the controls: nobody differs; two ranks; the others wait for nobody */
	look_twice(4, -1, NULL, 0, 0);
	assert_int_equal(suspect(), -1);
	look_twice(2, 1, training, 1, SYS_clock_nanosleep);
	assert_int_equal(suspect(), -1);
	look_twice(3, 1, training, 1, SYS_clock_nanosleep);
	assert_int_equal(suspect(), 1);
}

static void test_two_that_differ(void **state)
{
	struct ri_hang_process *process;

	(void)state;
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	process = &ri_hang_newer(hang)->processes[3];
	process->stacks[0].frames = training;
	process->stacks[0].count = 1;
	ri_hang_judge(hang);
	assert_int_equal(suspect(), -1);
	/* of eight a quarter may differ, and two that do so alike are not told apart */
	look_twice(8, 2, training, 1, SYS_clock_nanosleep);
	assert_int_equal(suspect(), 2);
}

static void test_looks_that_do_not_agree(void **state)
{
	struct ri_hang_process *process;

	(void)state;
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	hang->looks[!hang->last].suspect = 1;
	assert_int_equal(suspect(), -1);
	/* others that get on wait for nobody */
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	for (int i = 0; i < 2; i++) {
		process = &ri_hang_newer(hang)->processes[i];
		process->main_us = process->since_us / 4;
	}
	ri_hang_judge(hang);
	assert_int_equal(suspect(), -1);
	/* and one that gets on holds up nobody for long */
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	ri_hang_newer(hang)->processes[2].stacks[0].hash = 7;
	ri_hang_judge(hang);
	assert_int_equal(suspect(), -1);
}

static void nap(size_t first, size_t last, uint64_t naps)
{
	for (size_t i = first; i <= last; i++)
		ri_hang_newer(hang)->processes[i].naps = naps;
	ri_hang_judge(hang);
}

/* One rank sleeps in each step: whoever looks finds all of them where they were. */
static void test_a_job_that_moves(void **state)
{
	(void)state;
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	nap(0, 3, 3);
	assert_int_equal(suspect(), -1);
	nap(2, 2, 0);	/* libraries that poll; it hangs */
	assert_int_equal(suspect(), 2);
	nap(0, 3, 0);
	nap(2, 2, 40);	/* it polls for a lock; the others wait */
	assert_int_equal(suspect(), 2);
	/* one that computes has no need to wait: it comes last */
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	ri_hang_newer(hang)->processes[2].state = 'R';
	ri_hang_newer(hang)->processes[2].main_us = 200000;
	nap(2, 2, 0);
	assert_int_equal(ri_hang_newer(hang)->suspect, 2);
	nap(0, 1, 3);
	nap(3, 3, 3);
	assert_int_equal(ri_hang_newer(hang)->suspect, -1);
}

static void test_classes_by_the_kernel(void **state)
{
	static const struct {
		char state;
		pid_t tracer;
		int call;
		enum ri_hang_class class;
	} rows[] = {
		{ 'T', 0, SYS_futex, RI_HANG_STOPPED },
		{ 't', 9, SYS_futex, RI_HANG_DEBUGGED },
		{ 'D', 0, SYS_read, RI_HANG_BLOCKED },
		{ 'D', 0, SYS_clone, RI_HANG_VFORKING },
		{ 'S', 0, SYS_futex, RI_HANG_LOCK },
		{ 'S', 0, SYS_wait4, RI_HANG_CHILD },
		{ 'S', 0, SYS_read, RI_HANG_WAITS },
		{ 'S', 0, SYS_exit_group, RI_HANG_EXITING },
		{ 0, 0, SYS_read, RI_HANG_GONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ri_hang_process *process;

		look_twice(4, 2, training, 1, rows[i].call);
		process = &ri_hang_newer(hang)->processes[2];
		process->state = rows[i].state;
		process->tracer = rows[i].tracer;
		ri_hang_judge(hang);
		assert_int_equal(process->class, rows[i].class);
	}
}

/* A shell that computes has no Python instruction. */
static void test_who_runs(void **state)
{
	struct ri_hang_process *runs;

	(void)state;
	look_twice(4, 2, training, 1, SYS_read);
	runs = &ri_hang_newer(hang)->processes[2];
	runs->main_us = runs->since_us;
	ri_hang_judge(hang);
	assert_int_equal(runs->class, RI_HANG_SPINS);
	runs->stack_count = hang->looks[0].processes[2].stack_count = 0;
	ri_hang_judge(hang);
	assert_int_equal(runs->class, RI_HANG_RUNS);
}

static void test_workers(void **state)
{
	(void)state;
	look_twice(4, 2, idle_worker, 2, SYS_ppoll);
	assert_int_equal(ri_hang_newer(hang)->processes[2].class, RI_HANG_WORK);
	look_twice(4, 2, busy_worker, 3, SYS_read);
	assert_int_equal(ri_hang_newer(hang)->processes[2].class, RI_HANG_WAITS);
}

static const struct ri_hang_frame loading[] = {
	{ "/v/site-packages/torch/utils/data/dataloader.py", "_try_get_data", 1 },
	{ "/job/train.py", "step", 50 },
};
static const struct ri_hang_frame tracker[] = {
	{ "/usr/lib/python3.11/multiprocessing/resource_tracker.py", "main", 1 },
};
static const struct ri_hang_frame server[] = {
	{ "/usr/lib/python3.11/selectors.py", "EpollSelector.select", 1 },
	{ "/usr/lib/python3.11/multiprocessing/forkserver.py", "main", 2 },
};

static struct ri_hang_process *add_below(pid_t pid, pid_t parent,
	const struct ri_hang_frame *frames, uint32_t count, int number)
{
	struct ri_hang_process *process;

	add(pid - 100, frames, count, number);
	process = &ri_hang_newer(hang)->processes[ri_hang_newer(hang)->count - 1];
	process->parent = parent;
	process->is_rank = false;
	process->rank = 2;
	return process;
}

/* multiprocessing starts them by a server, beside which there is a tracker that waits. */
static void test_workers_of_a_server(void **state)
{
	char text[1024];
	struct ri_text out;

	(void)state;
	look_twice(4, 2, loading, 2, SYS_ppoll);
	add_below(200, 102, tracker, 1, SYS_read);
	add_below(201, 102, server, 2, SYS_epoll_pwait);
	add_below(202, 201, idle_worker, 2, SYS_ppoll);
	ri_hang_judge(hang);
	out = ri_text_of(text, sizeof(text));
	ri_hang_add_activity(&out, ri_hang_newer(hang), 2, true);
	assert_string_equal(text, "waits for its data loader, train.py:50 in step, "
		"whose worker is idle");
	assert_int_equal(ri_hang_newer(hang)->processes[4].class, RI_HANG_WORK);
	assert_int_equal(ri_hang_newer(hang)->processes[5].class, RI_HANG_WORK);
	add_below(203, 201, busy_worker, 3, SYS_clock_nanosleep);
	ri_hang_judge(hang);
	assert_int_equal(ri_hang_newer(hang)->processes[2].child, 7);
	/* there is none; then one whose stack could not be read */
	ri_hang_newer(hang)->count = 6;
	ri_hang_judge(hang);
	out = ri_text_of(text, sizeof(text));
	ri_hang_add_activity(&out, ri_hang_newer(hang), 2, true);
	assert_non_null(strstr(text, ", of whose workers none is left"));
	add_below(202, 102, NULL, 0, SYS_ppoll)->python = RI_HANG_REFUSED;
	ri_hang_newer(hang)->processes[6].stack_count = 0;
	out = ri_text_of(text, sizeof(text));
	ri_hang_add_activity(&out, ri_hang_newer(hang), 2, true);
	assert_null(strstr(text, "none is left"));
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

static void test_a_screen_for_512_ranks(void **state)
{
	static char page[2 * RI_HANG_SHOWN];
	static struct ri_hang_frame frames[512][30];
	struct ri_hang_look *look;
	struct ri_text out;

	(void)state;
	look_twice(512, 5, training, 1, SYS_clock_nanosleep);
	assert_int_equal(suspect(), 5);
	out = ri_text_of(page, sizeof(page));
	ri_hang_say(hang, &out);
	assert_non_null(strstr(page, "suspect: rank 5 (pid 105) sleeps, train.py:55 in step"));
	assert_non_null(strstr(page, "ranks 0-4, 6-511 (511): "));
	assert_true(count_lines(page) <= 8);
	/* each does something else, thirty frames deep */
	look = ri_hang_newer(hang);
	for (size_t i = 0; i < 512; i++) {
		for (size_t k = 0; k < 30; k++)
			frames[i][k] = (struct ri_hang_frame){
				"/job/x.py", "f", (uint32_t)(i + 1)
			};
		look->processes[i].stacks[0].frames = frames[i];
		look->processes[i].stacks[0].count = 30;
	}
	ri_hang_judge(hang);
	out = ri_text_of(page, sizeof(page));
	ri_hang_say(hang, &out);
	/* five lines a group, of the tenth there is room for one */
	assert_int_equal(count_lines(page), RI_HANG_LINES - 1);
	assert_non_null(strstr(page, "\nand 503 groups more\n"));
}

/* A rank that left a collective of few may have sent them into it: neither side is accused. */
static void test_two_collectives(void **state)
{
	static char page[2 * RI_HANG_SHOWN];
	struct ri_text out;

	(void)state;
	look_twice(8, 6, other_collective, 2, SYS_futex);
	assert_int_equal(suspect(), 6);
	out = ri_text_of(page, sizeof(page));
	ri_hang_say(hang, &out);
	assert_null(strstr(page, "suspect"));
	assert_ptr_equal(strstr(page, "the ranks differ: rank 6 (pid 106) waits for the other "
		"ranks in barrier, train.py:95 in save; the others in all_reduce\n"), page);
}

static void test_foreign_strings(void **state)
{
	static const struct ri_hang_frame hostile[] = {
		{ "/job/\x1b[31m\xff.py", "password=hunter2hunter2", 1 },
		{ "/x/AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYKEY", "f", 2 },
	};
	static const struct ri_hang_frame key[] = {
		{ "/x/AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYKEY", "f", 2 },
	};
	static char page[2 * RI_HANG_SHOWN], document[1 << 20];
	struct ri_json json = { .escapes = 0 };
	struct ri_text out;

	(void)state;
	look_twice(4, 2, key, 1, SYS_clock_nanosleep);
	out = ri_text_of(page, sizeof(page));
	ri_hang_say(hang, &out);
	assert_null(strstr(page, "bPxRfiCYKEY"));
	look_twice(4, 2, hostile, 2, SYS_clock_nanosleep);
	strcpy(ri_hang_newer(hang)->processes[2].path,
		"/data?token=hf_abcdefghijklmnopqrstuvwxyz012345");
	out = ri_text_of(page, sizeof(page));
	ri_hang_say(hang, &out);
	assert_null(strchr(page, '\x1b'));
	assert_null(strstr(page, "hunter2hunter2"));
	out = ri_text_of(document, sizeof(document));
	assert_int_equal(ri_json_end(&json, ri_hang_json(&json, hang), JSON_COMPACT, &out), 0);
	assert_null(strchr(document, '\x1b'));
	assert_null(strstr(document, "hunter2hunter2"));
	assert_null(strstr(document, "hf_abcdefghijklmnopqrstuvwxyz"));
}

static void says(bool expected, const char *part)
{
	static char shown[RI_HANG_SHOWN];
	struct ri_text out;

	out = ri_text_of(shown, sizeof(shown));
	ri_hang_say(hang, &out);
	if ((strstr(shown, part) != NULL) != expected)
		fail_msg("%s in:\n%s", part, shown);
}

/* Two of four were looked at, one of them not inside. */
static void test_a_look_that_was_cut_short(void **state)
{
	struct ri_hang_process *processes;

	(void)state;
	look_twice(4, 3, training, 1, SYS_clock_nanosleep);
	processes = ri_hang_newer(hang)->processes;
	says(false, "not looked at");
	for (size_t i = 1; i < 4; i++) {
		processes[i].unread = true;
		processes[i].unlooked = i > 1;
		processes[i].is_rank = i < 3;
		processes[i].python = RI_HANG_NOT_ASKED;
		processes[i].stack_count = 0;
	}
	ri_hang_judge(hang);
	hang->cut_ms = 86;
	ri_hang_newer(hang)->listed = true;
	assert_int_equal(ri_hang_count_unlooked(hang), 3);
	says(true, "cut short after 86 ms: 3 of 4 processes were not looked at\n");
	says(true, "rank 1 (pid 101): waits for a lock\n    no Python stack: its memory was not");
	says(true, "rank 2 (pid 102): was not looked at\n");
	says(false, "(pid 103)");
	hang->cut_errno = EAGAIN;
	says(true, "no process to look with (Resource temporarily unavailable): 3 of 4");
	processes[1].python = RI_HANG_SLOW;
	says(true, "no Python stack: it took too long to read");
	hang->cut_ms = hang->cut_errno = 0;
	says(false, "3 of 4");
}

static void test_who_is_dying_after_a_loss(void **state)
{
	struct ri_hang_process *dying;

	(void)state;
	look_twice(4, 2, training, 1, SYS_read);
	dying = &ri_hang_newer(hang)->processes[2];
	dying->main_us = dying->since_us;
	dying->stack_count = 0;
	ri_hang_judge(hang);
	says(true, "rank 2 (pid 102): runs\n");
	hang->after_loss = true;
	ri_hang_judge(hang);
	says(false, "rank 2 ");
	says(true, "ranks 0-1, 3 (3): ");
	/* not so of a program that never had a Python stack */
	dying->python = RI_HANG_NO_PYTHON;
	says(true, "rank 2 (pid 102): runs\n");
	dying->python = RI_HANG_HAS_PYTHON;
	dying->dying = true;
	ri_hang_judge(hang);
	says(false, "rank 2 ");
	hang->after_loss = false;
	says(true, "rank 2 (pid 102): is ending\n");
}

static void test_movement(void **state)
{
	struct ri_hang_moment moments[8] = { { .pid = 0 } };

	(void)state;
	look_twice(4, 2, training, 1, SYS_clock_nanosleep);
	assert_true(ri_hang_has_moved(hang, moments, 8));
	assert_false(ri_hang_has_moved(hang, moments, 8));
	ri_hang_newer(hang)->processes[1].stacks[0].hash++;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	assert_false(ri_hang_has_moved(hang, moments, 8));
	/* a second later, a tenth of it on a CPU; then all of it */
	for (size_t i = 0; i < 4; i++)
		ri_hang_newer(hang)->processes[i].at_us += 1000000;
	ri_hang_newer(hang)->processes[3].main_ns += 100000000;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	for (size_t i = 0; i < 4; i++)
		ri_hang_newer(hang)->processes[i].at_us += 1000000;
	ri_hang_newer(hang)->processes[3].main_ns += 1000000000;
	assert_false(ri_hang_has_moved(hang, moments, 8));
	ri_hang_newer(hang)->count = 0;
	assert_true(ri_hang_has_moved(hang, moments, 8));
}

static void pass_a_second(void)
{
	for (size_t i = 0; i < ri_hang_newer(hang)->count; i++)
		ri_hang_newer(hang)->processes[i].at_us += 1000000;
}

/* One rank waits for a process below it, the others for that rank. */
static void test_movement_of_what_works_for_a_rank(void **state)
{
	struct ri_hang_moment moments[8] = { { .pid = 0 } };
	struct ri_hang_process *processes, *rank, *worker;

	(void)state;
	look_twice(4, 2, training, 1, SYS_wait4);
	add(9, busy_worker, 3, SYS_read);
	processes = ri_hang_newer(hang)->processes;
	rank = &processes[2];
	worker = &processes[4];
	worker->is_rank = false;
	worker->parent = rank->pid;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	assert_false(ri_hang_has_moved(hang, moments, 8));
	pass_a_second();
	worker->cpu_ticks += 4;
	assert_false(ri_hang_has_moved(hang, moments, 8));
	pass_a_second();
	worker->cpu_ticks += 6;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	worker->stacks[0].hash++;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	assert_false(ri_hang_has_moved(hang, moments, 8));
	/* a thread of the rank; of one that waits for ranks it is no news */
	pass_a_second();
	rank->cpu_ticks += 90;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	worker->parent = processes[1].pid;
	assert_true(ri_hang_has_moved(hang, moments, 8));
	pass_a_second();
	processes[1].cpu_ticks += 90;
	worker->stacks[0].hash++;
	assert_false(ri_hang_has_moved(hang, moments, 8));
	/* all of the time on a CPU: a compiler takes memory, who asks again does not */
	pass_a_second();
	rank->main_ns += 1000000000;
	assert_false(ri_hang_has_moved(hang, moments, 8));
	pass_a_second();
	rank->main_ns += 1000000000;
	rank->faults += 50;
	assert_true(ri_hang_has_moved(hang, moments, 8));
}

static int begin(void **state)
{
	(void)state;
	hang = calloc(1, sizeof(*hang));
	return hang == NULL ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	free(hang);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_suspect),
		cmocka_unit_test(test_two_that_differ),
		cmocka_unit_test(test_looks_that_do_not_agree),
		cmocka_unit_test(test_a_job_that_moves),
		cmocka_unit_test(test_classes_by_the_kernel),
		cmocka_unit_test(test_who_runs),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_workers_of_a_server),
		cmocka_unit_test(test_a_screen_for_512_ranks),
		cmocka_unit_test(test_two_collectives),
		cmocka_unit_test(test_foreign_strings),
		cmocka_unit_test(test_a_look_that_was_cut_short),
		cmocka_unit_test(test_who_is_dying_after_a_loss),
		cmocka_unit_test(test_movement),
		cmocka_unit_test(test_movement_of_what_works_for_a_rank),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
