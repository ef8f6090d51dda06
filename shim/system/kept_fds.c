/* SPDX-License-Identifier: Apache-2.0 */
#include "system/kept_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SPARES = 12,
	/* Linux 6.3 include/uapi/linux/memfd.h; vm.memfd_noexec asks for it, or adds it */
	NOEXEC_SEAL = 8,
};

static int spares[SPARES];	/* 0: no more of them */

void ri_kept_fds_add(int fd)
{
	for (size_t i = 0; fd >= 3 && i < SPARES; i++) {
		if (spares[i] != 0)
			continue;
		spares[i] = fd;
		return;
	}
}

int ri_kept_fds_next(int from)
{
	int next = -1;

	for (size_t i = 0; i < SPARES; i++)
		if (spares[i] != 0 && spares[i] >= from && (next < 0 || spares[i] < next))
			next = spares[i];
	return next;
}

int ri_memory_file(const char *name, int first)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | NOEXEC_SEAL), high;

	/* a kernel before Linux 6.3 does not know it */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, first);
	close(fd);
	return high;
}

void ri_close_between(unsigned first, unsigned last)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	rlim_t end;

	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	end = limit.rlim_cur > 65536 ? 65536 : limit.rlim_cur;
	for (rlim_t fd = first; fd < end && fd <= last; fd++)
		close((int)fd);
}
