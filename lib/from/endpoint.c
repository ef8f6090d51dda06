/* SPDX-License-Identifier: Apache-2.0 */
#include "from/reading.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/limits.h"

static bool is_name(struct ri_span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!ri_is_word(text.at[i]) &&
			(i == 0 || (text.at[i] != '.' && text.at[i] != '-')))
			return false;
	return text.length > 0;
}

/*
 * Four numbers as inet_pton(3) takes them. Lists of hosts may be long, so
 * this neither copies nor calls.
 */
static bool is_ipv4(struct ri_span text)
{
	const char *at = text.at, *end = at + text.length;
	unsigned parts = 0;

	for (;;) {
		const char *start = at;
		unsigned value = 0;

		for (; at < end && ri_is_digit(*at) && at - start < 3; at++)
			value = 10 * value + (unsigned)(*at - '0');
		if (at == start || value > 255 || (*start == '0' && at - start > 1))
			return false;
		parts++;
		if (at == end || parts == 4)
			return at == end && parts == 4;
		if (*at++ != '.')
			return false;
	}
}

static bool is_ipv6(struct ri_span text)
{
	char copy[INET6_ADDRSTRLEN];
	const char *zone = memchr(text.at, '%', text.length);
	size_t length = zone == NULL ? text.length : (size_t)(zone - text.at);
	struct in6_addr address;

	if (zone != NULL && !is_name((struct ri_span){ zone + 1, text.length - length - 1 }))
		return false;
	if (length >= sizeof(copy) || memchr(text.at, '\0', length) != NULL)
		return false;
	memcpy(copy, text.at, length);
	copy[length] = '\0';
	/* connect(2) to fe80:: without a zone is EINVAL (Linux net/ipv6/tcp_ipv6.c) */
	return inet_pton(AF_INET6, copy, &address) == 1 &&
		(zone != NULL || !IN6_IS_ADDR_LINKLOCAL(&address));
}

bool ri_is_host(struct ri_span text)
{
	if (text.length == 0 || text.length > RI_MAX_NAME)
		return false;
	if (is_name(text)) {
		for (size_t i = 0; i < text.length; i++)
			if (!ri_is_digit(text.at[i]) && text.at[i] != '.')
				return true;
		return is_ipv4(text);
	}
	return memchr(text.at, ':', text.length) != NULL && is_ipv6(text);
}

/* The colon before a port, or NULL. */
static const char *find_port(struct ri_span text)
{
	const char *first = memchr(text.at, ':', text.length), *last;

	if (first == NULL)
		return NULL;
	last = memrchr(text.at, ':', text.length);
	if (*text.at != '[')
		return first == last ? first : NULL;
	return last > text.at && last[-1] == ']' ? last : NULL;
}

/* Without what isspace(3) takes for blanks, ends of lines among it. */
static struct ri_span trim(struct ri_span text)
{
	while (text.length > 0 && ri_is_space(*text.at))
		text = ri_span_skip(text, 1);
	while (text.length > 0 && ri_is_space(text.at[text.length - 1]))
		text.length--;
	return text;
}

/* Take brackets off; they are for addresses that hold colons, nothing else. */
static bool strip_brackets(struct ri_span *host)
{
	if (*host->at != '[')
		return true;
	if (host->length < 3 || host->at[host->length - 1] != ']')
		return false;
	host->at++;
	host->length -= 2;
	return memchr(host->at, ':', host->length) != NULL;
}

bool ri_endpoint_read(struct ri_span text, struct ri_endpoint *out)
{
	const struct ri_range ports = { .min = 1, .max = 65535 };
	struct ri_endpoint made = { .host = trim(text) };
	const char *colon;
	uint64_t port;
	char copy[8];
	size_t length;

	if (made.host.length == 0)
		return false;
	colon = find_port(made.host);
	if (colon != NULL) {
		/* digits alone, no blanks */
		length = (size_t)(made.host.at + made.host.length - colon - 1);
		if (length == 0 || length >= sizeof(copy) ||
			!ri_is_digit(colon[1]) || !ri_is_digit(colon[length]))
			return false;
		memcpy(copy, colon + 1, length);
		copy[length] = '\0';
		if (ri_number_read(copy, ports, &port, NULL) != RI_NUMBER_OK)
			return false;
		made.port = (unsigned)port;
		made.host.length = (size_t)(colon - made.host.at);
	}
	if (made.host.length == 0 || !strip_brackets(&made.host) || !ri_is_host(made.host))
		return false;
	*out = made;
	return true;
}

size_t ri_host_fault(const char *text, size_t length)
{
	struct ri_span host = trim((struct ri_span){ text, length });
	const char *colon;

	for (size_t i = 0; i < host.length; i++)
		if (!ri_is_word(host.at[i]) && strchr(".-:[]%", host.at[i]) == NULL)
			return (size_t)(host.at - text) + i;
	colon = host.length == 0 ? NULL : find_port(host);
	return (size_t)((colon == NULL ? host.at : colon + 1) - text);
}

const char *ri_endpoint_expect(const char *text, size_t length)
{
	struct ri_span host = trim((struct ri_span){ text, length });
	const char *colon = host.length == 0 ? NULL : find_port(host);
	size_t after = colon == NULL ? 0 : (size_t)(host.at + host.length - colon - 1);

	/* after the colon of a URL stands no port at all */
	if (colon != NULL && memchr(colon, '/', after + 1) == NULL) {
		host.length = (size_t)(colon - host.at);
		if (host.length > 0 && strip_brackets(&host) && ri_is_host(host))
			return "a port from 1 to 65535 after the colon";
	}
	if (host.length > 5 && strncasecmp(host.at + (*host.at == '['), "fe80:", 5) == 0 &&
		memchr(host.at, '%', host.length) == NULL)
		return "an address that other nodes reach, or a link-local one with its zone, as "
			"fe80::1%eth0";
	return "one host name or address";
}
