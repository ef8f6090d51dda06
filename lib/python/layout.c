/* SPDX-License-Identifier: Apache-2.0 */
#include "python/layout.h"

#include <string.h>

enum {
	MINORS = RI_PYTHON_NEWEST - RI_PYTHON_OLDEST + 1,
	/* No struct of CPython is as large; that of an interpreter has some hundred kB. */
	LARGEST = 1 << 24,
};

struct row {
	size_t member;		/* of the layout */
	bool told;		/* by the process, from RI_PYTHON_SELF_TOLD on */
	uint32_t numbers[MINORS];
};

static const struct row rows[] = {
#define RI_PYTHON_OFFSET(name, ...) \
	{ offsetof(struct ri_python_layout, name), true, { __VA_ARGS__ } },
#define RI_PYTHON_CONSTANT(name, ...) \
	{ offsetof(struct ri_python_layout, name), false, { __VA_ARGS__ } },
#include "python/offsets.def"
};

bool ri_python_layout_read(
	struct ri_python_layout *layout, unsigned minor, const unsigned char *debug)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t number = rows[i].numbers[minor - RI_PYTHON_OLDEST];
		uint64_t offset = number;

		if (rows[i].told && minor >= RI_PYTHON_SELF_TOLD && number != RI_PYTHON_NO) {
			memcpy(&offset, debug + number, sizeof(offset));
			if (offset > LARGEST)
				return false;
			number = (uint32_t)offset;
		}
		memcpy((unsigned char *)layout + rows[i].member, &number, sizeof(number));
	}
	return true;
}
