/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "host", "host:port", "[address]", "[address]:port" and a bare IPv6 address,
 * as schedulers write them.
 */
#ifndef RI_FROM_ENDPOINT_H
#define RI_FROM_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct ri_endpoint {
	struct ri_span host;	/* without brackets; at most RI_MAX_NAME bytes */
	unsigned port;		/* 0 where there is none */
};

/*
 * Read the text, blanks around it allowed. Two colons or more without
 * brackets are an IPv6 address that has no port. Returns false, and leaves
 * *out, where it is none of these, the host is no host, or the port no port.
 */
bool ri_endpoint_read(struct ri_span text, struct ri_endpoint *out);

/*
 * Where a text that is no endpoint goes wrong, as an offset: at the first byte
 * that no host has, else at the port, else where the text starts.
 */
size_t ri_host_fault(const char *text, size_t length);

/*
 * Of a text that is no endpoint: what was expected instead. Where the host
 * before the colon is one it is the port alone.
 */
const char *ri_endpoint_expect(const char *text, size_t length);

/*
 * Is this an IPv4 or IPv6 address (a zone after '%' allowed), or something
 * that may be a name: letters, digits, '.', '-', '_', the first of them a
 * letter, a digit or '_'? Digits and dots alone must be an address.
 */
bool ri_is_host(struct ri_span text);

#endif
