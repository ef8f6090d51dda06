/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process that waits. */
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

/* read(3, ...), as fs/proc/base.c prints it */
static const char inside[] =
	"%d 0x3 0x7ffd0 0x10 0x0 0x0 0x0 0x7ffcd0000000 0x7f0000000000\n";

static struct ri_call call_of(int number, uint64_t first, uint64_t second)
{
	return (struct ri_call){ .state = RI_CALL_INSIDE, .number = number,
		.arguments = { first, second } };
}

static void test_calls(void **state)
{
	struct ri_call call = { .state = RI_CALL_UNKNOWN };
	char text[128];

	(void)state;
	snprintf(text, sizeof(text), inside, SYS_read);
	assert_true(ri_call_read(text, &call));
	assert_string_equal(ri_call_row(&call)->name, "read");
	assert_int_equal(ri_call_file(&call), 3);
	assert_int_equal(ri_call_path(&call), 0);
	assert_false(ri_call_sleeps(&call));
	assert_true(ri_call_read("running\n", &call));
	assert_int_equal(call.state, RI_CALL_RUNNING);
	assert_null(ri_call_row(&call));
	assert_true(ri_call_read("-1 0x7ffcd0000000 0x7f0000000000\n", &call));
	assert_int_equal(call.state, RI_CALL_OUTSIDE);
	assert_false(ri_call_read("", &call));
	assert_false(ri_call_read("0 0x3\n", &call));
	assert_false(ri_call_read("read 0x3\n", &call));
	assert_false(ri_call_read("99999999999999999999 0x0 0x0 0x0 0x0 0x0 0x0\n", &call));
	assert_int_equal(call.state, RI_CALL_OUTSIDE);
}

static void test_what_a_call_waits_for(void **state)
{
	struct ri_call call = call_of(SYS_clock_nanosleep, 0, 0);

	(void)state;
	assert_true(ri_call_sleeps(&call));
	call = call_of(SYS_pselect6, 0, 0);
	assert_true(ri_call_sleeps(&call));
	call = call_of(SYS_pselect6, 4, 0);
	assert_false(ri_call_sleeps(&call));
	call = call_of(SYS_ppoll, 0x7000, 0);
	assert_true(ri_call_sleeps(&call));
	call = call_of(SYS_ppoll, 0x7000, 1);
	assert_false(ri_call_sleeps(&call));
	call = call_of(SYS_openat, 0, 0x7000);
	assert_int_equal(ri_call_path(&call), 0x7000);
	assert_int_equal(ri_call_file(&call), -1);
	call = call_of(SYS_read, UINT32_MAX, 0);
	assert_int_equal(ri_call_file(&call), -1);
	call = call_of(SYS_wait4, 7, 0);
	assert_int_equal(ri_call_child(&call), 7);
	call = call_of(SYS_waitid, 1, 7);
	assert_int_equal(ri_call_child(&call), 7);
	call = call_of(SYS_wait4, UINT32_MAX, 0);
	assert_int_equal(ri_call_child(&call), -1);
	call = call_of(999, 0, 0);
	assert_null(ri_call_row(&call));
}

static void test_facts(void **state)
{
	uint64_t number = 7;
	char wchan[8];

	(void)state;
	assert_true(ri_hang_read_field("Name:\tx\nTracerPid:\t12\nThreads:\t34\n", "TracerPid",
		&number));
	assert_int_equal(number, 12);
	assert_true(ri_hang_read_field("Name:\tx\nTracerPid:\t12\nThreads:\t34\n", "Threads",
		&number));
	assert_int_equal(number, 34);
	assert_false(ri_hang_read_field("Name:\tTracerPid:\t12\nThreads:\t1\n", "TracerPid",
		&number));
	assert_true(ri_hang_read_field("Cpus_allowed:\t1\nvoluntary_ctxt_switches:\t42\n"
		"nonvoluntary_ctxt_switches:\t7\n", "voluntary_ctxt_switches",
		&number));
	assert_int_equal(number, 42);
	assert_false(ri_hang_read_field("nonvoluntary_ctxt_switches:\t7\n",
		"voluntary_ctxt_switches", &number));
	assert_true(ri_hang_read_field("rchar: 40\nwchar: 2\nsyscr: 9\n", "wchar", &number));
	assert_int_equal(number, 2);
	assert_false(ri_hang_read_field("rchar: 40\n", "wchar", &number));
	assert_true(ri_hang_read_field("pos:\t0\nflags:\t02\nmnt_id:\t29\n", "mnt_id",
		&number));
	assert_int_equal(number, 29);
	ri_hang_read_wchan("0", wchan, sizeof(wchan));
	assert_string_equal(wchan, "");
	ri_hang_read_wchan("futex_wait_queue", wchan, sizeof(wchan));
	assert_string_equal(wchan, "futex_w");
}

