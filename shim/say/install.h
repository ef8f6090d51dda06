/* SPDX-License-Identifier: Apache-2.0 */
/* --install: this program as a file for other containers, without a cp(1) in the image. */
#ifndef RI_SHIM_SAY_INSTALL_H
#define RI_SHIM_SAY_INSTALL_H

#include "base/arena.h"
#include "base/error.h"
#include "options/options.h"

/*
 * Copy the running program to DIR/rankinit, with mode 755 whatever the umask. What stands
 * there is replaced in one step, also while it runs; where that fails it stays as it was, and
 * no half of a copy is left. Waits for the file system without an end, but not beyond a stop.
 * Returns 0, or -1: RI_CODE_INSTALL_REFUSED, OPTION_CONFLICT where a command follows, MEMORY.
 */
int ri_install(const struct ri_options *options, struct ri_arena *arena, struct ri_error *err);

#endif
