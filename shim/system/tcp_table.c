/* SPDX-License-Identifier: Apache-2.0 */
#include "system/tcp_table.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ri_tcp_table_read(const char *path, char *room, size_t size,
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
