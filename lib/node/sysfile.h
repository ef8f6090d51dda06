/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and /sys that hold one value (kernel documentation,
 * filesystems/sysfs.rst). They may be absent, and reading one may fail with
 * EINVAL or EIO: then there is no value.
 */
#ifndef RI_NODE_SYSFILE_H
#define RI_NODE_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host.h"

/* The first line without the blanks around it; false, and "", where there is none. */
bool ri_sysfile_line(struct ri_host *host, const char *path, char *line, size_t size);

/* The number with which the file begins: 4 of "4: ACTIVE". */
bool ri_sysfile_number(struct ri_host *host, const char *path, uint64_t *out);

#endif
