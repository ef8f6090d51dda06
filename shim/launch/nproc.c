/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/nproc.h"

#include "base/limits.h"
#include "launch/placement.h"

static int count(const struct ri_options *options, struct ri_node *node, uint64_t *out,
	struct ri_error *err)
{
	struct ri_cpus mask;

	if (options->nproc != RI_NPROC_CPU)
		return ri_gpus_count(node, out, err);
	ri_placing_look(node, &mask);
	return ri_cpus_count(node, out, err);
}

int ri_nproc_count(struct ri_options *options, struct ri_node *node, struct ri_error *err)
{
	struct ri_wishes *wishes = &options->wishes;
	uint64_t found = 0;

	if (options->nproc == RI_NPROC_STATED)
		return 0;
	if (count(options, node, &found, err) < 0)
		return -1;
	if (found == 0 && options->nproc == RI_NPROC_AUTO)
		found = 1;
	if (found == 0) {
		ri_fail(err, RI_CODE_NPROC_NONE, wishes->nproc.subject,
			"no GPU is visible here, so there is none to start a rank for");
		return ri_fail_hint(err, "give this container its GPUs (docker run --gpus all; "
					 "CUDA_VISIBLE_DEVICES), or state a number");
	}
	if (found > RI_MAX_LOCAL)
		return ri_fail(err, RI_CODE_OPTION_VALUE, wishes->nproc.subject,
			"%s means %d ranks here, more than the %d allowed on one node",
			wishes->nproc.value, (int)found, RI_MAX_LOCAL);
	wishes->nproc_count = found;
	return 0;
}
