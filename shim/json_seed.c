/* SPDX-License-Identifier: Apache-2.0 */
#include "json_seed.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

void ri_json_seed(void)
{
	uint32_t seed;

	/* they need not be aligned */
	memcpy(&seed, (const void *)getauxval(AT_RANDOM), sizeof(seed));
	json_object_seed(seed | 1);
}
