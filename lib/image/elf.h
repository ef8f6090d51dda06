/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says of itself (elf(5); System V gABI, "Object Files",
 * "Dynamic Linking"): read piece by piece, never mapped and never loaded, and
 * believed only where it stays within itself.
 */
#ifndef RI_IMAGE_ELF_H
#define RI_IMAGE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host.h"

enum ri_elf_fault {
	RI_ELF_OK,
	RI_ELF_MISSING,		/* cannot be opened: errno says why */
	RI_ELF_OTHER,		/* not an ELF file at all */
	RI_ELF_FOREIGN,		/* of another machine, class or byte order than ours */
	RI_ELF_BROKEN,		/* ends early, or points outside of itself */
};

enum {
	RI_ELF_SEGMENTS = 16,	/* PT_LOAD and PT_NOTE of one file; real ones have 4 and 3 */
	RI_ELF_NEEDED = 64,	/* libraries that one file needs; real ones need 20 */
	RI_ELF_NAME = 256,	/* bytes of a name in it, '\0' included */
	RI_ELF_HEAD = 1024,	/* bytes at its beginning; real headers end within them */
};

/* A part of the file and where it lies in memory. */
struct ri_elf_segment {
	uint64_t offset;
	uint64_t address;
	uint64_t size;		/* in the file */
};

struct ri_elf {
	int fd;			/* -1: nothing is open */
	unsigned char head[RI_ELF_HEAD];	/* the beginning, for all that is asked of it */
	size_t head_size;
	uint64_t size;
	unsigned machine;	/* EM_X86_64 and so on; 0 where that could not be read */
	struct ri_elf_segment loads[RI_ELF_SEGMENTS];
	struct ri_elf_segment notes[RI_ELF_SEGMENTS];
	size_t load_count, note_count;
	/* of the dynamic section: offsets in the file, 0 where there is none */
	uint64_t strings, strings_size, symbols, gnu_hash, old_hash, versions, version_count;
	/* offsets among the strings; 0 where there is none */
	uint64_t soname, needed[RI_ELF_NEEDED];
	size_t needed_count;
};

/* A file without a dynamic section is fine: it has neither a name nor needs. */
enum ri_elf_fault ri_elf_open(struct ri_elf *elf, struct ri_host *host, const char *path);

/* May be called whatever open returned. */
void ri_elf_close(struct ri_elf *elf);

/*
 * Names, into a buffer of RI_ELF_NAME bytes. False, and the buffer an empty
 * string, where there is none.
 */
bool ri_elf_soname(const struct ri_elf *elf, char *name);
bool ri_elf_needed(const struct ri_elf *elf, size_t index, char *name);

/* The first version of symbols that the file defines and that begins so: "IBVERBS_PRIVATE_34". */
bool ri_elf_version(const struct ri_elf *elf, const char *beginning, char *name);

/* Where a symbol lies that the file defines. */
struct ri_elf_symbol {
	uint64_t offset;	/* in the file; 0: it has no bytes there */
	uint64_t size;
};

/* By the hash table that the loader uses; without one nothing is found. */
bool ri_elf_symbol(const struct ri_elf *elf, const char *name, struct ri_elf_symbol *out);

/* The text that a symbol of the file holds, printable bytes alone. */
bool ri_elf_text(const struct ri_elf *elf, const char *symbol, char *text, size_t size);

/* The payload of the first note of this owner, ended by '\0'. */
bool ri_elf_note(const struct ri_elf *elf, const char *owner, char *text, size_t size);

/* The architecture by its name, "x86-64"; "another machine" where it has none here. Never NULL. */
const char *ri_elf_machine_name(unsigned machine);

/* e_machine of programs that run here. */
unsigned ri_elf_machine_here(void);

#endif
