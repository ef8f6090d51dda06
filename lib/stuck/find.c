/* SPDX-License-Identifier: Apache-2.0 */
#include "stuck/stuck.h"

int ri_stuck_find(const struct ri_stuck_look *look, pid_t pid)
{
	size_t low = 0, high = look->count;

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
