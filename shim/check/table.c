/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check/check.h"

#define RI_CHECK(name) extern const struct ri_check ri_check_##name;
#include "check/checks.def"
#undef RI_CHECK

static const struct ri_check *const checks[] = {
#define RI_CHECK(name) &ri_check_##name,
#include "check/checks.def"
#undef RI_CHECK
};

enum { COUNT = sizeof(checks) / sizeof(checks[0]) };

_Static_assert((int)COUNT <= (int)RI_MAX_CHECKS, "a bit of a demand for each");

const struct ri_check *ri_check_at(size_t index)
{
	return index < COUNT ? checks[index] : NULL;
}

size_t ri_check_count(void)
{
	return COUNT;
}

const char *const *ri_check_ids(void)
{
	static const char *ids[COUNT + 1];

	for (size_t i = 0; i < COUNT; i++)
		ids[i] = checks[i]->id;
	return ids;
}

int ri_check_find(const char *id)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(checks[i]->id, id) == 0)
			return (int)i;
	return -1;
}

const char *ri_check_status_name(enum ri_check_status status)
{
	static const char *const names[] = {
		[RI_CHECK_PASS] = "pass", [RI_CHECK_NOTE] = "note", [RI_CHECK_WARN] = "warn",
		[RI_CHECK_FAIL] = "fail", [RI_CHECK_UNKNOWN] = "unknown", [RI_CHECK_SKIP] = "skip",
	};

	return status < RI_CHECK_STATUS_COUNT ? names[status] : "unknown";
}
