/* SPDX-License-Identifier: Apache-2.0 */
#include "python/remote.h"

#include <elf.h>
#include <string.h>

enum {
	SEGMENTS = 32,		/* program headers that are read; real files have 13 */
	ENTRIES = 128,		/* of the dynamic section; real ones have 35 */
	CHAIN = 4096,		/* symbols of one bucket that are looked at */
	PIECE = 16,		/* of them at once */
	NAME = 32,		/* bytes of a symbol that is looked for, '\0' included */
};

static bool read_dynamic(struct ri_python *python, uint64_t base, const Elf64_Phdr *segment,
	struct ri_python_symbols *symbols)
{
	Elf64_Dyn entries[ENTRIES];
	size_t count = segment->p_memsz / sizeof(entries[0]);

	if (count > ENTRIES)
		count = ENTRIES;
	if (!ri_python_read(python, symbols->bias + segment->p_vaddr, entries,
		count * sizeof(entries[0])))
		return false;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t address = entries[i].d_un.d_ptr;

		/* glibc's loader has added the bias to these addresses, musl's has not */
		if (address < base)
			address += symbols->bias;
		if (entries[i].d_tag == DT_STRTAB)
			symbols->strings = address;
		else if (entries[i].d_tag == DT_SYMTAB)
			symbols->symbols = address;
		else if (entries[i].d_tag == DT_GNU_HASH)
			symbols->gnu_hash = address;
		else if (entries[i].d_tag == DT_HASH)
			symbols->old_hash = address;
	}
	return symbols->strings != 0 && symbols->symbols != 0;
}

bool ri_python_symbols_open(
	struct ri_python *python, uint64_t base, struct ri_python_symbols *symbols)
{
	const Elf64_Phdr *dynamic = NULL;
	Elf64_Phdr segments[SEGMENTS];
	bool placed = false;
	Elf64_Ehdr header;

	*symbols = (struct ri_python_symbols){ .bias = 0 };
	if (!ri_python_read(python, base, &header, sizeof(header)) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 ||
		header.e_ident[EI_DATA] != ELFDATA2LSB ||
		header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
		header.e_phnum > SEGMENTS ||
		!ri_python_read(python, base + header.e_phoff, segments,
			header.e_phnum * sizeof(segments[0])))
		return false;
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type == PT_DYNAMIC) {
			dynamic = &segments[i];
		} else if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) {
			symbols->bias = base - segments[i].p_vaddr;
			placed = true;
		}
	}
	return placed && dynamic != NULL && read_dynamic(python, base, dynamic, symbols);
}

/* The address that the symbol of this index has, if it is this one and defined. */
static uint64_t compare(struct ri_python *python, const struct ri_python_symbols *symbols,
	uint64_t index, const char *name)
{
	size_t size = strlen(name) + 1;
	Elf64_Sym symbol;
	char found[NAME];

	if (size > sizeof(found) ||
		!ri_python_read(python, symbols->symbols + index * sizeof(symbol), &symbol,
			sizeof(symbol)) || symbol.st_shndx == SHN_UNDEF ||
		!ri_python_read(python, symbols->strings + symbol.st_name, found, size) ||
		memcmp(found, name, size) != 0)
		return 0;
	return symbols->bias + symbol.st_value;
}

/* Header, words of a filter (passed over), buckets, and a hash for each symbol from first on. */
static uint64_t by_gnu_hash(
	struct ri_python *python, const struct ri_python_symbols *symbols, const char *name)
{
	struct { uint32_t buckets, first, words, shift; } header;
	uint32_t hash = 5381, index, hashes[PIECE];
	uint64_t buckets, chain, address = 0;

	for (const char *p = name; *p != '\0'; p++)
		hash = hash * 33 + (unsigned char)*p;
	if (!ri_python_read(python, symbols->gnu_hash, &header, sizeof(header)) ||
		header.buckets == 0)
		return 0;
	buckets = symbols->gnu_hash + sizeof(header) + (uint64_t)header.words * sizeof(uint64_t);
	chain = buckets + (uint64_t)header.buckets * sizeof(uint32_t);
	if (!ri_python_read(python, buckets + hash % header.buckets * sizeof(uint32_t), &index,
		sizeof(index)) || index < header.first)
		return 0;
	for (size_t i = 0; i < CHAIN; i++) {
		if (i % PIECE == 0 && ri_python_read_some(python,
			chain + (index - header.first + i) * sizeof(uint32_t), hashes,
			sizeof(hashes), sizeof(hashes)) == 0)
			return 0;
		/* the lowest bit ends the chain, the others are the hash's */
		if ((hashes[i % PIECE] | 1) == (hash | 1))
			address = compare(python, symbols, index + i, name);
		if (address != 0 || (hashes[i % PIECE] & 1) != 0)
			return address;
	}
	return 0;
}

static uint32_t old_hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name != '\0'; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash ^= (hash & 0xf0000000) >> 24;
		hash &= 0x0fffffff;
	}
	return hash;
}

/* How many buckets, how many symbols; the first index of each bucket, the next of each symbol. */
static uint64_t by_old_hash(
	struct ri_python *python, const struct ri_python_symbols *symbols, const char *name)
{
	uint64_t links = symbols->old_hash + 2 * sizeof(uint32_t), address = 0;
	uint32_t counts[2], index;

	if (!ri_python_read(python, symbols->old_hash, counts, sizeof(counts)) || counts[0] == 0 ||
		!ri_python_read(python, links + old_hash_of(name) % counts[0] * sizeof(index),
			&index, sizeof(index)))
		return 0;
	for (size_t i = 0; i < CHAIN && index != STN_UNDEF && index < counts[1]; i++) {
		address = compare(python, symbols, index, name);
		if (address != 0 || !ri_python_read(python,
			links + ((uint64_t)counts[0] + index) * sizeof(index), &index,
			sizeof(index)))
			return address;
	}
	return address;
}

uint64_t ri_python_symbol(
	struct ri_python *python, const struct ri_python_symbols *symbols, const char *name)
{
	return symbols->gnu_hash != 0 ? by_gnu_hash(python, symbols, name) :
		symbols->old_hash != 0 ? by_old_hash(python, symbols, name) : 0;
}
