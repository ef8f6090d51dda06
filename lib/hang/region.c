/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

#include <stdlib.h>

static int compare(const void *pid, const void *process)
{
	pid_t wanted = *(const pid_t *)pid, its = ((const struct ri_hang_process *)process)->pid;

	return (wanted > its) - (wanted < its);
}

int ri_hang_find_process(const struct ri_hang_look *look, pid_t pid)
{
	const struct ri_hang_process *all = look->processes, *found;

	found = bsearch(&pid, all, look->own_count, sizeof(*all), compare);
	if (found == NULL)
		found = bsearch(&pid, all + look->own_count, look->count - look->own_count,
			sizeof(*all), compare);
	return found == NULL ? -1 : (int)(found - all);
}

const struct ri_hang_process *ri_hang_find_before(const struct ri_hang *hang,
	const struct ri_hang_process *now)
{
	const struct ri_hang_look *before = &hang->looks[!hang->last];
	int at = hang->looks_taken < 2 ? -1 : ri_hang_find_process(before, now->pid);

	return at >= 0 && before->processes[at].started == now->started ? &before->processes[at]
									: NULL;
}

bool ri_hang_has_ranks(const struct ri_hang_look *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].is_rank)
			return true;
	return false;
}

const char *ri_hang_keep_string(struct ri_hang *hang, const char *string)
{
	/* ranks run one program, so the strings of one rank mostly come again for the next */
	static const char *remembered[512];
	size_t length = strlen(string), place = 5381;
	char *kept = hang->text + hang->text_length;

	for (size_t i = 0; i < length; i++)
		place = place * 33 ^ (unsigned char)string[i];
	place %= sizeof(remembered) / sizeof(remembered[0]);
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
