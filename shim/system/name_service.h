/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_NAME_SERVICE_H
#define RI_SHIM_NAME_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

/* No name, so that nobody has to be asked. */
bool ri_name_is_address(const char *name);

/*
 * The first address of a name, as text, by name service. It may take as long as
 * the resolver waits: for children of ours that have a deadline. Returns 0 or an
 * error of getaddrinfo(3).
 */
int ri_name_resolve(const char *name, char *address, size_t size);

#endif
