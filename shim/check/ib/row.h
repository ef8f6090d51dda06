/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a row, for a result: "mlx5_ib0, mlx5_ib1 and 6 more". */
#ifndef RI_SHIM_CHECK_IB_ROW_H
#define RI_SHIM_CHECK_IB_ROW_H

#include <stddef.h>

struct ri_row {
	char bytes[96];	/* as many as the subject of a result */
	size_t used;
	size_t count;	/* of all that were added */
	size_t shown;
};

/* All zero is a row without names. */
void ri_row_add(struct ri_row *row, const char *name);

/* The row as text; say once, after the last one is added. */
const char *ri_row_end(struct ri_row *row);

#endif
