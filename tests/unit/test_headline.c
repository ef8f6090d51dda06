/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines of the verdict, by whom it blames, and the same in the report. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/culprit.h"
#include "report/verdict.h"
#include "topology_of.h"

enum { RANKS = 4 };

#define HEAD "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
#define LOST HEAD "RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer " \
	"[10.0.0.5]:4711\n"
#define LATE HEAD "RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:1] Timed out waiting 1ms\n"
#define STORE HEAD "RuntimeError: Broken pipe\n"

static struct ri_rank_outcome ranks[RANKS];
static struct ri_outcome outcome;
static struct ri_reason reason;
static char bytes[4 << 20];

/* Four ranks, on one node, that were stopped after 1.5 s. */
static int begin(void **state)
{
	give_back(state);
	for (unsigned i = 0; i < RANKS; i++)
		ranks[i] = (struct ri_rank_outcome){
			.rank = i, .local_rank = i, .pid = (pid_t)(100 + i),
			.end = RI_END_SIGNALED, .signal = SIGTERM, .told_to_stop = true,
			.wrote.tail.at = "",
			.started = { .tv_sec = 1700000000 },
			.ended = { .tv_sec = 1700000001, .tv_nsec = 500000000 },
		};
	outcome = (struct ri_outcome){
		.topology = &topology, .launch = "process", .host = "node-a", .command = "/bin/x",
		.ranks = ranks, .count = RANKS, .first = -1, .exit_status = 1,
	};
	return 0;
}

static int finish(void **state)
{
	give_back(state);
	return 0;
}

static void of_two_nodes(const char *rank)
{
	static char first[64];

	snprintf(first, sizeof(first), "OMPI_COMM_WORLD_RANK=%s", rank);
	take(LIST(first, "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=0",
		"OMPI_COMM_WORLD_LOCAL_SIZE=4"));
}

/* It failed after one second, of these words. */
static void exits(int index, int code, const char *words)
{
	ranks[index].end = RI_END_EXITED;
	ranks[index].told_to_stop = false;
	ranks[index].exit_code = code;
	ranks[index].wrote.tail.at = words;
	ranks[index].wrote.tail.length = strlen(words);
	ranks[index].ended = (struct timespec){ .tv_sec = 1700000001, .tv_nsec = index };
}

static const char *verdict(void)
{
	struct ri_text out;

	for (int i = 0; i < RANKS; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	ri_reason_find(&ranks[outcome.first], &reason);
	outcome.reason = &reason;
	out = ri_text_of(bytes, RI_VERDICT_SIZE);
	ri_verdict_render(&outcome, &out);
	assert_false(out.cut);
	return bytes;
}

static void expect_start(const char *start)
{
	const char *text = verdict();

	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("%s", text);
}

static void expect_end(const char *end)
{
	const char *text = verdict();

	if (strcmp(text + strlen(text) - strlen(end), end) != 0)
		fail_msg("%s", text);
}

static void of_several_nodes(void **state)
{
	(void)state;
	exits(1, 1, HEAD "ValueError: x\n");
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first: exit status 1, after "
		"1.000 s, at 2023-11-14T22:13:21.000Z\n  ValueError: x\n");
	expect_end("  the job's exit status is 1\n");
	of_two_nodes("0");
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first of ranks 0-3 (node 0 "
		"of 2): exit status 1, after 1.000 s, at 2023-11-14T22:13:21.000Z\n"
		"  ValueError: x\n");
	expect_end("  this node's exit status is 1\n");
}

