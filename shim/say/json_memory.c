/* SPDX-License-Identifier: Apache-2.0 */
#include "say/json_memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <jansson.h>

#include "base/arena.h"

enum { ALIGNMENT = 16 };

void ri_json_seed(void)
{
	uint32_t seed;

	/* they need not be aligned */
	memcpy(&seed, (const void *)getauxval(AT_RANDOM), sizeof(seed));
	json_object_seed(seed | 1);
}

static struct {
	unsigned char *bytes;
	size_t size;
	size_t used;
	size_t blocks;	/* that were not given back */
} region;

static void *take(size_t size)
{
	size_t room = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *block;

	if (room < size || room > region.size - region.used)
		return NULL;
	block = region.bytes + region.used;
	region.used += room;
	region.blocks++;
	return block;
}

/* A document is made, written and forgotten as a whole. */
static void give_back(void *block)
{
	if (block != NULL && --region.blocks == 0)
		region.used = 0;
}

int ri_json_memory_reserve(size_t size)
{
	void *bytes = ri_pages(size);

	if (bytes == NULL)
		return -1;
	region.bytes = bytes;
	region.size = size;
	json_set_alloc_funcs(take, give_back);
	return 0;
}
