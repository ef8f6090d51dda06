/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes say to each other: what is written reads the same, what is broken is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "link/message.h"

static char bytes[RI_LINK_FRAME + 1];

static int render(const struct ri_link_message *message)
{
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	return ri_link_message_render(message, &text);
}

static struct ri_link_message round_trip(const struct ri_link_message *message)
{
	struct ri_link_message read;

	memset(&read, 0xa5, sizeof(read));
	assert_int_equal(render(message), 0);
	assert_int_equal(ri_link_message_read(&read, bytes, strlen(bytes)), 0);
	assert_int_equal(read.kind, message->kind);
	return read;
}

static struct ri_link_message a_hello(void)
{
	return (struct ri_link_message){
		.kind = RI_LINK_HELLO,
		.hello = { .life = { { 1, 0x7f, 0x80, 0xff } }, .centre = { { [15] = 9 } },
			.node = 999, .nodes = 1000, .age_ms = 86400000, .met_ms = 5000, .call = 7,
			.may_stop = true, .restarts = 3,
			.place = RI_LINK_OTHER, .time = { 1769860800000000, 86400000000 },
			.host = "gpu-0514", .version = "0.1.0" },
	};
}

static void test_hello(void **state)
{
	struct ri_link_message said = a_hello(), read = round_trip(&said);

	(void)state;
	assert_true(ri_link_life_is(&read.hello.life, &said.hello.life));
	assert_true(ri_link_life_is(&read.hello.centre, &said.hello.centre));
	assert_int_equal(read.hello.node, 999);
	assert_int_equal(read.hello.nodes, 1000);
	assert_int_equal(read.hello.age_ms, 86400000);
	assert_int_equal(read.hello.met_ms, 5000);
	assert_int_equal(read.hello.call, 7);
	assert_true(read.hello.may_stop);
	assert_int_equal(read.hello.restarts, 3);
	assert_int_equal(read.hello.place, RI_LINK_OTHER);
	assert_int_equal(read.hello.time.clock_us, 1769860800000000);
	assert_int_equal(read.hello.time.boot_us, 86400000000);
	assert_string_equal(read.hello.host, "gpu-0514");
	assert_string_equal(read.hello.version, "0.1.0");
}

static void test_the_time(void **state)
{
	struct ri_link_message said = { .kind = RI_LINK_TIME,
		.time = { 1769860800000000, 86400000000 } }, read = round_trip(&said);

	(void)state;
	assert_int_equal(read.time.clock_us, 1769860800000000);
	assert_int_equal(read.time.boot_us, 86400000000);
}

static void test_ends_of_every_class(void **state)
{
	(void)state;
	for (int class = RI_CLASS_NONE; class <= RI_CLASS_OWN; class++) {
		struct ri_link_message said = { .kind = RI_LINK_END, .end = {
			.verdict.class = (enum ri_class)class, .fatal = class % 2 == 0,
			.lives = class % 2 == 1, .verdict.mark = RI_VERDICT_MARK,
			.at_us = 1769860800000000, .error_us = 250,
			.verdict.why = { RI_CAUSE_ECC, RI_RETRY_SAME }, .verdict.rank = class - 1,
			.text = "rank 3 failed first\n  ValueError: \303\244\n" } };
		struct ri_link_message read = round_trip(&said);

		assert_int_equal(read.end.verdict.class, class);
		assert_int_equal(read.end.fatal, class % 2 == 0);
		assert_int_equal(read.end.at_us, 1769860800000000);
		assert_int_equal(read.end.error_us, 250);
		assert_int_equal(read.end.lives, class % 2 == 1);
		assert_int_equal(read.end.verdict.mark, RI_VERDICT_MARK);
		assert_int_equal(read.end.verdict.why.cause, RI_CAUSE_ECC);
		assert_int_equal(read.end.verdict.why.retry, RI_RETRY_SAME);
		assert_int_equal(read.end.verdict.rank, class - 1);
		assert_string_equal(read.end.text, said.end.text);
	}
}

