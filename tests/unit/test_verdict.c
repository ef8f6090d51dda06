/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict's last line: what is in it, how foreign names are quoted, and what goes first. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/outcome.h"
#include "report/verdict.h"

static const struct ri_verdict some = {
	.why = { RI_CAUSE_DEVICE_ASSERT, RI_RETRY_NEVER }, .class = RI_CLASS_OWN, .status = 134,
	.rank = 3, .node = 1, .host = "gpu-0514",
};

static const char *render_of(const struct ri_verdict *brief, const char *job)
{
	struct ri_topology topology = { .facts[RI_FACT_JOB_ID] = {
		.state = job == NULL ? RI_STATE_ABSENT : RI_STATE_KNOWN, .text = job } };
	static char line[1024];
	struct ri_text out;

	out = ri_text_of(line, sizeof(line));
	ri_verdict_add_line(&out, brief, &topology);
	/* what stands before it on stderr, and its end */
	assert_true(strlen("rankinit: ") + out.length + 1 <= RI_VERDICT_LINE);
	return line;
}

static const char *render(const struct ri_verdict *brief)
{
	return render_of(brief, NULL);
}

static void a_line(void **state)
{
	struct ri_verdict brief = some;

	(void)state;
	assert_string_equal(render_of(&brief, "4711"), "verdict cause=device_assert class=own "
		"retry=never rank=3 node=1 host=gpu-0514 status=134 retries=0 job=4711");
	brief = (struct ri_verdict){ .rank = -1, .node = -1, .status = 1, .retries = 2 };
	assert_string_equal(render(&brief), "verdict cause=unknown retry=same status=1 retries=2");
	brief.restarted = true;
	assert_string_equal(render_of(&brief, "1"),
		"verdict cause=unknown retry=same status=1 retries=2 restarted=yes job=1");
	brief.restarted = false;
	brief.why = ri_why_stopped;
	brief.class = RI_CLASS_STOPPED;
	assert_string_equal(render(&brief), "verdict cause=preempted class=stopped retry=same "
		"status=1 failed_before=no retries=2");
	brief.failed_before = true;
	assert_non_null(strstr(render(&brief), " failed_before=yes "));
}

static void expect_host(const char *host, const char *shown)
{
	struct ri_verdict brief = { .rank = -1, .node = -1 };
	char want[600];

	ri_text_copy(brief.host, sizeof(brief.host), host);
	snprintf(want, sizeof(want), "verdict cause=unknown retry=same%s%s status=0 retries=0",
		shown[0] == '\0' ? "" : " host=", shown);
	assert_string_equal(render(&brief), want);
}

static void foreign_names(void **state)
{
	(void)state;
	expect_host("a-b.c_d:1/2@3", "a-b.c_d:1/2@3");
	expect_host("a b", "\"a b\"");
	expect_host("a=b", "\"a=b\"");
	expect_host("\"a\\", "\"\\\"a\\\\\"");
	expect_host("a\nrankinit: verdict cause=ecc", "\"a\\u000arankinit: verdict cause=ecc\"");
	expect_host("\033[31mred\177", "\"\\u001b[31mred\\u007f\"");
	expect_host("knoten-\303\244", "\"knoten-\303\244\"");
	expect_host("\302\233c", "\"\\u009bc\"");
	expect_host("\377\300a", "\"\\ufffd\\ufffda\"");
	expect_host("hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "***");
	expect_host("", "");
}

static void what_does_not_fit(void **state)
{
	struct ri_verdict brief = some;
	char job[512];
	bool had_both = false, had_host = false;
	const char *line;

	(void)state;
	memset(brief.host, 'h', sizeof(brief.host) - 1);
	for (size_t length = 1; length < sizeof(job); length++) {
		bool has_job;

		memset(job, 'j', length);
		job[length] = '\0';
		line = render_of(&brief, job);
		has_job = strstr(line, job) != NULL;
		/* never a part of one, and the job goes before the host */
		assert_int_equal(strstr(line, " job=") != NULL, has_job);
		assert_non_null(strstr(line, brief.host));
		assert_non_null(strstr(line, " status=134 retries=0"));
		had_both = had_both || has_job;
		had_host = had_host || !has_job;
	}
	assert_true(had_both && had_host);
	/* six bytes for each of these */
	memset(brief.host, '\001', sizeof(brief.host) - 1);
	line = render_of(&brief, "4711");
	assert_null(strstr(line, " host="));
	assert_null(strstr(line, " job="));
	assert_non_null(strstr(line, " status=134 retries=0"));
}

/* Escapes take up to six bytes for one. */
static void any_bytes(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct ri_verdict brief = some;
		char job[128];
		const char *line;

		for (size_t i = 0; i < sizeof(job); i++) {
			seed = seed * 1103515245 + 12345;
			brief.host[i % sizeof(brief.host)] = (char)(seed >> 16);
			job[i] = (char)(seed >> 20);
		}
		brief.host[seed % sizeof(brief.host)] = '\0';
		brief.host[sizeof(brief.host) - 1] = job[sizeof(job) - 1] = '\0';
		line = render_of(&brief, job);
		for (const char *at = line; *at != '\0'; at += ri_utf8_length(at)) {
			assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
			assert_true(ri_utf8_length(at) > 0);
		}
		assert_non_null(strstr(line, " status=134 retries=0"));
	}
}

