/* SPDX-License-Identifier: Apache-2.0 */
/* Input: /etc/ld.so.cache. What comes out lies within it, and is found again. */
#include "fuzz.h"
#include "image/library.h"

static void check_string(const char *string, const char *bytes, size_t size)
{
	CHECK(string >= bytes && string < bytes + size);
	CHECK(memchr(string, '\0', (size_t)(bytes + size - string)) != NULL);
}

static void check_found(const struct ri_ldcache *cache, const char *name)
{
	struct ri_ldcache_entry found;

	CHECK(ri_ldcache_find(cache, name, &found));
	CHECK(strcmp(found.name, name) == 0 && ri_ldcache_is_ours(&found) && found.hardware == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size == 0 ? 1 : size);
	struct ri_ldcache cache = { .bytes = NULL };
	struct ri_ldcache_entry entry;
	size_t at = 0, count = 0;

	CHECK(bytes != NULL);
	memcpy(bytes, data, size);
	if (!ri_ldcache_read(&cache, bytes, size))
		CHECK(cache.bytes == NULL);
	while (count < 1000 && ri_ldcache_next(&cache, &at, &entry)) {
		check_string(entry.name, bytes, size);
		check_string(entry.path, bytes, size);
		if (count++ < 10 && ri_ldcache_is_ours(&entry) && entry.hardware == 0)
			check_found(&cache, entry.name);
	}
	CHECK(cache.bytes == NULL || at <= cache.count);
	free(bytes);
	return 0;
}
