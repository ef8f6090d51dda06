/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of CUDA and of its drivers, and what an image asks of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/cuda.h"
#include "demand/require.h"
#include "image/version.h"

static void test_versions(void **state)
{
	(void)state;
	assert_true(ri_version_compare("580.95.05", "580.95.5") == 0);
	assert_true(ri_version_compare("580", "580.0.0") == 0);
	assert_true(ri_version_compare("525.60.13", "525.105.17") < 0);
	assert_true(ri_version_compare("13.0", "12.9.1") > 0);
	assert_true(ri_version_compare("12.8-rc1", "12.8") == 0);
	assert_true(ri_version_compare("", "0") == 0);
	assert_int_equal(ri_version_major("580.95.05"), 580);
	assert_int_equal(ri_version_major("x"), 0);
}

static void test_drivers(void **state)
{
	bool newer;

	(void)state;
	assert_string_equal(ri_cuda_of_driver("570.124.06", &newer), "12.8");
	assert_false(newer);
	assert_string_equal(ri_cuda_of_driver("536.67", &newer), "12.2");
	assert_string_equal(ri_cuda_of_driver("590.44.01", &newer), "13.1");
	assert_false(newer);
	assert_string_equal(ri_cuda_of_driver("610.10", &newer), "13.1");
	assert_true(newer);
	assert_null(ri_cuda_of_driver("396.26", &newer));

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
	assert_string_equal(note.cuda, "13.1");
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

static void test_require(void **state)
{
	static const struct {
		const char *text;
		enum ri_require expected;
	} cases[] = {
		{ "", RI_REQUIRE_MET },
		{ " , ", RI_REQUIRE_MET },
		{ "cuda>=12.2", RI_REQUIRE_MET },
		{ "cuda>=12.3", RI_REQUIRE_UNMET },
		{ "cuda>12.2", RI_REQUIRE_UNMET },
		{ "cuda=12.2", RI_REQUIRE_MET },
		{ "cuda!=12.2", RI_REQUIRE_UNMET },
		{ "driver<536", RI_REQUIRE_MET },
		{ "driver<=535.161.08", RI_REQUIRE_MET },
		{ "driver<535.161.08", RI_REQUIRE_UNMET },
		{ "cuda>=12.2,driver>=550", RI_REQUIRE_UNMET },
		{ "cuda>=12.8 driver>=535", RI_REQUIRE_MET },
		{ "cuda>=12.8 brand=tesla,driver>=535,driver<536", RI_REQUIRE_UNKNOWN },
		{ "cuda>=12.8 brand=tesla,driver>=550,driver<551", RI_REQUIRE_UNMET },
		{ "arch>=7.0", RI_REQUIRE_UNKNOWN },
		{ "cuda>=12.2 arch>=7.0", RI_REQUIRE_MET },
		{ "cuda", RI_REQUIRE_BROKEN },
		{ "cuda>=", RI_REQUIRE_BROKEN },
		{ ">=12", RI_REQUIRE_BROKEN },
		{ "cuda>=twelve", RI_REQUIRE_BROKEN },
		{ "cuda=>12", RI_REQUIRE_BROKEN },
		{ "cuda>=12.2 kernel>=5", RI_REQUIRE_BROKEN },
		{ "cuda>=1111111111111111111111111111111111111111111111111111111111111111111",
			RI_REQUIRE_BROKEN },
	};
	static const struct ri_require_facts facts = { .driver = "535.161.08", .cuda = "12.2" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (ri_require_judge(cases[i].text, &facts) != cases[i].expected)
			fail_msg("%s", cases[i].text);
}

/* A driver that is newer than the table may be for a newer CUDA. */
static void test_newer_driver(void **state)
{
	static const struct ri_require_facts facts = { .driver = "610.10", .cuda = "13.1",
		.newer = true };

	(void)state;
	assert_int_equal(ri_require_judge("cuda>=13.1", &facts), RI_REQUIRE_MET);
	assert_int_equal(ri_require_judge("cuda>=13.2", &facts), RI_REQUIRE_UNKNOWN);
	assert_int_equal(ri_require_judge("cuda<13.0", &facts), RI_REQUIRE_UNMET);
	assert_int_equal(ri_require_judge("cuda<14", &facts), RI_REQUIRE_UNKNOWN);
	assert_int_equal(ri_require_judge("cuda!=12.8", &facts), RI_REQUIRE_MET);
	assert_int_equal(ri_require_judge("cuda=13.1", &facts), RI_REQUIRE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_compat),
		cmocka_unit_test(test_toolkit),
		cmocka_unit_test(test_require),
		cmocka_unit_test(test_newer_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
