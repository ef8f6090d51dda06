/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"

#define RI_CHECK(family, name) extern const struct ri_check ri_check_##family##_##name;
#include "check/checks.def"

static const struct ri_check *const checks[] = {
#define RI_CHECK(family, name) &ri_check_##family##_##name,
#include "check/checks.def"
};

const struct ri_check *ri_check_at(size_t index)
{
	return index < ri_check_count() ? checks[index] : NULL;
}

const char *ri_check_status_name(enum ri_check_status status)
{
	static const char *const names[] = {
		[RI_CHECK_PASS] = "pass", [RI_CHECK_NOTE] = "note", [RI_CHECK_WARN] = "warn",
		[RI_CHECK_FAIL] = "fail", [RI_CHECK_UNKNOWN] = "unknown", [RI_CHECK_SKIP] = "skip",
	};

	return status < RI_CHECK_STATUS_COUNT ? names[status] : "unknown";
}
