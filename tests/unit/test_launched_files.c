/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a launcher that wrote to files, or where rankinit reads nothing. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/launched.h"
#include "report/verdict.h"
#include "words/words.h"

enum { EXIT_1 = 1 << 8 };

#define HOOKED(rank, what) "[rank" rank "]: Traceback (most recent call last):\n" \
	"[rank" rank "]:   File \"train.py\", line 3, in <module>\n[rank" rank "]: " what "\n"
#define BUG "ValueError: bad batch 17"
#define LOST "RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer [::1]:3"
#define TERMINATED "terminate called without an active exception\n"

static char room[RI_LAUNCHED_WORDS];
static struct ri_rank_outcome ranks[2];
static struct ri_launched items[2];
static struct ri_launched_stream streams[2];
static struct ri_launched_source source;
static struct ri_outcome outcome;

/* Two ranks with files of their own, written at these seconds; rank 0 ended first. */
static void begin(int first, int second, const char *words_0, const char *words_1)
{
	const char *words[] = { words_0, words_1 };

	source = (struct ri_launched_source){
		.seen = items, .count = 2, .room = room, .streams = streams,
		.started.tv_sec = 90, .ended.tv_sec = 210,
	};
	for (uint32_t i = 0; i < 2; i++) {
		items[i] = (struct ri_launched){
			.pid = (pid_t)(10 + i), .rank = i, .local_rank = i, .local_ranks = 2,
			.is_rank = true, .has_file = true, .order = i + 1, .has_status = true,
			.wait_status = i == 0 ? first : second,
			.started.tv_sec = 100, .ended.tv_sec = 200 + (time_t)i,
		};
		if (words[i] == NULL)
			continue;
		streams[source.stream_count] = (struct ri_launched_stream){
			.item = i, .length = (uint32_t)strlen(words[i]), .inode = i,
			.written.tv_sec = 199 - (time_t)i,
		};
		memcpy(streams[source.stream_count++].bytes, words[i], strlen(words[i]));
	}
}

