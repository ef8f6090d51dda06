/* SPDX-License-Identifier: Apache-2.0 */
/* What the start needed and whoever watches over the job does not. */
#ifndef RI_SHIM_WATCH_LET_GO_H
#define RI_SHIM_WATCH_LET_GO_H

#include "pump/output.h"

/*
 * Hold nothing that is not ours: files that were passed in keep pipes and
 * mounts busy, a working directory keeps its file system mounted.
 */
void ri_let_go(const struct ri_output *output);

#endif