static const char mounts[] =
	"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	"29 20 0:30 / /data rw - nfs4 server:/x rw\n"
	"30 29 0:31 / /data/inner rw - fuse.sshfs s rw\n"
	"31 20 0:32 / /data rw - lustre 10.0.0.1@tcp:/l rw\n";

static void test_mounts(void **state)
{
	char text[sizeof(mounts)];
	struct ri_mount mount;

	(void)state;
	strcpy(text, mounts);
	assert_true(ri_hang_find_mount(text, 29, &mount));
	assert_string_equal(mount.type, "nfs4");
	assert_string_equal(mount.point, "/data");
	strcpy(text, mounts);
	assert_false(ri_hang_find_mount(text, 2, &mount));
	strcpy(text, mounts);
	assert_true(ri_mount_of(text, "/data/inner/x", &mount));
	assert_string_equal(mount.type, "fuse.sshfs");
	strcpy(text, mounts);
	assert_true(ri_mount_of(text, "/data/x", &mount));
	assert_string_equal(mount.type, "lustre");
	strcpy(text, mounts);
	assert_true(ri_mount_of(text, "/database", &mount));
	assert_string_equal(mount.type, "ext4");
}

static struct ri_hang_identity identity_of(const char *block, size_t size)
{
	struct ri_hang_identity said = ri_hang_unsaid;

	for (size_t at = 0; at < size; at += strlen(block + at) + 1)
		ri_hang_note_variable(&said, block + at);
	return said;
}

#define RANK(block, claim_, number) \
	do { \
		struct ri_hang_identity said_ = identity_of(block, sizeof(block)); \
		struct ri_hang_place place_ = { -1, -1, -1 }; \
		assert_int_equal(ri_hang_claim_of(&said_, &place_), claim_); \
		assert_int_equal(place_.rank, number); \
	} while (0)

#define PLACE(block, local_rank_, local_ranks_) \
	do { \
		struct ri_hang_identity said_ = identity_of(block, sizeof(block)); \
		struct ri_hang_place place_ = { -1, -1, -1 }; \
		ri_hang_claim_of(&said_, &place_); \
		assert_int_equal(place_.local_rank, local_rank_); \
		assert_int_equal(place_.local_ranks, local_ranks_); \
	} while (0)

static void test_places_on_the_node(void **state)
{
	(void)state;
	PLACE("RANK=3\0LOCAL_RANK=1\0LOCAL_WORLD_SIZE=2", 1, 2);
	PLACE("RANK=3\0LOCAL_RANK=1\0LOCAL_SIZE=2", 1, 2);
	PLACE("RANK=3\0LOCAL_RANK=1\0LOCAL_WORLD_SIZE=2\0LOCAL_SIZE=4", 1, 2);
	PLACE("OMPI_COMM_WORLD_LOCAL_RANK=1\0OMPI_COMM_WORLD_RANK=5\0"
		"OMPI_COMM_WORLD_LOCAL_SIZE=4", 1, 4);
	PLACE("PMI_RANK=5\0MPI_LOCALRANKID=1\0MPI_LOCALNRANKS=4", 1, 4);
	PLACE("OMPI_COMM_WORLD_RANK=5", -1, -1);
	/* of several launchers the first in the table counts, for the rank and for the place */
	PLACE("MPI_LOCALRANKID=1\0PMI_RANK=5\0MPI_LOCALNRANKS=4\0OMPI_COMM_WORLD_RANK=2\0"
		"OMPI_COMM_WORLD_LOCAL_RANK=0", 0, -1);
	PLACE("OMPI_COMM_WORLD_RANK=2\0MPI_LOCALRANKID=1\0MPI_LOCALNRANKS=4", 1, 4);
	PLACE("PMIX_RANK=2\0LOCAL_WORLD_SIZE=2", -1, -1);
}

