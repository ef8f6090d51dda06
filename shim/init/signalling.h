/* SPDX-License-Identifier: Apache-2.0 */
/* A signal for every child, or for the groups that they lead. */
#ifndef RI_SHIM_INIT_SIGNALLING_H
#define RI_SHIM_INIT_SIGNALLING_H

#include <stdbool.h>

#include "launch/children.h"

/* groups: each child leads one, and all of it shall get the signal. */
void ri_signal_children(const struct ri_children *children, int number, bool groups);

/* They get their own SIGTERM, and no second one with what is left behind. */
void ri_spare_children(struct ri_children *children, bool groups);

#endif
