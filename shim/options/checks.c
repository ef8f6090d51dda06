/* SPDX-License-Identifier: Apache-2.0 */
/* Options about checks. */
#include "options/table.h"

int ri_read_require(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_REQUIRE, given, err);
}

int ri_read_expect(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_EXPECT, given, err);
}

int ri_read_checks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_pick(&options->checks, given, err);
}
