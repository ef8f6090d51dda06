/* SPDX-License-Identifier: Apache-2.0 */
/* What this node is called, and what /etc/hosts says of names. */
#ifndef RI_NODE_HOSTNAME_H
#define RI_NODE_HOSTNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/host.h"

/* From /proc/sys/kernel/hostname; false, and "", where it is not shown. */
bool ri_hostname_read(struct ri_host *host, char *name, size_t size);

/*
 * The first address that the text of /etc/hosts has for a name (hosts(5)), in
 * any case. False, and *address untouched, where it has none.
 */
bool ri_hosts_find(const char *text, const char *name, char *address, size_t size);

#endif
