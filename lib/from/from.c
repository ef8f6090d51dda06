/* SPDX-License-Identifier: Apache-2.0 */
#include "from/from.h"

#include <string.h>

/* Is what it shares with others one of them's that is there and comes first? */
static bool is_taken(const struct ri_reading *reading, const struct ri_source *const *at)
{
	const struct ri_source *const *other = ri_sources;

	if ((*at)->shares == NULL)
		return false;
	while (other < at && ((*other)->shares == NULL ||
		strcmp((*other)->shares, (*at)->shares) != 0 ||
		!ri_source_is_seen(*other, reading->context->env)))
		other++;
	return other < at;
}

static int read_all(struct ri_topology *out, struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	const char **names = NULL;
	size_t before;

	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++) {
		if (!ri_source_is_there(*at, context->env, context->wishes) ||
			is_taken(reading, at))
			continue;
		if (names == NULL) {
			names = ri_arena_array(context->arena, RI_SOURCE_COUNT, sizeof(*names));
			reading->spoke = ri_arena_array(context->arena, RI_SOURCE_COUNT + 1,
				sizeof(struct ri_source *));
		}
		if (names == NULL || reading->spoke == NULL)
			return ri_fail(reading->err, RI_CODE_MEMORY, (*at)->name,
				"no memory left to read this source");
		out->sources = names;
		reading->source = *at;
		before = reading->claim_count;
		ri_source_read(*at, reading);
		if (reading->err->code != RI_CODE_NONE)
			return -1;
		if (reading->claim_count > before) {
			reading->spoke[out->source_count] = *at;
			names[out->source_count++] = (*at)->name;
		}
		if (ri_identity_takes(reading))
			reading->identity = *at;
	}
	return 0;
}

int ri_sources_read(struct ri_topology *out, struct ri_reading *reading,
	const struct ri_context *context, struct ri_error *err)
{
	static const struct ri_source *none[] = { NULL };

	*out = (struct ri_topology){ .identity = NULL };
	*reading = (struct ri_reading){
		.context = context, .sources = ri_sources, .spoke = none, .err = err,
	};
	if (ri_wishes_refuse_all(context->wishes) || read_all(out, reading) == 0)
		return 0;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		ri_claims_choose(out, reading->claims[id], id);
	return -1;
}
