/* SPDX-License-Identifier: Apache-2.0 */
/* What NVIDIA's driver told the kernel's log while the ranks ran. */
#ifndef RI_SHIM_SAY_GPU_ERRORS_H
#define RI_SHIM_SAY_GPU_ERRORS_H

#include "base/env.h"
#include "report/outcome.h"

/*
 * Of the GPUs that env shows, since the job began; in static storage, until the next call. NULL:
 * there is no first failure, no driver or no log that may be read, or it did not answer.
 */
const struct ri_gpu_errors *ri_gpu_errors_find(const struct ri_outcome *outcome,
	const struct ri_env *env);

#endif
