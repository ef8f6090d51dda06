/* SPDX-License-Identifier: Apache-2.0 */
#include "system/own_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "node/sockets.h"

enum {
	STAT_SIZE = 1024,
	PATH_SIZE = 64,
};

bool ri_proc_is_ours(pid_t self)
{
	char own[16], link[16];
	ssize_t length = readlink("/proc/self", link, sizeof(link));

	snprintf(own, sizeof(own), "%d", (int)self);
	return length == (ssize_t)strlen(own) && memcmp(link, own, (size_t)length) == 0;
}

/* A mount over /proc may have a FIFO at this path. */
__attribute__((format(printf, 1, 0))) static int open_file(const char *path, va_list arguments)
{
	char name[PATH_SIZE];

	vsnprintf(name, sizeof(name), path, arguments);
	return open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

ssize_t ri_proc_text(char *out, size_t size, const char *path, ...)
{
	size_t length = 0;
	va_list arguments;
	ssize_t got;
	int fd;

	va_start(arguments, path);
	fd = open_file(path, arguments);
	va_end(arguments);
	out[0] = '\0';
	if (fd < 0)
		return -1;
	while ((got = read(fd, out + length, size - 1 - length)) > 0)
		length += (size_t)got;
	ri_close_quietly(fd);
	out[length] = '\0';
	return got < 0 && length == 0 ? -1 : (ssize_t)length;
}

bool ri_proc_link(char *out, size_t size, const char *path, ...)
{
	char name[PATH_SIZE];
	va_list arguments;
	ssize_t length;

	va_start(arguments, path);
	vsnprintf(name, sizeof(name), path, arguments);
	va_end(arguments);
	length = readlink(name, out, size - 1);
	out[length < 0 ? 0 : length] = '\0';
	return length >= 0;
}

void ri_proc_parts_open(struct ri_proc_parts *parts, char end, const char *path, ...)
{
	va_list arguments;

	va_start(arguments, path);
	*parts = (struct ri_proc_parts){ .end = end, .fd = open_file(path, arguments) };
	va_end(arguments);
}

static char piece[RI_PROC_FILE + 1];	/* of the file that is read in parts */

const char *ri_proc_parts_next(struct ri_proc_parts *parts)
{
	ssize_t got;

	for (;;) {
		char *part = piece + parts->begin;
		char *stop = memchr(part, parts->end, parts->used - parts->begin);
		bool is_long = parts->is_long;

		if (stop != NULL) {
			*stop = '\0';
			parts->begin = (size_t)(stop + 1 - piece);
			parts->is_long = false;
			if (is_long)
				continue;
			return part;
		}
		parts->used -= parts->begin;
		parts->begin = 0;
		parts->is_long = is_long || parts->used == RI_PROC_FILE;
		parts->used = parts->is_long ? 0 : parts->used;
		memmove(piece, part, parts->used);
		got = read(parts->fd, piece + parts->used, RI_PROC_FILE - parts->used);
		if (got <= 0) {
			close(parts->fd);
			return NULL;
		}
		parts->used += (size_t)got;
	}
}

bool ri_proc_variable(pid_t pid, const char *name, char *out, size_t size)
{
	struct ri_proc_parts parts;
	size_t length = strlen(name);
	const char *variable;
	bool found = false;

	ri_proc_parts_open(&parts, '\0', "/proc/%d/environ", (int)pid);
	while ((variable = ri_proc_parts_next(&parts)) != NULL) {
		if (found || strncmp(variable, name, length) != 0 || variable[length] != '=' ||
			strlen(variable + length + 1) >= size)
			continue;
		ri_text_copy(out, size, variable + length + 1);
		found = true;
	}
	return found;
}

bool ri_proc_read(pid_t pid, struct ri_procstat *out)
{
	char text[STAT_SIZE];

	return ri_proc_text(text, sizeof(text), "/proc/%d/stat", (int)pid) > 0 &&
		ri_procstat_read(text, out);
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
static _Alignas(struct dirent) char entries[4096];

struct ri_proc_list ri_proc_list_open(const char *folder)
{
	return (struct ri_proc_list){ .dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
}

pid_t ri_proc_list_next(struct ri_proc_list *list)
{
	static const struct ri_range pids = { 1, INT32_MAX };
	uint64_t pid;

	for (;;) {
		const void *here = entries + list->at;
		const struct dirent *entry = here;

		if (list->at == list->length) {
			list->length = list->dir < 0 ? -1
				: syscall(SYS_getdents64, list->dir, entries, sizeof(entries));
			list->at = 0;
			list->refused = list->length < 0;
			if (list->length > 0)
				continue;
			ri_proc_list_close(list);
			return 0;
		}
		list->at += entry->d_reclen;
		if (ri_number_read(entry->d_name, pids, &pid, NULL) == RI_NUMBER_OK)
			return (pid_t)pid;
	}
}

void ri_proc_list_close(struct ri_proc_list *list)
{
	if (list->dir >= 0)
		close(list->dir);
	list->dir = -1;
}

static bool read_sockets(const char *name,
	void (*take)(void *context, const struct ri_socket *socket), void *context)
{
	struct ri_proc_parts parts;
	struct ri_socket socket;
	const char *line;

	ri_proc_parts_open(&parts, '\n', "/proc/self/net/%s", name);
	if (parts.fd < 0)
		return false;
	while ((line = ri_proc_parts_next(&parts)) != NULL)
		if (ri_socket_read(&socket, line))
			take(context, &socket);
	return true;
}

bool ri_tcp_sockets_read(void (*take)(void *context, const struct ri_socket *socket),
	void *context)
{
	bool four = read_sockets("tcp", take, context);

	return read_sockets("tcp6", take, context) || four;
}
