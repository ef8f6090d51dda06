/* SPDX-License-Identifier: Apache-2.0 */
/* --nproc-per-node in words: how many ranks gpu, cpu and auto come to here. */
#ifndef RI_SHIM_LAUNCH_NPROC_H
#define RI_SHIM_LAUNCH_NPROC_H

#include "base/error.h"
#include "node/node.h"
#include "options/options.h"

/*
 * Fill in wishes.nproc_count. RI_CODE_NPROC_NONE where there is no GPU, and
 * what counting GPUs and CPUs gives (node/node.h).
 */
int ri_nproc_count(struct ri_options *options, struct ri_node *node, struct ri_error *err);

#endif
