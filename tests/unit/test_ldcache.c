/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"

#if defined(__aarch64__)
enum { OURS = 0x0a03, OTHER = 0x0303 };
#else
enum { OURS = 0x0303, OTHER = 0x0a03 };
#endif

struct line {
	const char *name, *path;
	uint32_t flags;
	uint64_t hardware;
};

static const struct line lines[] = {
	{ "libmpi.so.40", "/opt/v3/libmpi.so.40", OURS, 1ull << 62 },
	{ "libmpi.so.40", "/opt/arm/libmpi.so.40", OTHER, 0 },
	{ "libmpi.so.40", "/usr/lib/libmpi.so.40", OURS, 0 },
	{ "libmpi.so.40", "/late/libmpi.so.40", OURS, 0 },
	{ "libibverbs.so.1", "/usr/lib/libibverbs.so.1", OURS, 0 },
	{ "libfast.so.1", "/usr/lib/glibc-hwcaps/x86-64-v4/libfast.so.1", OURS, 1ull << 62 | 1 },
	{ "libfast.so.1", "/usr/lib/glibc-hwcaps/x86-64-v3/libfast.so.1", OURS, 1ull << 62 },
};
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static char bytes[8192];

static void put(size_t *at, const void *data, size_t count)
{
	assert_true(*at + count <= sizeof(bytes));
	memcpy(bytes + *at, data, count);
	*at += count;
}

static void put_word(size_t *at, uint32_t word)
{
	put(at, &word, sizeof(word));
}

/* The strings of all lines behind each other; offsets count from base. */
static size_t put_strings(size_t at, size_t base, uint32_t names[], uint32_t paths[])
{
	for (size_t i = 0; i < LINES; i++) {
		names[i] = (uint32_t)(at - base);
		put(&at, lines[i].name, strlen(lines[i].name) + 1);
		paths[i] = (uint32_t)(at - base);
		put(&at, lines[i].path, strlen(lines[i].path) + 1);
	}
	return at;
}

static size_t make_new(size_t start)
{
	uint32_t names[LINES], paths[LINES];
	size_t at = start, entries = start + 48;
	size_t end = put_strings(entries + LINES * 24, start, names, paths);

	put(&at, "glibc-ld.so.cache1.1", 20);
	put_word(&at, LINES);
	put_word(&at, (uint32_t)(end - entries - LINES * 24));
	put_word(&at, 2);
	memset(bytes + at, 0, 16);
	at = entries;
	for (size_t i = 0; i < LINES; i++) {
		put_word(&at, lines[i].flags);
		put_word(&at, names[i]);
		put_word(&at, paths[i]);
		put_word(&at, 0);
		put(&at, &lines[i].hardware, 8);
	}
	return end;
}

static const char *path_of(const struct ri_ldcache *cache, const char *name)
{
	const char *path = ri_ldcache_find(cache, name);

	return path == NULL ? "none" : path;
}

static void check(const struct ri_ldcache *cache, size_t count, const char *mpi)
{
	assert_int_equal(cache->count, count);
	assert_string_equal(path_of(cache, "libmpi.so.40"), mpi);
	assert_string_equal(path_of(cache, "libibverbs.so.1"), "/usr/lib/libibverbs.so.1");
	assert_string_equal(path_of(cache, "libfast.so.1"),
		"/usr/lib/glibc-hwcaps/x86-64-v4/libfast.so.1");
	assert_string_equal(path_of(cache, "libmpi.so"), "none");
}

static void test_new(void **state)
{
	struct ri_ldcache cache;

	(void)state;
	assert_true(ri_ldcache_read(&cache, bytes, make_new(0)));
	check(&cache, LINES, "/usr/lib/libmpi.so.40");
	/* an ldconfig that did not say the byte order, and one that says the other */
	bytes[28] = 0;
	assert_true(ri_ldcache_read(&cache, bytes, make_new(0)));
	bytes[28] = 3;
	assert_false(ri_ldcache_read(&cache, bytes, sizeof(bytes)));
}

