/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/python is made of, on memory made by hand: maps, symbols, lines, names, ids. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "python/python.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BASE = 0x10000 };

static unsigned char memory[65536];
static struct ri_python python;

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	(void)context;
	if (address < BASE || address - BASE > sizeof(memory) ||
		size > sizeof(memory) - (address - BASE))
		return false;
	memcpy(out, memory + (address - BASE), size);
	return true;
}

static int clean(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	python = (struct ri_python){ .memory = { read_memory, NULL } };
	return 0;
}

static void of_minor(unsigned minor)
{
	python.minor = minor;
	assert_true(ri_python_layout_read(&python.layout, minor, NULL));
}

static void put(uint64_t address, const void *bytes, size_t size)
{
	assert_in_range(address - BASE, 0, sizeof(memory) - size);
	memcpy(memory + (address - BASE), bytes, size);
}

static void put_word(uint64_t address, uint64_t word)
{
	put(address, &word, sizeof(word));
}

/* --- maps */

static const char text[] =
	"00400000-00401000 r--p 00000000 08:01 12 /opt/my job/trainer\n"
	"00401000-00500000 r-xp 00001000 08:01 12 /opt/my job/trainer\n"
	"01500000-01600000 rw-p 00000000 00:00 0                          [heap]\n"
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
	"7f1000000000-7f1000001000 r--p 00000000 08:01 13 /lib/libc.so.6\n"
	"7f2000000000-7f2000001000 r--p 00000000 08:01 14 /lib/libpython3.12.so.1.0 (deleted)\n"
	"7f2000001000-7f2000002000 r-xp 00001000 08:01 14 /lib/libpython3.12.so.1.0 (deleted)\n"
	"7f3000000000-7f3000001000 ---p 00000000 08:01 15 /lib/libpython3.so\n"
	"7f4000000000-7f4000001000 r--p 00000000 08:01 16 /usr/bin/python3.12\n"
	"7f5000000000-7f5000001000 r--p 00000000 08:01 16 /python/lib/other.so\n"
	"7f6000000000-7f6000001000 r--p 00000000 00:00 0 [python]\n"
	"7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                  [vdso]\n";

static void maps_name_the_program_and_pythons(void **state)
{
	struct ri_python_maps maps = { .count = 0 };
	char *copy = strdup(text), *rest = copy, *line;

	(void)state;
	while ((line = strsep(&rest, "\n")) != NULL)
		ri_python_maps_add(&maps, line);
	free(copy);
	assert_int_equal(maps.count, 3);
	assert_int_equal(maps.objects[0].base, 0x400000);
	assert_string_equal(maps.objects[0].name, "trainer");
	assert_int_equal(maps.objects[1].base, 0x7f2000000000);
	assert_string_equal(maps.objects[1].name, "libpython3.12.so.1.0 (deleted)");
	assert_int_equal(maps.objects[2].base, 0x7f4000000000);
	assert_string_equal(maps.objects[2].name, "python3.12");
}

static void maps_of_any_length_are_bounded(void **state)
{
	static char line[200000] = "1000-2000 r--p 0 0:0 0 ";
	char *end = line + strlen(line);
	struct ri_python_maps maps = { .count = 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		end = stpcpy(end, "/a long way to it");
	end = stpcpy(end, "/python");
	memset(end, '3', 1000);
	ri_python_maps_add(&maps, line);
	for (int i = 0; i < 100; i++)
		ri_python_maps_add(&maps, "1000-2000 r--p 0 0:0 0 /python3");
	assert_int_equal(maps.count, RI_PYTHON_OBJECTS);
	assert_int_equal(strlen(maps.objects[0].name), sizeof(maps.objects[0].name) - 1);
	assert_string_equal(maps.objects[1].name, "python3");
}

/* --- symbols */

enum { HEADERS = BASE, DYNAMIC = BASE + 0x1000, STRINGS = BASE + 0x2000, SYMBOLS = BASE + 0x3000,
	HASH = BASE + 0x4000 };

/* A file mapped at BASE that defines "one" at 0x111 and "two" at 0x222, and needs "three". */
static void put_file(uint64_t bias, int64_t hash_tag, bool relocated)
{
	const uint64_t less = relocated ? 0 : bias;
	const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
		ELFDATA2LSB }, .e_phoff = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 };
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_vaddr = BASE - bias, .p_memsz = sizeof(memory) },
		{ .p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC - bias, .p_memsz = 96 },
	};
	const Elf64_Dyn entries[] = {
		{ DT_STRTAB, { .d_ptr = STRINGS - less } },
		{ DT_SYMTAB, { .d_ptr = SYMBOLS - less } },
		{ hash_tag, { .d_ptr = HASH - less } },
		{ DT_NULL, { .d_ptr = 0 } },
	};
	const Elf64_Sym symbols[] = {
		{ .st_name = 0 },
		{ .st_name = 9, .st_shndx = SHN_UNDEF, .st_value = 0x333 },
		{ .st_name = 1, .st_shndx = 5, .st_value = 0x111 },
		{ .st_name = 5, .st_shndx = 5, .st_value = 0x222 },
	};

	put(HEADERS, &header, sizeof(header));
	put(HEADERS + 64, segments, sizeof(segments));
	put(DYNAMIC, entries, sizeof(entries));
	put(STRINGS, "\0one\0two\0three", 15);
	put(SYMBOLS, symbols, sizeof(symbols));
}

