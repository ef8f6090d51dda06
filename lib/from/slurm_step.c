/* SPDX-License-Identifier: Apache-2.0 */
#include "from/slurm_step.h"

#include "base/number.h"
#include "from/reading.h"

/* Slurm slurm/slurm.h: SLURM_MAX_NORMAL_STEP_ID; the special ones are above it. */
static const struct ri_range steps = { 0, 0xfffffff0 };

bool ri_slurm_is_task(const struct ri_env *env)
{
	const char *step = ri_env_get(env, "SLURM_STEP_ID");
	uint64_t number;

	return step != NULL && ri_number_read(step, steps, &number, NULL) == RI_NUMBER_OK &&
		ri_source_sees(env, "SLURM_PROCID") &&
		(ri_source_sees(env, "SLURM_STEP_NUM_TASKS") ||
			ri_source_sees(env, "SLURM_NTASKS")) &&
		ri_source_sees(env, "SLURM_STEP_NODELIST");
}
