/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "env": the master that somebody set by the names that the frameworks
 * read themselves. It stands above what other sources say, because a user
 * who sets MASTER_ADDR wants that one; --override-env turns that around.
 */
#include "from/reading.h"
#include "model/wishes.h"

static const struct ri_variable reads[] = {
	{ .name = "MASTER_ADDR", .meaning = "the host that rank 0 listens on",
	  .cite = "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler" },
	{ .name = "MASTER_PORT", .meaning = "the port that rank 0 listens on",
	  .cite = "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "MASTER_ADDR") || ri_source_sees(env, "MASTER_PORT");
}

static void read_env(struct ri_reading *reading)
{
	const char *port = ri_reading_get(reading, "MASTER_PORT");
	const struct ri_wishes *wishes = reading->context->wishes;
	enum ri_strength strength = RI_STRENGTH_STATED;
	struct ri_fact *claim;

	if (wishes != NULL && wishes->override_env)
		strength = RI_STRENGTH_DEFAULT;
	claim = ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_ADDR");
	if (claim != NULL)
		claim->strength = strength;
	/* PyTorch takes an empty variable for one that does not exist. */
	if (port == NULL || *port == '\0')
		return;
	claim = ri_claim_number(reading, RI_FACT_MASTER_PORT, "MASTER_PORT");
	if (claim != NULL)
		claim->strength = strength;
}

const struct ri_source ri_source_env = {
	.name = "env",
	.summary = "MASTER_ADDR and MASTER_PORT that are set already",
	.identity = false,
	.reads = reads,
	.detect = detect,
	.read = read_env,
};
