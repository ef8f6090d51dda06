/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_HEADERS = 128,	/* program headers; real files have a dozen */
	MAX_DYNAMIC = 1024,	/* entries of the dynamic section; real ones have thirty */
	MAX_NOTES = 64,
	MAX_VERSIONS = 256,	/* that one file defines */
	MAX_CHAIN = 4096,	/* symbols in one bucket of the hash table */
};

/* All of these bytes of the file; false where some are not in it. */
static bool read_bytes(const struct ri_elf *elf, uint64_t offset, void *bytes, size_t size)
{
	size_t done = 0;
	ssize_t count;

	if (offset > elf->size || size > elf->size - offset)
		return false;
	if (offset + size <= elf->head_size) {
		memcpy(bytes, elf->head + offset, size);
		return true;
	}
	while (done < size) {
		count = pread(elf->fd, (char *)bytes + done, size - done, (off_t)(offset + done));
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		done += (size_t)count;
	}
	return true;
}

/* The file's offset of so many bytes at an address; 0 where it has none. */
static uint64_t offset_of(const struct ri_elf *elf, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < elf->load_count; i++) {
		const struct ri_elf_segment *load = &elf->loads[i];

		if (address >= load->address && size <= load->size &&
			address - load->address <= load->size - size)
			return load->offset + (address - load->address);
	}
	return 0;
}

static void keep_segment(struct ri_elf_segment *list, size_t *count, const Elf64_Phdr *header)
{
	if (*count < RI_ELF_SEGMENTS)
		list[(*count)++] = (struct ri_elf_segment){ .offset = header->p_offset,
			.address = header->p_vaddr, .size = header->p_filesz };
}

static bool read_segments(struct ri_elf *elf, const Elf64_Ehdr *header, Elf64_Phdr *dynamic)
{
	Elf64_Phdr segments[MAX_HEADERS], *segment = segments;

	if (!read_bytes(elf, header->e_phoff, segments, header->e_phnum * sizeof(segments[0])))
		return false;
	for (; segment < segments + header->e_phnum; segment++) {
		/* one without bytes of its own may begin anywhere */
		if (segment->p_filesz == 0 || (segment->p_type != PT_LOAD &&
			segment->p_type != PT_NOTE && segment->p_type != PT_DYNAMIC))
			continue;
		/* what is to be loaded must be there: the loader would map past the end */
		if (segment->p_offset > elf->size ||
			segment->p_filesz > elf->size - segment->p_offset)
			return false;
		if (segment->p_type == PT_LOAD)
			keep_segment(elf->loads, &elf->load_count, segment);
		else if (segment->p_type == PT_NOTE)
			keep_segment(elf->notes, &elf->note_count, segment);
		else
			*dynamic = *segment;
	}
	return true;
}

/* Addresses are kept as they are found: what they mean is known at the end. */
static bool read_dynamic(struct ri_elf *elf, const Elf64_Phdr *dynamic)
{
	const struct {
		Elf64_Sxword tag;
		uint64_t *field;
	} kept[] = {
		{ DT_SONAME, &elf->soname }, { DT_STRTAB, &elf->strings },
		{ DT_STRSZ, &elf->strings_size }, { DT_SYMTAB, &elf->symbols },
		{ DT_HASH, &elf->old_hash }, { DT_GNU_HASH, &elf->gnu_hash },
		{ DT_VERDEF, &elf->versions }, { DT_VERDEFNUM, &elf->version_count },
	};
	uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn entries[MAX_DYNAMIC];

	if (count > MAX_DYNAMIC)
		count = MAX_DYNAMIC;
	if (!read_bytes(elf, dynamic->p_offset, entries, count * sizeof(entries[0])))
		return false;
	for (const Elf64_Dyn *entry = entries; entry < entries + count; entry++) {
		if (entry->d_tag == DT_NULL)
			break;
		if (entry->d_tag == DT_NEEDED && elf->needed_count < RI_ELF_NEEDED)
			elf->needed[elf->needed_count++] = entry->d_un.d_val;
		for (size_t i = 0; i < RI_ARRAY_SIZE(kept); i++)
			if (kept[i].tag == entry->d_tag)
				*kept[i].field = entry->d_un.d_val;
	}
	return true;
}

static enum ri_elf_fault read_file(struct ri_elf *elf)
{
	Elf64_Phdr dynamic = { .p_filesz = 0 };
	Elf64_Ehdr header;
	unsigned char head[sizeof(header)];
	size_t length = elf->size < sizeof(head) ? (size_t)elf->size : sizeof(head);

