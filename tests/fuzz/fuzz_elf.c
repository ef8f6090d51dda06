/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an ELF file. Whatever it says, names are strings and nothing is left open. */
#include "fuzz.h"
#include "image/image.h"

static struct ri_host host;
static int file;

static void check_name(bool found, const char *name)
{
	CHECK(strnlen(name, RI_ELF_NAME) < RI_ELF_NAME);
	CHECK(found == (name[0] != '\0'));
}

static void check_names(const struct ri_elf *elf)
{
	char name[RI_ELF_NAME];
	bool found = ri_elf_soname(elf, name);

	check_name(found, name);
	found = ri_elf_version(elf, "IBVERBS_PRIVATE_", name);
	check_name(found, name);
	CHECK(elf->needed_count <= RI_ELF_NEEDED);
	CHECK(!ri_elf_needs(elf, "liba.") || ri_elf_needs(elf, "lib"));
}

static void check_symbols(const struct ri_elf *elf)
{
	struct ri_elf_symbol symbol = { .offset = 0 };
	char text[32];
	bool found = ri_elf_text(elf, "version", text, sizeof(text));

	CHECK(strnlen(text, sizeof(text)) < sizeof(text));
	CHECK(found == (text[0] != '\0') && fuzz_is_printable(text));
	if (ri_elf_symbol(elf, "version", &symbol) && symbol.offset != 0)
		CHECK(symbol.offset < elf->size + RI_ELF_NAME);
	ri_elf_note(elf, "GNU", text, sizeof(text));
	ri_elf_note(elf, "Somebody", text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum ri_elf_fault fault;
	struct ri_elf elf;

	if (host.root == 0) {
		host.root = fuzz_folder_make();
		file = fuzz_file_make(host.root, "lib");
	}
	CHECK(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	fault = ri_elf_open(&elf, &host, "lib");
	CHECK(fault != RI_ELF_MISSING);
	CHECK((fault == RI_ELF_OK) == (elf.fd >= 0));
	CHECK(ri_elf_machine_name(elf.machine) != NULL);
	check_names(&elf);
	check_symbols(&elf);
	ri_elf_close(&elf);
	CHECK(elf.fd == -1);
	return 0;
}
