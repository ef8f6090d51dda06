/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static void test_starts_empty(void **state)
{
	const struct ri_error err = RI_ERROR_INIT;

	(void)state;
	assert_int_equal(err.code, RI_CODE_NONE);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.subject, "");
	assert_string_equal(err.text, "");
	assert_string_equal(err.hint, "");
}

static void test_fail_records(void **state)
{
	struct ri_error err = RI_ERROR_INIT;

	(void)state;
	assert_int_equal(ri_fail(&err, RI_CODE_ENV_VALUE, "RANK", "%s, not %d", "seven", 7), -1);
	assert_int_equal(err.code, RI_CODE_ENV_VALUE);
	assert_string_equal(err.subject, "RANK");
	assert_string_equal(err.text, "seven, not 7");
	assert_string_equal(err.hint, "");
	assert_int_equal(ri_fail_hint(&err, "write %d", 7), -1);
	assert_string_equal(err.hint, "write 7");
	assert_int_equal(ri_fail_errno(&err, ENOENT), -1);
	assert_int_equal(err.sys_errno, ENOENT);
}

static void test_first_wins(void **state)
{
	struct ri_error err = RI_ERROR_INIT;

	(void)state;
	ri_fail(&err, RI_CODE_ENV_VALUE, "RANK", "first");
	ri_fail_hint(&err, "first hint");
	ri_fail_errno(&err, EACCES);
	assert_int_equal(ri_fail(&err, RI_CODE_MEMORY, "other", "second"), -1);
	assert_int_equal(ri_fail_hint(&err, "second hint"), -1);
	assert_int_equal(ri_fail_errno(&err, EPERM), -1);
	assert_int_equal(err.code, RI_CODE_ENV_VALUE);
	assert_string_equal(err.subject, "RANK");
	assert_string_equal(err.text, "first");
	assert_string_equal(err.hint, "first hint");
	assert_int_equal(err.sys_errno, EACCES);
}

static void test_too_long_is_cut(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	char subject[2 * sizeof(err.subject)];

	(void)state;
	memset(subject, 's', sizeof(subject) - 1);
	subject[sizeof(subject) - 1] = '\0';
	ri_fail(&err, RI_CODE_ENV_VALUE, subject, "%*d", 5000, 1);
	ri_fail_hint(&err, "%*d", 5000, 1);
	assert_int_equal(strlen(err.subject), sizeof(err.subject) - 1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(strlen(err.hint), sizeof(err.hint) - 1);
}

static void test_no_subject(void **state)
{
	struct ri_error err = RI_ERROR_INIT;

	(void)state;
	ri_fail(&err, RI_CODE_COMMAND_MISSING, NULL, "none");
	assert_string_equal(err.subject, "");
}

static bool is_stable_name(const char *name)
{
	return *name >= 'a' && *name <= 'z' &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz_.") == strlen(name);
}

static void test_table_is_complete(void **state)
{
	(void)state;
	for (int i = 0; i < RI_CODE_COUNT; i++) {
		const char *name = ri_code_name((enum ri_code)i);
		const char *meaning = ri_code_meaning((enum ri_code)i);
		int status = ri_code_status((enum ri_code)i);

		assert_non_null(name);
		assert_non_null(meaning);
		assert_true(is_stable_name(name));
		assert_true(strlen(meaning) > 4);
		assert_true(status == 0 || (status >= 122 && status <= 127));
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(name, ri_code_name((enum ri_code)j));
			assert_string_not_equal(meaning, ri_code_meaning((enum ri_code)j));
		}
	}
}

static void test_statuses_that_shells_know(void **state)
{
	(void)state;
	assert_int_equal(ri_code_status(RI_CODE_NONE), 0);
	assert_int_equal(ri_code_status(RI_CODE_EXEC_NOT_FOUND), 127);
	assert_int_equal(ri_code_status(RI_CODE_EXEC_DENIED), 126);
	assert_int_equal(ri_code_status(RI_CODE_OPTION_VALUE), 125);
	assert_int_equal(ri_code_status(RI_CODE_ENV_IGNORED), 0);
	assert_string_equal(ri_code_name(RI_CODE_OPTION_VALUE), "option.value");
	assert_string_equal(ri_code_name(RI_CODE_MEMORY), "memory");
}

static void test_code_out_of_the_table(void **state)
{
	(void)state;
	assert_string_equal(ri_code_name(RI_CODE_COUNT), "none");
	assert_string_equal(ri_code_name((enum ri_code)-1), "none");
	assert_int_equal(ri_code_status(RI_CODE_COUNT), 0);
	assert_non_null(ri_code_meaning((enum ri_code)-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_empty),
		cmocka_unit_test(test_fail_records),
		cmocka_unit_test(test_first_wins),
		cmocka_unit_test(test_too_long_is_cut),
		cmocka_unit_test(test_no_subject),
		cmocka_unit_test(test_table_is_complete),
		cmocka_unit_test(test_statuses_that_shells_know),
		cmocka_unit_test(test_code_out_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
