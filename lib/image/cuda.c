/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <jansson.h>
#include <string.h>

#include "base/text.h"

enum { NOTE_SIZE = 2048, JSON_SIZE = 65536 };

/* Drivers are counted from here on; a smaller number behind ".so." is an interface's. */
enum { LEAST_MAJOR = 100 };

/* The number before the first dot; 0 where there is none. */
static uint64_t major_of(const char *version)
{
	uint64_t number = 0;

	ri_digits_read(version, &number);
	return number;
}

static const char driver_name[] = "libcuda.so.1";

/*
 * CUDA Toolkit Release Notes, "Minimum Required Driver Version for CUDA Minor Version
 * Compatibility".
 */
static const struct {
	const char *cuda, *driver;	/* from this CUDA on */
} least[] = {
	{ "13.0", "580" }, { "12.0", "525.60.13" }, { "11.0", "450.80.02" }, { "10.2", "440.33" },
	{ "10.1", "418.39" }, { "10.0", "410.48" },
};

const char *ri_cuda_least_driver(const char *cuda)
{
	if (major_of(cuda) > major_of(least[0].cuda))
		return NULL;
	for (size_t i = 0; i < RI_ARRAY_SIZE(least); i++)
		if (ri_version_compare(cuda, least[i].cuda) >= 0)
			return least[i].driver;
	return NULL;
}

/* NVIDIA container toolkit, cmd/nvidia-cdi-hook/cudacompat: what its hook goes by. */
bool ri_cuda_compat_fits(const char *compat, const struct ri_cuda_note *note, const char *driver)
{
	uint64_t major = major_of(driver);

	for (size_t i = 0; i < note->count; i++)
		if (note->drivers[i] == major)
			return true;
	return note->count == 0 && major_of(compat) >= major;
}

/* Digits and dots from end to end. */
static bool keep_version(const char *text, char out[RI_CUDA_VERSION])
{
	if (text == NULL || text[0] == '\0' || text[strspn(text, "0123456789.")] != '\0' ||
		strlen(text) >= RI_CUDA_VERSION)
		return false;
	ri_text_copy(out, RI_CUDA_VERSION, text);
	return true;
}

/* The same place: the note of libcuda in cuda-compat. */
bool ri_cuda_note_read(const char *text, struct ri_cuda_note *out)
{
	json_t *root = json_loads(text, 0, NULL), *entry;
	size_t index;

	*out = (struct ri_cuda_note){ .count = 0 };
	if (!json_is_object(root)) {
		json_decref(root);
		return false;
	}
	json_array_foreach(json_object_get(root, "Driver"), index, entry) {
		json_int_t number = json_integer_value(entry);

		if (number > 0 && out->count < RI_CUDA_DRIVERS)
			out->drivers[out->count++] = (uint64_t)number;
	}
	json_decref(root);
	return true;
}

/* NVIDIA CUDA Installation Guide for Linux: version.json of an installed toolkit. */
bool ri_cuda_toolkit_read(const char *text, char out[RI_CUDA_VERSION])
{
	json_t *root = json_loads(text, 0, NULL);
	const char *version = json_string_value(json_object_get(json_object_get(root, "cuda"),
		"version"));
	bool found = keep_version(version, out);

	json_decref(root);
	return found;
}

/* "580.95.05" of libcuda.so.580.95.05. */
static void version_by_name(struct ri_cuda_library *library)
{
	const char *at = strstr(ri_path_name(library->file.real), ".so.");

	if (at != NULL && major_of(at + 4) >= LEAST_MAJOR)
		keep_version(at + 4, library->version);
}

static void find_one(struct ri_cuda_library *out, const struct ri_loader *loader, const char *name)
{
	if (ri_loader_find(loader, name, &out->file))
		version_by_name(out);
}

/*
 * Is the one that programs find that of cuda-compat? libnvidia-container
 * mounts it beside the driver's own, under its own name.
 */
static bool uses_compat(const struct ri_cuda *cuda, const char *kernel)
{
	const char *real = cuda->driver.file.real;

	if (cuda->driver.file.path == NULL)
		return false;
	if (strstr(cuda->driver.file.path, "/compat/") != NULL || strstr(real, "/compat/") != NULL)
		return true;
	return cuda->compat.file.path != NULL && strcmp(cuda->driver.version, kernel) != 0 &&
		strcmp(ri_path_name(real), ri_path_name(cuda->compat.file.real)) == 0;
}

void ri_cuda_find(struct ri_cuda *out, const struct ri_loader *loader, const char *kernel)
{
	static const char *const paths[] = { "/usr/local/cuda/lib64/stubs/libcuda.so.1",
		"/usr/local/cuda/lib64/stubs/libcuda.so" };

	/* what NVIDIA's CUDA images set, and what a toolkit has */
	static const char variable[] = "CUDA_VERSION", path[] = "/usr/local/cuda/version.json";
	/* where cuda-compat-* and NVIDIA's framework images have it (CUDA Compatibility) */
	static const char *const folders[] = { "/usr/local/cuda/compat",
		"/usr/local/cuda/compat/lib", "/usr/local/cuda/compat/lib.real" };
	const struct ri_image *image = loader->image;
	char note[NOTE_SIZE], *text = ri_arena_alloc(image->arena, JSON_SIZE);
	struct ri_elf elf;
	bool compat = false;

	*out = (struct ri_cuda){ .stub = NULL };
	find_one(&out->driver, loader, driver_name);
	find_one(&out->management, loader, "libnvidia-ml.so.1");
	/* CUDA Toolkit: lib64/stubs, which is for linking on machines without a driver. */
	if (out->driver.file.path != NULL && strstr(out->driver.file.path, "/stubs/") != NULL)
		out->stub = out->driver.file.path;
	for (size_t i = 0; i < RI_ARRAY_SIZE(paths); i++)
		if (out->driver.file.path == NULL && out->stub == NULL &&
			ri_host_has(loader->image->host, paths[i]))
			out->stub = paths[i];
	for (size_t i = 0; i < RI_ARRAY_SIZE(folders) && !compat; i++)
		compat = ri_loader_look(loader, folders[i], driver_name, &out->compat.file);
	if (compat)
		version_by_name(&out->compat);
	out->compat_used = uses_compat(out, kernel);
	if (out->compat_used)
		out->compat = out->driver;
	if (out->compat.file.path != NULL) {
		if (ri_elf_open(&elf, image->host, out->compat.file.path) == RI_ELF_OK &&
			ri_elf_note(&elf, "NVIDIA Corporation", note, sizeof(note)))
			ri_cuda_note_read(note, &out->note);
		ri_elf_close(&elf);
	}
	if (keep_version(ri_env_get(image->env, variable), out->toolkit))
		out->toolkit_origin = variable;
	else if (text != NULL && ri_host_read(image->host, path, text, JSON_SIZE) > 0 &&
		ri_cuda_toolkit_read(text, out->toolkit))
		out->toolkit_origin = path;
}
