/* SPDX-License-Identifier: Apache-2.0 */
#include "model/json.h"

#include <string.h>

#include "redact/redact.h"

void ri_json_put(struct ri_json *json, json_t *object, const char *key, json_t *value)
{
	json->incomplete |= json_object_set_new(object, key, value) < 0;
}

void ri_json_append(struct ri_json *json, json_t *array, json_t *value)
{
	json->incomplete |= json_array_append_new(array, value) < 0;
}

json_t *ri_json_object(struct ri_json *json, const struct ri_json_member *members)
{
	json_t *object = json_object();

	for (; members->name != NULL; members++)
		ri_json_put(json, object, members->name, members->value);
	return object;
}

json_t *ri_json_number(int64_t number)
{
	return number < 0 ? json_null() : json_integer((json_int_t)number);
}

/* An empty text with so much room; false where there is no memory. Release it again. */
static bool take_buffer(struct ri_text *out, size_t room)
{
	json_malloc_t take;
	json_free_t give_back;
	char *bytes;

	json_get_alloc_funcs(&take, &give_back);
	bytes = take(room);
	if (bytes == NULL)
		return false;
	*out = ri_text_of(bytes, room);
	return true;
}

static void release_buffer(struct ri_text *text)
{
	json_malloc_t take;
	json_free_t give_back;

	json_get_alloc_funcs(&take, &give_back);
	give_back(text->bytes);
}

/* NULL when out of memory. */
static json_t *escape(const char *value)
{
	struct ri_text text;
	json_t *string;
	size_t length;

	if (!take_buffer(&text, 4 * strlen(value) + 1))
		return NULL;
	for (; *value != '\0'; value += length == 0 ? 1 : length) {
		length = ri_utf8_length(value);
		if (length == 0)
			ri_text_addf(&text, "\\x%02x", (unsigned char)*value);
		else if (*value == '\\')
			ri_text_add(&text, "\\\\");
		else
			ri_text_add_bytes(&text, value, length);
	}
	string = json_string(text.bytes);
	release_buffer(&text);
	return string;
}

json_t *ri_json_string(struct ri_json *json, const char *value, const char *subject)
{
	const char *at = value;

	if (value == NULL)
		return json_null();
	while (*at != '\0' && ri_utf8_length(at) > 0)
		at += ri_utf8_length(at);
	if (*at == '\0')
		return json_string(value);
	if (json->escapes++ == 0)
		json->escaped = subject;
	return escape(value);
}

json_t *ri_json_redacted(struct ri_json *json, struct ri_span value, enum ri_secrecy secrecy,
	const char *subject)
{
	struct ri_text text;
	json_t *string;

	if (ri_secrecy_hides(secrecy, value))
		return json_string(RI_REDACTED);
	if (!take_buffer(&text, sizeof(RI_REDACTED) * (value.length + 1)))
		return NULL;
	ri_redact(&text, value);
	string = ri_json_string(json, text.bytes, subject);
	release_buffer(&text);
	return string;
}

/* C1 (U+0080 to U+009F) is two bytes in UTF-8, and strings alone have it. */
static int append(const char *bytes, size_t length, void *context)
{
	struct ri_text *out = context;
	size_t from = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		bool c1 = byte == 0xc2 && i + 1 < length && (unsigned char)bytes[i + 1] < 0xa0;

		if (byte != 0x7f && !c1)
			continue;
		ri_text_add_bytes(out, bytes + from, i - from);
		i += c1;
		ri_text_addf(out, "\\u%04x", (unsigned char)bytes[i]);
		from = i + 1;
	}
	ri_text_add_bytes(out, bytes + from, length - from);
	return out->cut ? -1 : 0;
}

int ri_json_end(struct ri_json *json, json_t *document, size_t flags, struct ri_text *out)
{
	int status = json->incomplete ? -1 : json_dump_callback(document, append, out, flags);

	json_decref(document);
	ri_text_add(out, "\n");
	return out->cut ? -1 : status;
}

static json_t *describe_fact(struct ri_json *json, const struct ri_fact *fact, const char *name)
{
	const struct ri_origin *origin = &fact->origin;
	json_t *object = json_object(), *value, *names;

	if (fact->text != NULL)
		value = ri_json_string(json, fact->text, name);
	else
		value = fact->list != NULL ? json_array() : json_integer((json_int_t)fact->number);
	for (uint64_t i = 0; fact->text == NULL && fact->list != NULL && i < fact->number; i++)
		ri_json_append(json, value, ri_json_string(json, fact->list[i], name));
	ri_json_put(json, object, "value", value);
	ri_json_put(json, object, "source", json_string(origin->source));
	if (origin->variable != NULL) {
		ri_json_put(json, object, "variable", json_string(origin->variable));
		ri_json_put(json, object, "raw",
			ri_json_string(json, origin->raw, origin->variable));
	}
	if (origin->from == 0)
		return object;
	names = json_array();
	for (int id = 0; id < RI_FACT_COUNT; id++)
		if ((origin->from & 1u << id) != 0)
			ri_json_append(json, names,
				json_string(ri_fact_name((enum ri_fact_id)id)));
	ri_json_put(json, object, "from", names);
	return object;
}

json_t *ri_json_topology(struct ri_json *json, const struct ri_topology *topology)
{
	json_t *object = json_object();

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (ri_topology_knows(topology, id))
			ri_json_put(json, object, ri_fact_name(id),
				describe_fact(json, &topology->facts[id], ri_fact_name(id)));
	return object;
}
