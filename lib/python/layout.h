/* SPDX-License-Identifier: Apache-2.0 */
/* Where the CPython of a process keeps what a stack is made of: offsets.def, settled. */
#ifndef RI_PYTHON_LAYOUT_H
#define RI_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An offset that this minor does not have. */
#define RI_PYTHON_NO UINT32_MAX

enum {
	RI_PYTHON_OLDEST = 9,		/* minors of Python 3 that offsets.def has */
	RI_PYTHON_NEWEST = 14,
	RI_PYTHON_SELF_TOLD = 13,	/* the first that brings its offsets */
	RI_PYTHON_DEBUG_SIZE = 648,	/* bytes of struct _Py_DebugOffsets that are needed */
};

struct ri_python_layout {
#define RI_PYTHON_OFFSET(name, ...) uint32_t name;
#define RI_PYTHON_CONSTANT(name, ...) uint32_t name;
#include "python/offsets.def"
};

/*
 * The layout of a minor from OLDEST to NEWEST. debug is the beginning of _PyRuntime, of
 * RI_PYTHON_DEBUG_SIZE bytes, and not used before SELF_TOLD. False: an offset in it is none.
 */
bool ri_python_layout_read(
	struct ri_python_layout *layout, unsigned minor, const unsigned char *debug);

#endif
