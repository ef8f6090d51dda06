/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hang/hang.h"

/* The ranks of a job run the same program: what was kept last is what comes next. */
enum { REMEMBERED = 512 };

static const char *remembered[REMEMBERED];

static size_t hash(const char *string)
{
	size_t value = 5381;

	for (; *string != '\0'; string++)
		value = value * 33 ^ (unsigned char)*string;
	return value % REMEMBERED;
}

const char *ri_hang_keep(struct ri_hang *stuck, const char *string)
{
	size_t length = strlen(string), place = hash(string);
	char *kept = stuck->text + stuck->text_length;

	if (remembered[place] >= stuck->text && remembered[place] < kept &&
		strcmp(remembered[place], string) == 0)
		return remembered[place];
	if (length >= sizeof(stuck->text) - stuck->text_length)
		return "";
	memcpy(kept, string, length + 1);
	stuck->text_length += (uint32_t)length + 1;
	remembered[place] = kept;
	return kept;
}
