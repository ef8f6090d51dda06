/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loopback.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool plays_machines;

void ri_loopback_play_machines(void)
{
	plays_machines = true;
}

bool ri_loopback_has(const unsigned char ipv4[4])
{
	return ipv4[0] == 127 &&
		(!plays_machines || (ipv4[1] == 0 && ipv4[2] == 0 && ipv4[3] <= 1));
}

bool ri_loopback_is(const char *host, size_t length)
{
	/* RFC 6761, 6.3; and what Debian's /etc/hosts calls it */
	static const char *const names[] = {
		"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
	};
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr wide;
	struct in_addr address;
	unsigned char ipv4[4];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && strncasecmp(host, names[i], length) == 0)
			return true;
	/* of 100,000 hosts few begin like an address of it */
	if (length == 0 || strchr("01:", host[0]) == NULL)
		return false;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, host, length);
	copy[length] = '\0';
	if (inet_pton(AF_INET, copy, &address) == 1) {
		memcpy(ipv4, &address, sizeof(ipv4));
		return ri_loopback_has(ipv4) || address.s_addr == 0;
	}
	return inet_pton(AF_INET6, copy, &wide) == 1 &&
		(IN6_IS_ADDR_LOOPBACK(&wide) || IN6_IS_ADDR_UNSPECIFIED(&wide));
}
