/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file of MCA parameters. Each is read once, names are words. */
#include "fuzz.h"
#include "image/image.h"

static bool is_name(const char *name)
{
	return name[0] != '\0' && name[strspn(name, "-._0123456789"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] == '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_mca_text text = { .rest = bytes };
	struct ri_mca_value line;
	size_t last = 0, count = 0;

	while (ri_mca_next(&text, &line)) {
		CHECK(line.line >= last && ++count <= size);
		last = line.line;
		CHECK(is_name(line.name) && line.name >= bytes && line.name <= bytes + size);
		CHECK(line.value >= line.name && line.value + strlen(line.value) <= bytes + size);
		CHECK(strchr(line.value, '\n') == NULL);
		ri_mca_takes(line.value, "ucx");
	}
	CHECK(text.rest[0] == '\0');
	free(bytes);
	return 0;
}
