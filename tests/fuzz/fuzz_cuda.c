/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the note of cuda-compat, the toolkit's version.json, or a version. */
#include "base/text.h"
#include "fuzz.h"
#include "image/image.h"

static void check_version(const char *version)
{
	CHECK(strlen(version) < RI_CUDA_VERSION);
	CHECK(strspn(version, "0123456789.") == strlen(version));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), version[RI_CUDA_VERSION] = "";
	struct ri_cuda_note note;

	if (ri_cuda_note_read(text, &note)) {
		CHECK(note.count <= RI_CUDA_DRIVERS);
		for (size_t i = 0; i < note.count; i++)
			CHECK(note.drivers[i] > 0);
	}
	if (ri_cuda_toolkit_read(text, version))
		CHECK(version[0] != '\0');
	check_version(version);
	CHECK(ri_version_compare(text, text) == 0);
	CHECK(ri_version_compare(text, "535.161.08") == -ri_version_compare("535.161.08", text));
	ri_cuda_least_driver(text);
	free(text);
	return 0;
}