static void test_news_and_verdict(void **state)
{
	struct ri_link_message news = { .kind = RI_LINK_NEWS, .news = { "waiting for node 3\n" } };
	struct ri_link_message verdict = { .kind = RI_LINK_VERDICT, .decision = {
		.verdict = { .why = { RI_CAUSE_PREEMPTED, RI_RETRY_NEVER },
			.class = RI_CLASS_STOPPED, .rank = 9, .node = 7, .mark = 8,
			.host = "gpu-\303\244" },
		.order = true, .again = true,
		.text = "rank 9 failed first\n" } };
	struct ri_link_message read = round_trip(&verdict);

	(void)state;
	assert_int_equal(read.decision.verdict.node, 7);
	assert_true(read.decision.verdict.node >= 0 && read.decision.order && read.decision.again);
	assert_int_equal(read.decision.verdict.mark, 8);
	assert_int_equal(read.decision.verdict.class, RI_CLASS_STOPPED);
	assert_int_equal(read.decision.verdict.why.cause, RI_CAUSE_PREEMPTED);
	assert_int_equal(read.decision.verdict.why.retry, RI_RETRY_NEVER);
	assert_int_equal(read.decision.verdict.rank, 9);
	assert_string_equal(read.decision.verdict.host, "gpu-\303\244");
	assert_string_equal(read.decision.text, verdict.decision.text);
	assert_string_equal(round_trip(&news).news.text, news.news.text);
}

static void test_steps(void **state)
{
	(void)state;
	for (int bits = 0; bits < 4; bits++) {
		struct ri_link_message said = { .kind = RI_LINK_GO, .go = {
			.step = (enum ri_link_step)(bits & 1), .go = (bits & 2) != 0,
			.text = "why not\n" } };
		struct ri_link_message read = round_trip(&said);

		assert_int_equal(read.go.step, bits & 1);
		assert_int_equal(read.go.go, (bits & 2) != 0);
		assert_string_equal(read.go.text, "why not\n");
	}
}

static void test_phases_and_heard(void **state)
{
	struct ri_link_message heard = { .kind = RI_LINK_HEARD };

	(void)state;
	for (int phase = RI_LINK_STARTING; phase <= RI_LINK_LEAVING; phase++) {
		struct ri_link_message said = { .kind = RI_LINK_PHASE,
			.phase = (enum ri_link_phase)phase };

		assert_int_equal(round_trip(&said).phase, phase);
	}
	round_trip(&heard);
	for (int waits = 0; waits < 2; waits++) {
		struct ri_link_message ask = { .kind = RI_LINK_ASK, .ask = { waits != 0, 7 } };

		assert_int_equal(round_trip(&ask).ask.waits, waits != 0);
		assert_int_equal(round_trip(&ask).ask.number, 0);	/* no other node hears it */
	}
	round_trip(&(struct ri_link_message){ .kind = RI_LINK_ANSWER, .answers = 7 });
}

static void test_a_look_of_all_nodes(void **state)
{
	static struct ri_link_message groups = { .kind = RI_LINK_GROUPS };
	struct ri_link_message found = { .kind = RI_LINK_FOUND,
		.found = { .rank = 13, .node = 1, .text = "of 64 ranks 63 wait\n" } };
	struct ri_link_message read;

	(void)state;
	for (int soon = 0; soon < 2; soon++) {
		struct ri_link_message look = { .kind = RI_LINK_LOOK, .look = { soon != 0 } };

		assert_int_equal(round_trip(&look).look.soon, soon != 0);
	}
	read = round_trip(&found);
	assert_int_equal(read.found.rank, 13);
	assert_int_equal(read.found.node, 1);
	assert_string_equal(read.found.text, found.found.text);
	found.found.rank = -1;
	assert_int_equal(round_trip(&found).found.rank, -1);
	/* the longest one, and of more lines than a node may tell */
	memset(groups.groups.text, 'x', sizeof(groups.groups.text) - 1);
	for (size_t i = 79; i < sizeof(groups.groups.text); i += 80)
		groups.groups.text[i] = '\n';
	assert_string_equal(round_trip(&groups).groups.text, groups.groups.text);
}

