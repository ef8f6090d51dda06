/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checks of GPUs' health share: one run of "rankinit-probe nvml" for
 * all of them, and the walk over the GPUs that a program here sees.
 */
#ifndef RI_SHIM_CHECK_GPU_STATE_H
#define RI_SHIM_CHECK_GPU_STATE_H

#include "check/check.h"
#include "probe/prober.h"

enum {
	/* without persistence the driver initialises each GPU first, as it would for the job */
	RI_GPU_PROBE_MS = 6000,
	RI_GPU_CHECK_MS = RI_GPU_PROBE_MS + 500,
	RI_GPU_NAME = 96,
};

/* What all checks that ask have in common, within their struct ri_check. */
#define RI_GPU_PROBED \
	.runs = RI_CHECK_DEEP, .probe = "nvml", .limit_ms = RI_GPU_CHECK_MS

/* All that was said, and which GPUs are seen here. */
struct ri_gpu_look {
	struct ri_prober prober;
	bool seen[RI_GPU_STATES];
	size_t count;		/* of them */
	size_t unlisted;	/* that are seen, and NVML does not list */
	bool hidden;		/* CUDA_VISIBLE_DEVICES hides all of them */
};

/* Ask, once in a process. NULL: nothing is to be asked, which is said: a skip, or unknown. */
const struct ri_gpu_look *ri_gpu_look(struct ri_checking *checking);

/* "GPU 3 (0000:1b:00.0)", into out of RI_GPU_NAME bytes. Returns out. */
const char *ri_gpu_name(char *out, const struct ri_gpu_state *gpu);

/* One check of an answer of each GPU. */
struct ri_gpu_judging {
	enum ri_gpu_asked asked;
	enum ri_code unknown;	/* the answer is an error that means something */
	const char *pass;	/* what is said of all of them where nothing else is */
	const char *silent;	/* the same where no GPU answers: a skip; see `silence_passes` */
	bool silence_passes;	/* not to have such a thing is a pass */
	/* Says what there is to say of this GPU by its numbers, or nothing. */
	void (*judge)(struct ri_checking *checking, const struct ri_gpu_state *gpu);
};

/* The run of a check whose `how` is one of these. */
void ri_gpu_judge(struct ri_checking *checking);

/* What was said of several of so many GPUs in the same words becomes one result. */
void ri_gpu_merge(struct ri_checking *checking, size_t gpus);

#endif
