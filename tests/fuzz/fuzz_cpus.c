/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a list of CPUs. */
#include "fuzz.h"
#include "node/node.h"

/* Walking over the set finds as many as counting does, in order. */
static void check_set(const struct ri_cpus *cpus)
{
	size_t count = 0;

	for (int cpu = -1, next;; cpu = next, count++) {
		next = ri_cpus_next(cpus, (unsigned)(cpu + 1));
		if (next < 0)
			break;
		CHECK(next > cpu && next < RI_MAX_CPUS && ri_cpus_has(cpus, (unsigned)next));
	}
	CHECK(count == ri_cpus_size(cpus));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), bytes[16384];
	struct ri_cpus cpus, again;
	struct ri_text list;

	memset(&cpus, 0x77, sizeof(cpus));
	again = cpus;
	if (ri_cpus_read(text, &cpus)) {
		check_set(&cpus);
		list = ri_text_of(bytes, sizeof(bytes));
		ri_cpus_add(&list, &cpus);
		CHECK(!list.cut && ri_cpus_read(bytes, &again) && ri_cpus_equal(&cpus, &again));
		CHECK(ri_cpus_and(&again, &cpus) == ri_cpus_size(&cpus));
	} else {
		CHECK(ri_cpus_equal(&cpus, &again));
	}
	free(text);
	return 0;
}