/* What a rank had printed, and gone on from, stands among the others. */
static void who_had_printed_an_exception(void **state)
{
	static char printed[RI_VERDICT_PRINTED_SIZE];
	struct ri_text out;

	(void)state;
	exits(1, 3, "");
	for (int i = 0; i < RANKS; i++)
		if (i != 1) {
			exits(i, 0, HEAD "ValueError: bad sample, password=hunter2\n");
			ranks[i].end = RI_END_SIGNALED;
			ranks[i].signal = SIGTERM;
			ranks[i].told_to_stop = true;
		}
	verdict();
	out = ri_text_of(printed, sizeof(printed));
	ri_verdict_add_printed(&out, &outcome, &reason);
	assert_string_equal(printed, "rank 0 had printed: ValueError: bad sample, password=***\n"
		"rank 2 had printed: ValueError: bad sample, password=***\n"
		"1 more rank had printed exceptions\n");
	outcome.printed = printed;
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first: exit status 3");
	expect_end("\n  ranks 0, 2-3: told to stop, killed by SIGTERM (15)\n"
		"  rank 0 had printed: ValueError: bad sample, password=***\n"
		"  rank 2 had printed: ValueError: bad sample, password=***\n"
		"  1 more rank had printed exceptions\n"
		"  the job's exit status is 1\n");
	/* the control: it ended of it */
	for (int i = 0; i < RANKS; i++)
		ranks[i].course = RI_COURSE_LEFT;
	verdict();
	out = ri_text_of(printed, sizeof(printed));
	ri_verdict_add_printed(&out, &outcome, &reason);
	assert_string_equal(printed, "");
}

/* One that left with 0 is no failure: what it had logged is quoted. */
static void what_one_that_left_had_logged(void **state)
{
	static char printed[RI_VERDICT_PRINTED_SIZE];
	struct ri_text out = ri_text_of(printed, sizeof(printed));

	(void)state;
	exits(0, 0, "step 1\nERROR:data:no shard, password=hunter2\nbye\n");
	exits(1, 1, LOST);
	verdict();
	ri_verdict_add_printed(&out, &outcome, &reason);
	assert_string_equal(printed, "rank 0 had printed: ERROR:data:no shard, password=***\n");
	exits(0, 0, "step 1\nbye\n");
	verdict();
	ri_verdict_add_printed(&out, &outcome, &reason);
	assert_string_equal(strchr(printed, '\n'), "\n");
}

static void held(int64_t seconds, const char *words)
{
	static char printed[RI_VERDICT_PRINTED_SIZE];
	struct ri_text out;

	outcome.stop.at.tv_sec = ranks[1].traceback_at.tv_sec + seconds;
	for (int i = 0; i < RANKS; i++)
		ri_class_find(&ranks[i]);
	out = ri_text_of(printed, sizeof(printed));
	ri_verdict_add_printed(&out, &outcome, &reason);
	assert_string_equal(printed, words);
}

/* A stop from outside came to a rank that had raised an exception, and not got to its end. */
static void who_had_not_ended(void **state)
{
	static const char text[] = "Traceback (most recent call last):\n"
		"  File \"a.py\", line 1, in <module>\nValueError: bad, password=hunter2\n";

	(void)state;
	exits(1, 0, text);
	ranks[1].end = RI_END_SIGNALED;
	ranks[1].signal = SIGTERM;
	ranks[1].told_to_stop = true;
	ranks[1].course = RI_COURSE_LEFT;
	ranks[1].traceback_at.tv_sec = ranks[1].ended.tv_sec - 1;
	outcome.stop.signal = SIGTERM;
	held(9 * 3600 + 1800, "rank 1 had raised ValueError: bad, password=***, 9 h before "
		"this stop, and had not ended\n");
	held(119, "rank 1 had raised ValueError: bad, password=***, 119 s before this "
		"stop, and had not ended\n");
	held(120, "rank 1 had raised ValueError: bad, password=***, 2 min before this "
		"stop, and had not ended\n");
	/* what it did by then is not known; it ran on */
	ranks[1].course = RI_COURSE_UNKNOWN;
	held(120, "rank 1 had printed: ValueError: bad, password=***\n");
	ranks[1].course = RI_COURSE_RUNNING;
	held(120, "rank 1 had printed: ValueError: bad, password=***\n");
}

