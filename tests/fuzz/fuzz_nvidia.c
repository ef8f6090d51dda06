/* SPDX-License-Identifier: Apache-2.0 */
/* Input: what NVIDIA's driver says of its version. */
#include "fuzz.h"
#include "node/devices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct ri_nvidia nvidia = { .version = "" };

	if (ri_nvidia_version(text, &nvidia)) {
		size_t length = strlen(nvidia.version);

		CHECK(length > 2 && length < sizeof(nvidia.version));
		CHECK(strspn(nvidia.version, "0123456789.") == length);
		CHECK(strstr(text, nvidia.version) != NULL);
	} else {
		CHECK(nvidia.version[0] == '\0' && !nvidia.open);
	}
	free(text);
	return 0;
}
