/* SPDX-License-Identifier: Apache-2.0 */
/* Anything as /proc/PID/stat. */
#include "base/proc.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_procstat found = { .pid = -7 };
	char *text = fuzz_string(data, size);

	if (ri_procstat_read(text, &found)) {
		CHECK(found.pid >= 0 && found.parent >= 0 && found.group >= 0 &&
			found.session >= 0);
		CHECK(found.state != '\0');
		CHECK(memchr(found.name, '\0', sizeof(found.name)) != NULL);
	} else {
		CHECK(found.pid == -7);
	}
	free(text);
	return 0;
}
