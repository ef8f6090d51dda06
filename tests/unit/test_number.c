/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text.h"

/* What neither an answer nor an offset should ever be in these tests. */
enum { UNTOUCHED = 987654321 };

static const struct ri_range any = { 0, UINT64_MAX };
static const struct ri_range port = { 1, 65535 };

typedef enum ri_number_fault reader(const char *text, struct ri_range range, uint64_t *out,
	size_t *fault_at);

static void good(reader *read, const char *text, struct ri_range range, uint64_t expected)
{
	uint64_t value = UNTOUCHED;
	size_t at = UNTOUCHED;

	assert_int_equal(read(text, range, &value, &at), RI_NUMBER_OK);
	assert_int_equal(value, expected);
	assert_int_equal(read(text, range, &value, NULL), RI_NUMBER_OK);
}

static void bad(reader *read, const char *text, struct ri_range range, enum ri_number_fault fault,
	size_t expected_at)
{
	uint64_t value = UNTOUCHED;
	size_t at = UNTOUCHED;

	assert_int_equal(read(text, range, &value, &at), fault);
	assert_int_equal(at, expected_at);
	assert_int_equal(value, UNTOUCHED);
	assert_int_equal(read(text, range, &value, NULL), fault);
}

static void test_plain(void **state)
{
	(void)state;
	good(ri_number_read, "0", any, 0);
	good(ri_number_read, "7", any, 7);
	good(ri_number_read, "007", any, 7);
	good(ri_number_read, "1234567890", any, 1234567890);
	good(ri_number_read, "18446744073709551615", any, UINT64_MAX);
	good(ri_number_read, "00000000000000000000000000000000012", any, 12);
}

static void test_blanks_around(void **state)
{
	(void)state;
	good(ri_number_read, " 8", any, 8);
	good(ri_number_read, "8 ", any, 8);
	good(ri_number_read, " \t\n\r\v\f8\f\v\r\n\t ", any, 8);
}

static void test_empty(void **state)
{
	(void)state;
	bad(ri_number_read, "", any, RI_NUMBER_EMPTY, 0);
	bad(ri_number_read, " ", any, RI_NUMBER_EMPTY, 0);
	bad(ri_number_read, "\t\n ", any, RI_NUMBER_EMPTY, 0);
	bad(ri_seconds_read, "", any, RI_NUMBER_EMPTY, 0);
	bad(ri_seconds_read, "  ", any, RI_NUMBER_EMPTY, 0);
}

static void test_syntax(void **state)
{
	(void)state;
	bad(ri_number_read, "-1", any, RI_NUMBER_SYNTAX, 0);
	bad(ri_number_read, "+1", any, RI_NUMBER_SYNTAX, 0);
	bad(ri_number_read, "  -1", any, RI_NUMBER_SYNTAX, 2);
	bad(ri_number_read, "0x10", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "10h", any, RI_NUMBER_SYNTAX, 2);
	bad(ri_number_read, "1 2", any, RI_NUMBER_SYNTAX, 2);
	bad(ri_number_read, "1.0", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "1e3", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "1_000", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "1,2", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "four", any, RI_NUMBER_SYNTAX, 0);
	bad(ri_number_read, "tcp://10.0.0.1:80", any, RI_NUMBER_SYNTAX, 0);
	bad(ri_number_read, "\xd9\xa1", any, RI_NUMBER_SYNTAX, 0);
	bad(ri_number_read, "1\xc2\xa0", any, RI_NUMBER_SYNTAX, 1);
	bad(ri_number_read, "99999999999999999999x", any, RI_NUMBER_SYNTAX, 20);
}

static void test_range(void **state)
{
	(void)state;
	good(ri_number_read, "1", port, 1);
	good(ri_number_read, "65535", port, 65535);
	bad(ri_number_read, "0", port, RI_NUMBER_RANGE, 0);
	bad(ri_number_read, "65536", port, RI_NUMBER_RANGE, 0);
	bad(ri_number_read, "  65536 ", port, RI_NUMBER_RANGE, 2);
	good(ri_number_read, "5", (struct ri_range){ 5, 5 }, 5);
	bad(ri_number_read, "5", (struct ri_range){ 6, 4 }, RI_NUMBER_RANGE, 0);
}

/* Digits too many are an error whatever the range: nothing wraps or saturates. */
static void test_digits_too_many(void **state)
{
	static const char *const texts[] = { "18446744073709551616", "18446744073709551620",
		"99999999999999999999", "184467440737095516150", "36893488147419103232",
		"100000000000000000000000000000000000000000000000000", };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		bad(ri_number_read, texts[i], any, RI_NUMBER_RANGE, 0);
		bad(ri_number_read, texts[i], port, RI_NUMBER_RANGE, 0);
		bad(ri_number_read, texts[i], (struct ri_range){ UINT64_MAX, UINT64_MAX },
			RI_NUMBER_RANGE, 0);
		bad(ri_seconds_read, texts[i], (struct ri_range){ 0, UINT64_MAX / 1000 },
			RI_NUMBER_RANGE, 0);
	}
	bad(ri_number_read, "18446744073709551615", (struct ri_range){ 0, UINT64_MAX - 1 },
		RI_NUMBER_RANGE, 0);
}

