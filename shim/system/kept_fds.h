/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of our own, and which stay open when everything else is closed after the start. */
#ifndef RI_SHIM_SYSTEM_KEPT_FDS_H
#define RI_SHIM_SYSTEM_KEPT_FDS_H

/* Keep this one, of 3 or more; -1 is none. There is room for twelve: one more is closed. */
void ri_kept_fds_add(int fd);

/* The lowest of them from this one on; -1: there is none. */
int ri_kept_fds_next(int from);

/* A new file in memory, sealable and with O_CLOEXEC, as the first free number from this one on. */
int ri_memory_file(const char *name, int first);

/* Close all descriptors from the first to the last of these. */
void ri_close_between(unsigned first, unsigned last);

#endif
