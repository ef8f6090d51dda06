/* SPDX-License-Identifier: Apache-2.0 */
/* Options about checks. */
#include "demand/azure_size.h"
#include "options/table.h"
#include "options/value.h"

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

int ri_read_check_level(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_level(&options->checks, given, err);
}

int ri_read_azure_size(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *nearest;

	options->checks.azure_size = given;
	/* in an environment that was made for all sizes it is a warning, later on */
	if (given.twin || ri_azure_size_find(given.value) != NULL)
		return 0;
	ri_option_bad_value(given, "an Azure VM size that rankinit knows", err);
	nearest = ri_azure_size_nearest(given.value);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean Standard_%s?", nearest);
	return ri_fail_hint(err, "docs/checks.md lists them; for another size say what it has, as "
		"--expect=gpu=8,ib=8@400");
}
