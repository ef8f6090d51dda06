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