/* Of both tables the second counts; the first alone is none. */
static void test_both(void **state)
{
	struct ri_ldcache cache;
	size_t at = 12, start = (16 + 7) / 8 * 8, end = make_new(start);

	(void)state;
	memcpy(bytes, "ld.so-1.7.0", 12);
	put_word(&at, 0);
	assert_true(ri_ldcache_read(&cache, bytes, end));
	check(&cache, LINES, "/usr/lib/libmpi.so.40");
	assert_false(ri_ldcache_read(&cache, bytes, start));
	at = 12;
	put_word(&at, 1000000);
	assert_false(ri_ldcache_read(&cache, bytes, end));
}

/* None, or the whole path of a line. */
static bool is_known(const char *path)
{
	bool known = path == NULL;

	for (size_t i = 0; !known && i < LINES; i++)
		known = strcmp(path, lines[i].path) == 0;
	return known;
}

/* Cut at every byte: refused, or without the entries that are gone. */
static void cut_all(size_t size, size_t least)
{
	struct ri_ldcache cache, untouched = { .bytes = "untouched" };

	for (size_t length = 0; length < size; length++) {
		char *copy = malloc(length + 1);

		assert_non_null(copy);
		memcpy(copy, bytes, length);
		cache = untouched;
		if (ri_ldcache_read(&cache, copy, length)) {
			assert_true(length >= least);
			for (size_t i = 0; i < LINES; i++)
				assert_true(is_known(ri_ldcache_find(&cache, lines[i].name)));
		} else {
			assert_string_equal(cache.bytes, "untouched");
			assert_true(length < least);
		}
		free(copy);
	}
}

static void test_cut(void **state)
{
	(void)state;
	cut_all(make_new(0), 48 + LINES * 24);
}

static void test_empty(void **state)
{
	const struct ri_ldcache none = { .bytes = NULL };
	struct ri_ldcache cache;

	(void)state;
	assert_string_equal(path_of(&none, "libmpi.so.40"), "none");
	memset(bytes, 0, sizeof(bytes));
	assert_false(ri_ldcache_read(&cache, bytes, sizeof(bytes)));
	assert_false(ri_ldcache_read(&cache, "", 0));
}

/* A path that goes on and on is none, whoever points to it. */
static void test_endless(void **state)
{
	static char large[65536] = "glibc-ld.so.cache1.1\1\0\0\0\0\0\0\0\2";
	const size_t path = 48 + 24 + sizeof("libx.so");
	uint32_t entry[3] = { OURS, 48 + 24, (uint32_t)path };
	struct ri_ldcache cache;

	(void)state;
	memcpy(large + 48, entry, sizeof(entry));
	memcpy(large + 48 + 24, "libx.so", sizeof("libx.so"));
	memset(large + path, 'x', 4095);
	assert_true(ri_ldcache_read(&cache, large, sizeof(large)));
	assert_int_equal(strlen(path_of(&cache, "libx.so")), 4095);
	large[path + 4095] = 'x';
	assert_string_equal(path_of(&cache, "libx.so"), "none");
}

/* What ldconfig says of this machine's own file, which lists the newest C library. */
static void test_this_machine(void **state)
{
	static char own[1 << 20], text[1 << 20];
	FILE *file = fopen("/etc/ld.so.cache", "rb");
	size_t size = file == NULL ? 0 : fread(own, 1, sizeof(own), file);
	struct ri_ldcache cache;
	char line[1024];

	(void)state;
	if (file != NULL)
		fclose(file);
	if (size == 0 || size == sizeof(own))
		skip();
	assert_true(ri_ldcache_read(&cache, own, size));
	file = popen("PATH=$PATH:/sbin:/usr/sbin ldconfig -p", "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	pclose(file);
	if (text[0] == '\0')
		skip();
	assert_int_equal(cache.count, strtoul(text, NULL, 10));
	snprintf(line, sizeof(line), " => %s\n", path_of(&cache, "libc.so.6"));
	assert_non_null(strstr(text, line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
