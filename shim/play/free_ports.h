/* SPDX-License-Identifier: Apache-2.0 */
/* Ports for the nodes of a simulated job, on a machine that may play several jobs at once. */
#ifndef RI_SHIM_PLAY_FREE_PORTS_H
#define RI_SHIM_PLAY_FREE_PORTS_H

#include <stddef.h>

/*
 * So many ports in a row that no process uses and no other simulated job was given: from
 * usual on, where that may be. They are ours while this process runs. Where no such row
 * is found it is that from usual on all the same.
 */
unsigned ri_play_ports(unsigned usual, size_t count);

#endif
