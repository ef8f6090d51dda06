/* SPDX-License-Identifier: Apache-2.0 */
#include "from/sources.h"

#include <string.h>

#include "base/text.h"
#include "model/context.h"

const struct ri_source *const ri_sources[] = {
#define RI_SOURCE(name) &ri_source_##name,
#include "from/sources.def"
#undef RI_SOURCE
	NULL,
};

const struct ri_source *ri_source_of(const char *identity)
{
	static const struct ri_source none = { .name = NULL };

	for (size_t i = 0; identity != NULL && i < RI_SOURCE_COUNT; i++)
		if (strcmp(ri_sources[i]->name, identity) == 0)
			return ri_sources[i];
	return &none;
}

bool ri_source_is_launcher(const struct ri_source *source, const char *name)
{
	size_t length = strcspn(name, ".");
	const char *at = source->launchers;

	while (at != NULL && (strcspn(at, "|") != length || strncmp(at, name, length) != 0)) {
		at = strchr(at, '|');
		at = at == NULL ? NULL : at + 1;
	}
	return at != NULL;
}

bool ri_sources_say_job(const struct ri_env *env, const struct ri_wishes *wishes)
{
	for (size_t i = 0; i < RI_SOURCE_COUNT; i++)
		if (ri_sources[i]->job != NULL && ri_source_sees_text(env, ri_sources[i]->job) &&
			ri_wishes_allow_source(wishes, ri_sources[i]->name))
			return true;
	return false;
}

bool ri_source_is_seen(const struct ri_source *source, const struct ri_env *env)
{
	unsigned signs = 0;
	bool one = false;

	for (const struct ri_source_row *row = source->reads; row->name != NULL; row++) {
		bool seen = row->sign == RI_NO_SIGN ? false
			: (row->sign & RI_TEXT) != 0 ? ri_source_sees_text(env, row->name)
			: (row->sign & RI_LINK) != 0 ? ri_env_get(env, row->name) != NULL
			: ri_source_sees(env, row->name);

		if ((row->sign & RI_SEEN) != 0 && !seen)
			return false;
		one |= seen && (row->sign & RI_ONE_SEEN) != 0;
		signs |= row->sign;
	}
	if ((signs & RI_ONE_SEEN) != 0 && !one)
		return false;
	return source->detect == NULL ? signs != RI_NO_SIGN : source->detect(env);
}

const struct ri_shape *ri_source_shape_at(size_t index)
{
	for (size_t i = 0; i < RI_SOURCE_COUNT; index -= ri_sources[i]->shape_count, i++)
		if (index < ri_sources[i]->shape_count)
			return &ri_sources[i]->shapes[index];
	return NULL;
}

const struct ri_shape *ri_source_shape_find(const char *name, size_t length)
{
	const struct ri_shape *shape;

	for (size_t i = 0; (shape = ri_source_shape_at(i)) != NULL; i++)
		if (strlen(shape->name) == length && memcmp(shape->name, name, length) == 0)
			return shape;
	return NULL;
}

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
	return ri_source_sees(env, variable) && !ri_text_is_blank(ri_env_get(env, variable));
}