	if (!read_bytes(elf, 0, head, length) || length < SELFMAG)
		return RI_ELF_BROKEN;
	if (memcmp(head, ELFMAG, SELFMAG) != 0)
		return RI_ELF_OTHER;
	if (length < offsetof(Elf64_Ehdr, e_version))
		return RI_ELF_BROKEN;
	/* in the same place in an ELF of 32 bits and of the other byte order */
	elf->machine = head[EI_DATA] == ELFDATA2MSB ? (unsigned)head[18] << 8 | head[19]
		: (unsigned)head[19] << 8 | head[18];
	if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB ||
		elf->machine != ri_elf_machine_here())
		return RI_ELF_FOREIGN;
	memcpy(&header, head, sizeof(head));
	if (length < sizeof(head) || header.e_phentsize != sizeof(Elf64_Phdr) ||
		header.e_phnum > MAX_HEADERS || !read_segments(elf, &header, &dynamic) ||
		!read_dynamic(elf, &dynamic))
		return RI_ELF_BROKEN;
	if (elf->strings_size == 0)
		return RI_ELF_OK;
	/* from addresses to offsets; without its strings nothing has a name */
	elf->strings = offset_of(elf, elf->strings, elf->strings_size);
	elf->symbols = offset_of(elf, elf->symbols, sizeof(Elf64_Sym));
	elf->old_hash = offset_of(elf, elf->old_hash, 2 * sizeof(uint32_t));
	elf->gnu_hash = offset_of(elf, elf->gnu_hash, 4 * sizeof(uint32_t));
	elf->versions = offset_of(elf, elf->versions, sizeof(Elf64_Verdef));
	return elf->strings != 0 ? RI_ELF_OK : RI_ELF_BROKEN;
}

enum ri_elf_fault ri_elf_open(struct ri_elf *elf, struct ri_host *host, const char *path)
{
	struct stat info;
	enum ri_elf_fault fault;
	size_t head;

