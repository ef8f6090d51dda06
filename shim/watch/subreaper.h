/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that lose their parent come to us. */
#ifndef RI_SHIM_WATCH_SUBREAPER_H
#define RI_SHIM_WATCH_SUBREAPER_H

#include <sys/types.h>

/* Be ready for orphans. Not PID 1: become a subreaper (prctl(2)), or warn. */
void ri_orphans_adopt(pid_t self);

#endif
