/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of CUDA and of its drivers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"

static void test_drivers(void **state)
{
	(void)state;
	assert_string_equal(ri_cuda_least_driver("12.8.1"), "525.60.13");
	assert_string_equal(ri_cuda_least_driver("13.1"), "580");
	assert_string_equal(ri_cuda_least_driver("11.8"), "450.80.02");
	assert_null(ri_cuda_least_driver("14.0"));
	assert_null(ri_cuda_least_driver("9.2"));
}

static void test_compat(void **state)
{
	struct ri_cuda_note note;

	(void)state;
	assert_true(ri_cuda_note_read("{\"Format\": 1, \"CUDA Version\": \"13.1\", \"Driver\": "
		"[535, 580, 590, \"x\", -1]}", &note));
	assert_int_equal(note.count, 3);
	assert_true(ri_cuda_compat_fits("590.44.01", &note, "535.161.08"));
	assert_true(ri_cuda_compat_fits("590.44.01", &note, "590.48.01"));
	assert_false(ri_cuda_compat_fits("590.44.01", &note, "565.57.01"));
	assert_false(ri_cuda_compat_fits("590.44.01", &note, "610.10"));

	/* without a list it is for drivers before its own, and no later ones */
	assert_true(ri_cuda_note_read("{}", &note));
	assert_true(ri_cuda_compat_fits("545.23.06", &note, "535.161.08"));
	assert_true(ri_cuda_compat_fits("545.23.06", &note, "545.29.06"));
	assert_false(ri_cuda_compat_fits("545.23.06", &note, "580.95.05"));

	assert_false(ri_cuda_note_read("[1]", &note));
	assert_false(ri_cuda_note_read("{\"Driver\": [535", &note));
	assert_int_equal(note.count, 0);
}

static void test_toolkit(void **state)
{
	char version[RI_CUDA_VERSION] = "old";

	(void)state;
	assert_true(ri_cuda_toolkit_read("{\"cuda\": {\"version\": \"12.8.1\"}}", version));
	assert_string_equal(version, "12.8.1");
	assert_false(ri_cuda_toolkit_read("{\"cuda\": {\"version\": \"12.8-rc\"}}", version));
	assert_false(ri_cuda_toolkit_read("{\"cuda\": 12.8}", version));
	assert_false(ri_cuda_toolkit_read("", version));
	assert_string_equal(version, "12.8.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_compat),
		cmocka_unit_test(test_toolkit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
