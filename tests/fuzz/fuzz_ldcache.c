/* SPDX-License-Identifier: Apache-2.0 */
/* Input: /etc/ld.so.cache. What is found by a name of it lies within it. */
#include "fuzz.h"
#include "image/image.h"

static void check_string(const char *string, const char *bytes, size_t size)
{
	CHECK(string >= bytes && string < bytes + size);
	CHECK(memchr(string, '\0', (size_t)(bytes + size - string)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size == 0 ? 1 : size);
	struct ri_ldcache cache = { .bytes = NULL };
	const char *path;

	CHECK(bytes != NULL);
	memcpy(bytes, data, size);
	if (!ri_ldcache_read(&cache, bytes, size))
		CHECK(cache.bytes == NULL);
	/* the names of the first entries, where they are strings of the table */
	for (size_t i = 0; i < cache.count && i < 10; i++) {
		uint32_t name;
		size_t at;

		memcpy(&name, bytes + cache.start + 48 + i * 24 + 4, sizeof(name));
		at = cache.start + name;
		if (at >= size || memchr(bytes + at, '\0', size - at) == NULL)
			continue;
		path = ri_ldcache_find(&cache, bytes + at);
		if (path != NULL)
			check_string(path, bytes, size);
	}
	free(bytes);
	return 0;
}
