/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

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

int ri_hang_find(const struct ri_hang_look *look, pid_t pid)
{
	int own = find(look, 0, look->own_count, pid);

	return own >= 0 ? own : find(look, look->own_count, look->count, pid);
}