/* The rank that was stopped for it, and another one. */
static void who_lingered(void **state)
{
	(void)state;
	for (int i = 1; i < 3; i++) {
		exits(i, 0, HEAD "ValueError: x\n");
		ranks[i].end = RI_END_SIGNALED;
		ranks[i].signal = SIGTERM;
		ranks[i].told_to_stop = true;
		ranks[i].course = RI_COURSE_LEFT;
		ranks[i].lingered_s = 30;
	}
	ranks[1].held = "it is in work (a.py:3)";
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first: raised the error "
		"below, and had not ended 30 s later: killed by SIGTERM (15), after 1.000 s, at "
		"2023-11-14T22:13:21.000Z\n  seen before the stop: it is in work (a.py:3)\n"
		"  ValueError: x\n");
	expect_end("  ranks 0, 3: told to stop, killed by SIGTERM (15)\n"
		"  rank 2: had not ended of an exception, told to stop, killed by SIGTERM (15)\n"
		"  the job's exit status is 1\n");
	/* as the other nodes hear of it */
	ranks[1].end = RI_END_RUNNING;
	ranks[1].ended = (struct timespec){ 0 };
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first: raised the error "
		"below, and has not ended 30 s later\n  seen before the stop: it is in work "
		"(a.py:3)\n");
	/* of a launcher's, on an older kernel */
	ranks[1].ended = ranks[1].started;
	expect_start("rank 1 (local rank 1, pid 101 on node-a) failed first: raised the error "
		"below, and had not ended 30 s later: ended, how is not known, after 0.000 s, at "
		"2023-11-14T22:13:20.000Z\n");
}

static void on_another_node(void **state)
{
	(void)state;
	of_two_nodes("0");
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, LOST);
	expect_start("ranks 0-3 lost a peer on another node (node 0 of 2); a rank there went "
		"first: look at that node's log\n"
		"  rank 0 lost it first: exit status 1, after 1.000 s, at "
		"2023-11-14T22:13:21.000Z\n  RuntimeError: [/gloo");
	expect_end("  ranks 1-3: lost a peer, exit status 1\n  this node's exit status is 1\n");
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, STORE);
	expect_start("ranks 0-3 lost the store on another node (node 0 of 2); ");
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, LATE);
	expect_start("ranks 0-3 timed out waiting for a peer on another node (node 0 of 2); a rank "
		"there went first: look at that node's log\n  rank 0 timed out first: ");
}

static void nobody_can_tell(void **state)
{
	(void)state;
	exits(0, 1, LOST);
	exits(1, 1, LOST);
	exits(3, 1, STORE);
	expect_start("cannot tell which rank failed first: ranks 0-1, 3 lost a peer\n"
		"  rank 0 lost it first: exit status 1, ");
	expect_end("  rank 1: lost a peer, exit status 1\n"
		"  rank 2: told to stop, killed by SIGTERM (15)\n"
		"  rank 3: lost the store, exit status 1\n"
		"  the job's exit status is 1\n");
}

static void one_had_ended(void **state)
{
	(void)state;
	for (int i = 0; i < RANKS; i++)
		exits(i, i == 2 ? 0 : 1, i == 2 ? "" : LOST);
	ranks[2].ended = (struct timespec){ .tv_sec = 1700000000, .tv_nsec = 250000000 };
	expect_start("rank 2 (local rank 2, pid 102 on node-a) had ended before the others: exit "
		"status 0, after 0.250 s, at 2023-11-14T22:13:20.250Z\n  rank 0 lost it first, "
		"0.750 s after rank 2 had ended: exit status 1, after 1.000 s, at ");
	expect_end("  ranks 1, 3: lost a peer, exit status 1\n  the job's exit status is 1\n");
	/* its connections close before it has ended */
	ranks[2].ended = (struct timespec){ .tv_sec = 1700000005 };
	expect_start("rank 2 (local rank 2, pid 102 on node-a) had ended before the others: exit "
		"status 0, after 5.000 s, at 2023-11-14T22:13:25.000Z\n  rank 0 lost it first, "
		"while rank 2 was ending: exit status 1, after 1.000 s, at ");
}