static void expect(ssize_t first, enum ri_culprit culprit, enum ri_unread unread)
{
	outcome = (struct ri_outcome){ .ranks = ranks, .launched = true, .first = -1 };
	memset(ranks, 0, sizeof(ranks));
	outcome.count = ri_launched_outcomes(&source, ranks, 2);
	assert_int_equal(outcome.count, 2);
	for (size_t i = 0; i < outcome.count; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	assert_int_equal(outcome.first, first);
	assert_int_equal(outcome.culprit, culprit);
	assert_int_equal(ranks[first].wrote.unread, unread);
}

static void test_files_of_their_own(void **state)
{
	(void)state;
	begin(EXIT_1, EXIT_1, HOOKED("0", LOST), HOOKED("1", BUG));
	expect(1, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_LOSS);
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	/* of one that was stopped on its way out the file is older than that of the victim */
	begin(SIGABRT, SIGTERM, HOOKED("0", LOST) TERMINATED, HOOKED("1", BUG));
	expect(1, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	streams[1].written.tv_sec = 200;
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_NOT);
	/* what was caught a minute before its status explains nothing */
	begin(EXIT_1, SIGTERM, HOOKED("0", BUG), "");
	streams[0].written.tv_sec = 140;
	expect(0, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_UNKNOWN);
	/* another clock's time counts for nothing */
	streams[0].written.tv_sec = 4000;
	expect(0, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	assert_int_equal(ranks[0].evidence.class, RI_CLASS_OWN);
}

/* Whatever rankinit's own stderr has, which may be stdout as well. */
static void test_one_file_of_all(void **state)
{
	(void)state;
	begin(SIGABRT, SIGTERM, HOOKED("1", BUG) HOOKED("0", LOST) TERMINATED, "");
	streams[1] = streams[0];
	streams[1].item = 1;
	expect(1, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	source.text = (struct ri_span){ "step 1\n", 7 };
	expect(1, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	/* a length that no helper has written */
	streams[0].length = streams[1].length = RI_LAUNCHED_STREAM + 1;
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_FILE);
}

static const char *lines(void)
{
	static char bytes[RI_VERDICT_SIZE];
	static struct ri_reason reason;
	struct ri_text text;

	ri_reason_find(&ranks[outcome.first], &reason);
	outcome.reason = &reason;
	text = ri_text_of(bytes, sizeof(bytes));
	ri_verdict_render(&outcome, &text);
	return bytes;
}

static void expect_why(enum ri_cause_word cause, enum ri_retry retry)
{
	assert_int_equal(ri_why_find(&outcome).cause, cause);
	assert_int_equal(ri_why_find(&outcome).retry, retry);
}

/* A victim may abort first: without its words no rank is named for that, and one line says why. */
static void test_an_abort_without_its_words(void **state)
{
	static const struct ri_span text = { "step 1\n", 7 };

	(void)state;
	begin(SIGABRT, SIGTERM, NULL, NULL);
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_FILE);
	assert_non_null(strstr(lines(), "cannot tell which rank failed first\n"
		"  rank 0 ended first: killed by SIGABRT (6), after "));
	assert_non_null(strstr(lines(), "could not read the file that was its stderr\n"
		"  rank 1: told to stop, killed by SIGTERM (15)\n"));
	assert_int_equal(ri_outcome_named(&outcome), -1);
	expect_why(RI_CAUSE_UNKNOWN, RI_RETRY_SAME);
	items[0].has_file = items[1].has_file = false;
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_TERMINAL);
	assert_non_null(strstr(lines(), "stderr is a terminal, which rankinit does not read; "
		"start it with 2>&1 | cat behind the command\n"));
	/* the same of a shell in between, and where the next one has no words either */
	items[0].wait_status = 134 << 8;
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_TERMINAL);
	items[1].wait_status = EXIT_1;
	expect(0, RI_CULPRIT_UNKNOWN, RI_UNREAD_TERMINAL);
	/* the controls: what was read, another signal, a status, what the other one wrote */
	items[0].wait_status = SIGABRT;
	source.text = text;
	expect(0, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
	expect_why(RI_CAUSE_SIGNAL, RI_RETRY_NEVER);
	source.text.at = NULL;
	items[0].wait_status = SIGSEGV;
	expect(0, RI_CULPRIT_FIRST, RI_UNREAD_TERMINAL);
	items[0].wait_status = EXIT_1;
	expect(0, RI_CULPRIT_FIRST, RI_UNREAD_TERMINAL);
	begin(SIGABRT, EXIT_1, NULL, HOOKED("1", BUG));
	expect(1, RI_CULPRIT_FIRST, RI_UNREAD_NOT);
}

/* torchrun stops the culprit where the abort of another one comes first: its place tells. */
static void test_one_that_was_stopped_of_its_exception(void **state)
{
	static const struct {
		const char *text;
		enum ri_culprit culprit;
	} cases[] = {
		{ HOOKED("1", BUG) HOOKED("0", LOST) TERMINATED, RI_CULPRIT_FIRST },
		{ HOOKED("1", BUG) "[rank0]:[E1129 1:2 NCCL.cpp:1] [Rank 0] NCCL error: remote "
			"process exited or there was a network error\n[rank0]: " LOST "\n"
			TERMINATED, RI_CULPRIT_FIRST },
		{ "[rank0]: step 1\n[default1]:" HOOKED("1", BUG) HOOKED("0", LOST),
			RI_CULPRIT_FIRST },
		/* print("step", 1) of a rank of torchrun's is written in pieces */
		{ "step" HOOKED("1", BUG) " 1\n" HOOKED("0", LOST) TERMINATED, RI_CULPRIT_FIRST },
		/* after a loss, of a rank or of nobody knows whom */
		{ HOOKED("0", LOST) HOOKED("1", BUG) TERMINATED, RI_CULPRIT_UNKNOWN },
		{ "[rank0]: " LOST "\n" HOOKED("1", BUG) HOOKED("0", LOST), RI_CULPRIT_UNKNOWN },
		{ LOST "\n" HOOKED("1", BUG) HOOKED("0", LOST) TERMINATED, RI_CULPRIT_UNKNOWN },
		/* another's label tells whose it is, and not that no code caught it */
		{ "[default1]:Traceback (most recent call last):\n[default1]:  File \"a.py\", "
			"line 3, in <module>\n[default1]:" BUG "\n" HOOKED("0", LOST),
			RI_CULPRIT_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(SIGABRT, SIGTERM, NULL, NULL);
		items[0].has_file = items[1].has_file = false;
		source.text = (struct ri_span){ cases[i].text, strlen(cases[i].text) };
		expect(cases[i].culprit == RI_CULPRIT_FIRST, cases[i].culprit, RI_UNREAD_NOT);
		assert_int_equal(ranks[0].evidence.class, RI_CLASS_LOSS);
	}
}

static struct ri_words_place place;

static void read_place(const char *text, int64_t rank)
{
	const struct ri_owner owner = { .rank = rank, .local_rank = -1 };

	ri_lines_of((struct ri_span){ text, strlen(text) }, rank < 0 ? NULL : &owner, room,
		sizeof(room), &place);
}

static void test_where_words_begin(void **state)
{
	static const char text[] = "[rank1]: step 1\n"
		HOOKED("1", BUG)
		"[/gloo/transport/tcp/pair.cc:1] Connection closed by peer [::1]:1\n"
		"[default0]:Traceback (most recent call last):\n";

	(void)state;
	read_place(text, 1);
	assert_int_equal(place.traceback, strstr(text, "Traceback") - text + 1);
	assert_true(place.hooked);
	assert_int_equal(place.loss, 0);
	read_place(text, -1);
	assert_int_equal(place.loss, strstr(text, "[/gloo") - text + 1);
	assert_int_equal(place.traceback, 0);
	/* torchrun's label is before what was caught, too */
	read_place(strstr(text, "[default0]"), 0);
	assert_false(place.hooked);
}

static void test_a_header_behind_a_piece_of_a_line(void **state)
{
	static const char *const others[] = {
		/* what quotes the hook has no label below it, or another's */
		"step[rank1]: Traceback (most recent call last):\n 2\n",
		"step[rank1]: Traceback (most recent call last):\n[rank0]: " BUG "\n",
		"step[rank1]: caught a Traceback (most recent call last):\n[rank1]: " BUG "\n",
	};

	(void)state;
	read_place("step" HOOKED("1", BUG) " 2\n", 1);
	assert_int_equal(place.traceback, sizeof("step[rank1]: "));
	assert_true(place.hooked);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		read_place(others[i], 1);
		assert_int_equal(place.traceback, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_their_own),
		cmocka_unit_test(test_one_file_of_all),
		cmocka_unit_test(test_an_abort_without_its_words),
		cmocka_unit_test(test_one_that_was_stopped_of_its_exception),
		cmocka_unit_test(test_where_words_begin),
		cmocka_unit_test(test_a_header_behind_a_piece_of_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
