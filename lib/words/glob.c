/* SPDX-License-Identifier: Apache-2.0 */
#include "words/glob.h"

static bool is_of(char c, char want)
{
	return want == '~' ? c >= '0' && c <= '9' : c == want;
}

/*
 * Where a byte does not fit, the last '*' takes one byte more. The '*' before it
 * never has to: what stands between the two has already been found.
 */
bool ri_glob_fits(struct ri_span line, const char *glob)
{
	const char *star = NULL;
	size_t at = 0, taken = 0;

	if (line.length > RI_GLOB_BYTES)
		line.length = RI_GLOB_BYTES;
	while (at < line.length) {
		if (*glob == '*') {
			star = ++glob;
			taken = at;
			if (*glob == '\0')
				return true;
		} else if (*glob != '\0' && is_of(line.at[at], *glob)) {
			at++;
			glob++;
		} else if (star != NULL) {
			glob = star;
			at = ++taken;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}
