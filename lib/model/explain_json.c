/* SPDX-License-Identifier: Apache-2.0 */
#include "model/explain.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

struct document {
	const struct ri_explain *explain;
	const char *escaped;	/* the subject of the first string that is not UTF-8 */
	size_t escapes;		/* how many such strings there are */
	bool incomplete;	/* memory ran out somewhere */
};

/* jansson's references: a NULL value is memory that ran out. */
static void put(struct document *document, json_t *object, const char *key, json_t *value)
{
	document->incomplete |= json_object_set_new(object, key, value) < 0;
}

static void append(struct document *document, json_t *array, json_t *value)
{
	document->incomplete |= json_array_append_new(array, value) < 0;
}

/* Bytes that are not UTF-8 as \xNN, backslashes doubled; NULL when out of memory. */
static const char *escape(const char *value, struct ri_arena *arena)
{
	size_t room = 4 * strlen(value) + 1, length;
	char *bytes = ri_arena_alloc(arena, room);
	struct ri_text text;

	if (bytes == NULL)
		return NULL;
	ri_text_init(&text, bytes, room);
	for (; *value != '\0'; value += length == 0 ? 1 : length) {
		length = ri_utf8_length(value);
		if (length == 0)
			ri_text_addf(&text, "\\x%02x", (unsigned char)*value);
		else if (*value == '\\')
			ri_text_add(&text, "\\\\");
		else
			ri_text_add_bytes(&text, value, length);
	}
	return bytes;
}

static bool is_utf8(const char *value)
{
	for (size_t length; *value != '\0'; value += length) {
		length = ri_utf8_length(value);
		if (length == 0)
			return false;
	}
	return true;
}

/* subject names the string where it has to be escaped. */
static json_t *string(struct document *document, const char *value, const char *subject)
{
	const char *escaped;

	if (is_utf8(value))
		return json_string(value);
	if (document->escapes++ == 0)
		document->escaped = subject;
	escaped = escape(value, document->explain->arena);
	return escaped == NULL ? NULL : json_string(escaped);
}

/* The same where the foreign text is the key. */
static void put_name(struct document *document, json_t *object, const char *name, json_t *value)
{
	json_t *key = string(document, name, "set");

	if (key == NULL)
		json_decref(value);
	put(document, object, key == NULL ? "" : json_string_value(key),
		key == NULL ? NULL : value);
	json_decref(key);
}

static json_t *value_of(struct document *document, enum ri_fact_id id)
{
	const struct ri_fact *fact = &document->explain->topology->facts[id];
	json_t *list;

	if (fact->text != NULL)
		return string(document, fact->text, ri_fact_name(id));
	if (fact->list == NULL)
		return json_integer((json_int_t)fact->number);
	list = json_array();
	for (uint64_t i = 0; i < fact->number; i++)
		append(document, list, string(document, fact->list[i], ri_fact_name(id)));
	return list;
}

static json_t *names_of(struct document *document, unsigned from)
{
	json_t *list = json_array();

	for (int id = 0; id < RI_FACT_COUNT; id++)
		if ((from & 1u << id) != 0)
			append(document, list, json_string(ri_fact_name((enum ri_fact_id)id)));
	return list;
}

static json_t *describe_fact(struct document *document, enum ri_fact_id id)
{
	const struct ri_origin *origin = &document->explain->topology->facts[id].origin;
	json_t *object = json_object();

	put(document, object, "value", value_of(document, id));
	put(document, object, "source", json_string(origin->source));
	if (origin->variable != NULL)
		put(document, object, "variable", json_string(origin->variable));
	if (origin->raw != NULL)
		put(document, object, "raw", string(document, origin->raw, origin->variable));
	if (origin->from != 0)
		put(document, object, "from", names_of(document, origin->from));
	return object;
}

static json_t *describe_topology(struct document *document)
{
	json_t *object = json_object();

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (ri_topology_knows(document->explain->topology, id))
			put(document, object, ri_fact_name(id), describe_fact(document, id));
	return object;
}

