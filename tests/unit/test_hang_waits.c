/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank waits for whose innermost Python frame is one of torch's own files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "hang/hang.h"

static const struct ri_hang_frame training[] = { { "/job/train.py", "step", 55 } };
static const struct ri_hang_frame forward[] = {
	{ "/v/site-packages/torch/nn/parallel/distributed.py", "D._pre_forward", 1775 },
	{ "/job/train.py", "step", 88 },
};
static const struct ri_hang_frame unshard[] = {
	{ "/v/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py", "copy_out", 449 },
	{ "/job/train.py", "step", 88 },
};
static const struct ri_hang_frame hook[] = {
	{ "/job/hook.py", "hook", 3 },
	{ "/v/site-packages/torch/nn/parallel/distributed.py", "D._pre_forward", 1775 },
};

static struct ri_hang *hang;

/* One rank in that system call, of whose two arguments each is 1. */
static struct ri_hang_process *add_rank(const struct ri_hang_frame *frames, int call,
	const char *path)
{
	struct ri_hang_look *look = ri_hang_newer(hang);
	struct ri_hang_process *process = &look->processes[0];

	hang->looks_taken = 2;
	look->count = 1;
	*process = (struct ri_hang_process){
		.pid = 100, .parent = 1, .started = 1, .name = "python", .is_rank = true,
		.state = 'S', .python = RI_HANG_HAS_PYTHON, .has_cpu = true, .since_us = 200000,
		.call = { .state = RI_CALL_INSIDE, .number = call, .arguments = { 1, 1 } },
		.stacks[0] = { .frames = frames, .count = frames == training ? 1 : 2 },
		.stack_count = 1, .child = -1,
	};
	ri_text_copy(process->path, sizeof(process->path), path);
	return process;
}

/* It waits for the other ranks, unless its system call says otherwise. */
static void test_calls(void **state)
{
	static const struct {
		const struct ri_hang_frame *frames;
		int call;
		const char *path;
		enum ri_hang_class class;
	} rows[] = {
		{ forward, SYS_futex, "", RI_HANG_COLLECTIVE },
		{ unshard, SYS_futex, "", RI_HANG_COLLECTIVE },
		{ unshard, SYS_recvfrom, "socket:[17]", RI_HANG_COLLECTIVE },
		{ unshard, SYS_ppoll, "", RI_HANG_COLLECTIVE },
		{ unshard, SYS_write, "/ckpt/1", RI_HANG_WAITS },
		{ unshard, SYS_flock, "/ckpt/lock", RI_HANG_LOCK },
		{ unshard, SYS_openat, "ckpt/1", RI_HANG_WAITS },
		{ unshard, SYS_clock_nanosleep, "", RI_HANG_SLEEPS },
		{ unshard, SYS_wait4, "", RI_HANG_CHILD },
		{ hook, SYS_futex, "", RI_HANG_LOCK },
		{ training, SYS_futex, "", RI_HANG_LOCK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ri_hang_process *process = add_rank(rows[i].frames, rows[i].call,
			rows[i].path);

		ri_hang_judge(hang);
		if (process->class != rows[i].class)
			fail_msg("row %zu: %s", i, ri_hang_class_name(process->class));
	}
}

/* And unless it computes. */
static void test_one_that_computes(void **state)
{
	struct ri_hang_process *process = add_rank(unshard, SYS_futex, "");

	(void)state;
	process->main_us = process->since_us;
	ri_hang_judge(hang);
	assert_int_equal(process->class, RI_HANG_RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_one_that_computes),
	};
	int failed;

	hang = calloc(1, sizeof(*hang));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(hang);
	return failed;
}
