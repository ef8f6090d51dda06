/* SPDX-License-Identifier: Apache-2.0 */
#include "output/output.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { LONGEST = 24 };		/* what a number or %% becomes, at most */

bool ri_pattern_read(const char *pattern, struct ri_pattern_use *use)
{
	*use = (struct ri_pattern_use){ .rank = false };
	while ((pattern = strchr(pattern, '%')) != NULL) {
		switch (pattern[1]) {
		case 'r':
		case 'l':
			use->rank = true;
			break;
		case 'n':
			use->node = true;
			break;
		case 'h':
			use->host = true;
			break;
		case '%':
			break;
		default:
			return false;
		}
		pattern += 2;
	}
	return true;
}

const char *ri_pattern_expand(const char *pattern, const struct ri_pattern_values *values,
	struct ri_arena *arena)
{
	size_t size = strlen(pattern) + 1, host = values->host == NULL ? 0 : strlen(values->host);
	struct ri_text out;
	char *bytes;

	for (const char *p = pattern; *p != '\0'; p++)
		size += *p == '%' ? LONGEST + host : 0;
	bytes = ri_arena_alloc(arena, size);
	if (bytes == NULL)
		return NULL;
	out = ri_text_of(bytes, size);
	for (const char *p = pattern; *p != '\0'; p++) {
		size_t begin = out.length;

		if (*p != '%')
			ri_text_add_bytes(&out, p, 1);
		else if (*++p == 'r')
			ri_text_addf(&out, "%" PRIu64, values->rank);
		else if (*p == 'l')
			ri_text_addf(&out, "%" PRIu64, values->local_rank);
		else if (*p == 'n')
			ri_text_addf(&out, "%" PRIu64, values->node);
		else if (*p == '%')
			ri_text_add(&out, "%");
		else
			for (ri_text_add(&out, values->host); begin < out.length; begin++)
				if (bytes[begin] == '/')
					bytes[begin] = '_';
	}
	return bytes;
}
