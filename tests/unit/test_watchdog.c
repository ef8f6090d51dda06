/* SPDX-License-Identifier: Apache-2.0 */
/* What torch's NCCL watchdog says of its work, and which rank is out of step by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })
#define CAUGHT " Watchdog caught collective operation timeout: WorkNCCL("
#define RAN ", Timeout(ms)=600000) ran for 600085 milliseconds before timing out.\n"
#define GROUP "[rank1]:[E626 02:51:07.5 ProcessGroupNCCL.cpp:2241] [PG ID 0 PG GUID " \
	"0(default_pg) Rank 1] "
#define HEARD GROUP "Received a dump signal due to a collective timeout from  rank 0 and " \
	"we will try " \
	"our best to dump the debug info. Last enqueued NCCL work: 6, last completed NCCL " \
	"work: 6." \
	"This is most likely caused by incorrect usages of collectives\n"

static struct ri_work found_in(const char *text)
{
	struct ri_work work;

	memset(&work, 7, sizeof(work));
	assert_true(ri_work_find(SPAN_OF(text), &work));
	return work;
}

static void expect(const char *text, const char *group, const char *op, int64_t sequence,
	int64_t enqueued, int64_t completed)
{
	struct ri_work work = found_in(text);

	assert_string_equal(work.group, group);
	assert_string_equal(work.op, op);
	assert_int_equal(work.has_sequence ? (int64_t)work.sequence : -1, sequence);
	assert_int_equal(work.has_status ? work.enqueued : -2, enqueued);
	assert_int_equal(work.has_status ? work.completed : -2, completed);
}

/* As torch 1.11, 1.12, 2.2, 2.3, 2.4, 2.5 and 2.9 wrote it. */
static void each_version(void **state)
{
	(void)state;
	expect("[E ProcessGroupNCCL.cpp:587] [Rank 1]" CAUGHT "OpType=BROADCAST" RAN, "",
		"BROADCAST", -1, -2, -2);
	expect("[E ProcessGroupNCCL.cpp:821] [Rank 1]" CAUGHT "SeqNum=2918440, OpType=REDUCE" RAN,
		"", "REDUCE", 2918440, -2, -2);
	expect("[E ProcessGroupNCCL.cpp:475] [Rank 1]" CAUGHT "SeqNum=5, OpType=ALLREDUCE, "
		"NumelIn=1, NumelOut=2" RAN, "", "ALLREDUCE", 5, -2, -2);
	expect("[rank2]:[E ProcessGroupNCCL.cpp:563] [Rank 2]" CAUGHT "SeqNum=1, OpType=ALLREDUCE, "
		"NumelIn=1, NumelOut=1" RAN "[rank2]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 2] "
		"Timeout at NCCL work: 1, last enqueued NCCL work: 1, last completed NCCL work: "
		"76280750235782912.\n", "", "ALLREDUCE", 1, 1, INT64_C(76280750235782912));
	expect("[rank1]:[E1003 18:37:01.8 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank 1] "
		"Exception (either an error or timeout) detected by watchdog at work: 6463, last "
		"enqueued NCCL work: 6463, last completed NCCL work: 6462.\n[rank1]:[E1003 "
		"18:37:01."
		"8 ProcessGroupNCCL.cpp:1515] [PG 0 (default_pg) Rank 1] Process group watchdog "
		"thread terminated with exception: [Rank 1]" CAUGHT "SeqNum=6463, "
		"OpType=ALLREDUCE, "
		"NumelIn=1, NumelOut=1" RAN "[rank1]:[E1003 18:37:01.8 ProcessGroupNCCL.cpp:1709] "
		"[PG 0 (default_pg) Rank 1] Timeout at NCCL work: 6463, last enqueued NCCL work: "
		"6464, last completed NCCL work: 6462.\n", "default_pg", "ALLREDUCE", 6463, 6464,
		6462);
	expect("[rank3]:[E227 16:30:43.5 ProcessGroupNCCL.cpp:629] [Rank 3]" CAUGHT "SeqNum=32, "
		"OpType=_ALLGATHER_BASE, NumelIn=4, NumelOut=8" RAN "[rank3]:[E227 16:30:43.5 "
		"ProcessGroupNCCL.cpp:1834] [PG ID 2 PG GUID 3 Rank 3] Timeout at NCCL "
		"work: 32, last "
		"enqueued NCCL work: 33, last completed NCCL work: -1.\n", "3", "_ALLGATHER_BASE",
		32, 33, -1);
	expect("[rank9]:[E129 16:38:47.7 ProcessGroupNCCL.cpp:683] [Rank 1]" CAUGHT "SeqNum=49387, "
		"OpType=_ALLGATHER_BASE, NumelIn=442368, NumelOut=884736" RAN "[rank9]:[E129 16:38:"
		"47.7 ProcessGroupNCCL.cpp:2241] [PG ID 5 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) "
		"Rank 1]  failure detected by watchdog at work sequence id: 49387 PG status: last "
		"enqueued work: 49406, last completed work: 49386\n",
		"37(TENSOR_MODEL_PARALLEL_GROUP)", "_ALLGATHER_BASE", 49387, 49406, 49386);
	expect(HEARD, "default_pg", "", -1, 6, 6);
}

