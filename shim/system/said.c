/* SPDX-License-Identifier: Apache-2.0 */
#include "system/said.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/own_proc.h"

static char path[96];	/* of the file that we have made, or "" */

bool ri_was_said(const char *word)
{
	char name[sizeof(path)];
	struct stat info;
	uint64_t born;
	int fd;

	if (!ri_proc_birth(1, &born) || stat("/proc/self/ns/pid", &info) < 0)
		return false;
	/* others may share /dev/shm, and use the number of a namespace again that has gone */
	snprintf(name, sizeof(name), "/dev/shm/rankinit-%llu-%llu.%.24s",
		(unsigned long long)info.st_ino, (unsigned long long)born, word);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST;
	close(fd);
	snprintf(path, sizeof(path), "%s", name);
	return false;
}

void ri_said_forget(void)
{
	if (path[0] != '\0' && getpid() == 1)
		unlink(path);
}
