/* SPDX-License-Identifier: Apache-2.0 */
#include "link/node_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "system/mask.h"
#include "system/held_path.h"

enum { WAIT_MS = 50, WAITS = 10 };

/*
 * An abstract name (unix(7)): it is of the network namespace, as a pod has one. It follows from the
 * job's key, so that jobs do not meet, and that who has not the secret cannot foresee it.
 */
static socklen_t name_place(struct sockaddr_un *name, const unsigned char *job_key, uint64_t node)
{
	static const char prefix[] = "rankinit-link ";
	unsigned char key[RI_SEAL_KEY];
	char words[48], *end = name->sun_path + 1;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(words, sizeof(words), "the place of node %llu", (unsigned long long)node);
	ri_seal_job_key(key, words, job_key, RI_SEAL_KEY);
	memcpy(end, prefix, sizeof(prefix) - 1);
	end += sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(key); i++)
		end += snprintf(end, 3, "%02x", key[i]);
	return (socklen_t)(end - (char *)name);
}

int ri_link_place_take(const unsigned char job_key[RI_SEAL_KEY], uint64_t node)
{
	struct sockaddr_un name;
	socklen_t length = name_place(&name, job_key, node);
	int fd = ri_fd_move_up(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), bound, saved;

	if (fd < 0)
		return -1;
	bound = bind(fd, (const struct sockaddr *)&name, length);
	for (int i = 0; bound < 0 && errno == EADDRINUSE && i < WAITS; i++) {
		ri_mask_pause(WAIT_MS);
		bound = bind(fd, (const struct sockaddr *)&name, length);
	}
	saved = errno;
	if (bound == 0)
		return fd;
	close(fd);
	errno = saved;
	return -1;
}
