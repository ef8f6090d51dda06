/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols that an ELF file defines, and their versions. */
#include <elf.h>
#include <string.h>

#include "image/elf.h"
#include "image/elf_parts.h"

enum {
	MAX_VERSIONS = 256,	/* that one file defines */
	MAX_CHAIN = 4096,	/* symbols in one bucket of the hash table */
};

/* Linux Standard Base, "Symbol Versioning": a chain of definitions, the name in the first aux. */
bool ri_elf_version(const struct ri_elf *elf, const char *beginning, char *name)
{
	uint64_t at = elf->versions;
	Elf64_Verdef definition;
	Elf64_Verdaux aux;

	name[0] = '\0';
	for (size_t i = 0; at != 0 && i < elf->version_count && i < MAX_VERSIONS; i++) {
		if (!ri_elf_read(elf, at, &definition, sizeof(definition)) ||
			!ri_elf_read(elf, at + definition.vd_aux, &aux, sizeof(aux)))
			break;
		if (ri_elf_name(elf, aux.vda_name, name) &&
			strncmp(name, beginning, strlen(beginning)) == 0)
			return true;
		at = definition.vd_next == 0 ? 0 : at + definition.vd_next;
	}
	name[0] = '\0';
	return false;
}

static bool is_symbol(const struct ri_elf *elf, uint32_t index, const char *name,
	struct ri_elf_symbol *out)
{
	char found[RI_ELF_NAME];
	Elf64_Sym symbol;

	if (!ri_elf_read(elf, elf->symbols + (uint64_t)index * sizeof(symbol), &symbol,
		    sizeof(symbol)) ||
		symbol.st_shndx == SHN_UNDEF || !ri_elf_name(elf, symbol.st_name, found) ||
		strcmp(found, name) != 0)
		return false;
	*out = (struct ri_elf_symbol){ .size = symbol.st_size,
		.offset = ri_elf_offset(elf, symbol.st_value, symbol.st_size) };
	return true;
}

/* The hash of DT_GNU_HASH: Bernstein's, h * 33 + c from 5381 on. */
static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
		hash = hash * 33 + *p;
	return hash;
}

/*
 * The table: how many buckets, the first symbol in it, words of the filter, a
 * shift; the filter; the buckets; a hash for each symbol, odd at a chain's end.
 */
static bool find_by_gnu_hash(const struct ri_elf *elf, const char *name,
	struct ri_elf_symbol *out)
{
	uint32_t head[4], index, hash = gnu_hash_of(name), found;
	uint64_t buckets, chains;

	if (!ri_elf_read(elf, elf->gnu_hash, head, sizeof(head)) || head[0] == 0)
		return false;
	buckets = elf->gnu_hash + sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
	chains = buckets + (uint64_t)head[0] * sizeof(uint32_t);
	if (!ri_elf_read(elf, buckets + hash % head[0] * sizeof(index), &index, sizeof(index)))
		return false;
	for (size_t i = 0; index >= head[1] && i < MAX_CHAIN; i++, index++) {
		if (!ri_elf_read(elf, chains + (uint64_t)(index - head[1]) * sizeof(found), &found,
			    sizeof(found)))
			return false;
		if ((found | 1) == (hash | 1) && is_symbol(elf, index, name, out))
			return true;
		if ((found & 1) != 0)
			return false;
	}
	return false;
}

/* The hash of DT_HASH (System V gABI, "Dynamic Linking", "Hash Table"). */
static uint32_t old_hash_of(const char *name)
{
	uint32_t hash = 0;

	for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++) {
		hash = (hash << 4) + *p;
		hash = (hash ^ (hash >> 28 << 4)) & 0x0fffffff;
	}
	return hash;
}

/* That table: how many buckets and symbols; the buckets; for each symbol the next one, or 0. */
static bool find_by_old_hash(const struct ri_elf *elf, const char *name,
	struct ri_elf_symbol *out)
{
	uint32_t head[2], index;
	uint64_t at;

	if (!ri_elf_read(elf, elf->old_hash, head, sizeof(head)) || head[0] == 0)
		return false;
	at = elf->old_hash + sizeof(head) + old_hash_of(name) % head[0] * sizeof(index);
	for (size_t i = 0; i < MAX_CHAIN; i++) {
		if (!ri_elf_read(elf, at, &index, sizeof(index)) || index == 0)
			return false;
		if (is_symbol(elf, index, name, out))
			return true;
		at = elf->old_hash + sizeof(head) + ((uint64_t)head[0] + index) * sizeof(index);
	}
	return false;
}

bool ri_elf_symbol(const struct ri_elf *elf, const char *name, struct ri_elf_symbol *out)
{
	if (elf->fd < 0 || elf->symbols == 0)
		return false;
	if (elf->gnu_hash != 0)
		return find_by_gnu_hash(elf, name, out);
	return elf->old_hash != 0 && find_by_old_hash(elf, name, out);
}

bool ri_elf_text(const struct ri_elf *elf, const char *symbol, char *text, size_t size)
{
	struct ri_elf_symbol where;
	size_t length;

	text[0] = '\0';
	if (!ri_elf_symbol(elf, symbol, &where) || where.offset == 0)
		return false;
	length = where.size < size - 1 ? (size_t)where.size : size - 1;
	if (!ri_elf_read(elf, where.offset, text, length)) {
		text[0] = '\0';
		return false;
	}
	text[length] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '\0';
	return text[0] != '\0';
}