static void one_did_not_come(void **state)
{
	(void)state;
	for (int i = 0; i < RANKS; i++)
		if (i != 2)
			exits(i, 1, LATE);
	expect_start("rank 2 (local rank 2, pid 102 on node-a) did not come when all others waited "
		"for it: told to stop, killed by SIGTERM (15), after 1.500 s, at "
		"2023-11-14T22:13:21.500Z\n  rank 0 timed out first: exit status 1, ");
	expect_end("  ranks 1, 3: timed out waiting for a peer, exit status 1\n"
		"  the job's exit status is 1\n");
}

/* Under mpirun: the others have a rankinit of their own. */
/* What the other nodes are told of a launcher such as torchrun. */
static void of_the_job(void **state)
{
	struct ri_text out;

	(void)state;
	take(LIST("SKYPILOT_NODE_RANK=0", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_IPS=a\nb"));
	outcome.count = 1;
	for (int lost = 0; lost < 2; lost++) {
		exits(0, 1, lost ? LOST : HEAD "ValueError: x\n");
		verdict();
		out = ri_text_of(bytes, RI_VERDICT_SIZE);
		ri_verdict_render_job(&outcome, &out);
		assert_non_null(strstr(bytes, lost ? " failed (node 0 of 2): exit status 1"
			: " failed first (node 0 of 2): exit status 1"));
	}
	/* and what it says of itself below another node's failure */
	outcome.link.verdict = &(const struct ri_verdict){ .rank = 7 };
	outcome.link.text = "rank 7 failed first\n";
	outcome.command = "/usr/bin/torchrun";
	assert_string_equal(verdict(), "rank 7 failed first\n"
		"  torchrun: lost a peer, exit status 1\n"
		"  this node's exit status is 1\n");
}

static void a_single_rank(void **state)
{
	(void)state;
	take(LIST("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4",
		"OMPI_COMM_WORLD_LOCAL_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=4"));
	outcome.count = 1;
	ranks[0].rank = ranks[0].local_rank = 3;
	exits(0, 1, LOST);
	expect_start("rank 3 lost a peer; another rank of the job went first: look at its log\n"
		"  rank 3 lost it first: ");
	exits(0, 1, HEAD "ValueError: x\n");
	expect_start("rank 3 (local rank 3, pid 100 on node-a) failed: exit status 1, ");
}

static json_t *first_failure(json_t **document)
{
	const struct ri_report report = { .version = "1", .outcome = &outcome };
	struct ri_text out;

	verdict();
	out = ri_text_of(bytes, sizeof(bytes));
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &report, &out), 0);
	*document = json_loads(bytes, 0, NULL);
	assert_non_null(*document);
	return json_object_get(*document, "first_failure");
}

static void expect_first(json_int_t rank, const char *class, bool elsewhere, const char *node)
{
	json_t *document, *first = first_failure(&document), *list, *value;

	value = json_object_get(first, "rank");
	assert_int_equal(json_is_null(value) ? -1 : json_integer_value(value), rank);
	assert_int_equal(json_is_null(json_object_get(first, "local_rank")), rank < 0);
	assert_string_equal(json_string_value(json_object_get(first, "class")), class);
	assert_int_equal(json_is_true(json_object_get(first, "elsewhere")), elsewhere);
	value = json_object_get(first, "node");
	assert_string_equal(json_is_null(value) ? "" : json_string_value(value), node);
	list = json_object_get(document, "ranks");
	value = json_object_get(json_array_get(list, 3), "class");
	assert_string_equal(json_string_value(value), "stopped");
	json_decref(document);
}