/* Its own time-out counts before what it heard, and the first one before those of other groups. */
static void several_lines(void **state)
{
	struct ri_work work;

	(void)state;
	expect(HEARD "x\n[Rank 1]" CAUGHT "SeqNum=9, OpType=ALLREDUCE, NumelIn=3, NumelOut=4" RAN
		"[PG ID 1 PG GUID 3(a) Rank 0]  failure detected by watchdog at work "
		"sequence id: 8 "
		"PG status: last enqueued work: 8, last completed work: 7\n"
		"[PG ID 1 PG GUID 2(b) Rank 0]  failure detected by watchdog at work "
		"sequence id: 9 "
		"PG status: last enqueued work: 10, last completed work: 7\n"
		"[Rank 1]" CAUGHT "SeqNum=1, OpType=BROADCAST" RAN, "2(b)", "ALLREDUCE", 9, 10, 7);
	work = found_in("[PG ID 0 PG GUID 0(default_pg) Rank 1] Process group watchdog thread "
		"terminated with exception: [Rank 1]" CAUGHT "SeqNum=9, OpType=ALLREDUCE, "
		"NumelIn=3, "
		"NumelOut=4" RAN);
	assert_string_equal(work.group, "default_pg");
	assert_true(work.has_size && work.in == 3 && work.out == 4 && !work.has_status);
}

static void none_or_half_of_it(void **state)
{
	static const char *const texts[] = {
		"", "WorkNCCL(SeqNum=1, "
		"OpType=ALLREDUCE)", CAUGHT, CAUGHT "SeqNum=1", CAUGHT "OpType=",
		CAUGHT "SeqNum=1, OpType=\x1b[2J" RAN, CAUGHT "SeqNum=1, OpType=A B" RAN,
		CAUGHT "OpType=ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ" RAN,
		"Last enqueued NCCL work: 6", "Last enqueued NCCL work: -2, last completed "
		"NCCL work: 1",
		"Last enqueued NCCL work: 99999999999999999999, last completed NCCL work: 1",
		"detected by watchdog at work: x, last enqueued NCCL work: 1, last completed NCCL "
		"work: 1",
	};
	struct ri_work work, before;

	(void)state;
	memset(&work, 7, sizeof(work));
	before = work;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ri_work_find(SPAN_OF(texts[i]), &work))
			fail_msg("%s", texts[i]);
		assert_memory_equal(&work, &before, sizeof(work));
	}
}

/* A group whose name has other bytes or no end is none that ranks share. */
static void no_group(void **state)
{
	static const char *const groups[] = {
		"[PG ID 0 PG GUID  Rank 1] ", "[PG ID 0 PG GUID 0(a b) Rank 1] ",
		"[PG ID 0 PG GUID 0(\x1b[2J) Rank 1] ", "[PG ID 0 PG GUID 0(a Rank 1] "
		"", "[PG 0 Rank 1] ",
		"[PG ID 0 PG GUID 0(default_pg)] ", "[PG ", "[PG 0 () Rank 1] ",
		"[PG ID 0 PG GUID 0123456789012345678901234567890123456789012345678 Rank 1] ",
		"[PG ID 0 PG GUID 0(01234567890123456789012345678901234567890123456) Rank 1] ",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		snprintf(text, sizeof(text), "%sLast enqueued NCCL work: 6, last completed NCCL "
			"work: 5.", groups[i]);
		expect(text, "", "", -1, 6, 5);
	}
	snprintf(text, sizeof(text), "[PG ID 0 PG GUID %047d(%046d) Rank 1] Last enqueued "
		"NCCL work: 6, "
		"last completed NCCL work: 5.", 0, 0);
	assert_int_equal(strlen(found_in(text).group), RI_WORK_GROUP - 1);
}

enum { RANKS = 5 };

static struct ri_work works[RANKS];
static struct ri_rank_outcome ranks[RANKS];
static struct ri_collectives compared;

/* They wait in ALLREDUCE 7 of group default_pg. */
static int begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RANKS; i++) {
		works[i] = (struct ri_work){
			.group = RI_WORK_DEFAULT, .op = "ALLREDUCE",
			.has_sequence = true, .sequence = 7,
			.has_size = true, .in = 4, .out = 4,
			.has_status = true, .enqueued = 7, .completed = 6,
		};
		ranks[i] = (struct ri_rank_outcome){
			.rank = i, .evidence.words.has_work = true,
		};
	}
	return 0;
}

static void is_behind(int rank)
{
	works[rank] = (struct ri_work){
		.group = RI_WORK_DEFAULT, .has_status = true, .enqueued = 6, .completed = 6,
	};
}

static void is_apart(int rank, const char *op)
{
	strcpy(works[rank].op, op);
	works[rank].in = 1;
}

