/* SPDX-License-Identifier: Apache-2.0 */
#include "from/quartet.h"

bool ri_quartet_sees(const struct ri_env *env)
{
	return ri_source_sees(env, "RANK") && ri_source_sees(env, "WORLD_SIZE") &&
		ri_source_sees(env, "LOCAL_RANK");
}

void ri_quartet_claim(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE");
	ri_claim_number(reading, RI_FACT_LOCAL_RANK, "LOCAL_RANK");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "LOCAL_WORLD_SIZE");
}

void ri_quartet_claim_rendezvous(struct ri_reading *reading)
{
	struct ri_fact *claim;

	claim = ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_ADDR");
	if (claim != NULL)
		claim->strength = RI_STRENGTH_STATED;
	/* PyTorch takes an empty variable for one that does not exist. */
	claim = ri_claim_filled(reading, RI_FACT_MASTER_PORT, "MASTER_PORT");
	if (claim != NULL)
		claim->strength = RI_STRENGTH_STATED;
}
