/* SPDX-License-Identifier: Apache-2.0 */
#include "words/decisive.h"

#include "words/glob.h"
#include "words/line.h"

static const struct {
	enum ri_decisive what;
	const char *shape;
} table[] = {
#define RI_DECISIVE(what_, shape_, line_, source_) { RI_DECISIVE_##what_, shape_ },
#include "words/decisive.def"
#undef RI_DECISIVE
};

enum ri_decisive ri_decisive_find(struct ri_span line)
{
	line = ri_line_trim(line);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && line.length > 0; i++)
		if (ri_glob_fits(line, table[i].shape))
			return table[i].what;
	return RI_DECISIVE_NONE;
}
