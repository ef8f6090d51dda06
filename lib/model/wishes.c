/* SPDX-License-Identifier: Apache-2.0 */
#include "model/context.h"

#include <string.h>

const char *ri_wishes_subject(const struct ri_wishes *wishes)
{
	if (wishes == NULL)
		return NULL;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (wishes->facts[id].value != NULL)
			return wishes->facts[id].subject;
	return wishes->hostfile.value == NULL ? NULL : wishes->hostfile.subject;
}

static bool is_said_by(const struct ri_given *stated, const char *subject)
{
	return stated->value != NULL && strcmp(stated->subject, subject) == 0;
}

const char *ri_wishes_get(const struct ri_wishes *wishes, const char *subject)
{
	if (wishes == NULL)
		return NULL;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (is_said_by(&wishes->facts[id], subject))
			return wishes->facts[id].value;
	return is_said_by(&wishes->hostfile, subject) ? wishes->hostfile.value : NULL;
}

bool ri_wishes_allow_source(const struct ri_wishes *wishes, const char *name)
{
	return wishes == NULL || wishes->source.value == NULL ||
		strcmp(wishes->source.value, name) == 0;
}

bool ri_wishes_refuse_all(const struct ri_wishes *wishes)
{
	return wishes != NULL && wishes->source.value != NULL &&
		strcmp(wishes->source.value, "none") == 0;
}

bool ri_wishes_allow_framework(const struct ri_wishes *wishes, const char *name)
{
	return wishes == NULL || wishes->frameworks == NULL ||
		ri_wishes_name_framework(wishes, name);
}

bool ri_wishes_name_framework(const struct ri_wishes *wishes, const char *name)
{
	const char *list = wishes == NULL ? NULL : wishes->frameworks;

	return list != NULL && ri_list_has(list, strlen(list), name);
}
