/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

#include <string.h>

static int find(const struct ri_hang_look *look, size_t low, size_t high, pid_t pid)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (look->processes[middle].pid == pid)
			return (int)middle;
		if (look->processes[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

int ri_hang_find_process(const struct ri_hang_look *look, pid_t pid)
{
	int own = find(look, 0, look->own_count, pid);

	return own >= 0 ? own : find(look, look->own_count, look->count, pid);
}

bool ri_hang_has_ranks(const struct ri_hang_look *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].is_rank)
			return true;
	return false;
}

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

const char *ri_hang_keep_string(struct ri_hang *hang, const char *string)
{
	size_t length = strlen(string), place = hash(string);
	char *kept = hang->text + hang->text_length;

	if (remembered[place] >= hang->text && remembered[place] < kept &&
		strcmp(remembered[place], string) == 0)
		return remembered[place];
	if (length >= sizeof(hang->text) - hang->text_length)
		return "";
	memcpy(kept, string, length + 1);
	hang->text_length += (uint32_t)length + 1;
	remembered[place] = kept;
	return kept;
}
