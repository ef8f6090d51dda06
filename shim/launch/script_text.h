/* SPDX-License-Identifier: Apache-2.0 */
/* What a script among the words of the command says. */
#ifndef RI_SHIM_LAUNCH_SCRIPT_TEXT_H
#define RI_SHIM_LAUNCH_SCRIPT_TEXT_H

#include <stdbool.h>

#include "base/span.h"

/*
 * Is it true of its first 64 KiB? False where they cannot be read in half a second. It is asked
 * in a helper that shares our memory.
 */
bool ri_script_holds(const char *path, bool (*holds)(struct ri_span text));

/* The same of a module of Python's, "pkg.train", in this folder. */
bool ri_module_holds(const char *name, bool (*holds)(struct ri_span text));

#endif
