/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_NAME_SERVICE_H
#define RI_SHIM_SYSTEM_NAME_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

/* No name, so that no server has to be asked. */
bool ri_name_is_address(const char *name);

/*
 * The first address of a name, as text, by name service. It may take as long as
 * the resolver waits: for children of ours that have a deadline. Returns 0 or an
 * error of getaddrinfo(3).
 */
int ri_name_resolve(const char *name, char *address, size_t size);

enum { RI_NAME_ADDRESSES = 4 };	/* of one name that are tried */

/*
 * All addresses of a name or of an address as text, at most room of them: IPv4 as ::ffff:a.b.c.d.
 * As long as that one. Returns how many, or an error of getaddrinfo(3), which is below 0.
 */
int ri_name_addresses(const char *name, unsigned char (*out)[16], int room);

#endif
