/* SPDX-License-Identifier: Apache-2.0 */
/* Which library and which program an image's own loader and shell would take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "image/image.h"
#include "tree.h"

static struct tree tree;
static struct ri_arena arena;
static struct ri_host host;
static struct ri_env env;
static struct ri_image image = { .host = &host, .env = &env, .arena = &arena };
static struct ri_loader loader;
static struct ri_library found;

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	host = (struct ri_host){ .root = tree.fd };
	for (const char *const *folder = (const char *const[]){ "etc", "lib", "usr", "usr/lib",
		     "usr/local", "usr/local/lib", "opt", "opt/mpi", "opt/arm", "opt/bin",
		     "usr/bin", NULL }; *folder != NULL; folder++)
		tree_folder(&tree, *folder);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	tree_remove(&tree);
	return 0;
}

/* What is found in an environment of one variable. */
static const char *find(char *variable, const char *name)
{
	static char *strings[2];
	struct ri_error err = RI_ERROR_INIT;

	ri_arena_release(&arena);
	strings[0] = variable;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	ri_loader_init(&loader, &image);
	return ri_loader_find(&loader, name, &found) ? found.path : "none";
}

/* An empty library for this machine, or for another one. */
static void put_library(const char *path, bool ours)
{
	unsigned char head[64] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 };

	head[16] = ET_DYN;
	head[18] = (unsigned char)(ours ? ri_elf_machine_here() : EM_S390);
	head[54] = sizeof(Elf64_Phdr);
	tree_bytes(&tree, path, (const char *)head, sizeof(head));
}

/* A table of one line. */
static void put_table(const char *name, const char *path)
{
	char bytes[512] = "glibc-ld.so.cache1.1\1\0\0\0\0\0\0\0\2";
	uint32_t entry[4] = { ri_elf_machine_here() == EM_X86_64 ? 0x0303 : 0x0a03, 72,
		72 + (uint32_t)strlen(name) + 1, 0 };

	memcpy(bytes + 48, entry, sizeof(entry));
	memcpy(bytes + entry[1], name, strlen(name) + 1);
	memcpy(bytes + entry[2], path, strlen(path) + 1);
	tree_bytes(&tree, "etc/ld.so.cache", bytes, sizeof(bytes));
}

static void test_order(void **state)
{
	char none[] = "A=B", other[] = "LD_LIBRARY_PATH=/nowhere::relative:/opt/mpi";

	(void)state;
	put_library("usr/lib/libx.so.1.2", true);
	tree_link(&tree, "usr/lib/libx.so.1", "libx.so.1.2");
	put_library("opt/mpi/libx.so.1", true);
	assert_string_equal(find(none, "libx.so.1"), "/usr/lib/libx.so.1");
	assert_string_equal(found.real, "/usr/lib/libx.so.1.2");
	assert_int_equal(found.place, RI_LIBRARY_BY_FOLDER);
	put_library("usr/local/lib/libx.so.1", true);
	put_table("libx.so.1", "/usr/local/lib/libx.so.1");
	assert_string_equal(find(none, "libx.so.1"), "/usr/local/lib/libx.so.1");
	assert_int_equal(found.place, RI_LIBRARY_BY_TABLE);
	assert_string_equal(find(other, "libx.so.1"), "/opt/mpi/libx.so.1");
	assert_int_equal(found.place, RI_LIBRARY_BY_VARIABLE);
	assert_string_equal(ri_library_place_name(found.place), "LD_LIBRARY_PATH");
	assert_int_equal(found.fault, RI_ELF_OK);
	assert_string_equal(find(other, "liby.so.1"), "none");
	assert_null(found.foreign);
}

/* What the loader passes over, and what stops it. */
static void test_bad(void **state)
{
	char arm[] = "LD_LIBRARY_PATH=/opt/arm:/opt/mpi;/usr/lib";

	(void)state;
	put_library("opt/arm/libx.so.1", false);
	assert_string_equal(find(arm, "libx.so.1"), "/opt/mpi/libx.so.1");
	assert_string_equal(found.foreign, "/opt/arm/libx.so.1");
	assert_int_equal(found.machine, EM_S390);
	tree_bytes(&tree, "opt/mpi/libx.so.1", "\x7f" "ELF", 4);
	assert_string_equal(find(arm, "libx.so.1"), "/opt/mpi/libx.so.1");
	assert_int_equal(found.fault, RI_ELF_BROKEN);
	tree_file(&tree, "opt/mpi/libx.so.1", "INPUT(-lx)\n");
	assert_string_equal(find(arm, "libx.so.1"), "/opt/mpi/libx.so.1");
	assert_int_equal(found.fault, RI_ELF_OTHER);
	assert_int_equal(unlinkat(tree.fd, "opt/mpi/libx.so.1", 0), 0);
	assert_string_equal(find(arm, "libx.so.1"), "/usr/lib/libx.so.1");
}

