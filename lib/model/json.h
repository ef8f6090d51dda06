/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our JSON documents have in common: values that may be missing when
 * memory runs out, foreign strings that may not be UTF-8, and the topology.
 * All memory is jansson's own, whatever that was told to use.
 */
#ifndef RI_MODEL_JSON_H
#define RI_MODEL_JSON_H

#include <jansson.h>

#include "model/topology.h"
#include "redact/token.h"

/* How documents are written: a number of decimals as few digits as it has. */
#define RI_JSON_LOOK (JSON_INDENT(2) | JSON_REAL_PRECISION(15))

struct ri_json {
	const char *escaped;	/* the subject of the first string that is not UTF-8 */
	size_t escapes;		/* how many such strings there are */
	bool incomplete;	/* memory ran out somewhere */
};

/* Both take over the value, as jansson's _new functions; NULL: out of memory. */
void ri_json_put(struct ri_json *json, json_t *object, const char *key, json_t *value);
void ri_json_append(struct ri_json *json, json_t *array, json_t *value);

/*
 * An object, which takes over the values of its members:
 * RI_JSON_OBJECT(json, { "rank", ri_json_number(3) }, { "told", json_false() })
 */
#define RI_JSON_OBJECT(json, ...) \
	ri_json_object(json, (struct ri_json_member[]){ __VA_ARGS__, { NULL, NULL } })

struct ri_json_member {
	const char *name;
	json_t *value;
};

json_t *ri_json_object(struct ri_json *json, const struct ri_json_member *members);

/* null, where it is below 0. */
json_t *ri_json_number(int64_t number);

/*
 * A string; in one that is not UTF-8 the bytes at fault are written as \xNN
 * and backslashes doubled. subject names it where that is so. NULL is null.
 */
json_t *ri_json_string(struct ri_json *json, const char *value, const char *subject);

/* The same without its secrets, of which the name of the value may make one of all of it. */
json_t *ri_json_redacted(struct ri_json *json, struct ri_span value, enum ri_secrecy secrecy,
	const char *subject);

/*
 * Take over a document that is made, and append it and a '\n'. DEL and C1 are \u00NN in it, which
 * means the same and does nothing to a terminal. Returns 0, or -1: memory ran out, now or as it was
 * made, or it does not fit; what was appended has no meaning then.
 */
int ri_json_end(struct ri_json *json, json_t *document, size_t flags, struct ri_text *out);

/* The facts that are known, each with its origin: name -> {"value", "source", ...}. */
json_t *ri_json_topology(struct ri_json *json, const struct ri_topology *topology);

#endif