static void expect_step(size_t count, int odd, const char *sentence)
{
	const struct ri_outcome outcome = { .ranks = ranks, .count = count };
	char bytes[1024];
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	for (size_t i = 0; i < count; i++)
		ranks[i].evidence.words.work = works[i];
	ri_collectives_find(&outcome, &compared);
	ri_collectives_add(&text, &compared);
	assert_string_equal(bytes, sentence);
	assert_int_equal(compared.odd, odd);
}

static void together(void **state)
{
	(void)state;
	expect_step(RANKS, -1, "");
	expect_step(0, -1, "");
	ranks[2].evidence.words.has_work = false;
	expect_step(RANKS, -1, "");
	/* sizes that may differ; ranks of other groups; pairs of a pipeline */
	for (int i = 0; i < RANKS; i++)
		strcpy(works[i].op, "ALLTOALL_BASE");
	works[1].in = 9;
	expect_step(RANKS, -1, "");
	strcpy(works[0].op, "ALLREDUCE");
	strcpy(works[0].group, "5");
	strcpy(works[1].op, "SEND");
	expect_step(RANKS, -1, "");
}

static void one_behind(void **state)
{
	(void)state;
	is_behind(1);
	expect_step(RANKS, 1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2-4 wait");
	expect_step(4, 1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2-3 wait");
	/* too few that agree; it has entered that one; something of its own is not done */
	expect_step(3, -1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2 wait");
	works[1].completed = 5;
	expect_step(4, -1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2-3 wait");
	works[1].enqueued = 7;
	expect_step(4, -1, "");
	works[1].enqueued = works[1].completed = -1;
	expect_step(4, 1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2-3 wait");
}

static void not_the_only_one(void **state)
{
	(void)state;
	is_behind(1);
	is_behind(2);
	expect_step(RANKS, -1,
		"ranks 1-2 never entered ALLREDUCE 7 of group default_pg, in which ranks "
		"0, 3-4 wait");
	begin(NULL);
	is_behind(1);
	ranks[4].evidence.words.has_work = false;
	expect_step(RANKS, -1,
		"rank 1 never entered ALLREDUCE 7 of group default_pg, in which ranks 0, 2-3 wait");
	/* three are behind one */
	begin(NULL);
	for (int i = 1; i < 4; i++)
		is_behind(i);
	expect_step(4, -1,
		"ranks 1-3 never entered ALLREDUCE 7 of group default_pg, in which rank 0 waits");
	/* no group of all ranks, or none that is known */
	for (int i = 0; i < 4; i++)
		strcpy(works[i].group, "5(tp)");
	expect_step(4, -1, "ranks 1-3 never entered ALLREDUCE 7 of group 5(tp), in which "
		"rank 0 waits");
	for (int i = 0; i < 4; i++)
		works[i].group[0] = '\0';
	expect_step(4, -1, "");
}

static void one_apart(void **state)
{
	(void)state;
	is_apart(3, "_ALLGATHER_BASE");
	expect_step(4, 3, "in group default_pg rank 3 waits in _ALLGATHER_BASE 7 (numel 1 to 4), "
		"ranks 0-2 in ALLREDUCE 7 (numel 4)");
	expect_step(3, -1, "");
	works[3].has_size = works[0].has_size = false;
	expect_step(4, 3, "in group default_pg rank 3 waits in _ALLGATHER_BASE 7, ranks 0-2 in "
		"ALLREDUCE 7");
	/* an earlier one of the same group is not done: its end, not the call, is out of step */
	works[3].sequence = 6;
	expect_step(4, -1, "in group default_pg rank 3 waits in _ALLGATHER_BASE 6, ranks 0-2 in "
		"ALLREDUCE 7");
	begin(NULL);
	is_apart(3, "ALLREDUCE");
	works[3].out = 1;
	expect_step(4, 3, "in group default_pg rank 3 waits in ALLREDUCE 7 (numel 1), ranks 0-2 in "
		"ALLREDUCE 7 (numel 4)");
	is_apart(1, "BROADCAST");
	expect_step(RANKS, -1, "in group default_pg rank 1 waits in BROADCAST 7 (numel 1 to 4), "
		"rank 3 in ALLREDUCE 7 (numel 1), ranks 0, 2, 4 in ALLREDUCE 7 (numel 4)");
}

/* torch before 2.4 does not name the group, so ranks of several may be taken for one. */
static void apart_in_no_group(void **state)
{
	(void)state;
	is_apart(3, "BROADCAST");
	for (int i = 0; i < RANKS; i++)
		works[i].group[0] = '\0';
	expect_step(4, -1, "rank 3 waits in BROADCAST 7 (numel 1 to 4), ranks 0-2 in ALLREDUCE 7 "
		"(numel 4)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version),
		cmocka_unit_test(several_lines),
		cmocka_unit_test(none_or_half_of_it),
		cmocka_unit_test(no_group),
		cmocka_unit_test_setup(together, begin),
		cmocka_unit_test_setup(one_behind, begin),
		cmocka_unit_test_setup(not_the_only_one, begin),
		cmocka_unit_test_setup(one_apart, begin),
		cmocka_unit_test_setup(apart_in_no_group, begin),
	};

	return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