static struct ri_rank_outcome ranks[2] = {
	{ .rank = 4, .end = RI_END_EXITED },
	{ .rank = 5, .end = RI_END_SIGNALED, .signal = SIGSEGV, .evidence.class = RI_CLASS_OWN },
};

static void whose_end(void **state)
{
	struct ri_topology topology = { .facts[RI_FACT_NODE_RANK] = {
		.state = RI_STATE_KNOWN, .number = 2 } };
	struct ri_outcome outcome = { .topology = &topology, .host = "a", .ranks = ranks,
		.count = 2, .first = -1 };
	struct ri_restarts restarts = { .all = 3 };
	struct ri_verdict brief;

	(void)state;
	assert_false(ri_verdict_find(&brief, &outcome, 0));
	outcome.first = 1;
	assert_true(ri_verdict_find(&brief, &outcome, 139));
	assert_string_equal(render(&brief), "verdict cause=signal class=own retry=never rank=5 "
		"node=2 host=a status=139 retries=0");
	outcome.culprit = RI_CULPRIT_LEFT;
	outcome.restarts = &restarts;
	assert_true(ri_verdict_find(&brief, &outcome, 1));
	assert_int_equal(brief.rank, 4);
	assert_int_equal(brief.retries, 3);
	outcome.culprit = RI_CULPRIT_UNKNOWN;
	assert_true(ri_verdict_find(&brief, &outcome, 1));
	assert_int_equal(brief.rank, -1);
	assert_string_equal(brief.host, "a");
	outcome.culprit = RI_CULPRIT_ELSEWHERE;
	assert_true(ri_verdict_find(&brief, &outcome, 1));
	assert_true(brief.rank == -1 && brief.node == -1 && brief.host[0] == '\0');
	/* a plain command is no rank */
	outcome = (struct ri_outcome){ .topology = &topology, .ranks = &ranks[1], .count = 1 };
	assert_true(ri_verdict_find(&brief, &outcome, 139));
	assert_int_equal(brief.rank, -1);
}

static void an_actor_of_rays(void **state)
{
	static const struct ri_actor actor = { .rank = 2 };
	struct ri_rank_outcome driver = { .end = RI_END_EXITED, .exit_code = 1,
		.actor = &actor, .evidence.class = RI_CLASS_OWN };
	const struct ri_outcome outcome = { .ranks = &driver, .count = 1, .host = "a" };
	struct ri_verdict brief;

	(void)state;
	assert_true(ri_verdict_find(&brief, &outcome, 1));
	assert_true(brief.rank == 2 && brief.host[0] == '\0');
}

static void stops(void **state)
{
	struct ri_outcome outcome = { .ranks = ranks, .count = 1, .first = -1,
		.stop.signal = SIGTERM, .exit_status = 143 };
	struct ri_verdict brief;

	(void)state;
	assert_true(ri_verdict_find(&brief, &outcome, 143));
	assert_int_equal(brief.why.cause, RI_CAUSE_PREEMPTED);
	assert_int_equal(brief.class, RI_CLASS_STOPPED);
	outcome.exit_status = 0;	/* the ranks ended well in time, or --exit-map says so */
	assert_false(ri_verdict_find(&brief, &outcome, 143));
}

static void a_document(void **state)
{
	struct ri_verdict brief = some;
	struct ri_json json = { .escapes = 0 };
	json_t *value = ri_verdict_json(&json, NULL);

	(void)state;
	assert_true(json_is_null(value));
	json_decref(value);
	brief.node = -1;
	brief.host[0] = '\0';
	value = ri_verdict_json(&json, &brief);
	assert_true(json_is_null(json_object_get(value, "host")));
	assert_string_equal(json_string_value(json_object_get(value, "cause")), "device_assert");
	assert_string_equal(json_string_value(json_object_get(value, "retry")), "never");
	assert_int_equal(json_integer_value(json_object_get(value, "rank")), 3);
	assert_true(json_is_null(json_object_get(value, "node")));
	assert_true(json_is_null(json_object_get(value, "failed_before")));
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line),
		cmocka_unit_test(foreign_names),
		cmocka_unit_test(what_does_not_fit),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(whose_end),
		cmocka_unit_test(an_actor_of_rays),
		cmocka_unit_test(stops),
		cmocka_unit_test(a_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
