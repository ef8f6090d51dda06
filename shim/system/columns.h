/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: what is tab-separated for programs, on a terminal. */
#ifndef RI_SHIM_SYSTEM_COLUMNS_H
#define RI_SHIM_SYSTEM_COLUMNS_H

#include <stddef.h>

#include "base/text.h"

/*
 * A line for each row: its first field, and beside that the others which are
 * not "-", folded. A row that begins with a tab is of the one above. most: of
 * how many fields of a row; 0: all. rows is cut into its fields.
 */
void ri_columns_show(char *rows, size_t most, struct ri_text *out);

#endif
