/* SPDX-License-Identifier: Apache-2.0 */
/* What the start needed, and watching over the job does not need. */
#ifndef RI_SHIM_WATCH_LET_GO_H
#define RI_SHIM_WATCH_LET_GO_H

#include "pump/output.h"

/*
 * Close the files that were passed in, which keep pipes and mounts busy, and
 * leave the working directory, which keeps its file system mounted.
 */
void ri_let_go(const struct ri_output *output);

#endif