/* Whatever a rank printed: the largest text there is, of what JSON makes longest. */
static void test_the_largest_text_fits(void **state)
{
	static struct ri_link_message said = { .kind = RI_LINK_END };
	char lines[2 * RI_LINK_TEXT];

	(void)state;
	memset(lines, '"', sizeof(lines) - 1);
	lines[sizeof(lines) - 1] = '\0';
	for (size_t i = 99; i < sizeof(lines); i += 100)
		lines[i] = '\n';
	ri_link_text_set(said.end.text, RI_LINK_TEXT, lines);
	assert_int_equal(strlen(said.end.text) % 100, 0);
	assert_int_equal(strlen(said.end.text), (RI_LINK_TEXT - 1) / 100 * 100);
	assert_string_equal(round_trip(&said).end.text, said.end.text);
}

static void test_text_keeps_whole_lines(void **state)
{
	char text[RI_LINK_TEXT], line[RI_LINK_TEXT + 1];

	(void)state;
	ri_link_text_set(text, RI_LINK_TEXT, "");
	assert_string_equal(text, "");
	ri_link_text_set(text, RI_LINK_TEXT, "a\n\nb");
	assert_string_equal(text, "a\n\nb\n");
	ri_link_text_set(text, RI_LINK_TEXT, "\033[2J\ttab\177 \302\205 \377\303\n");
	assert_string_equal(text, "?[2J?tab? ?? ??\n");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	ri_link_text_set(text, RI_LINK_TEXT, line);
	assert_string_equal(text, "");
}

static int read_text(const char *text)
{
	struct ri_link_message read;

	return ri_link_message_read(&read, text, strlen(text));
}

/* Of a good message with one word replaced. */
static int read_changed(const struct ri_link_message *message, const char *word, const char *by)
{
	char changed[RI_LINK_FRAME + 256];
	char *at;

	assert_int_equal(render(message), 0);
	at = strstr(bytes, word);
	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - bytes), bytes, by,
		at + strlen(word));
	return read_text(changed);
}

static void test_broken_ones_are_refused(void **state)
{
	static const char *const broken[] = { "", "{", "[]", "null", "\"hello\"", "{}",
		"{\"say\":1}", "{\"say\":\"goodbye\"}", "{\"say\":\"news\"}",
		"{\"say\":\"phase\"}", "{\"say\":\"phase\",\"phase\":\"gone\"}",
		"{\"say\":\"news\",\"text\":1}", "{\"say\":\"news\",\"text\":\"a\\u0000b\"}",
		"{\"say\":\"news\",\"text\":\"\\u001b[2J\"}",
		"{\"say\":\"news\",\"text\":\"\\u007f\"}",
		"{\"say\":\"news\",\"text\":\"\\u0085\"}", "{\"say\":\"news\",\"text\":\"\\t\"}",
		"{\"say\":\"news\",\"say\":\"news\",\"text\":\"a\"}",
		"{\"say\":\"news\",\"text\":\"a\"} x" };

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_int_equal(read_text(broken[i]), -1);
	assert_int_equal(read_text("{\"say\":\"news\",\"text\":\"a\\n\",\"later\":[1]}"), 0);
}

