/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the text of /proc/PID/maps, line by line. */
#include "fuzz.h"
#include "python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_python_maps maps = { .count = 0 };
	char *text = fuzz_string(data, size), *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		ri_python_maps_add(&maps, line);
	CHECK(maps.count <= RI_PYTHON_OBJECTS);
	for (size_t i = 0; i < maps.count; i++) {
		const struct ri_python_object *object = &maps.objects[i];

		CHECK(strnlen(object->name, sizeof(object->name)) < sizeof(object->name));
		CHECK(strchr(object->name, '/') == NULL);
	}
	free(text);
	return 0;
}