static void test_ranks_of_environments(void **state)
{
	static const char local[] = "LOCAL_RANK=1\0LOCAL_WORLD_SIZE=8";
	struct ri_hang_identity said = identity_of(local, sizeof(local));

	(void)state;
	RANK("PATH=/bin\0RANK=3\0LOCAL_RANK=1", RI_HANG_OWN_RANK, 3);
	RANK("RANK=3\0WORLD_SIZE=4", RI_HANG_NODE_RANK, 3);
	RANK("RANK=3", RI_HANG_NO_RANK, -1);
	RANK("OMPI_COMM_WORLD_RANK=2\0RANK=1\0WORLD_SIZE=9", RI_HANG_MPI_RANK, 2);
	RANK("PMI_RANK=2", RI_HANG_MPI_RANK, 2);
	RANK("PMIX_RANK=2", RI_HANG_MPI_RANK, 2);
	RANK("SLURM_PROCID=5\0MV2_COMM_WORLD_RANK=2", RI_HANG_MPI_RANK, 2);
	RANK("SLURM_PROCID=5", RI_HANG_STEP_RANK, 5);
	RANK("PMI_RANK=5\0OMPI_COMM_WORLD_RANK=2", RI_HANG_MPI_RANK, 2);
	RANK("SLURM_PROCID=5\0FLUX_TASK_RANK=2", RI_HANG_STEP_RANK, 2);
	RANK("FLUX_TASK_RANK=5", RI_HANG_STEP_RANK, 5);
	RANK("FLUX_TASK_RANKS=5", RI_HANG_NO_RANK, -1);
	RANK("XRANK=3\0LOCAL_RANK=1", RI_HANG_NO_RANK, -1);
	RANK("RANK=-3\0LOCAL_RANK=1", RI_HANG_NO_RANK, -1);
	/* Lightning's; on later nodes rankinit's NNODES tells how many ranks each has */
	RANK("LOCAL_RANK=1\0NODE_RANK=0\0WORLD_SIZE=4", RI_HANG_OWN_RANK, 1);
	RANK("LOCAL_RANK=1\0NODE_RANK=1\0WORLD_SIZE=4\0NNODES=2", RI_HANG_OWN_RANK, 3);
	RANK("LOCAL_RANK=1\0NODE_RANK=1\0WORLD_SIZE=4", RI_HANG_NO_RANK, -1);
	RANK("LOCAL_RANK=1\0WORLD_SIZE=4", RI_HANG_NO_RANK, -1);
	RANK("LOCAL_RANK=1\0NODE_RANK=0", RI_HANG_NO_RANK, -1);
	RANK("PMI_RANK=2\0LOCAL_RANK=1\0NODE_RANK=0\0WORLD_SIZE=4", RI_HANG_MPI_RANK, 2);
	RANK("RANK=99999999999999999\0LOCAL_RANK=1", RI_HANG_NO_RANK, -1);
	RANK("XRANK=1\0PATH=/bin:/usr/bin\0RANK=3\0LOCAL_WORLD_SIZE=4\0RANKS=7\0LOCAL_RANK=1",
		RI_HANG_OWN_RANK, 3);
	assert_int_equal(said.local_rank, 1);
	assert_int_equal(said.local_ranks, 8);
	assert_int_equal(said.rank, -1);
	assert_int_equal(said.restarts, -1);
}

static void test_restarts(void **state)
{
	static const char local[] = "TORCHELASTIC_RESTART_COUNT=2\0TORCHELASTIC_MAX_RESTARTS=3";
	struct ri_hang_identity said = identity_of(local, sizeof(local));

	(void)state;
	assert_int_equal(said.restarts, 2);
	assert_int_equal(said.most_restarts, 3);
}

static void test_waits(void **state)
{
	const struct ri_wait_row *row = ri_wait_find("/x/torch/distributed/distributed_c10d.py",
		"all_reduce", 1);

	(void)state;
	assert_non_null(row);
	assert_int_equal(row->class, RI_HANG_COLLECTIVE);
	assert_null(ri_wait_find("/x/torch/distributed/distributed_c10d.py", "all_reduce", 3));
	assert_int_equal(ri_wait_find("/usr/lib/python3.11/queue.py", "Queue.get", 2)->class,
		RI_HANG_DATA);
	assert_null(ri_wait_find("/job/my_queue.py", "get", 0));
	/* a folder, and below it; only what stands innermost */
	row = ri_wait_find("/x/torch/distributed/pipelining/schedules.py", "_wait_batch_p2p", 0);
	assert_non_null(row);
	assert_int_equal(row->when, RI_WAIT_BY_CALL);
	assert_null(ri_wait_find("/x/torch/distributed/pipelining/schedules.py", "step", 1));
	assert_null(ri_wait_find("/x/torch/nn/modules/linear.py", "forward", 0));
	/* what has a row of its own there is that: torchrun waits for its ranks */
	row = ri_wait_find("/x/torch/distributed/elastic/agent/server/api.py", "A._invoke_run", 0);
	assert_non_null(row);
	assert_int_equal(row->class, RI_HANG_CHILD);
	assert_null(ri_wait_find("/usr/lib/python3.11/queue.py", "Queue.put", 0));
	assert_string_equal(ri_wait_name("A.<locals>.b"), "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_what_a_call_waits_for),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_ranks_of_environments),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_places_on_the_node),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
