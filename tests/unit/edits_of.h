/* SPDX-License-Identifier: Apache-2.0 */
/* Both steps from a topology to what is edited. */
#ifndef RI_TESTS_EDITS_OF_H
#define RI_TESTS_EDITS_OF_H

#include "to/to.h"

static inline int ri_edits_render(struct ri_env_edits *out, const struct ri_topology *topology,
	const struct ri_context *context, struct ri_error *err)
{
	struct ri_env_edits variables;

	if (ri_variables_render(&variables, topology, context, err) < 0)
		return -1;
	return ri_variables_reduce(out, &variables, context, err);
}

#endif
