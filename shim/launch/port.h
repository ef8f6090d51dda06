/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_LAUNCH_PORT_H
#define RI_SHIM_LAUNCH_PORT_H

/*
 * The usual port, or another one that is free where that is in use on this machine, or 0.
 */
unsigned ri_port_pick(unsigned usual);

#endif
