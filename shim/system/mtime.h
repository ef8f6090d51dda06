/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_MTIME_H
#define RI_SHIM_SYSTEM_MTIME_H

#include <stdbool.h>
#include <time.h>

/*
 * When somebody last wrote to what this descriptor is (CLOCK_REALTIME): the kernel notes it for
 * pipes and files, and for terminals every eight seconds. It asks no server of a file, so that it
 * never waits. False where it cannot be known, as of a socket or /dev/null.
 */
bool ri_mtime_find(int fd, struct timespec *at);

#endif