static void look_up(uint64_t bias)
{
	struct ri_python_symbols symbols;

	assert_true(ri_python_symbols_open(&python, BASE, &symbols));
	assert_int_equal(symbols.bias, bias);
	assert_int_equal(ri_python_symbol(&python, &symbols, "one"), bias + 0x111);
	assert_int_equal(ri_python_symbol(&python, &symbols, "two"), bias + 0x222);
	assert_int_equal(ri_python_symbol(&python, &symbols, "three"), 0);
	assert_int_equal(ri_python_symbol(&python, &symbols, "four"), 0);
}

/* One bucket that holds all: 3 -> 2 -> 1. */
static const uint32_t old_hash[] = { 1, 4, 3, 0, 0, 1, 2 };

static void symbols_are_found_by_the_hash_of_the_abi(void **state)
{
	(void)state;
	put(HASH, old_hash, sizeof(old_hash));
	put_file(BASE, DT_HASH, true);
	look_up(BASE);
	/* musl's loader leaves the addresses as they are in the file */
	put_file(BASE, DT_HASH, false);
	look_up(BASE);
	/* a program that lies where its file says */
	put_file(0, DT_HASH, true);
	look_up(0);
}

/* Each word as binutils computes it: h = h * 33 + c, from 5381. */
static uint32_t gnu(const char *name)
{
	uint32_t hash = 5381;

	while (*name != '\0')
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static void symbols_are_found_by_the_hash_of_gnu(void **state)
{
	const uint32_t hash[] = { 1, 2, 1, 0, 0, 0, 2, gnu("one") & ~1U, gnu("two") | 1 };

	(void)state;
	put(HASH, hash, sizeof(hash));
	put_file(BASE, DT_GNU_HASH, true);
	look_up(BASE);
}

static void broken_hashes_end(void **state)
{
	static const uint32_t circle[] = { 1, 4, 3, 0, 0, 1, 3 };
	static const uint32_t hashes[][4] = {
		{ 0, 0, 0, 0 }, { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 1, 0, 0, 0 }, { 1, 0, UINT32_MAX, 0 },
	};
	struct ri_python_symbols symbols;

	(void)state;
	put(HASH, circle, sizeof(circle));
	put_file(BASE, DT_HASH, true);
	assert_true(ri_python_symbols_open(&python, BASE, &symbols));
	assert_int_equal(ri_python_symbol(&python, &symbols, "four"), 0);
	for (int tag = 0; tag < 2; tag++) {
		put_file(BASE, tag == 0 ? DT_HASH : DT_GNU_HASH, true);
		for (size_t i = 0; i < COUNT(hashes); i++) {
			put(HASH, hashes[i], sizeof(hashes[i]));
			assert_true(ri_python_symbols_open(&python, BASE, &symbols));
			assert_int_equal(ri_python_symbol(&python, &symbols, "one"), 0);
		}
	}
	assert_true(python.reads < 50000);
}

static void a_file_without_symbols_is_none(void **state)
{
	struct ri_python_symbols symbols;

	(void)state;
	assert_false(ri_python_symbols_open(&python, BASE, &symbols));
	put_file(BASE, DT_HASH, true);
	memory[EI_CLASS] = ELFCLASS32;
	assert_false(ri_python_symbols_open(&python, BASE, &symbols));
	put_file(BASE, DT_HASH, true);
	memory[offsetof(Elf64_Ehdr, e_phnum)] = 200;
	assert_false(ri_python_symbols_open(&python, BASE, &symbols));
	put_file(BASE, DT_HASH, true);
	put_word(DYNAMIC, DT_NULL);
	assert_false(ri_python_symbols_open(&python, BASE, &symbols));
	assert_false(ri_python_symbols_open(&python, BASE + sizeof(memory), &symbols));
}

/* --- lines */

enum { TABLE = BASE + 0x100, NONE = -1 };

/* A table, its first line 10, and the line of each instruction; NONE: the table has ended. */
static void compare_lines(const char *table, size_t size, const int *lines, size_t count)
{
	uint32_t line;

	put_word(TABLE + 16, size);
	put(TABLE + 32, table, size);
	for (size_t i = 0; i < count; i++) {
		bool found = ri_python_line(&python, TABLE, 10, (int64_t)(2 * i), &line);

		assert_int_equal(found, lines[i] != NONE);
		assert_int_equal(line, lines[i] == NONE ? 0 : lines[i]);
	}
	assert_true(ri_python_line(&python, TABLE, 10, -2, &line));
	assert_int_equal(line, 10);
}

static void lines_of_3_9(void **state)
{
	static const int lines[] = { 10, 10, 12, 11, 11, 11, 11 };
	static const int far[] = { 137, 138 };

	(void)state;
	of_minor(9);
	compare_lines("\4\2\2\xff", 4, lines, COUNT(lines));
	compare_lines("\0\x7f\2\1", 4, far, COUNT(far));
}

static void lines_of_3_10(void **state)
{
	static const int lines[] = { 11, 0, 0, 9, NONE };

	(void)state;
	of_minor(10);
	compare_lines("\2\1\4\x80\2\xfe", 6, lines, COUNT(lines));
}

static void lines_of_3_11(void **state)
{
	/* +0; +2 with columns; none, of three units; -70 by a varint, so below 1; +132; +1 */
	static const char table[] = "\x80\1" "\xe0\0\1" "\xfa" "\xe8\x4d\2" "\xf0\x48\4\0\1\2"
		"\xd9\0\1";
	static const int lines[] = { 10, 12, 0, 0, 0, 0, 74, 75, 75, NONE };

	(void)state;
	of_minor(11);
	compare_lines(table, sizeof(table) - 1, lines, COUNT(lines));
}

static void lines_below_the_first_are_none(void **state)
{
	static const int lines[] = { 0, NONE };

	(void)state;
	of_minor(12);
	/* -2^30 lines, in as many bytes as a number may have */
	compare_lines("\xe8\x41\x40\x40\x40\x40\x02", 7, lines, COUNT(lines));
	/* a number that never ends */
	compare_lines("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 9, lines, COUNT(lines));
}

static void tables_that_are_none(void **state)
{
	uint32_t line = 5;

	(void)state;
	of_minor(12);
	assert_false(ri_python_line(&python, 0, 10, 0, &line));
	assert_int_equal(line, 0);
	/* longer than its memory, and than any */
	put_word(TABLE + 16, UINT64_MAX);
	assert_false(ri_python_line(&python, TABLE, 10, 1 << 27, &line));
	put_word(TABLE + 16, 0);
	assert_false(ri_python_line(&python, TABLE, 10, 0, &line));
	python.layout.bytes_data = 5000;
	assert_false(ri_python_line(&python, TABLE, 10, 0, &line));
	python.layout.bytes_data = 16;
	assert_false(ri_python_line(&python, TABLE, 10, 0, &line));
}

/* A table is read in pieces; its entries cross them and pages. */
static void lines_of_a_long_table(void **state)
{
	enum { LONG = BASE + 0xfc8, ENTRIES = 5000 };
	uint32_t line;

	(void)state;
	of_minor(13 - 1);
	put_word(LONG + 16, 3 * ENTRIES);
	for (int i = 0; i < ENTRIES; i++)
		put(LONG + 32 + 3 * (uint64_t)i, "\xd8\0\0", 3);
	for (int i = 0; i < ENTRIES; i += 7) {
		assert_true(ri_python_line(&python, LONG, 0, 2 * i, &line));
		assert_int_equal(line, i + 1);
	}
	assert_false(ri_python_line(&python, LONG, 0, 2 * ENTRIES, &line));
}

/* --- names */

enum { STRING = BASE + 0x200 };

/* A str of 3.12 of characters of so many bytes. */
static void put_string(const void *characters, size_t count, unsigned width, bool ascii)
{
	put_word(STRING + 16, count);
	put_word(STRING + 32, width << 2 | 1 << 5 | (ascii ? 1 << 6 : 0));
	put(STRING + (ascii ? 40 : 56), characters, count * width);
}

static void compare_name(bool end_matters, const char *expected)
{
	char name[RI_PYTHON_NAME];

	assert_true(ri_python_name(&python, STRING, end_matters, name));
	assert_string_equal(name, expected);
}

static void names_of_every_width(void **state)
{
	static const unsigned char latin[] = { 'a', 0xe9, 0, 0x7f };
	static const uint16_t two[] = { 0x65e5, 0xdcff, 0xdc80, 0xd800, 'b' };
	static const uint32_t four[] = { 0x1f600, 0x110000, 0xffffffff, 'c' };

	(void)state;
	of_minor(12);
	put_string("plain", 5, 1, true);
	compare_name(true, "plain");
	put_string(latin, COUNT(latin), 1, false);
	compare_name(true, "a\xc3\xa9?\x7f");
	put_string(two, COUNT(two), 2, false);
	compare_name(false, "\xe6\x97\xa5\xff\x80?" "b");
	put_string(four, COUNT(four), 4, false);
	compare_name(false, "\xf0\x9f\x98\x80??c");
	put_string("", 0, 1, true);
	compare_name(true, "");
}

static void long_names_are_cut_at_a_character(void **state)
{
	char whole[RI_PYTHON_NAME], expected[RI_PYTHON_NAME];
	uint16_t wide[400];

	(void)state;
	of_minor(12);
	memset(whole, 'x', sizeof(whole));
	put_string(whole, RI_PYTHON_NAME - 1, 1, true);
	whole[RI_PYTHON_NAME - 1] = '\0';
	compare_name(true, whole);
	whole[RI_PYTHON_NAME - 1] = 'x';
	put_string(whole, RI_PYTHON_NAME, 1, true);
	memset(expected, 'x', sizeof(expected));
	memcpy(expected, "...", 3);
	expected[RI_PYTHON_NAME - 1] = '\0';
	compare_name(true, expected);
	/* of a path what is left begins with a folder */
	whole[100] = whole[200] = '/';
	put_string(whole, RI_PYTHON_NAME, 1, true);
	memset(expected + 3, 'x', RI_PYTHON_NAME - 103);
	expected[3] = expected[103] = '/';
	expected[RI_PYTHON_NAME - 97] = '\0';
	compare_name(true, expected);
	expected[RI_PYTHON_NAME - 1] = '\0';
	/* 84 of three bytes are 252, and three dots */
	for (size_t i = 0; i < COUNT(wide); i++)
		wide[i] = i < 200 ? 0x65e5 : 0x672c;
	put_string(wide, COUNT(wide), 2, false);
	for (size_t i = 0; i < 84; i++)
		memcpy(expected + 3 + 3 * i, "\xe6\x9c\xac", 3);
	compare_name(true, expected);
	for (size_t i = 0; i < 84; i++)
		memcpy(expected + 3 * i, "\xe6\x97\xa5", 3);
	memcpy(expected + 252, "...", 3);
	compare_name(false, expected);
}

static void names_that_are_none(void **state)
{
	static const uint64_t states[] = { 0, 1 << 5, 1 << 2, 3 << 2 | 1 << 5, UINT64_MAX };
	char name[RI_PYTHON_NAME];

	(void)state;
	of_minor(12);
	for (size_t i = 0; i < COUNT(states); i++) {
		put_string("x", 1, 1, true);
		put_word(STRING + 32, states[i]);
		assert_false(ri_python_name(&python, STRING, true, name));
		assert_string_equal(name, "");
	}
	put_string("x", 1, 1, true);
	put_word(STRING + 16, UINT64_MAX);
	assert_false(ri_python_name(&python, STRING, true, name));
	/* its end lies outside of the memory */
	put_word(STRING + 16, sizeof(memory));
	assert_false(ri_python_name(&python, STRING, true, name));
	assert_false(ri_python_name(&python, 0, true, name));
	assert_false(ri_python_name(&python, UINT64_MAX, true, name));
}

/* --- the ids of threads before 3.11 */

enum { RUNTIME = BASE + 0x1000, INTERPRETER = BASE + 0x2000, THREAD = BASE + 0x3000,
	PTHREAD = BASE + 0x4000 };

static void ids_come_from_the_c_library(void **state)
{
	static const struct {
		size_t place;
		int32_t tid;
	} libraries[] = { { 720, 77 }, { 208, 77 }, { 48, 77 }, { 32, 77 }, { 720, 78 } };
	static const int32_t ids[] = { 76, 77 };
	const struct ri_python_tasks tasks = { ids, 2 };
	struct ri_python_threads threads;

	(void)state;
	for (size_t i = 0; i < COUNT(libraries); i++) {
		clean(NULL);
		of_minor(9);
		python.runtime = RUNTIME;
		put_word(RUNTIME + 32, INTERPRETER);
		put_word(INTERPRETER + 8, THREAD);
		put_word(THREAD + 176, PTHREAD);
		put(PTHREAD + libraries[i].place, &libraries[i].tid, 4);
		assert_int_equal(ri_python_threads(&python, &tasks, &threads), RI_PYTHON_OK);
		assert_int_equal(threads.count, 1);
		assert_int_equal(threads.list[0].pthread, PTHREAD);
		/* 78 is none of the process's */
		assert_int_equal(threads.list[0].tid, libraries[i].tid == 77 ? 77 : 0);
	}
}

/* More than are listed: the oldest stays. */
static void the_main_thread_is_always_listed(void **state)
{
	static struct ri_python_threads threads;

	(void)state;
	of_minor(11);
	python.runtime = RUNTIME;
	put_word(RUNTIME + 40, INTERPRETER);
	put_word(INTERPRETER + 16, THREAD);
	for (uint64_t i = 0; i < 300; i++) {
		put_word(THREAD + i * 0x20 + 8, i == 299 ? 0 : THREAD + (i + 1) * 0x20);
		put_word(THREAD + i * 0x20 + 160, 0);
	}
	put_word(THREAD + 299 * 0x20 + 160, 1);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
	assert_int_equal(threads.count, RI_PYTHON_THREADS);
	assert_int_equal(threads.all, 300);
	assert_int_equal(threads.list[254].state, THREAD + 254 * 0x20);
	assert_int_equal(threads.list[255].state, THREAD + 299 * 0x20);
	assert_int_equal(threads.list[255].tid, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(maps_name_the_program_and_pythons, clean),
		cmocka_unit_test_setup(maps_of_any_length_are_bounded, clean),
		cmocka_unit_test_setup(symbols_are_found_by_the_hash_of_the_abi, clean),
		cmocka_unit_test_setup(symbols_are_found_by_the_hash_of_gnu, clean),
		cmocka_unit_test_setup(broken_hashes_end, clean),
		cmocka_unit_test_setup(a_file_without_symbols_is_none, clean),
		cmocka_unit_test_setup(lines_of_3_9, clean),
		cmocka_unit_test_setup(lines_of_3_10, clean),
		cmocka_unit_test_setup(lines_of_3_11, clean),
		cmocka_unit_test_setup(lines_below_the_first_are_none, clean),
		cmocka_unit_test_setup(tables_that_are_none, clean),
		cmocka_unit_test_setup(lines_of_a_long_table, clean),
		cmocka_unit_test_setup(names_of_every_width, clean),
		cmocka_unit_test_setup(long_names_are_cut_at_a_character, clean),
		cmocka_unit_test_setup(names_that_are_none, clean),
		cmocka_unit_test_setup(ids_come_from_the_c_library, clean),
		cmocka_unit_test_setup(the_main_thread_is_always_listed, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
