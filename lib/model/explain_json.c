/* SPDX-License-Identifier: Apache-2.0 */
#include "model/explain.h"

#include <stdio.h>
#include <string.h>

#include "model/json.h"
#include "redact/redact.h"

static json_t *number_or_null(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

/* What a variable is set to, without secrets, under its name, which is foreign text, too. */
static void put_variable(struct ri_json *json, json_t *object, const struct ri_env_edit *edit)
{
	json_t *key, *value = NULL;
	struct ri_text text;

	if (ri_json_buffer_take(&text, 2 * strlen(edit->value) + sizeof(RI_REDACTED))) {
		ri_redact_value(&text, edit->name, edit->value);
		value = ri_json_string(json, text.bytes, edit->name);
		ri_json_buffer_release(&text);
	}
	key = ri_json_string(json, edit->name, "set");
	if (key == NULL) {
		json_decref(value);
		json->incomplete = true;
	} else {
		ri_json_put(json, object, json_string_value(key), value);
	}
	json_decref(key);
}

static json_t *describe_rank(struct ri_json *json, const struct ri_explained_rank *rank)
{
	json_t *object = json_object(), *set = json_object(), *unset = json_array();
	json_t *argv = json_array();

	for (size_t i = 0; i < rank->edits->count; i++) {
		const struct ri_env_edit *edit = &rank->edits->items[i];

		if (ri_env_edits_find(rank->edits, edit->name) != edit)
			continue;
		if (edit->value != NULL)
			put_variable(json, set, edit);
		else
			ri_json_append(json, unset, ri_json_string(json, edit->name, "unset"));
	}
	for (char *const *word = rank->argv; word != NULL && *word != NULL; word++)
		ri_json_append(json, argv, ri_json_string(json, *word, "argv"));
	ri_json_put(json, object, "rank", number_or_null(rank->rank));
	ri_json_put(json, object, "local_rank", number_or_null(rank->local_rank));
	ri_json_put(json, object, "set", set);
	ri_json_put(json, object, "unset", unset);
	ri_json_put(json, object, "argv", argv);
	ri_json_put(json, object, "cpus", ri_json_string(json, rank->cpus, "cpus"));
	ri_json_put(json, object, "gpu", ri_json_string(json, rank->gpu, "gpu"));
	return object;
}

static json_t *describe_finding(struct ri_json *json, const struct ri_error *finding)
{
	json_t *object = json_object();

	ri_json_put(json, object, "severity", json_string(ri_severity_name(finding->severity)));
	ri_json_put(json, object, "code", json_string(ri_code_name(finding->code)));
	ri_json_put(json, object, "subject", ri_json_string(json, finding->subject, "findings"));
	ri_json_put(json, object, "text", ri_json_string(json, finding->text, "findings"));
	ri_json_put(json, object, "hint", ri_json_string(json, finding->hint, "findings"));
	return object;
}

static json_t *list_findings(struct ri_json *json, const struct ri_explain *explain)
{
	struct ri_error escapes = {
		.severity = RI_SEVERITY_NOTE,
		.code = RI_CODE_OUTPUT_ESCAPED,
	};
	json_t *list = json_array();

	/* what refuses the launch is the first finding */
	if (explain->err->code != RI_CODE_NONE)
		ri_json_append(json, list, describe_finding(json, explain->err));
	for (size_t i = 0; i < explain->findings->count; i++)
		ri_json_append(json, list, describe_finding(json, &explain->findings->items[i]));
	if (json->escapes == 0)
		return list;
	ri_text_copy(escapes.subject, sizeof(escapes.subject), json->escaped);
	snprintf(escapes.text, sizeof(escapes.text),
		"is not UTF-8: \\xNN stands for a byte, and each backslash is doubled; %zu such "
		"strings in all", json->escapes);
	ri_json_append(json, list, describe_finding(json, &escapes));
	return list;
}

char *ri_explain_json(const struct ri_explain *explain)
{
	const struct ri_topology *topology = explain->topology;
	json_t *object = json_object(), *sources = json_array(), *ranks = json_array();
	struct ri_json json = { .escapes = 0 };
	const char *scope = topology->scope == RI_SCOPE_NODE ? "node" : "process";
	char *text = NULL;

	for (size_t i = 0; i < topology->source_count; i++)
		ri_json_append(&json, sources, json_string(topology->sources[i]));
	ri_json_put(&json, object, "schema", json_string("rankinit-explain-1"));
	ri_json_put(&json, object, "version", json_string(explain->version));
	ri_json_put(&json, object, "identity",
		topology->identity == NULL ? json_null() : json_string(topology->identity));
	ri_json_put(&json, object, "scope",
		topology->scope == RI_SCOPE_NONE ? json_null() : json_string(scope));
	ri_json_put(&json, object, "sources", sources);
	ri_json_put(&json, object, "launch", json_string(explain->launch));
	ri_json_put(&json, object, "topology", ri_json_topology(&json, topology));
	for (size_t i = 0; i < explain->rank_count; i++)
		ri_json_append(&json, ranks, describe_rank(&json, &explain->ranks[i]));
	ri_json_put(&json, object, "ranks", ranks);
	ri_json_put(&json, object, "findings", list_findings(&json, explain));
	if (!json.incomplete)
		text = ri_json_dumps(object, JSON_INDENT(2));
	json_decref(object);
	return text;
}
