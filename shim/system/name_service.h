/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_NAME_SERVICE_H
#define RI_SHIM_SYSTEM_NAME_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

/* No name, so that no server has to be asked. */
bool ri_name_is_address(const char *name);

/*
 * The first address of a name, as text, or at most room of its addresses, IPv4 as ::ffff:a.b.c.d.
 * It may take as long as the resolver waits: for children of ours that have a deadline. Returns 0,
 * or how many there are, or an error of getaddrinfo(3), which is below 0.
 */
int ri_name_resolve(const char *name, char *address, size_t size);

enum { RI_NAME_ADDRESSES = 4 };	/* of one name that are tried */

int ri_name_addresses(const char *name, unsigned char (*out)[16], int room);

#endif
