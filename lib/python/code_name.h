/* SPDX-License-Identifier: Apache-2.0 */
/* A str of the other process as UTF-8, for the files of this folder. */
#ifndef RI_PYTHON_CODE_NAME_H
#define RI_PYTHON_CODE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "python/python.h"

/*
 * The str at an address, of RI_PYTHON_NAME bytes at most: of a longer one the beginning, or
 * where its end matters the end, with "..." for the rest. Bytes that Python could not decode
 * (PEP 383) are there as they were; '?' for what is no character. False, and an empty string:
 * it could not be read, or is none.
 */
bool ri_python_name(
	struct ri_python *python, uint64_t address, bool end_matters, char name[RI_PYTHON_NAME]);

#endif
