/* SPDX-License-Identifier: Apache-2.0 */
/* What --blame reads of a report: times, what is missing, what cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blame/reports.h"

static struct ri_arena arena;

static int end(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t at;
	} rows[] = {
		{ "1970-01-01T00:00:00.001Z", 1000 },
		{ "2000-02-29T23:59:59.999Z", INT64_C(951868799999000) },
		{ "2026-01-31T12:00:00.123Z", INT64_C(1769860800123000) },
		{ "2100-03-01T00:00:00.000Z", INT64_C(4107542400000000) },
		{ "1969-12-31T23:59:59.000Z", 0 }, { "2026-13-01T00:00:00.000Z", 0 },
		{ "2026-01-00T00:00:00.000Z", 0 }, { "2026-01-01T24:00:00.000Z", 0 },
		{ "2026-01-01T00:60:00.000Z", 0 }, { "2026-01-01T00:00:61.000Z", 0 },
		{ "2026-01-01T00:00:00.00Z", 0 }, { "2026-01-01T00:00:00.000", 0 },
		{ "2026-01-01T00:00:00.000Z ", 0 }, { "2026-1-01T00:00:00.000Z", 0 },
		{ "-2026-01-01T00:00:00.000Z", 0 }, { "", 0 }, { "yesterday", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(ri_time_parse(rows[i].text), rows[i].at);
}

#define TIMES "\"started\": \"2026-01-31T12:00:00.000Z\", \"ended\": \"2026-01-31T12:00:09.000Z\""
#define BEGIN "{\"schema\": \"rankinit-report-1\", \"exit_status\": 0, " TIMES
#define RANKS ", \"ranks\": [{\"rank\": 3, \"state\": \"exited\", \"exit_code\": 0}]"

static int read(struct ri_node_report *out, const char *text, char why[RI_REPORTED_WHY])
{
	char *copy = malloc(strlen(text) + 1);
	int status;

	assert_non_null(copy);
	memcpy(copy, text, strlen(text) + 1);
	status = ri_node_report_read(out, copy, strlen(copy), &arena, why);
	free(copy);
	return status;
}

static void test_what_is_missing_is_unknown(void **state)
{
	char why[RI_REPORTED_WHY];
	struct ri_node_report report;

	(void)state;
	assert_int_equal(read(&report, BEGIN RANKS "}", why), 0);
	assert_null(report.host);
	assert_int_equal(report.node, -1);
	assert_int_equal(report.attempt, -1);
	assert_int_equal(report.failure.class, RI_CLASS_NONE);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.ranks[0].rank, 3);
	assert_int_equal(report.ranks[0].state, RI_END_EXITED);
	assert_false(report.compared);
	assert_int_equal(report.ended - report.began, 9000000);
}

static void test_restarts(void **state)
{
	char why[RI_REPORTED_WHY];
	struct ri_node_report report;

	(void)state;
	assert_int_equal(read(&report, BEGIN RANKS ", \"first_failure\": {\"rank\": 3}, "
		"\"restarts\": [{\"exception\": \"ValueError: bad\", \"number\": 1}, 7]}", why), 0);
	assert_int_equal(report.failure.rank, 3);
	assert_int_equal(report.failure.lines.count, 1);
	assert_string_equal(report.failure.lines.at[0], "before it: the ranks had been started "
		"again 2 times, at first for ValueError: bad");
	assert_int_equal(read(&report, BEGIN RANKS ", \"first_failure\": {\"rank\": 3}, "
		"\"restarts\": [null]}", why), 0);
	assert_string_equal(report.failure.lines.at[0], "before it: the ranks had been started "
		"again 1 time");
	assert_int_equal(read(&report, BEGIN RANKS ", \"first_failure\": {\"rank\": 3}, "
		"\"restarts\": [{\"job_verdict\": \"rank 1 failed first\"}]}", why), 0);
	assert_string_equal(report.failure.lines.at[0], "before it: the ranks had been started "
		"again 1 time, at first: rank 1 failed first");
	/* of a job that did not fail they are none */
	assert_int_equal(read(&report, BEGIN RANKS ", \"first_failure\": null, "
		"\"restarts\": [{\"exception\": \"ValueError: bad\", \"number\": 1}]}", why), 0);
	assert_int_equal(report.failure.lines.count, 0);
	assert_int_equal(report.failure.class, RI_CLASS_NONE);
	assert_int_equal(read(&report, BEGIN RANKS ", \"first_failure\": {\"rank\": 3}, "
		"\"restarts\": {}}", why), 0);
	assert_int_equal(report.failure.lines.count, 0);
}

