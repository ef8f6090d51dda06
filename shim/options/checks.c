/* SPDX-License-Identifier: Apache-2.0 */
/* The options about checks. */
#include "demand/azure_size.h"
#include "options/value.h"

#define READ_CHECKS(symbol, TWIN, option, call) \
	int ri_read_##symbol( \
		struct ri_options *options, struct ri_given given, struct ri_error *err) \
	{ \
		const struct ri_given named = ri_value_stated(given, option, "RANKINIT_" TWIN); \
		struct ri_check_wishes *wishes = &options->checks; \
		return call; \
	}

READ_CHECKS(require, "REQUIRE", "--require",
	ri_check_read_demands(wishes, RI_ASKER_REQUIRE, named, err))
READ_CHECKS(expect, "EXPECT", "--expect",
	ri_check_read_demands(wishes, RI_ASKER_EXPECT, named, err))
READ_CHECKS(checks, "CHECKS", "--checks", ri_check_read_pick(wishes, named, err))
READ_CHECKS(check_level, "CHECK_LEVEL", "--check-level",
	ri_check_read_level(wishes, named, err))

int ri_read_deep(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->checks.deep, given, err);
}

int ri_read_azure_size(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_given named = ri_value_stated(given, "--azure-size", "RANKINIT_AZURE_SIZE");
	const char *nearest;

	options->checks.azure_size = named;
	/* in an environment that was made for all sizes it is a warning, later on */
	if (named.twin || ri_azure_size_find(named.value) != NULL)
		return 0;
	ri_option_bad_value(given, "a VM size of Azure that is in the table of rankinit", err);
	nearest = ri_azure_size_nearest(named.value);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean Standard_%s?", nearest);
	return ri_fail_hint(err, "docs/checks.md has the table; of another size say what it must "
		"have, as --expect=gpu=8,ib=8@400");
}
