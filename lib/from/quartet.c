/* SPDX-License-Identifier: Apache-2.0 */
#include "from/quartet.h"

#include <string.h>

bool ri_quartet_sees(const struct ri_env *env)
{
	return ri_source_sees(env, "RANK") && ri_source_sees(env, "WORLD_SIZE") &&
		ri_source_sees(env, "LOCAL_RANK");
}

bool ri_quartet_is_marked(const struct ri_env *env)
{
	const char *mark = ri_env_get(env, "RANKINIT");
	const char *mode = mark == NULL ? NULL : strchr(mark, ':');

	return mode != NULL && strcmp(mode, ":process") == 0;
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
