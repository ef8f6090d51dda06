/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "python/python.h"

enum {
	MINORS = RI_PYTHON_NEWEST - RI_PYTHON_OLDEST + 1,
	/* No struct of CPython is as large; that of an interpreter has some hundred kB. */
	LARGEST = 1 << 24,
	SEGMENTS = 32,		/* program headers that are read; real files have 13 */
	ENTRIES = 128,		/* of the dynamic section; real ones have 35 */
	CHAIN = 4096,		/* symbols of one bucket that are looked at */
	PIECE = 16,		/* of them at once */
	NAME = 32,		/* bytes of a symbol that is looked for, '\0' included */
};

struct row {
	size_t member;		/* of the layout */
	bool told;		/* by the process, from RI_PYTHON_SELF_TOLD on */
	uint32_t numbers[MINORS];
};

static const struct row rows[] = {
#define RI_PYTHON_OFFSET(name, ...) \
	{ offsetof(struct ri_python_layout, name), true, { __VA_ARGS__ } },
#define RI_PYTHON_CONSTANT(name, ...) \
	{ offsetof(struct ri_python_layout, name), false, { __VA_ARGS__ } },
#include "python/offsets.def"
};

/* After the blanks that follow a field. */
static const char *next_field(const char *text)
{
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* "BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH" (proc_pid_maps(5)) */
void ri_python_maps_add(struct ri_python_maps *maps, const char *line)
{
	const char *permissions = next_field(line), *path = strchr(line, '/'), *name;
	struct ri_python_object *object;
	uint64_t base, offset;
	bool is_program;

	if (path == NULL || ri_hex_read(line, &base) == 0)
		return;
	name = strrchr(path, '/') + 1;
	is_program = !maps->seen;
	maps->seen = true;
	if (!is_program && strncmp(name, "python", 6) != 0 && strncmp(name, "libpython", 9) != 0)
		return;
	if (*permissions != 'r' || ri_hex_read(next_field(permissions), &offset) == 0 ||
		offset != 0 || maps->count == RI_PYTHON_OBJECTS)
		return;
	object = &maps->objects[maps->count++];
	object->base = base;
	ri_text_copy(object->name, sizeof(object->name), name);
}

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

/* The parts of PY_VERSION_HEX (Python's C API, "API and ABI Versioning"). */
struct release {
	unsigned major, minor, micro, level, serial;
};

/*
 * Before Py_Version (3.11) the version is told by what a minor brought: PyIter_Send by 3.10,
 * PyFrame_GetBack by 3.9 (their pages in Python's C API).
 */
static bool read_release(struct ri_python *python, const struct ri_python_symbols *symbols,
	struct release *release)
{
	uint64_t address = ri_python_symbol(python, symbols, "Py_Version");
	uint32_t version;

	if (address != 0) {
		if (!ri_python_read(python, address, &version, sizeof(version)))
			return false;
		*release = (struct release){ .major = version >> 24,
			.minor = version >> 16 & 0xff, .micro = version >> 8 & 0xff,
			.level = version >> 4 & 0xf, .serial = version & 0xf };
		snprintf(python->release, sizeof(python->release), "%u.%u.%u", release->major,
			release->minor, release->micro);
		return true;
	}
	*release = (struct release){ .major = 3, .minor = RI_PYTHON_OLDEST - 1, .level = 0xf };
	if (ri_python_symbol(python, symbols, "PyIter_Send") != 0)
		release->minor = 10;
	else if (ri_python_symbol(python, symbols, "PyFrame_GetBack") != 0)
		release->minor = 9;
	snprintf(python->release, sizeof(python->release), "%u.%u%s", release->major,
		release->minor, release->minor < RI_PYTHON_OLDEST ? " or older" : "");
	return true;
}

bool ri_python_layout_read(
	struct ri_python_layout *layout, unsigned minor, const unsigned char *debug)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++) {
		uint32_t number = rows[i].numbers[minor - RI_PYTHON_OLDEST];
		uint64_t offset = number;

		if (rows[i].told && minor >= RI_PYTHON_SELF_TOLD && number != RI_PYTHON_NO) {
			memcpy(&offset, debug + number, sizeof(offset));
			if (offset > LARGEST)
				return false;
			number = (uint32_t)offset;
		}
		memcpy((unsigned char *)layout + rows[i].member, &number, sizeof(number));
	}
	return true;
}

