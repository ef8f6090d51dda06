/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the text of /proc/PID/maps. In one piece and in many it says the same. */
#include "fuzz.h"
#include "python/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_python_maps whole, pieces;
	char *text = fuzz_string(data, size);

	ri_python_maps_init(&whole);
	ri_python_maps_init(&pieces);
	ri_python_maps_add(&whole, text, size);
	for (size_t at = 0; at < size; at += 3)
		ri_python_maps_add(&pieces, text + at, size - at < 3 ? size - at : 3);
	CHECK(whole.count <= RI_PYTHON_OBJECTS && whole.count == pieces.count);
	for (size_t i = 0; i < whole.count; i++) {
		const struct ri_python_object *object = &whole.objects[i];

		CHECK(strnlen(object->name, sizeof(object->name)) < sizeof(object->name));
		CHECK(object->base == pieces.objects[i].base);
		CHECK(strcmp(object->name, pieces.objects[i].name) == 0);
		CHECK(strchr(object->name, '/') == NULL);
	}
	free(text);
	return 0;
}