	*elf = (struct ri_elf){ .fd = -1 };
	/* O_NONBLOCK: a pipe that stands where a library should must not hang us. */
	elf->fd = ri_host_open(host, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (elf->fd < 0)
		return RI_ELF_MISSING;
	if (fstat(elf->fd, &info) < 0 || !S_ISREG(info.st_mode)) {
		ri_elf_close(elf);
		return RI_ELF_OTHER;
	}
	elf->size = (uint64_t)info.st_size;
	/* at once what is read in twenty pieces; where it fails each piece does so by itself */
	head = elf->size < RI_ELF_HEAD ? (size_t)elf->size : RI_ELF_HEAD;
	if (read_bytes(elf, 0, elf->head, head))
		elf->head_size = head;
	fault = read_file(elf);
	if (fault != RI_ELF_OK)
		ri_elf_close(elf);
	return fault;
}

void ri_elf_close(struct ri_elf *elf)
{
	if (elf->fd >= 0)
		close(elf->fd);
	elf->fd = -1;
}

/*
 * A string of the table, which must end within it, into a buffer of RI_ELF_NAME
 * bytes. False, and the buffer an empty string, where there is none.
 */
static bool read_name(const struct ri_elf *elf, uint64_t at, char *name)
{
	uint64_t room;

	name[0] = '\0';
	if (elf->fd < 0 || elf->strings == 0 || at == 0 || at >= elf->strings_size)
		return false;
	room = elf->strings_size - at;
	if (room > RI_ELF_NAME)
		room = RI_ELF_NAME;
	if (read_bytes(elf, elf->strings + at, name, (size_t)room) &&
		memchr(name, '\0', (size_t)room) != NULL && name[0] != '\0')
		return true;
	name[0] = '\0';
	return false;
}

bool ri_elf_soname(const struct ri_elf *elf, char *name)
{
	return read_name(elf, elf->soname, name);
}

bool ri_elf_needs(const struct ri_elf *elf, const char *beginning)
{
	char name[RI_ELF_NAME];

	for (size_t i = 0; i < elf->needed_count; i++)
		if (read_name(elf, elf->needed[i], name) &&
			strncmp(name, beginning, strlen(beginning)) == 0)
			return true;
	return false;
}

bool ri_elf_note(const struct ri_elf *elf, const char *owner, char *text, size_t size)
{
	const size_t length = strlen(owner) + 1;
	char name[RI_ELF_NAME];
	Elf64_Nhdr note;

	for (size_t segment = 0; segment < elf->note_count; segment++) {
		uint64_t at = elf->notes[segment].offset, end = at + elf->notes[segment].size;

		for (size_t i = 0; i < MAX_NOTES && at <= end && end - at >= sizeof(note) &&
			read_bytes(elf, at, &note, sizeof(note)); i++) {
			/* its name and its payload are each filled up to four bytes */
			uint64_t payload = at + sizeof(note) +
				((uint64_t)note.n_namesz + 3) / 4 * 4;

			at = payload + ((uint64_t)note.n_descsz + 3) / 4 * 4;
			if (note.n_namesz != length || length > sizeof(name) ||
				!read_bytes(elf, payload - (length + 3) / 4 * 4, name, length) ||
				memcmp(name, owner, length) != 0)
				continue;
			if (note.n_descsz >= size ||
				!read_bytes(elf, payload, text, note.n_descsz))
				break;
			text[note.n_descsz] = '\0';
			return true;
		}
	}
	text[0] = '\0';
	return false;
}

/* Linux Standard Base, "Symbol Versioning": a chain of definitions, the name in the first aux. */
bool ri_elf_version(const struct ri_elf *elf, const char *beginning, char *name)
{
	uint64_t at = elf->versions;
	Elf64_Verdef definition;
	Elf64_Verdaux aux;

	name[0] = '\0';
	for (size_t i = 0; at != 0 && i < elf->version_count && i < MAX_VERSIONS; i++) {
		if (!read_bytes(elf, at, &definition, sizeof(definition)) ||
			!read_bytes(elf, at + definition.vd_aux, &aux, sizeof(aux)))
			break;
		if (read_name(elf, aux.vda_name, name) &&
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

	if (!read_bytes(elf, elf->symbols + (uint64_t)index * sizeof(symbol), &symbol,
		    sizeof(symbol)) ||
		symbol.st_shndx == SHN_UNDEF || !read_name(elf, symbol.st_name, found) ||
		strcmp(found, name) != 0)
		return false;
	*out = (struct ri_elf_symbol){ .size = symbol.st_size,
		.offset = offset_of(elf, symbol.st_value, symbol.st_size) };
	return true;
}

/*
 * The table of DT_GNU_HASH: how many buckets, the first symbol in it, words of the filter, a
 * shift; the filter; the buckets; a hash for each symbol, odd at a chain's end.
 */
static bool find_by_gnu_hash(const struct ri_elf *elf, const char *name,
	struct ri_elf_symbol *out)
{
	uint32_t head[4], index, hash = 5381, found;
	uint64_t buckets, chains;

	if (!read_bytes(elf, elf->gnu_hash, head, sizeof(head)) || head[0] == 0)
		return false;
	/* Bernstein's */
	for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
		hash = hash * 33 + *p;
	buckets = elf->gnu_hash + sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
	chains = buckets + (uint64_t)head[0] * sizeof(uint32_t);
	if (!read_bytes(elf, buckets + hash % head[0] * sizeof(index), &index, sizeof(index)))
		return false;
	for (size_t i = 0; index >= head[1] && i < MAX_CHAIN; i++, index++) {
		if (!read_bytes(elf, chains + (uint64_t)(index - head[1]) * sizeof(found), &found,
			    sizeof(found)))
			return false;
		if ((found | 1) == (hash | 1) && is_symbol(elf, index, name, out))
			return true;
		if ((found & 1) != 0)
			return false;
	}
	return false;
}

/*
 * The table of DT_HASH (System V gABI, "Dynamic Linking", "Hash Table"): how many buckets and
 * symbols; the buckets; for each symbol the next one, or 0.
 */
static bool find_by_old_hash(const struct ri_elf *elf, const char *name,
	struct ri_elf_symbol *out)
{
	uint32_t head[2], index, hash = 0;
	uint64_t at;

	if (!read_bytes(elf, elf->old_hash, head, sizeof(head)) || head[0] == 0)
		return false;
	for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++) {
		hash = (hash << 4) + *p;
		hash = (hash ^ (hash >> 28 << 4)) & 0x0fffffff;
	}
	at = elf->old_hash + sizeof(head) + hash % head[0] * sizeof(index);
	for (size_t i = 0; i < MAX_CHAIN; i++) {
		if (!read_bytes(elf, at, &index, sizeof(index)) || index == 0)
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
	if (!read_bytes(elf, where.offset, text, length)) {
		text[0] = '\0';
		return false;
	}
	text[length] = '\0';
	for (char *p = text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '\0';
	return text[0] != '\0';
}

const char *ri_elf_machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = { { EM_X86_64, "x86-64" }, { EM_AARCH64, "aarch64" }, { EM_386, "i386" },
		{ EM_PPC64, "ppc64" }, { EM_ARM, "arm" } };

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another processor";
}

unsigned ri_elf_machine_here(void)
{
#if defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_X86_64;
#endif
}
