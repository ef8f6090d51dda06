/* SPDX-License-Identifier: Apache-2.0 */
#include "image/ldcache.h"

#include <limits.h>
#include <string.h>

/*
 * The first kind: a name, a padding byte, a count, entries {flags, name,
 * path}; names count from the end of the entries. The second: a name with a
 * version, a count, the bytes of strings, the byte order, entries {flags,
 * name, path, a version of the kernel, hardware}; names count from its start,
 * which is a multiple of eight.
 */
static const char old_magic[] = "ld.so-1.7.0";
static const char new_magic[] = "glibc-ld.so.cache1.1";

enum { OLD_HEADER = 16, OLD_ENTRY = 12, NEW_HEADER = 48, NEW_ENTRY = 24 };
/* Of the byte in the second kind's header; 0 is an older ldconfig, which did not say. */
enum { AT_ORDER = 28, ORDER = 3, LITTLE = 2 };
/* FLAG_ELF_LIBC6 and the machine (dl-cache.h) */
#if defined(__aarch64__)
enum { FLAGS = 0x0a03 };
#else
enum { FLAGS = 0x0303 };
#endif

static uint32_t word_at(const struct ri_ldcache *cache, size_t offset)
{
	uint32_t word;

	memcpy(&word, cache->bytes + offset, sizeof(word));
	return word;
}

static bool begins(const struct ri_ldcache *cache, size_t offset, const char *magic)
{
	size_t length = strlen(magic);

	return offset <= cache->size && cache->size - offset >= length &&
		memcmp(cache->bytes + offset, magic, length) == 0;
}

static bool fits(const struct ri_ldcache *cache)
{
	return cache->entries <= cache->size &&
		cache->count <= (cache->size - cache->entries) / cache->entry_size;
}

static bool read_new(struct ri_ldcache *cache, size_t start)
{
	unsigned order;

	if (!begins(cache, start, new_magic) || cache->size - start < NEW_HEADER)
		return false;
	order = (unsigned char)cache->bytes[start + AT_ORDER] & ORDER;
	if (order != 0 && order != LITTLE)
		return false;
	cache->entry_size = NEW_ENTRY;
	cache->count = word_at(cache, start + strlen(new_magic));
	cache->entries = start + NEW_HEADER;
	cache->names = start;
	return fits(cache);
}

static bool read_old(struct ri_ldcache *cache)
{
	if (!begins(cache, 0, old_magic) || cache->size < OLD_HEADER)
		return false;
	cache->entry_size = OLD_ENTRY;
	cache->count = word_at(cache, OLD_HEADER - sizeof(uint32_t));
	cache->entries = OLD_HEADER;
	cache->names = OLD_HEADER + cache->count * OLD_ENTRY;
	return fits(cache);
}

bool ri_ldcache_read(struct ri_ldcache *out, const char *bytes, size_t size)
{
	struct ri_ldcache cache = { .bytes = bytes, .size = size };
	bool found;

	if (begins(&cache, 0, new_magic)) {
		found = read_new(&cache, 0);
	} else {
		found = read_old(&cache);
		if (found && begins(&cache, (cache.names + 7) / 8 * 8, new_magic))
			found = read_new(&cache, (cache.names + 7) / 8 * 8);
	}
	if (found)
		*out = cache;
	return found;
}

/*
 * A string that ends within the table, and soon: thousands of entries may
 * point to one that has no end.
 */
static const char *string_at(const struct ri_ldcache *cache, uint32_t offset)
{
	size_t at = cache->names + offset, room;

	if (at >= cache->size)
		return NULL;
	room = cache->size - at < PATH_MAX ? cache->size - at : PATH_MAX;
	return memchr(cache->bytes + at, '\0', room) == NULL ? NULL : cache->bytes + at;
}

/* False where a name lies outside of the table. */
static bool read_entry(const struct ri_ldcache *cache, size_t index, struct ri_ldcache_entry *out)
{
	size_t entry = cache->entries + index * cache->entry_size;

	out->name = string_at(cache, word_at(cache, entry + 4));
	out->path = string_at(cache, word_at(cache, entry + 8));
	out->flags = word_at(cache, entry);
	out->hardware = 0;
	if (cache->entry_size == NEW_ENTRY)
		memcpy(&out->hardware, cache->bytes + entry + 16, sizeof(out->hardware));
	return out->name != NULL && out->path != NULL;
}

bool ri_ldcache_next(const struct ri_ldcache *cache, size_t *at, struct ri_ldcache_entry *out)
{
	struct ri_ldcache_entry entry;

	while (cache->bytes != NULL && *at < cache->count) {
		if (read_entry(cache, (*at)++, &entry)) {
			*out = entry;
			return true;
		}
	}
	return false;
}

bool ri_ldcache_is_ours(const struct ri_ldcache_entry *entry)
{
	return entry->flags == FLAGS;
}

/* Asked of every entry of the table: nothing is read that need not be. */
static bool is_named(const struct ri_ldcache *cache, size_t index, const char *name, size_t size)
{
	size_t at = cache->names + word_at(cache, cache->entries + index * cache->entry_size + 4);

	return at <= cache->size && size <= cache->size - at &&
		memcmp(cache->bytes + at, name, size) == 0;
}

bool ri_ldcache_find(const struct ri_ldcache *cache, const char *name,
	struct ri_ldcache_entry *out)
{
	const size_t size = strlen(name) + 1;
	struct ri_ldcache_entry entry;
	bool found = false;

	for (size_t i = 0; i < cache->count; i++) {
		if (!is_named(cache, i, name, size) || !read_entry(cache, i, &entry) ||
			!ri_ldcache_is_ours(&entry) || (found && entry.hardware != 0))
			continue;
		*out = entry;
		found = true;
		if (entry.hardware == 0)
			break;
	}
	return found;
}
