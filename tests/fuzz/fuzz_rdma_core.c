/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file of libibverbs.d; its first line is also the name of a provider. */
#include "fuzz.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *file = fuzz_string(data, size), *rest = text;
	struct ri_provider provider;
	const char *name, *last = text;
	char made[128];

	while (ri_driver_next(&rest, &name)) {
		CHECK(name >= last && name < text + size && name[0] != '\0');
		CHECK(name[strcspn(name, " \t\n")] == '\0');
		last = name;
	}
	CHECK(rest[0] == '\0');
	file[strcspn(file, "\n")] = '\0';
	if (ri_provider_read(file, &provider)) {
		snprintf(made, sizeof(made), "lib%s-rdmav", provider.name);
		CHECK(provider.name[0] != '\0' && strncmp(file, made, strlen(made)) == 0);
	}
	free(file);
	free(text);
	return 0;
}