static void test_clocks(void **state)
{
	static const struct {
		const char *clock;
		bool compared;
	} rows[] = {
		{ "{\"ahead_s\": -1.5, \"error_s\": 0.25}", true },
		{ "{\"ahead_s\": 1e30, \"error_s\": 0.25}", false },
		{ "{\"ahead_s\": 1, \"error_s\": -1}", false }, { "{\"ahead_s\": 1}", false },
		{ "{\"ahead_s\": \"1\", \"error_s\": 0}", false },
		{ "null", false }, { "[]", false },
	};
	char why[RI_REPORTED_WHY], text[512];
	struct ri_node_report report;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), BEGIN RANKS ", \"clock\": %s}", rows[i].clock);
		assert_int_equal(read(&report, text, why), 0);
		assert_int_equal(report.compared, rows[i].compared);
	}
	snprintf(text, sizeof(text), BEGIN RANKS ", \"clock\": %s}", rows[0].clock);
	assert_int_equal(read(&report, text, why), 0);
	assert_int_equal(report.ended - report.began, 9000000);
	assert_int_equal(report.ahead, -1500000);
	assert_int_equal(report.began, ri_time_parse("2026-01-31T12:00:01.500Z"));
	assert_int_equal(report.failure.at, 0);
}

#define SEEN ", \"autopsy\": {\"at\": \"2026-01-31T12:00:09.000Z\", "
#define SUSPECT "\"suspect\": {\"rank\": 3, \"text\": \"sleeps\"}"
#define OTHERS "{\"ranks\": [0, 1], \"class\": \"collective\", \"text\": \"waits\"}"
#define ODD "{\"ranks\": [3], \"class\": \"lock\", \"text\": \"waits for a lock\"}"

static void test_autopsies(void **state)
{
	static const struct {
		const char *autopsy;
		bool suspects;
		const char *did;
		size_t lines;
	} rows[] = {
		{ SEEN SUSPECT "}", true, "sleeps", 0 },
		{ SEEN SUSPECT ", \"groups\": [" OTHERS "]}", true, "sleeps", 1 },
		{ SEEN SUSPECT ", \"groups\": [" ODD ", " OTHERS "]}", true, "sleeps", 1 },
		/* no suspect, but one rank that does not wait for the others */
		{ SEEN "\"groups\": [" OTHERS ", " ODD "]}", false, "waits for a lock", 1 },
		{ SEEN "\"groups\": [" OTHERS "]}", false, NULL, 0 },
		{ SEEN "\"groups\": [" ODD ", " OTHERS ", " ODD "]}", false, NULL, 0 },
		{ SEEN "\"groups\": {}}", false, NULL, 0 },
		/* without a time, or of a rank that cannot be */
		{ ", \"autopsy\": {" SUSPECT "}", false, NULL, 0 },
		{ SEEN "\"suspect\": {\"rank\": [], \"text\": \"x\"}}", false, NULL, 0 },
		{ SEEN "\"suspect\": {\"rank\": 1048576, \"text\": \"x\"}}", false, NULL, 0 },
		{ SEEN "\"suspect\": {\"rank\": 3, \"text\": 4}}", false, NULL, 0 },
		{ ", \"autopsy\": null", false, NULL, 0 }, { ", \"autopsy\": []", false, NULL, 0 },
	};
	char why[RI_REPORTED_WHY], text[1024];
	struct ri_node_report report;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ri_reported_autopsy *autopsy = &report.autopsy;

		snprintf(text, sizeof(text), BEGIN RANKS "%s}", rows[i].autopsy);
		assert_int_equal(read(&report, text, why), 0);
		assert_int_equal(autopsy->suspects, rows[i].suspects);
		assert_int_equal(autopsy->lines.count, rows[i].lines);
		if (rows[i].did == NULL) {
			assert_null(autopsy->did);
			continue;
		}
		assert_string_equal(autopsy->did, rows[i].did);
		assert_int_equal(autopsy->rank, 3);
	}
}

static void test_what_is_no_report(void **state)
{
	static const char *const rows[][2] = {
		{ BEGIN, "it breaks off after " }, { "", "it breaks off after 0 bytes" },
		{ "what", "it is no JSON" }, { "{}", "it is no report of rankinit" },
		{ BEGIN "}", "it is a report, but what it says cannot be" },
		{ BEGIN ", \"ranks\": []}", "it is a report, but what it says cannot be" },
	};
	char why[RI_REPORTED_WHY];
	struct ri_node_report report = { .node = 17 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(read(&report, rows[i][0], why), -1);
		assert_ptr_equal(strstr(why, rows[i][1]), why);
	}
	assert_int_equal(report.node, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test_teardown(test_what_is_missing_is_unknown, end),
		cmocka_unit_test_teardown(test_clocks, end),
		cmocka_unit_test_teardown(test_restarts, end),
		cmocka_unit_test_teardown(test_autopsies, end),
		cmocka_unit_test_teardown(test_what_is_no_report, end),
	};

	return cmocka_run_group_tests_name("node_report", tests, NULL, NULL);
}
