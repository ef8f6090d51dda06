/* SPDX-License-Identifier: Apache-2.0 */
#include "check/ib/row.h"

#include "base/text.h"

enum { END_SIZE = 24, NAME_COLUMNS = 40 };

void ri_row_add(struct ri_row *row, const char *name)
{
	char shown[4 * NAME_COLUMNS + 8];
	struct ri_text text;
	size_t used = row->used;

	ri_text_init(&text, shown, sizeof(shown));
	ri_text_add_shown(&text, name, NAME_COLUMNS);
	row->count++;
	if (row->shown + 1 != row->count || used + text.length + 2 + END_SIZE > sizeof(row->bytes))
		return;
	text.bytes = row->bytes + used;
	text.size = sizeof(row->bytes) - used;
	text.length = 0;
	ri_text_addf(&text, "%s%s", row->shown == 0 ? "" : ", ", shown);
	row->used = used + text.length;
	row->shown++;
}

const char *ri_row_end(struct ri_row *row)
{
	struct ri_text text;

	if (row->shown == row->count)
		return row->bytes;
	ri_text_init(&text, row->bytes + row->used, sizeof(row->bytes) - row->used);
	ri_text_addf(&text, "%s%zu more", row->shown == 0 ? "" : " and ",
		row->count - row->shown);
	return row->bytes;
}
