/* SPDX-License-Identifier: Apache-2.0 */
#include "from/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

enum { DIGITS = 32 };	/* of an IPv6 address in if_inet6 */

static const struct ri_span local = { "/32 host LOCAL", sizeof("/32 host LOCAL") - 1 };
static const unsigned char ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool is_ipv4(const struct ri_address *address)
{
	return memcmp(address->bytes, ipv4_prefix, sizeof(ipv4_prefix)) == 0;
}

static bool read_address(const char *text, struct ri_address *out)
{
	struct ri_address made = { { 0 } };

	memcpy(made.bytes, ipv4_prefix, sizeof(ipv4_prefix));
	if (inet_pton(AF_INET, text, made.bytes + sizeof(ipv4_prefix)) != 1 &&
		inet_pton(AF_INET6, text, made.bytes) != 1)
		return false;
	*out = made;
	return true;
}

/* Does every machine have it, or may another one have it too? RFC 6890 */
static bool is_of_many(const struct ri_address *address)
{
	static const struct ri_address loopback = { { [15] = 1 } };
	const unsigned char *ipv4 = address->bytes + sizeof(ipv4_prefix);

	if (is_ipv4(address))
		return ri_loopback_has(ipv4) || ipv4[0] == 0 || (ipv4[0] == 169 && ipv4[1] == 254);
	return memcmp(address, &loopback, sizeof(loopback)) == 0 ||
		(address->bytes[0] == 0xfe && (address->bytes[1] & 0xc0) == 0x80);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ri_address));
}

static void add(struct ri_own_machine *own, const struct ri_address *address)
{
	if (!is_of_many(address))
		own->addresses[own->count++] = *address;
}

/* A leaf is "|-- 10.0.0.4", and below it stands what it is: "/32 host LOCAL". */
static void add_ipv4(struct ri_own_machine *own, const char *text)
{
	struct ri_span rest = ri_span_of(text), line;
	char leaf[INET_ADDRSTRLEN] = "";
	struct ri_address address;

	while (ri_span_line(&rest, &line)) {
		line = ri_span_trim_start(line);
		if (ri_span_starts(line, "|-- "))
			snprintf(leaf, sizeof(leaf), "%.*s", line.length - 4 < sizeof(leaf)
				? (int)line.length - 4 : 0, line.at + 4);
		else if (ri_span_same(line, local) && read_address(leaf, &address))
			add(own, &address);
	}
}

/* 32 digits without colons, then the index and other numbers of the device. */
static void add_ipv6(struct ri_own_machine *own, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	struct ri_span rest = ri_span_of(text), line;

	while (ri_span_line(&rest, &line)) {
		struct ri_address address = { { 0 } };
		const char *digit = digits;

		line = ri_span_trim_start(line);
		if (line.length <= DIGITS || line.at[DIGITS] != ' ')
			continue;
		for (size_t i = 0; i < DIGITS && digit != NULL; i++) {
			digit = memchr(digits, line.at[i], 16);
			if (digit != NULL)
				address.bytes[i / 2] = (unsigned char)
					(address.bytes[i / 2] << 4 | (digit - digits));
		}
		if (digit != NULL)
			add(own, &address);
	}
}

bool ri_own_parse(struct ri_own_machine *out, const char *fib_trie, const char *if_inet6,
	struct ri_reading *reading)
{
	/* by how long a line is at least */
	size_t room = (fib_trie == NULL ? 0 : strlen(fib_trie) / local.length + 1) +
		(if_inet6 == NULL ? 0 : strlen(if_inet6) / (DIGITS + 1) + 1);

	*out = (struct ri_own_machine){
		.knows_ipv4 = fib_trie != NULL, .knows_ipv6 = if_inet6 != NULL,
	};
	out->addresses = ri_reading_allocate(reading, room + 1, sizeof(*out->addresses));
	if (out->addresses == NULL)
		return false;
	if (fib_trie != NULL)
		add_ipv4(out, fib_trie);
	if (if_inet6 != NULL)
		add_ipv6(out, if_inet6);
	qsort(out->addresses, out->count, sizeof(*out->addresses), compare);
	return true;
}

bool ri_own_read(struct ri_own_machine *out, struct ri_reading *reading)
{
	struct ri_host *host = reading->context->host;
	const char *fib_trie = NULL, *if_inet6 = NULL;

	/* somebody else's addresses would make it somebody else's node */
	if (host != NULL && ri_host_proc(host) != RI_PROC_FOREIGN) {
		fib_trie = ri_reading_file(reading, "/proc/net/fib_trie", RI_MAX_FILE);
		if_inet6 = ri_reading_file(reading, "/proc/net/if_inet6", RI_MAX_FILE);
	}
	if (reading->err->code != RI_CODE_NONE || !ri_own_parse(out, fib_trie, if_inet6, reading))
		return false;
	out->name = host == NULL ? NULL : ri_host_name(host, reading->context->arena);
	return true;
}

enum ri_is_own ri_own_is(const struct ri_own_machine *own, const char *host)
{
	struct ri_address address;

	/* Hosts of a long list are names, mostly: they are not to be read as an address. */
	if ((!(*host >= '0' && *host <= '9') && strchr(host, ':') == NULL) ||
		!read_address(host, &address))
		return own->name != NULL && ri_is_same_host(host, own->name) &&
			!ri_loopback_is(host, strlen(host)) ? RI_OWN_YES : RI_OWN_UNKNOWN;
	if (ri_loopback_is(host, strlen(host)) || is_of_many(&address) ||
		!(is_ipv4(&address) ? own->knows_ipv4 : own->knows_ipv6))
		return RI_OWN_UNKNOWN;
	return bsearch(&address, own->addresses, own->count, sizeof(address), compare) != NULL
		? RI_OWN_YES : RI_OWN_NO;
}

bool ri_own_find(const struct ri_own_machine *own, const struct ri_fact *hosts, uint64_t *place)
{
	size_t found = 0;

	for (size_t i = 0; i < hosts->number; i++) {
		if (ri_own_is(own, hosts->list[i]) != RI_OWN_YES)
			continue;
		*place = i;
		found++;
	}
	return found == 1;
}

/* A name that others may know it by. */
static const char *find_name(const struct ri_own_machine *own)
{
	struct ri_span name = { own->name, own->name == NULL ? 0 : strlen(own->name) };

	return ri_is_host(name) && !ri_loopback_is(name.at, name.length) ? own->name : NULL;
}

const char *ri_own_host(const struct ri_own_machine *own, struct ri_arena *arena)
{
	/* docker0 by default: docs.docker.com, "Bridge network driver" */
	static const unsigned char bridge[] = { 172, 17, 0, 1 };
	const struct ri_address *only = NULL;
	const unsigned char *bytes;

	for (size_t i = 0; i < own->count; i++) {
		const struct ri_address *address = &own->addresses[i];

		if (!is_ipv4(address) || memcmp(address->bytes + sizeof(ipv4_prefix), bridge,
			sizeof(bridge)) == 0)
			continue;
		/* Sorted, and the file lists each one twice. */
		if (only != NULL && compare(only, address) != 0)
			return find_name(own);
		only = address;
	}
	if (only == NULL)
		return find_name(own);
	bytes = only->bytes + sizeof(ipv4_prefix);
	return ri_arena_format(arena, "%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3]);
}

bool ri_is_same_host(const char *a, const char *b)
{
	bool first_label = true;

	for (; *a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++, b++)
		first_label = first_label && *a != '.';
	if (*a == '\0' && *b == '\0')
		return true;
	return first_label && ((*a == '\0' && *b == '.') || (*a == '.' && *b == '\0'));
}
