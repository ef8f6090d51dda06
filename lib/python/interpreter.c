/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "python/remote.h"

enum {
	MINORS = RI_PYTHON_NEWEST - RI_PYTHON_OLDEST + 1,
	/* No struct of CPython is as large; that of an interpreter has some hundred kB. */
	LARGEST = 1 << 24,
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

/* Names an "a1", "b2" or "rc1" so. False: the structs of the minor have still changed after it. */
static bool add_level(struct ri_python *python, const struct release *release)
{
	const char *level = release->level == 0xa ? "a" : release->level == 0xb ? "b" :
		release->level == 0xc ? "rc" : NULL;
	size_t length = strlen(python->release);

	if (level == NULL)
		return true;
	snprintf(python->release + length, sizeof(python->release) - length, "%s%u", level,
		release->serial);
	return *level == 'r';
}

/* From 3.13 on: the cookie, the version again, and whether there is a GIL come first. */
static enum ri_python_answer read_debug(struct ri_python *python, unsigned char *debug)
{
	uint64_t free_threaded;
	size_t length;

	if (!ri_python_read(python, python->runtime, debug, RI_PYTHON_DEBUG_SIZE) ||
		memcmp(debug, "xdebugpy", 8) != 0)
		return RI_PYTHON_CHANGED;
	memcpy(&free_threaded, debug + 16, sizeof(free_threaded));
	if (free_threaded == 0)
		return RI_PYTHON_OK;
	length = strlen(python->release);
	snprintf(python->release + length, sizeof(python->release) - length, " (free-threaded)");
	return RI_PYTHON_UNKNOWN;
}

bool ri_python_layout_read(
	struct ri_python_layout *layout, unsigned minor, const unsigned char *debug)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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
	enum ri_python_answer answer = RI_PYTHON_OK;
	struct release release;

	if (!read_release(python, symbols, &release))
		return RI_PYTHON_CHANGED;
	if (!add_level(python, &release) || release.major != 3 ||
		release.minor < RI_PYTHON_OLDEST || release.minor > RI_PYTHON_NEWEST)
		return RI_PYTHON_UNKNOWN;
	python->minor = release.minor;
	if (python->minor >= RI_PYTHON_SELF_TOLD)
		answer = read_debug(python, debug);
	if (answer != RI_PYTHON_OK)
		return answer;
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
