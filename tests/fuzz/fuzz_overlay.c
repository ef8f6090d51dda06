/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the text as RANKINIT_SIMULATED. It is refused in its name, or it is a machine
 * with a name and files with whole paths, which is written in a form that reads the same.
 */
#include "fuzz.h"

#include "base/host.h"
#include "base/limits.h"

static struct ri_arena arena;

static void check_again(const struct ri_overlay *overlay)
{
	char *text = ri_overlay_write(overlay, &arena);
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay again;
	size_t i = 0;

	CHECK(text != NULL && ri_overlay_read(&again, text, &arena, &err) == 0);
	CHECK(strcmp(again.name, overlay->name) == 0 && again.from_ms == overlay->from_ms &&
		again.unfit == overlay->unfit);
	for (; overlay->files[i].path != NULL; i++) {
		const struct ri_host_file *old = &overlay->files[i], *new = &again.files[i];

		CHECK(old->path[0] == '/' && strcmp(old->path, new->path) == 0);
		CHECK(old->length == new->length && strlen(new->text) == new->length);
		CHECK(memcmp(old->text, new->text, new->length) == 0);
	}
	CHECK(again.files[i].path == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay overlay;

	if (ri_overlay_read(&overlay, text, &arena, &err) == 0) {
		CHECK(overlay.name[0] != '\0' && strlen(overlay.name) <= RI_MAX_NAME);
		check_again(&overlay);
	} else {
		CHECK(err.code == RI_CODE_OPTION_VALUE);
		CHECK(strcmp(err.subject, RI_OVERLAY_VARIABLE) == 0 && fuzz_is_printable(err.text));
	}
	ri_arena_release(&arena);
	free(text);
	return 0;
}