static json_t *number_or_null(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static json_t *list_argv(struct document *document, char *const *argv)
{
	json_t *list = json_array();

	for (; argv != NULL && *argv != NULL; argv++)
		append(document, list, string(document, *argv, "argv"));
	return list;
}

static json_t *describe_rank(struct document *document, const struct ri_explained_rank *rank)
{
	json_t *object = json_object(), *set = json_object(), *unset = json_array();

	for (size_t i = 0; i < rank->edits->count; i++) {
		const struct ri_env_edit *edit = &rank->edits->items[i];

		if (ri_env_edits_find(rank->edits, edit->name) != edit)
			continue;
		if (edit->value != NULL)
			put_name(document, set, edit->name,
				string(document, edit->value, edit->name));
		else
			append(document, unset, string(document, edit->name, "unset"));
	}
	put(document, object, "rank", number_or_null(rank->rank));
	put(document, object, "local_rank", number_or_null(rank->local_rank));
	put(document, object, "set", set);
	put(document, object, "unset", unset);
	put(document, object, "argv", list_argv(document, rank->argv));
	return object;
}

static json_t *list_ranks(struct document *document)
{
	const struct ri_explain *explain = document->explain;
	json_t *list = json_array();

	for (size_t i = 0; i < explain->rank_count; i++)
		append(document, list, describe_rank(document, &explain->ranks[i]));
	return list;
}

static json_t *describe_finding(struct document *document, const struct ri_finding *finding)
{
	json_t *object = json_object();

	put(document, object, "severity", json_string(ri_severity_name(finding->severity)));
	put(document, object, "code", json_string(ri_code_name(finding->code)));
	put(document, object, "subject", string(document, finding->subject, "findings"));
	put(document, object, "text", string(document, finding->text, "findings"));
	put(document, object, "hint", string(document, finding->hint, "findings"));
	return object;
}

/* What refuses the launch is the first finding. */
static json_t *describe_error(struct document *document, const struct ri_error *err)
{
	struct ri_finding finding = { .severity = RI_SEVERITY_ERROR, .code = err->code };

	ri_text_copy(finding.subject, sizeof(finding.subject), err->subject);
	ri_text_copy(finding.text, sizeof(finding.text), err->text);
	ri_text_copy(finding.hint, sizeof(finding.hint), err->hint);
	return describe_finding(document, &finding);
}

static json_t *describe_escapes(struct document *document)
{
	struct ri_finding finding = {
		.severity = RI_SEVERITY_NOTE,
		.code = RI_CODE_OUTPUT_ESCAPED,
	};

	ri_text_copy(finding.subject, sizeof(finding.subject), document->escaped);
	snprintf(finding.text, sizeof(finding.text),
		"is not UTF-8: \\xNN stands for a byte, and backslashes are doubled; "
		"%zu strings in all", document->escapes);
	return describe_finding(document, &finding);
}

static json_t *list_findings(struct document *document)
{
	const struct ri_explain *explain = document->explain;
	json_t *list = json_array();

	if (explain->err->code != RI_CODE_NONE)
		append(document, list, describe_error(document, explain->err));
	for (size_t i = 0; i < explain->findings->count; i++)
		append(document, list, describe_finding(document, &explain->findings->items[i]));
	if (document->escapes > 0)
		append(document, list, describe_escapes(document));
	return list;
}

static json_t *list_sources(struct document *document)
{
	const struct ri_topology *topology = document->explain->topology;
	json_t *list = json_array();

	for (size_t i = 0; i < topology->source_count; i++)
		append(document, list, json_string(topology->sources[i]));
	return list;
}

static json_t *scope_of(const struct ri_topology *topology)
{
	if (topology->scope == RI_SCOPE_NONE)
		return json_null();
	return json_string(topology->scope == RI_SCOPE_NODE ? "node" : "process");
}

char *ri_explain_json(const struct ri_explain *explain)
{
	struct document document = { .explain = explain };
	const char *identity = explain->topology->identity;
	json_t *object = json_object();
	char *text = NULL;

	put(&document, object, "schema", json_string("rankinit-explain-1"));
	put(&document, object, "version", json_string(explain->version));
	put(&document, object, "identity", identity == NULL ? json_null() : json_string(identity));
	put(&document, object, "scope", scope_of(explain->topology));
	put(&document, object, "sources", list_sources(&document));
	put(&document, object, "launch", json_string(explain->launch));
	put(&document, object, "topology", describe_topology(&document));
	put(&document, object, "ranks", list_ranks(&document));
	put(&document, object, "findings", list_findings(&document));
	if (!document.incomplete)
		text = json_dumps(object, JSON_INDENT(2));
	json_decref(object);
	return text;
}
