/* SPDX-License-Identifier: Apache-2.0 */
/* The line of an instruction, for the files of this folder and its tests. */
#ifndef RI_PYTHON_LINE_TABLE_H
#define RI_PYTHON_LINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "python/python.h"

/*
 * table is the address of a code object's bytes: pairs of differences in 3.9
 * (Objects/lnotab_notes.txt) and 3.10 (the same file, PEP 626), entries of varying length from
 * 3.11 on (Objects/locations.md, PEP 657). instruction counts bytes from the first one; less
 * than 0: the code has not begun. *line is 0 where the instruction belongs to none. False: the
 * table could not be read, or ends before the instruction.
 */
bool ri_python_line(struct ri_python *python, uint64_t table, uint32_t first_line,
	int64_t instruction, uint32_t *line);

#endif
