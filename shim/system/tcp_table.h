/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_TCP_TABLE_H
#define RI_SHIM_SYSTEM_TCP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "node/sockets.h"

/*
 * Call take for each socket of /proc/self/net/tcp or tcp6, a piece of the file after the other in
 * the room of so many bytes, which are more than a line. Returns false where there is no file.
 */
bool ri_tcp_table_read(const char *path, char *room, size_t size,
	void (*take)(void *context, const struct ri_socket *socket), void *context);

#endif
