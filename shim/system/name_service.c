/* SPDX-License-Identifier: Apache-2.0 */
#include "system/name_service.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "node/sockets.h"

/* ::ffff:a.b.c.d (RFC 4291, 2.5.5.2) */
static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

bool ri_name_is_address(const char *name)
{
	unsigned char bytes[16];

	/* no name has a colon, but "fe80::1%eth0" has one */
	return strchr(name, ':') != NULL || inet_pton(AF_INET, name, bytes) == 1;
}

socklen_t ri_socket_address_make(union ri_socket_address *out, const unsigned char address[16],
	uint16_t port)
{
	memset(out, 0, sizeof(*out));
	if (memcmp(address, mapped, sizeof(mapped)) == 0) {
		out->four.sin_family = AF_INET;
		out->four.sin_port = htons(port);
		memcpy(&out->four.sin_addr, address + 12, sizeof(out->four.sin_addr));
		return sizeof(out->four);
	}
	out->six.sin6_family = AF_INET6;
	out->six.sin6_port = htons(port);
	memcpy(&out->six.sin6_addr, address, sizeof(out->six.sin6_addr));
	return sizeof(out->six);
}

bool ri_address_read(unsigned char out[16], const char *text)
{
	unsigned char ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) != 1)
		return inet_pton(AF_INET6, text, out) == 1;
	ri_socket_ipv4(out, ipv4);
	return true;
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

int ri_name_resolve(const char *name, char *address, size_t size)
{
	unsigned char found[1][16];
	int count = ri_name_addresses(name, found, 1);
	bool four;

	if (count <= 0)
		return count < 0 ? count : EAI_OVERFLOW;
	four = memcmp(found[0], mapped, sizeof(mapped)) == 0;
	return inet_ntop(four ? AF_INET : AF_INET6, found[0] + (four ? sizeof(mapped) : 0), address,
		(socklen_t)size) == NULL ? EAI_OVERFLOW : 0;
}
