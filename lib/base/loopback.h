/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses that every machine has for itself. */
#ifndef RI_BASE_LOOPBACK_H
#define RI_BASE_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this host the machine itself, wherever it is read: a usual name of it in any case, an address
 * of 127.0.0.0/8 or ::1, or the unspecified address, to connect to which is to connect to oneself?
 */
bool ri_loopback_is(const char *host, size_t length);

/*
 * From here on this process plays a machine of a simulated job, whose machines are
 * addresses of 127.0.0.0/8: each of them but 127.0.0.1 counts as a machine's own.
 */
void ri_loopback_play_machines(void);

/* Is this address of 127.0.0.0/8, in network order, every machine's own? */
bool ri_loopback_has(const unsigned char ipv4[4]);

#endif
