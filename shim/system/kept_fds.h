/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of our own that stay open when everything else is closed after the start. */
#ifndef RI_SHIM_SYSTEM_KEPT_FDS_H
#define RI_SHIM_SYSTEM_KEPT_FDS_H

/* Keep this one, of 3 or more; -1 is none. There is room for eight: a ninth is closed. */
void ri_kept_fds_add(int fd);

/* The lowest of them from this one on; -1: there is none. */
int ri_kept_fds_next(int from);

/* Close all descriptors from the first to the last of these. */
void ri_close_between(unsigned first, unsigned last);

#endif
