/* SPDX-License-Identifier: Apache-2.0 */
#include "system/name_service.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "node/sockets.h"

bool ri_name_is_address(const char *name)
{
	unsigned char bytes[16];

	/* no name has a colon, but "fe80::1%eth0" has one */
	return strchr(name, ':') != NULL || inet_pton(AF_INET, name, bytes) == 1;
}

int ri_name_resolve(const char *name, char *address, size_t size)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	const void *bytes;
	int error = getaddrinfo(name, NULL, &hints, &found);

	if (error != 0)
		return error;
	/* either kind of address, without a cast that loses what it points to */
	bytes = found->ai_addr;
	if (found->ai_family == AF_INET)
		bytes = &((const struct sockaddr_in *)bytes)->sin_addr;
	else
		bytes = &((const struct sockaddr_in6 *)bytes)->sin6_addr;
	if (inet_ntop(found->ai_family, bytes, address, (socklen_t)size) == NULL)
		error = EAI_OVERFLOW;
	freeaddrinfo(found);
	return error;
}

int ri_name_addresses(const char *name, unsigned char (*out)[16], int room)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int error = getaddrinfo(name, NULL, &hints, &found), count = 0;

	if (error != 0)
		return error < 0 ? error : -error;
	for (struct addrinfo *one = found; one != NULL && count < room; one = one->ai_next) {
		const void *any = one->ai_addr;
		const struct sockaddr_in *four = any;
		const struct sockaddr_in6 *six = any;

		if (one->ai_family == AF_INET)
			ri_socket_ipv4(out[count++], &four->sin_addr);
		else if (one->ai_family == AF_INET6)
			memcpy(out[count++], &six->sin6_addr, 16);
	}
	freeaddrinfo(found);
	return count;
}
