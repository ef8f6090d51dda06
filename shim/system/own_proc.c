/* SPDX-License-Identifier: Apache-2.0 */
#include "system/own_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "node/sockets.h"

enum { STAT_SIZE = 1024 };

bool ri_proc_is_ours(pid_t self)
{
	char own[16], link[16];
	ssize_t length = readlink("/proc/self", link, sizeof(link));

	snprintf(own, sizeof(own), "%d", (int)self);
	return length == (ssize_t)strlen(own) && memcmp(link, own, (size_t)length) == 0;
}

bool ri_proc_text(pid_t pid, const char *name, char *text, size_t size)
{
	char path[32];
	ssize_t length = 0;
	int fd;

	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	/* a mount over /proc may have a FIFO at this path */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, text, size - 1);
		close(fd);
	}
	text[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

bool ri_proc_read(pid_t pid, struct ri_procstat *out)
{
	char text[STAT_SIZE];

	return ri_proc_text(pid, "stat", text, sizeof(text)) && ri_procstat_read(text, out);
}

bool ri_proc_birth(pid_t pid, uint64_t *born)
{
	struct ri_procstat found;

	if (!ri_proc_is_ours(getpid()) || !ri_proc_read(pid, &found))
		return false;
	*born = found.started;
	return true;
}

/* opendir(3) would allocate memory; what struct dirent is, host.c says. */
bool ri_proc_each(const char *folder, bool (*visit)(pid_t pid, void *context), void *context)
{
	static const struct ri_range pids = { 1, INT32_MAX };
	_Alignas(struct dirent) char entries[4096];
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool more = dir >= 0;
	long length = 0;

	while (more && (length = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
		for (long at = 0; more && at < length;) {
			const void *here = entries + at;
			const struct dirent *entry = here;
			uint64_t pid;

			at += entry->d_reclen;
			if (ri_number_read(entry->d_name, pids, &pid, NULL) == RI_NUMBER_OK)
				more = visit((pid_t)pid, context);
		}
	if (dir >= 0)
		close(dir);
	return dir >= 0 && length >= 0;
}

static bool read_sockets(const char *path, char *room, size_t size,
	void (*take)(void *context, const struct ri_socket *socket), void *context)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	struct ri_socket socket;
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, room + length, size - 1 - length)) > 0) {
		char *line = room, *end;

		length += (size_t)got;
		room[length] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
			if (ri_socket_read(&socket, line))
				take(context, &socket);
		length -= (size_t)(line - room);
		memmove(room, line, length);
	}
	close(fd);
	return true;
}

bool ri_tcp_sockets_read(char *room, size_t size,
	void (*take)(void *context, const struct ri_socket *socket), void *context)
{
	bool four = read_sockets("/proc/self/net/tcp", room, size, take, context);

	return read_sockets("/proc/self/net/tcp6", room, size, take, context) || four;
}