static void test_digits_alone(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_int_equal(ri_digits_read("", &value), 0);
	assert_int_equal(ri_digits_read("a1", &value), 0);
	assert_int_equal(ri_digits_read(" 1", &value), 0);
	assert_int_equal(ri_digits_read("-1", &value), 0);
	assert_int_equal(ri_digits_read("18446744073709551616", &value), 0);
	assert_int_equal(value, 77);
	assert_int_equal(ri_digits_read("007-9", &value), 3);
	assert_int_equal(value, 7);
	assert_int_equal(ri_digits_read("18446744073709551615", &value), 20);
	assert_true(value == UINT64_MAX);
}

static void test_hex(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_int_equal(ri_hex_read("", &value), 0);
	assert_int_equal(ri_hex_read("x1", &value), 0);
	assert_int_equal(ri_hex_read("-1", &value), 0);
	/* a byte that differs from '0' in one bit alone */
	assert_int_equal(ri_hex_read("\x10", &value), 0);
	assert_int_equal(ri_hex_read("10000000000000000", &value), 0);
	assert_int_equal(value, 77);
	assert_int_equal(ri_hex_read("800b\n", &value), 4);
	assert_int_equal(value, 0x800b);
	assert_int_equal(ri_hex_read("00000000a80425FBg", &value), 16);
	assert_true(value == 0xa80425fb);
	assert_int_equal(ri_hex_read("ffffffffffffffff", &value), 16);
	assert_true(value == UINT64_MAX);
}

static void test_seconds(void **state)
{
	const struct ri_range day = { 0, 86400 };

	(void)state;
	good(ri_seconds_read, "10", day, 10000);
	good(ri_seconds_read, "0.25", day, 250);
	good(ri_seconds_read, "0.5", day, 500);
	good(ri_seconds_read, "1.005", day, 1005);
	good(ri_seconds_read, "0.000", day, 0);
	good(ri_seconds_read, " 2.5\n", day, 2500);
	good(ri_seconds_read, "86400", day, 86400000);
	good(ri_seconds_read, "86399.999", day, 86399999);
	good(ri_seconds_read, "86400.000", day, 86400000);
}

static void test_seconds_refused(void **state)
{
	const struct ri_range day = { 1, 86400 };

	(void)state;
	bad(ri_seconds_read, "1.2345", day, RI_NUMBER_SYNTAX, 5);
	bad(ri_seconds_read, "1.0000", day, RI_NUMBER_SYNTAX, 5);
	bad(ri_seconds_read, "1.", day, RI_NUMBER_SYNTAX, 1);
	bad(ri_seconds_read, ".5", day, RI_NUMBER_SYNTAX, 0);
	bad(ri_seconds_read, "1.5.5", day, RI_NUMBER_SYNTAX, 3);
	bad(ri_seconds_read, "1. 5", day, RI_NUMBER_SYNTAX, 1);
	bad(ri_seconds_read, "1,5", day, RI_NUMBER_SYNTAX, 1);
	bad(ri_seconds_read, "-1", day, RI_NUMBER_SYNTAX, 0);
	bad(ri_seconds_read, "10s", day, RI_NUMBER_SYNTAX, 2);
	bad(ri_seconds_read, "1e3", day, RI_NUMBER_SYNTAX, 1);
	bad(ri_seconds_read, "86400.001", day, RI_NUMBER_RANGE, 0);
	bad(ri_seconds_read, "86401", day, RI_NUMBER_RANGE, 0);
	bad(ri_seconds_read, " 0.999", day, RI_NUMBER_RANGE, 1);
	/* a range whose milliseconds do not fit has no right answer */
	bad(ri_seconds_read, "1", any, RI_NUMBER_RANGE, 0);
	good(ri_seconds_read, "18446744073709551", (struct ri_range){ 0, UINT64_MAX / 1000 },
		18446744073709551000u);
}

static void test_bool(void **state)
{
	static const char *const yes[] = { "1", "yes", "YES", "true", "True", "on", "oN" };
	static const char *const no[] = { "0", "no", "No", "false", "FALSE", "off", "Off" };
	static const char *const neither[] = { "", "2", "01", " 1", "yes ", "y", "n", "enable",
		"tru", "truee" };
	bool out;

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		out = false;
		assert_true(ri_bool_read(yes[i], &out));
		assert_true(out);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		out = true;
		assert_true(ri_bool_read(no[i], &out));
		assert_false(out);
	}
	for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++) {
		out = true;
		assert_false(ri_bool_read(neither[i], &out));
		assert_true(out);
		out = false;
		assert_false(ri_bool_read(neither[i], &out));
		assert_false(out);
	}
}

static void test_service_link(void **state)
{
	(void)state;
	assert_true(ri_is_service_link("tcp://10.0.0.1:29500"));
	assert_true(ri_is_service_link("udp://10.0.0.1:53"));
	assert_true(ri_is_service_link("sctp://[fd00::1]:1"));
	assert_false(ri_is_service_link("tcp:/10.0.0.1"));
	assert_false(ri_is_service_link("tcp"));
	assert_false(ri_is_service_link(""));
	assert_false(ri_is_service_link("29500"));
	assert_false(ri_is_service_link("http://10.0.0.1"));
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(ri_version_compare("580.95.05", "580.95.5") == 0);
	assert_true(ri_version_compare("580", "580.0.0") == 0);
	assert_true(ri_version_compare("525.60.13", "525.105.17") < 0);
	assert_true(ri_version_compare("13.0", "12.9.1") > 0);
	assert_true(ri_version_compare("12.8-rc1", "12.8") == 0);
	assert_true(ri_version_compare("", "0") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_blanks_around),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_digits_too_many),
		cmocka_unit_test(test_digits_alone),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_seconds_refused),
		cmocka_unit_test(test_bool),
		cmocka_unit_test(test_service_link),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
