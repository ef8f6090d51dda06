/* SPDX-License-Identifier: Apache-2.0 */
/* Where rank 0 listens, if it is on this machine. */
#ifndef RI_SHIM_LAUNCH_LOCAL_MASTER_H
#define RI_SHIM_LAUNCH_LOCAL_MASTER_H

#include <stdbool.h>

/*
 * Can a process of this machine listen at that host, by its name or one of its
 * addresses? Yes in doubt. No name is resolved.
 */
bool ri_is_local_master(const char *host);

/* The usual port, or another one that is free where that is in use on this machine, or 0. */
unsigned ri_port_pick(unsigned usual);

#endif
