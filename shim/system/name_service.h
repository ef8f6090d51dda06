/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_NAME_SERVICE_H
#define RI_SHIM_SYSTEM_NAME_SERVICE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* No name, so that no server has to be asked. */
bool ri_name_is_address(const char *name);

/* An address as text, of either kind: IPv4 as ::ffff:a.b.c.d. False, where it is none. */
bool ri_address_read(unsigned char out[16], const char *text);

/* Such an address as the kernel takes it. Returns its length. */
union ri_socket_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

socklen_t ri_socket_address_make(union ri_socket_address *out, const unsigned char address[16],
	uint16_t port);

/*
 * The first address of a name, as text, or at most room of its addresses, IPv4 as ::ffff:a.b.c.d.
 * It may take as long as the resolver waits: for children of ours that have a deadline. Returns 0,
 * or how many there are, or an error of getaddrinfo(3), which is below 0.
 */
int ri_name_resolve(const char *name, char *address, size_t size);

enum { RI_NAME_ADDRESSES = 4 };	/* of one name that are tried */

int ri_name_addresses(const char *name, unsigned char (*out)[16], int room);

#endif
