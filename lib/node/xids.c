/* SPDX-License-Identifier: Apache-2.0 */
#include "node/xids.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Records of it are read one by one, files of a recorded machine in pieces. */
enum {
	RECORD = 8192,		/* bytes of a record (kernel documentation, ABI/testing/dev-kmsg) */
	MAX_READS = 200000,
	MAX_BYTES = 67108864,
};

static void add(struct ri_xids *xids, const struct ri_xid *xid, const struct ri_xid_kind *kind)
{
	struct ri_xid_seen *seen = xids->list;

	while (seen < xids->list + xids->count &&
		(seen->kind != kind || strcmp(seen->address, xid->address) != 0))
		seen++;
	if (seen == xids->list + RI_MAX_XIDS)
		return;
	if (seen == xids->list + xids->count) {
		*seen = (struct ri_xid_seen){ .kind = kind, .first_us = xid->at_us };
		memcpy(seen->address, xid->address, sizeof(seen->address));
		xids->count++;
	}
	seen->last_us = xid->at_us;
	seen->count++;
}

/* The lines of these bytes; what is left of the last one stays at their beginning. */
static size_t take_lines(struct ri_xids *xids, uint64_t since_us, char *bytes, size_t used)
{
	char *line = bytes, *end;
	const struct ri_xid_kind *kind;
	struct ri_xid xid;

	while ((end = memchr(line, '\n', used - (size_t)(line - bytes))) != NULL) {
		*end = '\0';
		if (ri_xid_read(&xid, line) && xid.at_us >= since_us &&
			(kind = ri_xid_kind_find(xid.number)) != NULL)
			add(xids, &xid, kind);
		line = end + 1;
	}
	used -= (size_t)(line - bytes);
	memmove(bytes, line, used);
	return used;
}

/*
 * The kernel's log has this number (kernel documentation, admin-guide/devices.txt).
 * Container runtimes mask it with /dev/null, which is empty, and some make it
 * the console, from which nothing may be read. A file is a recorded machine's.
 */
static bool is_log(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) ||
		(S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 11)));
}

int ri_xids_read(struct ri_xids *out, struct ri_host *host, uint64_t since_us)
{
	static char bytes[2 * RECORD];
	int fd = ri_host_open(host, "/dev/kmsg", O_RDONLY | O_NONBLOCK | O_NOCTTY);
	size_t used = 0, all = 0;

	if (fd < 0)
		return errno;
	if (!is_log(fd)) {
		close(fd);
		return ENODEV;
	}
	out->count = 0;
	for (int i = 0; i < MAX_READS && all < MAX_BYTES; i++) {
		ssize_t count = read(fd, bytes + used, sizeof(bytes) - used);

		/* EPIPE: records were overwritten meanwhile, the next read goes on */
		if (count < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (count <= 0)
			break;
		all += (size_t)count;
		used = take_lines(out, since_us, bytes, used + (size_t)count);
		if (used > sizeof(bytes) - RECORD)
			used = 0;
	}
	close(fd);
	return 0;
}

bool ri_xid_is_ours(const struct ri_gpus *gpus, const char *address)
{
	bool known = gpus->count > 0;

	for (size_t i = 0; i < gpus->count; i++) {
		if (gpus->list[i].address == NULL)
			known = false;
		else if (strcmp(gpus->list[i].address, address) == 0)
			return true;
	}
	return !known;
}
