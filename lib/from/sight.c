/* SPDX-License-Identifier: Apache-2.0 */
#include "from/sight.h"

#include <stddef.h>
#include <string.h>

#include "base/number.h"

bool ri_text_is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n\v\f")] == '\0';
}

bool ri_source_sees(const struct ri_env *env, const char *variable)
{
	const char *value = ri_env_get(env, variable);

	return value != NULL && !ri_is_service_link(value);
}

bool ri_source_sees_text(const struct ri_env *env, const char *variable)
{
	const char *value = ri_env_get(env, variable);

	return value != NULL && !ri_is_service_link(value) && !ri_text_is_blank(value);
}

bool ri_source_sees_mpi_rank(const struct ri_env *env)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID", "PMIX_RANK", "MV2_COMM_WORLD_RANK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ri_source_sees(env, names[i]))
			return true;
	return false;
}
