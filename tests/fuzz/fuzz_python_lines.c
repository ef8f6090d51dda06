/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a byte, '0' for 3.9 to '3' for 3.12 and all later ones, and a table of lines. */
#include "fuzz.h"
#include "python/python.h"

enum { ADDRESS = 0x10000, HEADER = 32, PAGE = 4096 };

struct bytes {
	unsigned char *bytes;
	size_t size;
};

static bool read_bytes(void *context, uint64_t address, void *out, size_t size)
{
	const struct bytes *bytes = context;

	if (address < ADDRESS || address - ADDRESS > bytes->size ||
		size > bytes->size - (address - ADDRESS))
		return false;
	memcpy(out, bytes->bytes + (address - ADDRESS), size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t length = size > 0 ? size - 1 : 0;
	/* a page is there as a whole, or not at all */
	size_t pages = (HEADER + length + PAGE - 1) / PAGE;
	struct bytes bytes = { calloc(pages, PAGE), pages * PAGE };
	struct ri_python python = { .memory = { read_bytes, &bytes },
		.minor = RI_PYTHON_OLDEST + (size > 0 ? (unsigned)data[0] % 4 : 0) };
	uint32_t line = 1;
	bool found = true;

	CHECK(bytes.bytes != NULL);
	memcpy(bytes.bytes + 16, &length, sizeof(length));
	if (length > 0)
		memcpy(bytes.bytes + HEADER, data + 1, length);
	CHECK(ri_python_layout_read(&python.layout, python.minor, NULL));
	for (int64_t at = -2; at < 1024 && found; at += 2) {
		unsigned long before = python.reads;

		found = ri_python_line(&python, ADDRESS, 7, at, &line);
		CHECK(line <= INT32_MAX && (found || line == 0));
		CHECK(at >= 0 || (found && line == 7));
		CHECK(python.reads - before <= (HEADER + length) / 256 + 32);
	}
	/* an end stays an end, and 3.9 has none: its last line goes on */
	CHECK(found || python.minor > 9);
	CHECK(found || !ri_python_line(&python, ADDRESS, 7, 1 << 30, &line));
	free(bytes.bytes);
	return 0;
}