static void the_report(void **state)
{
	(void)state;
	exits(1, 1, HEAD "ValueError: x\n");
	expect_first(1, "own", false, "");
	exits(1, 3, "");
	expect_first(1, "unknown", false, "");
	exits(1, 1, LOST);
	expect_first(-1, "loss", false, "10.0.0.5");
	exits(2, 0, "");
	expect_first(2, "loss", false, "10.0.0.5");
	of_two_nodes("4");
	expect_first(-1, "loss", true, "10.0.0.5");
}

#define RUNS(rank, call) "Rank " #rank " is running collective: CollectiveFingerPrint(" call ")"
#define DIFFERS(rank, call, other, another) HEAD "RuntimeError: Detected mismatch between " \
	"collectives on ranks. " RUNS(rank, call) ", but " RUNS(other, another) ".\n"
#define SUM "SequenceNumber=101, OpType=ALLREDUCE, TensorShape=[4]"
#define ROOT "SequenceNumber=101, OpType=REDUCE, TensorShape=[1]"
#define OTHER "SequenceNumber=0OpType=REDUCE"

/* Who called what; who differs from three that agree is named. */
static void ranks_with_different_collectives(void **state)
{
	exits(0, 1, DIFFERS(0, SUM, 2, OTHER));
	exits(1, 1, DIFFERS(1, SUM, 2, OTHER));
	exits(2, 1, DIFFERS(2, ROOT, 0, "SequenceNumber=0OpType=ALLREDUCE"));
	exits(3, 1, DIFFERS(3, SUM, 2, OTHER));
	expect_start("rank 2 (local rank 2, pid 102 on node-a) did not run the collective of all "
		"others: exit status 1, after 1.000 s, at 2023-11-14T22:13:21.000Z\n"
		"  rank 0 said so first: exit status 1, after 1.000 s, at "
		"2023-11-14T22:13:21.000Z\n  rank 2: REDUCE 101; ranks 0-1, 3: ALLREDUCE 101\n");
	assert_int_equal(outcome.culprit, RI_CULPRIT_HELD);
	/* it may be silent: the others say what it ran */
	begin(state);
	exits(0, 1, DIFFERS(0, SUM, 2, OTHER));
	exits(1, 1, DIFFERS(1, SUM, 2, OTHER));
	exits(3, 1, DIFFERS(3, SUM, 2, OTHER));
	expect_start("rank 2 (local rank 2, pid 102 on node-a) did not run the collective of all "
		"others: told to stop, killed by SIGTERM (15), after 1.500 s, at "
		"2023-11-14T22:13:21.500Z\n");
	assert_non_null(strstr(bytes, "  rank 2: REDUCE 0; ranks 0-1, 3: ALLREDUCE 101\n"));
	/* two and two, or two against one: no one is */
	begin(state);
	exits(0, 1, DIFFERS(0, SUM, 2, OTHER));
	exits(1, 1, DIFFERS(1, SUM, 2, OTHER));
	exits(2, 1, DIFFERS(2, ROOT, 0, OTHER));
	exits(3, 1, DIFFERS(3, ROOT, 0, OTHER));
	expect_start("cannot tell which rank failed first: ranks 0-3 ran another collective than "
		"a peer\n");
	assert_non_null(strstr(bytes, "  ranks 0-1: ALLREDUCE 101; ranks 2-3: REDUCE 101\n"));
	begin(state);
	exits(0, 1, DIFFERS(0, SUM, 2, SUM "5"));
	exits(1, 1, DIFFERS(1, SUM, 2, SUM "5"));
	expect_start("cannot tell which rank failed first: ranks 0-1 ran another collective than "
		"a peer\n");
	/* the numbers of a smaller group are no ranks */
	begin(state);
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, DIFFERS(9, SUM, 2, OTHER));
	expect_start("cannot tell which rank failed first: ranks 0-3 ran another collective than "
		"a peer\n");
	assert_null(strstr(bytes, "REDUCE 0"));
	/* shapes, where they alone differ */
	begin(state);
	exits(0, 1, DIFFERS(0, SUM, 1, "SequenceNumber=101, OpType=ALLREDUCE, TensorShape=[9]"));
	exits(1, 1, DIFFERS(1, "SequenceNumber=101, OpType=ALLREDUCE, TensorShape=[9]", 0, SUM));
	assert_non_null(strstr(verdict(),
		"  rank 0: ALLREDUCE 101 [4]; rank 1: ALLREDUCE 101 [9]\n"));
}

