/* SPDX-License-Identifier: Apache-2.0 */
#include "image/version.h"

#include <stddef.h>

#include "base/number.h"

/* Take the next number off; 0 past the last one. */
static uint64_t next_number(const char **rest)
{
	uint64_t number = 0;
	size_t digits = ri_digits_read(*rest, &number);

	*rest += digits;
	if (digits > 0 && **rest == '.')
		(*rest)++;
	else
		*rest = "";
	return number;
}

int ri_version_compare(const char *a, const char *b)
{
	while (*a != '\0' || *b != '\0') {
		uint64_t left = next_number(&a), right = next_number(&b);

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

uint64_t ri_version_major(const char *version)
{
	return next_number(&version);
}