static void test_what_is_out_of_bounds_is_refused(void **state)
{
	static const char *const changes[][2] = {
		{ "\"node\":999", "\"node\":1000" }, { "\"node\":999", "\"node\":-1" },
		{ "\"node\":999", "\"node\":9.5" }, { "\"nodes\":1000", "\"nodes\":0" },
		{ "\"nodes\":1000", "\"nodes\":1048577" },
		{ "\"age_ms\":86400000", "\"age_ms\":-1" },
		{ "\"met_ms\":5000", "\"met_ms\":-1" },
		{ "\"call\":7", "\"call\":-1" },
		{ "\"may_stop\":true", "\"may_stop\":1" },
		{ "\"restarts\":3", "\"restarts\":-1" }, { "\"other\"", "\"OTHER\"" },
		{ "017f80ff", "017f80f" }, { "017f80ff", "017f80fg" }, { "017f80ff", "017F80ff" },
		{ "gpu-0514", "gpu\\n0514" }, { "\"centre\"", "\"last\"" },
	};
	struct ri_link_message hello = a_hello();
	char host[RI_LINK_WORD + 1];

	(void)state;
	assert_int_equal(read_changed(&hello, "gpu-0514", "gpu-0515"), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_int_equal(read_changed(&hello, changes[i][0], changes[i][1]), -1);
	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(read_changed(&hello, "gpu-0514", host), -1);
	assert_int_equal(read_changed(&hello, "gpu-0514", host + 1), 0);
	hello.hello.life = (struct ri_link_life){ { 0 } };
	assert_int_equal(render(&hello), 0);
	assert_int_equal(read_text(bytes), -1);
}

static void test_verdicts_out_of_bounds(void **state)
{
	struct ri_link_message verdict = { .kind = RI_LINK_VERDICT, .decision.verdict.node = 7 };
	struct ri_link_message end = { .kind = RI_LINK_END, .end.verdict.class = RI_CLASS_OWN };

	(void)state;
	assert_int_equal(read_changed(&verdict, "\"node\":7", "\"node\":8"), 0);
	assert_int_equal(read_changed(&verdict, "\"node\":7", "\"node\":1048576"), -1);
	assert_int_equal(read_changed(&verdict, "\"named\":true", "\"named\":1"), -1);
	assert_int_equal(read_changed(&verdict, "\"named\":true,", ""), -1);
	assert_int_equal(read_changed(&verdict, "\"order\":false", "\"order\":null"), -1);
	assert_int_equal(read_changed(&verdict, "\"class\":\"done\"", "\"class\":\"gone\""), -1);
	assert_int_equal(read_changed(&verdict, "\"class\":\"done\"", "\"class\":5"), -1);
	/* of one that does not say it */
	assert_int_equal(read_changed(&verdict, "\"again\":false,", ""), 0);
	assert_int_equal(read_changed(&end, "\"mark\":0,", ""), 0);
	assert_int_equal(read_changed(&verdict, "\"class\":\"done\",", ""), 0);
	assert_int_equal(read_changed(&end, "\"own\"", "\"owner\""), -1);
	assert_int_equal(read_changed(&end, "\"at_us\":0", "\"at_us\":253402300799000000"), 0);
	assert_int_equal(read_changed(&end, "\"at_us\":0", "\"at_us\":253402300799000001"), -1);
	assert_int_equal(read_changed(&end, "\"error_us\":0", "\"error_us\":-1"), -1);
	assert_int_equal(read_changed(&end, "\"mark\":0", "\"mark\":-1"), -1);
	assert_int_equal(read_changed(&verdict, "\"mark\":0", "\"mark\":-1"), -1);
	assert_int_equal(read_changed(&verdict, "\"again\":false", "\"again\":0"), -1);
	assert_int_equal(read_text("{\"say\":\"go\",\"go\":true,\"text\":\"\"}"), -1);
	assert_int_equal(read_text("{\"say\":\"go\",\"step\":\"run\",\"go\":true,"
		"\"text\":\"\"}"), -1);
	assert_int_equal(read_changed(&end, "\"fatal\":false", "\"fatal\":\"no\""), -1);
}

/* An older version has none, and a later one may have others. */
static void test_words_for_a_cause(void **state)
{
	static const struct {
		const char *members;
		int status;
		struct ri_why why;
		int64_t rank;
	} rows[] = {
		{ "", 0, { RI_CAUSE_UNKNOWN, RI_RETRY_SAME }, -1 },
		{ ",\"cause\":\"ecc\",\"rank\":3,\"host\":\"a\"", 0,
			{ RI_CAUSE_ECC, RI_RETRY_OTHER_NODE }, 3 },
		{ ",\"cause\":\"ecc\",\"retry\":\"same\"", 0,
			{ RI_CAUSE_ECC, RI_RETRY_SAME }, -1 },
		{ ",\"retry\":\"never\"", 0, { RI_CAUSE_UNKNOWN, RI_RETRY_NEVER }, -1 },
		{ ",\"retry\":\"later\"", 0, { RI_CAUSE_UNKNOWN, RI_RETRY_SAME }, -1 },
		{ ",\"retry\":7", -1, { 0 }, 0 },
		{ ",\"cause\":\"sunspots\"", 0, { RI_CAUSE_UNKNOWN, RI_RETRY_SAME }, -1 },
		{ ",\"cause\":7", -1, { 0 }, 0 },
		{ ",\"rank\":-2", -1, { 0 }, 0 },
		{ ",\"rank\":1048576", -1, { 0 }, 0 },
		{ ",\"host\":\"a\\nb\"", -1, { 0 }, 0 },
		{ ",\"host\":null", -1, { 0 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ri_link_message read = { .kind = RI_LINK_ASK };
		char text[256];

		snprintf(text, sizeof(text), "{\"say\":\"verdict\",\"node\":0,\"named\":true,"
			"\"order\":true,\"text\":\"\"%s}", rows[i].members);
		assert_int_equal(ri_link_message_read(&read, text, strlen(text)), rows[i].status);
		if (rows[i].status < 0)
			continue;
		assert_int_equal(read.decision.verdict.why.cause, rows[i].why.cause);
		assert_int_equal(read.decision.verdict.why.retry, rows[i].why.retry);
		assert_int_equal(read.decision.verdict.rank, rows[i].rank);
	}
	assert_int_equal(read_text("{\"say\":\"end\",\"class\":\"own\",\"fatal\":true,"
		"\"text\":\"\",\"rank\":-2}"), -1);
}

static void test_looks_out_of_bounds(void **state)
{
	static const char *const changes[][2] = {
		{ "\"rank\":7", "\"rank\":-2" }, { "\"rank\":7", "\"rank\":1048576" },
		{ "\"rank\":7", "\"rank\":null" }, { "\"node\":3", "\"node\":-1" },
		{ "\"node\":3", "\"node\":1048576" }, { "\"rank\":7,", "" },
		{ "\"x\"", "\"\\u001b\"" }, { "\"x\"", "7" },
	};
	struct ri_link_message found = { .kind = RI_LINK_FOUND,
		.found = { .rank = 7, .node = 3, .text = "x" } };
	char groups[RI_LINK_GROUPS_TEXT + 64];

	(void)state;
	assert_int_equal(read_changed(&found, "\"rank\":7", "\"rank\":1048575"), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_int_equal(read_changed(&found, changes[i][0], changes[i][1]), -1);
	assert_int_equal(read_text("{\"say\":\"look\"}"), -1);
	assert_int_equal(read_text("{\"say\":\"look\",\"soon\":1}"), -1);
	assert_int_equal(read_text("{\"say\":\"groups\"}"), -1);
	assert_int_equal(read_text("{\"say\":\"groups\",\"text\":\"\\u0007\"}"), -1);
	for (int more = 0; more < 2; more++) {
		snprintf(groups, sizeof(groups), "{\"say\":\"groups\",\"text\":\"%0*d\"}",
			RI_LINK_GROUPS_TEXT - 1 + more, 0);
		assert_int_equal(read_text(groups), -more);
	}
}

/* A frame is no longer than that, and neither is what is made. */
static void test_too_long(void **state)
{
	static struct ri_link_message news = { .kind = RI_LINK_NEWS };
	static char padded[RI_LINK_FRAME + 2];
	struct ri_text text;
	char small[16];

	(void)state;
	text = ri_text_of(small, sizeof(small));
	assert_int_equal(ri_link_message_render(&news, &text), -1);
	assert_int_equal(render(&news), 0);
	memset(padded, ' ', sizeof(padded) - 1);
	memcpy(padded, bytes, strlen(bytes));
	assert_int_equal(ri_link_message_read(&news, padded, RI_LINK_FRAME), 0);
	assert_int_equal(ri_link_message_read(&news, padded, RI_LINK_FRAME + 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_the_time),
		cmocka_unit_test(test_ends_of_every_class),
		cmocka_unit_test(test_news_and_verdict),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_phases_and_heard),
		cmocka_unit_test(test_a_look_of_all_nodes),
		cmocka_unit_test(test_the_largest_text_fits),
		cmocka_unit_test(test_text_keeps_whole_lines),
		cmocka_unit_test(test_broken_ones_are_refused),
		cmocka_unit_test(test_what_is_out_of_bounds_is_refused),
		cmocka_unit_test(test_verdicts_out_of_bounds),
		cmocka_unit_test(test_words_for_a_cause),
		cmocka_unit_test(test_looks_out_of_bounds),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
