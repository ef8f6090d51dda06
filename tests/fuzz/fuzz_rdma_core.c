/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a line that is the name of a provider's file. */
#include "fuzz.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *file = fuzz_string(data, size);
	struct ri_provider provider;
	char made[128];

	file[strcspn(file, "\n")] = '\0';
	if (ri_provider_read(file, &provider)) {
		snprintf(made, sizeof(made), "lib%s-rdmav", provider.name);
		CHECK(provider.name[0] != '\0' && strncmp(file, made, strlen(made)) == 0);
	}
	free(file);
	return 0;
}