/* One of another node that differs is told of, and not named. */
static void a_collective_of_another_node(void **state)
{
	(void)state;
	of_two_nodes("0");
	for (int i = 0; i < RANKS; i++)
		exits(i, 1, HEAD "RuntimeError: x\n");
	exits(0, 1, DIFFERS(0, SUM, 5, OTHER));
	exits(1, 1, DIFFERS(1, SUM, 5, OTHER));
	exits(2, 1, DIFFERS(2, SUM, 5, OTHER));
	exits(3, 1, DIFFERS(3, SUM, 5, OTHER));
	expect_start("ranks 0-3 ran another collective than a peer on another node (node 0 of "
		"2)\n");
	assert_non_null(strstr(bytes, "  rank 5: REDUCE 0; ranks 0-3: ALLREDUCE 101\n"));
}

#define CAUGHT(rank, work) "[Rank " #rank "] Watchdog caught collective operation timeout: " \
	"WorkNCCL(" work ", Timeout(ms)=600000) ran for 600085 milliseconds before timing out.\n"
#define AT(rank, last) "[PG ID 0 PG GUID 0(default_pg) Rank " #rank "]  failure detected by " \
	"watchdog at work sequence id: 7 PG status: last enqueued work: " #last \
	", last completed work: 6\n"
#define WAITS(rank) CAUGHT(rank, "SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4") AT(rank, 7)
#define STATUS(group) group " Received a dump signal due to a collective timeout from rank 0. " \
	"Last enqueued NCCL work: 6, last completed NCCL work: 6.\n"
#define HEARD STATUS("[PG ID 0 PG GUID 0(default_pg) Rank 1]")

/* It was stopped, of these words. */
static void stops(int index, const char *words)
{
	ranks[index].wrote.tail = (struct ri_span){ words, strlen(words) };
}

static const char *report(void)
{
	const struct ri_report all = { .version = "0", .outcome = &outcome };
	struct ri_text out;

	out = ri_text_of(bytes, sizeof(bytes));
	assert_int_equal(ri_report_render(&(struct ri_json){ .escapes = 0 }, &all, &out), 0);
	return bytes;
}

static void three_wait(void)
{
	exits(0, 134, WAITS(0));
	exits(2, 134, WAITS(2));
	exits(3, 134, WAITS(3));
}

/* NCCL's watchdog tells where each rank is: who never came to where three wait is named. */
static void a_rank_behind(void **state)
{
	(void)state;
	three_wait();
	stops(1, HEARD);
	expect_start("rank 1 (local rank 1, pid 101 on node-a) did not come when all others waited "
		"for it: told to stop, killed by SIGTERM (15), after 1.500 s, at "
		"2023-11-14T22:13:21.500Z\n  rank 0 timed out first: exit status 134, "
		"after 1.000 s, at "
		"2023-11-14T22:13:21.000Z\n  rank 1 never entered ALLREDUCE 7 of group "
		"default_pg, in "
		"which ranks 0, 2-3 wait\n");
	assert_int_equal(outcome.culprit, RI_CULPRIT_HELD);
	assert_int_equal(outcome.named, 1);
	json_t *document = json_loads(report(), 0, NULL);
	const json_t *list = json_object_get(document, "ranks");
	json_t *wanted = json_pack("[{s:s, s:s, s:i, s:i, s:i, s:i, s:i}, {s:s, s:s, s:i, s:i}]",
		"group", "default_pg", "op", "ALLREDUCE", "sequence", 7, "numel_in", 4,
		"numel_out", 4, "enqueued", 7, "completed", 6,
		"group", "default_pg", "op", "", "enqueued", 6, "completed", 6);

	for (size_t i = 0; i < 2; i++)
		assert_true(json_equal(json_array_get(wanted, i),
			json_object_get(json_array_get(list, i), "work")));
	json_decref(wanted);
	json_decref(document);
	/* the group is not known, or it is no group of all ranks */
	stops(1, STATUS("[PG 0 Rank 1]"));
	expect_start("cannot tell which rank failed first: ranks 0-3 timed out waiting for "
		"a peer\n");
	assert_null(strstr(bytes, "never entered"));
	/* another node's rank may be the one for which this one waits */
	stops(1, HEARD);
	of_two_nodes("0");
	expect_start("ranks 0-3 timed out waiting for a peer on another node (node 0 of 2)");
	assert_non_null(strstr(bytes, "\n  rank 1 never entered ALLREDUCE 7 of group "
		"default_pg, in "
		"which ranks 0, 2-3 wait\n"));
}

