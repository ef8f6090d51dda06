/* SPDX-License-Identifier: Apache-2.0 */
#include "words/pattern_line.h"

static bool is_of(char c, char shape)
{
	return shape == '~' ? c >= '0' && c <= '9' : c == shape;
}

/* Back to the last '*' where it does not fit: the one before never has to take more. */
bool ri_shape_fits(struct ri_span line, const char *shape)
{
	const char *star = NULL;
	size_t at = 0, taken = 0;

	if (line.length > RI_SHAPE_BYTES)
		line.length = RI_SHAPE_BYTES;
	while (at < line.length) {
		if (*shape == '*') {
			star = ++shape;
			taken = at;
			if (*shape == '\0')
				return true;
		} else if (*shape != '\0' && is_of(line.at[at], *shape)) {
			at++;
			shape++;
		} else if (star != NULL) {
			shape = star;
			at = ++taken;
		} else {
			return false;
		}
	}
	while (*shape == '*')
		shape++;
	return *shape == '\0';
}
