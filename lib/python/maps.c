/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/number.h"
#include "python/python.h"

void ri_python_maps_init(struct ri_python_maps *maps)
{
	*maps = (struct ri_python_maps){ .count = 0 };
}

/* After the blanks that follow a field. */
static const char *next_field(const char *text)
{
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* "BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH" (proc_pid_maps(5)) */
static void take_line(struct ri_python_maps *maps)
{
	const char *permissions = next_field(maps->fields);
	struct ri_python_object *object;
	uint64_t base, offset;
	bool first;

	if (!maps->in_path || ri_hex_read(maps->fields, &base) == 0)
		return;
	first = !maps->seen;
	maps->seen = true;
	if (!first && strncmp(maps->name, "python", 6) != 0 &&
		strncmp(maps->name, "libpython", 9) != 0)
		return;
	if (*permissions != 'r' || ri_hex_read(next_field(permissions), &offset) == 0 ||
		offset != 0 || maps->count == RI_PYTHON_OBJECTS)
		return;
	object = &maps->objects[maps->count++];
	object->base = base;
	memcpy(object->name, maps->name, sizeof(object->name));
}

static void end_line(struct ri_python_maps *maps)
{
	maps->fields[maps->fields_length] = '\0';
	maps->name[maps->name_length] = '\0';
	take_line(maps);
	maps->fields_length = maps->name_length = 0;
	maps->in_path = false;
}

void ri_python_maps_add(struct ri_python_maps *maps, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n') {
			end_line(maps);
		} else if (text[i] == '/') {
			maps->in_path = true;
			maps->name_length = 0;
		} else if (maps->in_path) {
			if (maps->name_length < sizeof(maps->name) - 1)
				maps->name[maps->name_length++] = text[i];
		} else if (maps->fields_length < sizeof(maps->fields) - 1) {
			maps->fields[maps->fields_length++] = text[i];
		}
	}
}
