/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of ELF files share; for them alone. */
#ifndef RI_IMAGE_ELF_PARTS_H
#define RI_IMAGE_ELF_PARTS_H

#include "image/elf.h"

/* All of these bytes of the file; false where some are not in it. */
bool ri_elf_read(const struct ri_elf *elf, uint64_t offset, void *bytes, size_t size);

/* The file's offset of so many bytes at an address; 0 where it has none. */
uint64_t ri_elf_offset(const struct ri_elf *elf, uint64_t address, uint64_t size);

/*
 * A string of the table, which must end within it, into a buffer of
 * RI_ELF_NAME bytes. False, and the buffer an empty string, where there is none.
 */
bool ri_elf_name(const struct ri_elf *elf, uint64_t at, char *name);

#endif
