/* SPDX-License-Identifier: Apache-2.0 */
#include "system/own_proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool ri_proc_is_ours(pid_t self)
{
	char own[16], link[16];
	ssize_t length = readlink("/proc/self", link, sizeof(link));

	snprintf(own, sizeof(own), "%d", (int)self);
	return length == (ssize_t)strlen(own) && memcmp(link, own, (size_t)length) == 0;
}
