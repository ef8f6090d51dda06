/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static struct ri_findings findings;

static int start_over(void **state)
{
	(void)state;
	memset(&findings, 0, sizeof(findings));
	return 0;
}

static void test_add(void **state)
{
	struct ri_error *finding = ri_findings_add(&findings, RI_SEVERITY_WARNING,
		RI_CODE_ENV_IGNORED, "RANK", "%s: expected a number", "\"x\"");

	(void)state;
	assert_ptr_equal(finding, &findings.items[0]);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.dropped, 0);
	assert_int_equal(finding->severity, RI_SEVERITY_WARNING);
	assert_int_equal(finding->code, RI_CODE_ENV_IGNORED);
	assert_string_equal(finding->subject, "RANK");
	assert_string_equal(finding->text, "\"x\": expected a number");
	assert_string_equal(finding->hint, "");
	ri_finding_hint(finding, "unset %s", "RANK");
	assert_string_equal(finding->hint, "unset RANK");
}

static void test_slot_used_before_has_no_hint(void **state)
{
	(void)state;
	memset(&findings.items[0], 'x', sizeof(findings.items[0]));
	ri_findings_add(&findings, RI_SEVERITY_NOTE, RI_CODE_MASTER_ABSENT, NULL, "text");
	assert_string_equal(findings.items[0].hint, "");
	assert_string_equal(findings.items[0].subject, "");
	assert_string_equal(findings.items[0].text, "text");
}

static void test_past_the_bound_counted(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < RI_MAX_FINDINGS; i++) {
		snprintf(name, sizeof(name), "V%d", i);
		assert_non_null(ri_findings_add(&findings, RI_SEVERITY_NOTE, RI_CODE_ENV_DIFFERS,
			name, "it differs"));
	}
	for (int i = 0; i < 3; i++)
		assert_null(ri_findings_add(&findings, RI_SEVERITY_ERROR, RI_CODE_ENV_CONFLICT,
			"late", "it came late"));
	assert_int_equal(findings.count, RI_MAX_FINDINGS);
	assert_int_equal(findings.dropped, 3);
	assert_string_equal(findings.items[RI_MAX_FINDINGS - 1].subject, "V63");
}

static void test_hint_of_null_ignored(void **state)
{
	(void)state;
	ri_finding_hint(NULL, "nobody reads %d", 1);
}

static void test_too_long_is_cut(void **state)
{
	struct ri_error *finding;
	char subject[200];

	(void)state;
	memset(subject, 's', sizeof(subject) - 1);
	subject[sizeof(subject) - 1] = '\0';
	finding = ri_findings_add(&findings, RI_SEVERITY_NOTE, RI_CODE_ENV_DIFFERS, subject, "%*d",
		5000, 1);
	ri_finding_hint(finding, "%*d", 5000, 1);
	assert_int_equal(strlen(finding->subject), sizeof(finding->subject) - 1);
	assert_int_equal(strlen(finding->text), sizeof(finding->text) - 1);
	assert_int_equal(strlen(finding->hint), sizeof(finding->hint) - 1);
}

static void test_severity_names(void **state)
{
	(void)state;
	assert_string_equal(ri_severity_name(RI_SEVERITY_NOTE), "note");
	assert_string_equal(ri_severity_name(RI_SEVERITY_WARNING), "warning");
	assert_string_equal(ri_severity_name(RI_SEVERITY_ERROR), "error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_add, start_over),
		cmocka_unit_test_setup(test_slot_used_before_has_no_hint, start_over),
		cmocka_unit_test_setup(test_past_the_bound_counted, start_over),
		cmocka_unit_test_setup(test_hint_of_null_ignored, start_over),
		cmocka_unit_test_setup(test_too_long_is_cut, start_over),
		cmocka_unit_test_setup(test_severity_names, start_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
