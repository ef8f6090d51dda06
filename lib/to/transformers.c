/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "transformers": Hugging Face's Trainer. Without LOCAL_RANK, and
 * with several GPUs to see, every rank runs on all of them by itself, and says
 * nothing. Old scripts take --local_rank too: "$LOCAL_RANK" in an argument is
 * replaced (command/expand.h).
 */
#include "to/writing.h"

#define ARGUMENTS "Transformers src/transformers/training_args.py, TrainingArguments"

static const struct ri_variable writes[] = {
	{ .name = "LOCAL_RANK", .meaning = "index of this process on its node; without it the "
					   "Trainer runs alone", .cite = ARGUMENTS },
	{ .name = "RANK", .meaning = "index of this process in the job", .cite = ARGUMENTS },
	{ .name = "WORLD_SIZE", .meaning = "processes in the job", .cite = ARGUMENTS },
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", .cite = ARGUMENTS },
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", .cite = ARGUMENTS },
	{ .name = NULL },
};

const struct ri_framework ri_framework_transformers = {
	.name = "transformers",
	.summary = "Hugging Face Transformers, the Trainer",
	.when = "A rank gets all of them; a launcher gives them to its ranks itself.",
	.writes = writes,
	.rank = {
		.gets = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
		.needs = RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS,
	},
};
