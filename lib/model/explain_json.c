/* SPDX-License-Identifier: Apache-2.0 */
#include "model/explain.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "model/json.h"
#include "redact/redact.h"

struct document {
	const struct ri_explain *explain;
	struct ri_json json;
};

static void put(struct document *document, json_t *object, const char *key, json_t *value)
{
	ri_json_put(&document->json, object, key, value);
}

static void append(struct document *document, json_t *array, json_t *value)
{
	ri_json_append(&document->json, array, value);
}

/* subject names the string where it has to be escaped. */
static json_t *string(struct document *document, const char *value, const char *subject)
{
	return ri_json_string(&document->json, value, subject);
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

static json_t *number_or_null(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static json_t *string_or_null(struct document *document, const char *value, const char *subject)
{
	return value == NULL ? json_null() : string(document, value, subject);
}

static json_t *list_argv(struct document *document, char *const *argv)
{
	json_t *list = json_array();

	for (; argv != NULL && *argv != NULL; argv++)
		append(document, list, string(document, *argv, "argv"));
	return list;
}

/* What a variable is set to, without secrets. */
static json_t *set_value(struct document *document, const struct ri_env_edit *edit)
{
	struct ri_text text;
	json_t *value;

	if (!ri_json_buffer_take(&text, 2 * strlen(edit->value) + sizeof(RI_REDACTED)))
		return NULL;
	ri_redact_value(&text, edit->name, edit->value);
	value = string(document, text.bytes, edit->name);
	ri_json_buffer_release(&text);
	return value;
}

static json_t *describe_rank(struct document *document, const struct ri_explained_rank *rank)
{
	json_t *object = json_object(), *set = json_object(), *unset = json_array();

	for (size_t i = 0; i < rank->edits->count; i++) {
		const struct ri_env_edit *edit = &rank->edits->items[i];

		if (ri_env_edits_find(rank->edits, edit->name) != edit)
			continue;
		if (edit->value != NULL)
			put_name(document, set, edit->name, set_value(document, edit));
		else
			append(document, unset, string(document, edit->name, "unset"));
	}
	put(document, object, "rank", number_or_null(rank->rank));
	put(document, object, "local_rank", number_or_null(rank->local_rank));
	put(document, object, "set", set);
	put(document, object, "unset", unset);
	put(document, object, "argv", list_argv(document, rank->argv));
	put(document, object, "cpus", string_or_null(document, rank->cpus, "cpus"));
	put(document, object, "gpu", string_or_null(document, rank->gpu, "gpu"));
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

static json_t *describe_escapes(struct document *document)
{
	struct ri_finding finding = {
		.severity = RI_SEVERITY_NOTE,
		.code = RI_CODE_OUTPUT_ESCAPED,
	};

	ri_text_copy(finding.subject, sizeof(finding.subject), document->json.escaped);
	snprintf(finding.text, sizeof(finding.text),
		"is not UTF-8: \\xNN stands for a byte, and each backslash is doubled; %zu such "
		"strings in all", document->json.escapes);
	return describe_finding(document, &finding);
}

static json_t *list_findings(struct document *document)
{
	const struct ri_explain *explain = document->explain;
	const struct ri_finding refusal = ri_finding_of_error(explain->err);
	json_t *list = json_array();

	/* what refuses the launch is the first finding */
	if (explain->err->code != RI_CODE_NONE)
		append(document, list, describe_finding(document, &refusal));
	for (size_t i = 0; i < explain->findings->count; i++)
		append(document, list, describe_finding(document, &explain->findings->items[i]));
	if (document->json.escapes > 0)
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
	put(&document, object, "topology", ri_json_topology(&document.json, explain->topology));
	put(&document, object, "ranks", list_ranks(&document));
	put(&document, object, "findings", list_findings(&document));
	if (!document.json.incomplete)
		text = ri_json_dumps(object, JSON_INDENT(2));
	json_decref(object);
	return text;
}
