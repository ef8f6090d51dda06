/* SPDX-License-Identifier: Apache-2.0 */
/* What ELF files say, and files that were cut or changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "image/image.h"
#include "library_of.h"
#include "tree.h"

static struct tree tree;
static struct ri_host host;
static struct ri_elf elf;
static char name[RI_ELF_NAME];

static const char source[] =
	"const char ompi_version_string[] = \"4.1.4\";\n"
	"const char other[] = \"not this\";\n"
	"const char bell[] = \"4.0\\aX\";\n"
	"int zeroes[100];\n"
	"extern int undefined;\n"
	"int *user(void) { return &undefined; }\n"
	"__attribute__((section(\".note.cuda.test\"), used, aligned(4)))\n"
	"static const struct { unsigned n, d, t; char owner[20], text[8]; } note =\n"
	"	{ 19, 7, 1, \"NVIDIA Corporation\", \"{\\\"a\\\":1}\" };\n";

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	host = (struct ri_host){ .root = tree.fd };
	if (system("gcc --version >/dev/null 2>&1") != 0)
		return 0;
	tree_file(&tree, "map", "V_1.0 { global: *; };\nIBVERBS_PRIVATE_34 { } V_1.0;\n");
	tree_library(&tree, "liba.so", "-Wl,-soname,liba.so.1", "int a;\n");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	ri_elf_close(&elf);
	tree_remove(&tree);
	return 0;
}

static void make_whole(void)
{
	char options[1024];

	need_compiler();
	snprintf(options, sizeof(options),
		"-Wl,-soname,libmpi.so.40 -Wl,--version-script=%s/map -Wl,--no-as-needed "
		"%s/liba.so", tree.path, tree.path);
	tree_library(&tree, "libmpi.so", options, source);
}

static void test_whole(void **state)
{
	struct ri_elf_symbol symbol;
	char text[64];

	(void)state;
	make_whole();
	assert_int_equal(ri_elf_open(&elf, &host, "libmpi.so"), RI_ELF_OK);
	assert_int_equal(elf.machine, ri_elf_machine_here());
	assert_true(ri_elf_soname(&elf, name));
	assert_string_equal(name, "libmpi.so.40");
	assert_true(ri_elf_needs(&elf, "liba."));
	assert_true(ri_elf_needs(&elf, "liba.so.1"));
	assert_false(ri_elf_needs(&elf, "liba.so.12"));
	assert_true(ri_elf_version(&elf, "IBVERBS_PRIVATE_", name));
	assert_string_equal(name, "IBVERBS_PRIVATE_34");
	assert_false(ri_elf_version(&elf, "GLIBC_", name));
	assert_true(ri_elf_text(&elf, "ompi_version_string", text, sizeof(text)));
	assert_string_equal(text, "4.1.4");
	assert_true(ri_elf_text(&elf, "ompi_version_string", text, 3));
	assert_string_equal(text, "4.");
	/* no byte of it reaches a terminal */
	assert_true(ri_elf_text(&elf, "bell", text, sizeof(text)));
	assert_string_equal(text, "4.0");
	assert_false(ri_elf_symbol(&elf, "undefined", &symbol));
	assert_false(ri_elf_symbol(&elf, "ompi_version_strin", &symbol));
	/* there, but its zeroes are not in the file */
	assert_true(ri_elf_symbol(&elf, "zeroes", &symbol));
	assert_int_equal(symbol.offset, 0);
	assert_false(ri_elf_text(&elf, "zeroes", text, sizeof(text)));
	assert_true(ri_elf_note(&elf, "NVIDIA Corporation", text, sizeof(text)));
	assert_string_equal(text, "{\"a\":1}");
	assert_false(ri_elf_note(&elf, "NVIDIA Corporation", text, 7));
	assert_false(ri_elf_note(&elf, "NVIDIA", text, sizeof(text)));
	ri_elf_close(&elf);
	assert_int_equal(elf.fd, -1);
}

/* An older linker's table finds the same, and nothing else. */
static void test_old_hash(void **state)
{
	struct ri_elf_symbol symbol;
	char text[64];

	(void)state;
	need_compiler();
	tree_library(&tree, "old.so", "-Wl,--hash-style=sysv", source);
	assert_int_equal(ri_elf_open(&elf, &host, "old.so"), RI_ELF_OK);
	assert_int_equal(elf.gnu_hash, 0);
	assert_true(ri_elf_text(&elf, "ompi_version_string", text, sizeof(text)));
	assert_string_equal(text, "4.1.4");
	assert_true(ri_elf_text(&elf, "other", text, sizeof(text)));
	assert_string_equal(text, "not this");
	assert_false(ri_elf_symbol(&elf, "undefined", &symbol));
	assert_false(ri_elf_symbol(&elf, "nowhere", &symbol));
	ri_elf_close(&elf);
}