static void test_table(void **state)
{
	char none[] = "A=B";

	(void)state;
	assert_int_equal(unlinkat(tree.fd, "usr/local/lib/libx.so.1", 0), 0);
	assert_string_equal(find(none, "libx.so.1"), "/usr/lib/libx.so.1");
	assert_string_equal(found.gone, "/usr/local/lib/libx.so.1");
	tree_file(&tree, "etc/ld.so.cache", "no table\n");
	assert_string_equal(find(none, "libx.so.1"), "/usr/lib/libx.so.1");
	assert_null(found.gone);
	assert_int_equal(unlinkat(tree.fd, "etc/ld.so.cache", 0), 0);
}

static void test_apart(void **state)
{
	char none[] = "A=B";

	(void)state;
	put_library("usr/local/lib/libz.so", true);
	assert_string_equal(find(none, "libz.so"), "none");
	assert_true(ri_loader_find_apart(&loader, "libz.so", &found));
	assert_string_equal(found.path, "/usr/local/lib/libz.so");
	assert_false(ri_loader_find_apart(&loader, "libx.so.1", &found));
	assert_true(ri_loader_look(&loader, "/usr/lib", "libx.so.1", &found));
	assert_int_equal(found.place, RI_LIBRARY_APART);
	/* musl's loader looks there */
	tree_file(&tree, "etc/alpine-release", "3.20.3\n");
	assert_string_equal(find(none, "libz.so"), "/usr/local/lib/libz.so");
}

/* musl's loader takes its folders from a file, and knows no semicolon. */
static void test_musl(void **state)
{
	char none[] = "A=B", list[] = "LD_LIBRARY_PATH=/opt/arm;/usr/local/lib";
	static const char file[] = "etc/ld-musl-"
#if defined(__aarch64__)
		"aarch64.path";
#else
		"x86_64.path";
#endif

	(void)state;
	put_library("opt/mpi/libm.so", true);
	assert_string_equal(find(none, "libm.so"), "none");
	assert_string_equal(find(list, "libz.so"), "/usr/local/lib/libz.so");
	assert_int_equal(found.place, RI_LIBRARY_BY_FOLDER);
	tree_file(&tree, file, "/nowhere\n/opt/mpi\n");
	assert_string_equal(find(none, "libm.so"), "/opt/mpi/libm.so");
	assert_string_equal(find(none, "libz.so"), "none");
	tree_file(&tree, file, "");
	assert_string_equal(find(none, "libm.so"), "none");
	assert_int_equal(unlinkat(tree.fd, file, 0), 0);
	assert_string_equal(find(none, "libz.so"), "/usr/local/lib/libz.so");
}

static void put_program(const char *path, mode_t mode)
{
	tree_file(&tree, path, "#!/bin/sh\n");
	assert_int_equal(fchmodat(tree.fd, path, mode, 0), 0);
}

static void test_program(void **state)
{
	char path[] = "PATH=/nowhere:relative::/opt/mpi/:/opt/bin:/usr/bin", none[] = "A=B";
	struct ri_program program;
	const char *rest = NULL;

	(void)state;
	put_program("usr/bin/orterun", 0755);
	tree_link(&tree, "opt/bin/mpirun", "/usr/bin/orterun");
	tree_link(&tree, "usr/bin/mpirun", "orterun");
	put_program("opt/mpi/mpirun", 0644);
	find(path, "libx.so.1");
	assert_true(ri_program_next(&image, "mpirun", &rest, &program));
	assert_string_equal(program.path, "/opt/bin/mpirun");
	assert_string_equal(program.real, "/usr/bin/orterun");
	assert_true(ri_program_next(&image, "mpirun", &rest, &program));
	assert_string_equal(program.path, "/usr/bin/mpirun");
	assert_false(ri_program_next(&image, "mpirun", &rest, &program));
	assert_false(ri_program_find(&image, "ssh", &program));
	find(none, "libx.so.1");
	assert_true(ri_program_find(&image, "mpirun", &program));
	assert_string_equal(program.path, "/usr/bin/mpirun");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_musl),
		cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
