/* SPDX-License-Identifier: Apache-2.0 */
#include "report/outcome.h"

#include <string.h>

#include "redact/redact.h"
#include "redact/token.h"

enum {
	MAX_DEPTH = 16,		/* real ones have three */
	/* thousands of seconds, up to the year 5138: past it, it is milliseconds */
	MAX_KILOSECONDS = 99999999,
};

/* What torch means by an exception, or the file's own top. */
static const json_t *find_inner(const json_t *root)
{
	const json_t *message = json_object_get(root, "message");

	return json_is_object(message) ? message : root;
}

static bool read_time(const json_t *value, uint64_t *seconds)
{
	const struct ri_range range = { 1, (uint64_t)MAX_KILOSECONDS * 1000 };

	if (json_is_string(value))
		return ri_number_read(json_string_value(value), range, seconds, NULL) ==
			RI_NUMBER_OK;
	if (!json_is_number(value) || json_number_value(value) < 1 ||
		json_number_value(value) > (double)range.max)
		return false;
	*seconds = (uint64_t)json_number_value(value);
	return true;
}

bool ri_torch_error_read(struct ri_span text, struct ri_torch_error *out)
{
	json_t *root = json_loadb(text.at, text.length, 0, NULL);
	const json_t *inner = find_inner(root), *message = json_object_get(inner, "message");
	const json_t *stack = json_object_get(json_object_get(inner, "extraInfo"), "py_callstack");
	struct ri_span lines = { json_string_value(stack), json_string_length(stack) }, line;
	const size_t room = sizeof(out->callstack) / 2;
	bool known = json_is_string(message);
	struct ri_text clean;

	if (known) {
		*out = (struct ri_torch_error){ .message = "" };
		clean = ri_text_of(out->message, sizeof(out->message));
		ri_redact(&clean, (struct ri_span){ json_string_value(message),
			json_string_length(message) });
		/* whole lines from the end, as many as fit even where secrets become longer */
		if (lines.length > room) {
			lines = ri_span_skip(lines, lines.length - room);
			ri_span_line(&lines, &line);
		}
		clean = ri_text_of(out->callstack, sizeof(out->callstack));
		if (lines.length > 0)
			ri_redact(&clean, lines);
	}
	json_decref(root);
	return known;
}

bool ri_torch_error_time(struct ri_span text, uint64_t *seconds)
{
	json_t *root = json_loadb(text.at, text.length, 0, NULL);
	const json_t *extra = json_object_get(find_inner(root), "extraInfo");
	bool known = read_time(json_object_get(extra, "timestamp"), seconds) ||
		read_time(json_object_get(root, "timestamp"), seconds);

	json_decref(root);
	return known;
}

/* What a member's name makes of it, or {"name": "HF_TOKEN", "value": "x"}, or what it is in. */
static enum ri_secrecy secrecy_of(const json_t *object, const char *key, enum ri_secrecy outer)
{
	const char *name = json_string_value(json_object_get(object, "name"));
	enum ri_secrecy own;

	if (name != NULL && strcmp(key, "value") == 0)
		key = name;
	own = ri_secrecy_of(ri_span_of(key));
	return own == RI_SECRECY_NONE ? outer : own;
}

static json_t *clean(struct ri_json *json, json_t *value, enum ri_secrecy secrecy, unsigned depth)
{
	struct ri_span text = { json_string_value(value), json_string_length(value) };
	json_t *made, *member;
	const char *key;
	size_t index;

	if (json_is_string(value))
		return ri_json_redacted(json, text, secrecy, "torch_error");
	if (depth >= MAX_DEPTH)
		return json_null();
	if (json_is_array(value)) {
		made = json_array();
		json_array_foreach(value, index, member)
			ri_json_append(json, made, clean(json, member, secrecy, depth + 1));
		return made;
	}
	if (!json_is_object(value))
		return json_incref(value);
	made = json_object();
	json_object_foreach(value, key, member) {
		ri_json_put(json, made, key,
			clean(json, member, secrecy_of(value, key, secrecy), depth + 1));
	}
	return made;
}

json_t *ri_torch_error_json(struct ri_json *json, struct ri_span text)
{
	json_t *root = json_loadb(text.at, text.length, 0, NULL), *made;

	if (root == NULL)
		return json_null();
	made = clean(json, root, RI_SECRECY_NONE, 0);
	json_decref(root);
	return made;
}