/* And who waits in another one. */
static void a_rank_apart(void **state)
{
	static const char other[] = CAUGHT(1, "SeqNum=7, OpType=BROADCAST, NumelIn=1, NumelOut=1");
	static char words[1024];

	(void)state;
	three_wait();
	snprintf(words, sizeof(words), "%s%s", other, AT(1, 9));
	exits(1, 134, words);
	expect_start("rank 1 (local rank 1, pid 101 on node-a) did not run the collective of all "
		"others: exit status 134, after 1.000 s, at 2023-11-14T22:13:21.000Z\n  "
		"rank 0 timed "
		"out first: exit status 134, after 1.000 s, at 2023-11-14T22:13:21.000Z\n  "
		"in group "
		"default_pg rank 1 waits in BROADCAST 7 (numel 1), ranks 0, 2-3 in "
		"ALLREDUCE 7 (numel "
		"4)\n");
	assert_int_equal(outcome.named, 1);
	/* the same collective, or two against two */
	exits(1, 134, WAITS(1));
	expect_start("cannot tell which rank failed first: ranks 0-3 timed out waiting for "
		"a peer\n");
	assert_null(strstr(bytes, "waits in"));
	exits(1, 134, words);
	exits(2, 134, words);
	expect_start("cannot tell which rank failed first: ranks 0-3 timed out waiting for "
		"a peer\n");
	assert_non_null(strstr(bytes, "ranks 0, 3 wait in ALLREDUCE 7 (numel 4), ranks 1-2 in "
		"BROADCAST 7 (numel 1)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ranks_with_different_collectives, begin, finish),
		cmocka_unit_test_setup_teardown(a_collective_of_another_node, begin, finish),
		cmocka_unit_test_setup_teardown(a_rank_behind, begin, finish),
		cmocka_unit_test_setup_teardown(a_rank_apart, begin, finish),
		cmocka_unit_test_setup_teardown(of_several_nodes, begin, finish),
		cmocka_unit_test_setup_teardown(who_had_printed_an_exception, begin, finish),
		cmocka_unit_test_setup_teardown(what_one_that_left_had_logged, begin, finish),
		cmocka_unit_test_setup_teardown(who_had_not_ended, begin, finish),
		cmocka_unit_test_setup_teardown(who_lingered, begin, finish),
		cmocka_unit_test_setup_teardown(on_another_node, begin, finish),
		cmocka_unit_test_setup_teardown(nobody_can_tell, begin, finish),
		cmocka_unit_test_setup_teardown(one_had_ended, begin, finish),
		cmocka_unit_test_setup_teardown(one_did_not_come, begin, finish),
		cmocka_unit_test_setup_teardown(of_the_job, begin, finish),
		cmocka_unit_test_setup_teardown(a_single_rank, begin, finish),
		cmocka_unit_test_setup_teardown(the_report, begin, finish),
	};

	json_object_seed(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
