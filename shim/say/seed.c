/* SPDX-License-Identifier: Apache-2.0 */
#include "say/seed.h"

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <jansson.h>

void ri_seed_json(void)
{
	uint32_t seed;

	/* they need not be aligned */
	memcpy(&seed, (const void *)getauxval(AT_RANDOM), sizeof(seed));
	json_object_seed(seed | 1);
}
