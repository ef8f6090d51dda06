/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and seconds against a second reading by strtoull(3). */
#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "fuzz.h"

enum { UNTOUCHED = 987654321 };

static const char blanks[] = " \t\n\r\v\f";
static const char digits[] = "0123456789";

static const struct ri_range ranges[] = {
	{ 0, UINT64_MAX }, { 1, 65535 }, { 0, 0 }, { 5, 4 }, { UINT64_MAX, UINT64_MAX },
	{ 0, 86400 }, { 1, UINT64_MAX / 1000 },
};

static enum ri_number_fault expected_number(const char *text, struct ri_range range, uint64_t *out)
{
	const char *start = text + strspn(text, blanks);
	size_t length = strspn(start, digits);
	char *end;

	if (*start == '\0')
		return RI_NUMBER_EMPTY;
	if (length == 0 || start[length + strspn(start + length, blanks)] != '\0')
		return RI_NUMBER_SYNTAX;
	errno = 0;
	*out = strtoull(start, &end, 10);
	CHECK(end == start + length);
	return errno == ERANGE || *out < range.min || *out > range.max ? RI_NUMBER_RANGE
								       : RI_NUMBER_OK;
}

static void check_number(const char *text, struct ri_range range)
{
	uint64_t value = UNTOUCHED, expected = 0, again = 0;
	size_t at = UNTOUCHED;
	enum ri_number_fault fault = ri_number_read(text, range, &value, &at);
	char shown[32];

	CHECK(fault == expected_number(text, range, &expected));
	if (fault != RI_NUMBER_OK) {
		CHECK(value == UNTOUCHED);
		CHECK(at <= strlen(text));
		CHECK(fault == RI_NUMBER_EMPTY || text[at] != '\0');
		return;
	}
	CHECK(value == expected);
	snprintf(shown, sizeof(shown), "\t%" PRIu64 " ", value);
	CHECK(ri_number_read(shown, range, &again, NULL) == RI_NUMBER_OK && again == value);
	CHECK(!ri_is_service_link(text));
}

static void check_seconds(const char *text, struct ri_range range)
{
	uint64_t ms = UNTOUCHED, again = 0, whole = 0;
	size_t at = UNTOUCHED;
	enum ri_number_fault fault = ri_seconds_read(text, range, &ms, &at);
	char shown[40];

	if (fault != RI_NUMBER_OK) {
		CHECK(ms == UNTOUCHED);
		CHECK(at <= strlen(text));
		return;
	}
	CHECK(range.max <= UINT64_MAX / 1000);
	CHECK(ms >= range.min * 1000 && ms <= range.max * 1000);
	CHECK(strspn(text, " \t\n\r\v\f.0123456789") == strlen(text));
	if (ri_number_read(text, range, &whole, NULL) == RI_NUMBER_OK)
		CHECK(ms == whole * 1000);
	snprintf(shown, sizeof(shown), "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
	CHECK(ri_seconds_read(shown, range, &again, NULL) == RI_NUMBER_OK && again == ms);
}

static void check_hex(const char *text)
{
	uint64_t value = UNTOUCHED, expected;
	size_t length = ri_hex_read(text, &value);
	char *end;

	CHECK(strspn(text, "0123456789abcdefABCDEF") >= length);
	if (length == 0) {
		CHECK(value == UNTOUCHED);
		return;
	}
	errno = 0;
	expected = strtoull(text, &end, 16);
	/* which takes a "0x" before them */
	CHECK(end > text + length || (errno == 0 && value == expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	bool truth;

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		check_number(text, ranges[i]);
		check_seconds(text, ranges[i]);
	}
	check_hex(text);
	if (ri_bool_read(text, &truth))
		CHECK(strlen(text) <= 5);
	free(text);
	return 0;
}
