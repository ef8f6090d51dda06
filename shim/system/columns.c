/* SPDX-License-Identifier: Apache-2.0 */
#include "system/columns.h"

#include <stdbool.h>
#include <string.h>

#include "model/page.h"

enum { BELOW = 2, SECOND = 26, WORDS = 2048 };

/* "125 | an option's value cannot be used"; fields is what stands behind the first one. */
static void join(struct ri_text *out, char *fields, size_t most)
{
	const char *field, *between = "";

	for (size_t count = 1; most == 0 || count < most; count++) {
		field = strsep(&fields, "\t");
		if (field == NULL)
			return;
		if (field[0] == '\0' || strcmp(field, "-") == 0)
			continue;
		ri_text_addf(out, "%s%s", between, field);
		between = " | ";
	}
}

static void show_row(struct ri_page *page, char *row, size_t most)
{
	char words[WORDS];
	struct ri_text text;
	bool below = row[0] == '\t';

	row += below;
	if (below)
		ri_page_go(page, BELOW);
	ri_page_show(page, strsep(&row, "\t"));
	ri_text_init(&text, words, sizeof(words));
	if (row != NULL)
		join(&text, row, most);
	ri_page_fold(page, words, SECOND);
}

void ri_columns_show(char *rows, size_t most, struct ri_text *out)
{
	struct ri_page page = { .out = out, .whole = true };
	char *row;

	while ((row = strsep(&rows, "\n")) != NULL)
		if (row[0] != '\0')
			show_row(&page, row, most);
}
