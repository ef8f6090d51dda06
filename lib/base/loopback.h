/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses that every machine has for itself. */
#ifndef RI_BASE_LOOPBACK_H
#define RI_BASE_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is this host the machine itself, wherever it is read: a usual name of it in
 * any case, an address of 127.0.0.0/8 or ::1, or the unspecified address, to
 * connect to which is to connect to oneself?
 */
bool ri_loopback_is(const char *host, size_t length);

#endif
