/* SPDX-License-Identifier: Apache-2.0 */
/* Small files and links of /proc. */
#ifndef RI_SHIM_HANG_FILES_H
#define RI_SHIM_HANG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/procstat.h"

enum { RI_AUTOPSY_FILE = 262144 };	/* bytes of one that are read; mount tables are large */

/* The file as text, into RI_AUTOPSY_FILE + 1 bytes. Returns its length, or -1 and errno. */
ssize_t ri_autopsy_read(char *out, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* /proc/PID/stat; false: there is no such process. */
bool ri_autopsy_stat(pid_t pid, struct ri_procstat *out);

/* Where a link leads, as text; false: nowhere, or it may not be read. */
bool ri_autopsy_link(char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

#endif
