/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "accelerate": Hugging Face Accelerate in a rank. LOCAL_RANK alone
 * makes it distributed; with GPUs it looks at nothing else to find out, so
 * mpirun without it makes as many jobs of one as there are ranks.
 *
 * ACCELERATE_* is what a user chooses (mixed precision, FSDP, the CPU), not who
 * a rank is: it is neither written nor removed. `accelerate launch` hands its
 * words to torchrun, and gets what that gets.
 */
#include "to/writing.h"

#define STATE "Accelerate src/accelerate/state.py, PartialState"
#define ENVIRONMENT \
	"Accelerate src/accelerate/utils/environment.py, get_cpu_distributed_information"

static const struct ri_variable writes[] = {
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node; if it is set, "
					   "Accelerate runs distributed", .cite = STATE },
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = STATE },
	{ .name = "WORLD_SIZE", .meaning = "processes in the job", .cite = STATE },
	{ .name = "LOCAL_WORLD_SIZE", .meaning = "processes on this node", .cite = ENVIRONMENT },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = STATE },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = STATE },
	{ .name = NULL },
};

const struct ri_framework ri_framework_accelerate = {
	.name = "accelerate",
	.summary = "Hugging Face Accelerate, if each rank is started on its own",
	.when = "A rank gets all of them. accelerate launch gets the same as torchrun.",
	.writes = writes,
	.rank = {
		.gets = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) |
			RI_FROM(LOCAL_WORLD_SIZE) | RI_RENDEZVOUS,
		.needs = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
	},
};
