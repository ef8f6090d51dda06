/* SPDX-License-Identifier: Apache-2.0 */
/* Input: what an image asks of the driver. The better is known, the less is unknown. */
#include "fuzz.h"
#include "demand/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ri_require_facts nothing = { .newer = false };
	static const struct ri_require_facts all = { .driver = "535.161.08", .cuda = "12.2" };
	static const struct ri_require_facts newer = { .driver = "610.1", .cuda = "13.1",
		.newer = true };
	char *text = fuzz_string(data, size);
	enum ri_require blind = ri_require_judge(text, &nothing);
	enum ri_require seen = ri_require_judge(text, &all);

	CHECK(seen <= RI_REQUIRE_MET);
	CHECK((blind == RI_REQUIRE_BROKEN) == (seen == RI_REQUIRE_BROKEN));
	CHECK((blind == RI_REQUIRE_BROKEN) ==
		(ri_require_judge(text, &newer) == RI_REQUIRE_BROKEN));
	/* what holds, or cannot, without knowing anything does so with all */
	CHECK(blind == RI_REQUIRE_UNKNOWN || blind == seen);
	free(text);
	return 0;
}