static enum ri_python_answer read_layout(
	struct ri_python *python, const struct ri_python_symbols *symbols)
{
	unsigned char debug[RI_PYTHON_DEBUG_SIZE];
	struct release release;
	uint64_t free_threaded = 0;
	const char *level;
	size_t length;

	if (!read_release(python, symbols, &release))
		return RI_PYTHON_CHANGED;
	/* an "a1", "b2" or "rc1": behind the first two the structs of the minor have changed */
	level = release.level == 0xa ? "a" : release.level == 0xb ? "b" :
		release.level == 0xc ? "rc" : NULL;
	length = strlen(python->release);
	if (level != NULL)
		snprintf(python->release + length, sizeof(python->release) - length, "%s%u", level,
			release.serial);
	if ((level != NULL && *level != 'r') || release.major != 3 ||
		release.minor < RI_PYTHON_OLDEST || release.minor > RI_PYTHON_NEWEST)
		return RI_PYTHON_UNKNOWN;
	python->minor = release.minor;
	/* from 3.13 on: the cookie, the version again, and whether there is a GIL come first */
	if (python->minor >= RI_PYTHON_SELF_TOLD) {
		if (!ri_python_read(python, python->runtime, debug, RI_PYTHON_DEBUG_SIZE) ||
			memcmp(debug, "xdebugpy", 8) != 0)
			return RI_PYTHON_CHANGED;
		memcpy(&free_threaded, debug + 16, sizeof(free_threaded));
	}
	if (free_threaded != 0) {
		length = strlen(python->release);
		snprintf(python->release + length, sizeof(python->release) - length,
			" (free-threaded)");
		return RI_PYTHON_UNKNOWN;
	}
	return ri_python_layout_read(&python->layout, python->minor, debug) ? RI_PYTHON_OK :
		RI_PYTHON_CHANGED;
}

static enum ri_python_answer try_object(struct ri_python *python, uint64_t base)
{
	struct ri_python_symbols symbols;
	enum ri_python_answer answer;
	uint64_t head;

	if (!ri_python_symbols_open(python, base, &symbols))
		return RI_PYTHON_NONE;
	python->runtime = ri_python_symbol(python, &symbols, "_PyRuntime");
	if (python->runtime == 0)
		return RI_PYTHON_NONE;
	answer = read_layout(python, &symbols);
	if (answer != RI_PYTHON_OK)
		return answer;
	if (!ri_python_read(python, python->runtime + python->layout.interpreters, &head,
		sizeof(head)))
		return RI_PYTHON_CHANGED;
	python->over = head == 0;
	return head == 0 ? RI_PYTHON_NONE : RI_PYTHON_OK;
}

enum ri_python_answer ri_python_find(struct ri_python *python,
	const struct ri_python_memory *memory, const struct ri_python_maps *maps)
{
	enum ri_python_answer best = RI_PYTHON_NONE;
	unsigned readable = 0;

	*python = (struct ri_python){ .memory = *memory };
	for (size_t i = 0; i < maps->count; i++) {
		enum ri_python_answer answer;
		unsigned char byte;

		if (!ri_python_read(python, maps->objects[i].base, &byte, sizeof(byte)))
			continue;
		readable++;
		answer = try_object(python, maps->objects[i].base);
		if (answer == RI_PYTHON_OK)
			return answer;
		if (answer != RI_PYTHON_NONE)
			best = answer;
		if (answer == RI_PYTHON_UNKNOWN)
			break;
	}
	return maps->count > 0 && readable == 0 ? RI_PYTHON_UNREADABLE : best;
}
