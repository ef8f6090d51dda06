/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's side of NVIDIA's driver: libcuda and libnvidia-ml, which come
 * into a container with the GPUs and have to be of the kernel's version, the
 * libraries for older drivers that an image may bring (cuda-compat), and the
 * CUDA that the image is made for.
 */
#ifndef RI_IMAGE_CUDA_H
#define RI_IMAGE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/library.h"

enum { RI_CUDA_VERSION = 32, RI_CUDA_DRIVERS = 64 };

/* The JSON that libcuda of cuda-compat holds of itself, as a note. */
struct ri_cuda_note {
	char cuda[RI_CUDA_VERSION];	/* "13.1"; "": it does not say */
	uint64_t drivers[RI_CUDA_DRIVERS];	/* majors of drivers that it is made for */
	size_t count;			/* 0: it does not say */
};

/* One of the driver's libraries. */
struct ri_cuda_library {
	struct ri_library file;		/* path NULL: no program finds it */
	char version[RI_CUDA_VERSION];	/* by its file's name: "580.95.05"; "": unknown */
};

struct ri_cuda {
	struct ri_cuda_library driver;		/* libcuda.so.1 */
	struct ri_cuda_library management;	/* libnvidia-ml.so.1 */
	const char *stub;	/* the toolkit's empty libcuda, where that is all there is */
	bool compat_used;	/* driver is that of cuda-compat */
	struct ri_cuda_library compat;	/* that one, be it used or not */
	struct ri_cuda_note note;	/* of compat */
	char toolkit[RI_CUDA_VERSION];	/* the image's CUDA: "12.8.1"; "": nothing tells */
	const char *toolkit_origin;	/* the variable or the file that does */
};

/*
 * Versions of numbers with dots between them, "580.95.05": below 0, 0, or above 0, as a is older
 * than b, the same, or newer. A number that one of them lacks is 0; what follows the last number
 * does not count.
 */
int ri_version_compare(const char *a, const char *b);

/* kernel: the version of the driver that runs; "": unknown. */
void ri_cuda_find(struct ri_cuda *out, const struct ri_loader *loader, const char *kernel);

/* The oldest driver on which programs of this CUDA run; NULL: not known here. */
const char *ri_cuda_least_driver(const char *cuda);

/* Is cuda-compat of this version, with this note, for that driver? */
bool ri_cuda_compat_fits(const char *compat, const struct ri_cuda_note *note, const char *driver);

/* Of the note's text, and of /usr/local/cuda/version.json. False: it is no such text. */
bool ri_cuda_note_read(const char *text, struct ri_cuda_note *out);
bool ri_cuda_toolkit_read(const char *text, char out[RI_CUDA_VERSION]);

#endif