/* What is to be loaded must be in the file, but not that which has no bytes there. */
static void test_segments(void **state)
{
	Elf64_Phdr segment;
	Elf64_Ehdr header;
	off_t at;
	int fd;

	(void)state;
	make_whole();
	fd = openat(tree.fd, "libmpi.so", O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	at = (off_t)header.e_phoff;
	do {
		assert_int_equal(pread(fd, &segment, sizeof(segment), at), sizeof(segment));
		at += (off_t)sizeof(segment);
	} while (segment.p_type != PT_GNU_STACK);
	at -= (off_t)sizeof(segment);
	segment.p_type = PT_LOAD;
	segment.p_offset = 1 << 30;
	for (segment.p_filesz = 0; segment.p_filesz < 2; segment.p_filesz++) {
		assert_int_equal(pwrite(fd, &segment, sizeof(segment), at), sizeof(segment));
		assert_int_equal(ri_elf_open(&elf, &host, "libmpi.so"),
			segment.p_filesz == 0 ? RI_ELF_OK : RI_ELF_BROKEN);
		ri_elf_close(&elf);
	}
	close(fd);
}

/* As far as the loader maps it, a file must be whole. */
static void test_cut(void **state)
{
	size_t size, whole;
	char text[64];
	int fd;

	(void)state;
	make_whole();
	size = whole = tree_size(&tree, "libmpi.so");
	assert_true(size < 100000);
	tree_cut(&tree, "cut.so", "libmpi.so", size);
	fd = openat(tree.fd, "cut.so", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	while (size-- > 0) {
		enum ri_elf_fault fault;

		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		fault = ri_elf_open(&elf, &host, "cut.so");
		if (fault != RI_ELF_BROKEN) {
			/* only the tables of sections, which nobody loads, are gone */
			assert_int_equal(fault, RI_ELF_OK);
			assert_true(whole - size < 8192);
			assert_true(ri_elf_text(&elf, "ompi_version_string", text, sizeof(text)));
		}
		ri_elf_close(&elf);
	}
	close(fd);
}

/* Every byte of the tables changed in turn: any answer, and no harm. */
static void test_changed(void **state)
{
	static const char values[] = { '\0', '\x7f', '\xff' };
	size_t size;
	int fd;

	(void)state;
	make_whole();
	size = tree_size(&tree, "libmpi.so");
	tree_cut(&tree, "changed.so", "libmpi.so", size);
	fd = openat(tree.fd, "changed.so", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t i = 0; i < 3 * size; i++) {
		off_t at = (off_t)(i / 3);
		char byte, text[64];

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		assert_int_equal(pwrite(fd, &values[i % 3], 1, at), 1);
		if (ri_elf_open(&elf, &host, "changed.so") == RI_ELF_OK) {
			ri_elf_soname(&elf, name);
			ri_elf_needs(&elf, "liba.");
			ri_elf_version(&elf, "IBVERBS_PRIVATE_", name);
			ri_elf_text(&elf, "ompi_version_string", text, sizeof(text));
			ri_elf_note(&elf, "NVIDIA Corporation", text, sizeof(text));
		}
		ri_elf_close(&elf);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

static enum ri_elf_fault fault_of(const unsigned char *head, size_t size)
{
	enum ri_elf_fault fault;

	tree_bytes(&tree, "head.so", (const char *)head, size);
	fault = ri_elf_open(&elf, &host, "head.so");
	ri_elf_close(&elf);
	return fault;
}

static void test_foreign(void **state)
{
	unsigned char head[64] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 };
	unsigned other = ri_elf_machine_here() == EM_X86_64 ? EM_AARCH64 : EM_X86_64;

	(void)state;
	head[16] = ET_DYN;
	head[18] = (unsigned char)other;
	assert_int_equal(fault_of(head, sizeof(head)), RI_ELF_FOREIGN);
	assert_int_equal(elf.machine, other);
	head[18] = (unsigned char)ri_elf_machine_here();
	head[4] = ELFCLASS32;
	assert_int_equal(fault_of(head, sizeof(head)), RI_ELF_FOREIGN);
	head[4] = ELFCLASS64;
	head[5] = ELFDATA2MSB;
	head[18] = 0;
	head[19] = EM_PPC64;
	assert_int_equal(fault_of(head, sizeof(head)), RI_ELF_FOREIGN);
	assert_int_equal(elf.machine, EM_PPC64);
	assert_int_equal(fault_of(head, 19), RI_ELF_BROKEN);
	assert_int_equal(fault_of((const unsigned char *)"INPUT(libmpi.so.40)", 19), RI_ELF_OTHER);
	assert_int_equal(fault_of(head, 0), RI_ELF_BROKEN);
	assert_string_equal(ri_elf_machine_name(EM_AARCH64), "aarch64");
	assert_string_equal(ri_elf_machine_name(9999), "another processor");
}

static void test_no_file(void **state)
{
	(void)state;
	assert_int_equal(ri_elf_open(&elf, &host, "nowhere"), RI_ELF_MISSING);
	assert_int_equal(errno, ENOENT);
	assert_false(ri_elf_soname(&elf, name));
	assert_int_equal(ri_elf_open(&elf, &host, "."), RI_ELF_OTHER);
	/* a pipe without a writer does not hang us */
	assert_int_equal(mkfifoat(tree.fd, "pipe", 0644), 0);
	assert_int_equal(ri_elf_open(&elf, &host, "pipe"), RI_ELF_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_old_hash),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
