/* SPDX-License-Identifier: Apache-2.0 */
#include "link/message.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "report/verdict.h"

static const char *const kinds[] = {
	[RI_LINK_HELLO] = "hello",
	[RI_LINK_PHASE] = "phase",
	[RI_LINK_END] = "end",
	[RI_LINK_HEARD] = "heard",
	[RI_LINK_NEWS] = "news",
	[RI_LINK_VERDICT] = "verdict",
	[RI_LINK_ASK] = "ask",
	[RI_LINK_ANSWER] = "answer",
	[RI_LINK_LOOK] = "look",
	[RI_LINK_GROUPS] = "groups",
	[RI_LINK_FOUND] = "found",
	[RI_LINK_GO] = "go",
	[RI_LINK_TIME] = "time",
};

static const char *const places[] = {
	[RI_LINK_TAKEN] = "taken",
	[RI_LINK_GUEST] = "guest",
	[RI_LINK_LATER] = "later",
	[RI_LINK_OTHER] = "other",
	[RI_LINK_SIZE] = "size",
};

static const char *const phases[] = {
	[RI_LINK_STARTING] = "starting",
	[RI_LINK_RUNNING] = "running",
	[RI_LINK_LEAVING] = "leaving",
};

static const char *const classes[] = {
	[RI_CLASS_NONE] = "done",
	[RI_CLASS_LOSS] = "loss",
	[RI_CLASS_UNKNOWN] = "unknown",
	[RI_CLASS_OWN] = "own",
	[RI_CLASS_STOPPED] = "stopped",
};

static const char *const steps[] = {
	[RI_LINK_START] = "start",
	[RI_LINK_LEAVE] = "leave",
};

enum {
	KINDS = RI_ARRAY_SIZE(kinds),
	LIFE_DIGITS = 2 * RI_LINK_LIFE,
	LAST_RANK = RI_MAX_RANKS - 1,
};

enum type {
	WORD,			/* an enum that has words */
	WHY,			/* a struct ri_why: "cause" and "retry" */
	NODE,			/* int64_t: "node" and, false for -1, "named" */
	NUMBER,			/* uint64_t */
	RANK,			/* int64_t: -1, which is none, or a number */
	FLAG,
	NAME,			/* a text of one line */
	LINES,
	LIFE,
};

struct field {
	enum ri_link_kind kind;
	enum type type;
	bool older;		/* a speaker of an older version leaves it out */
	const char *name;
	size_t at;		/* its offset in a struct ri_link_message */
	uint64_t most;		/* the greatest value; of a text how many bytes there are for it */
	const char *const *words;
};

#define FIELD(kind_, part_, type_, name_, most_, ...) \
	{ .kind = RI_LINK_##kind_, .type = type_, .name = #name_, .most = most_, \
		.at = offsetof(struct ri_link_message, part_.name_), __VA_ARGS__ }

/* TABLE: what each message says beside its kind, as docs/link.md lists it. */
static const struct field fields[] = {
	FIELD(HELLO, hello, LIFE, life, 0),
	FIELD(HELLO, hello, LIFE, centre, 0),
	FIELD(HELLO, hello, NUMBER, node, LAST_RANK),
	FIELD(HELLO, hello, NUMBER, nodes, RI_MAX_RANKS),
	FIELD(HELLO, hello, NUMBER, age_ms, INT64_MAX),
	FIELD(HELLO, hello, FLAG, may_stop, 1),
	FIELD(HELLO, hello, NUMBER, restarts, INT64_MAX, .older = true),
	FIELD(HELLO, hello, WORD, place, RI_LINK_SIZE, .words = places),
	FIELD(HELLO, hello, NAME, host, RI_LINK_WORD),
	FIELD(HELLO, hello, NAME, version, RI_LINK_WORD),
	FIELD(HELLO, hello.time, NUMBER, clock_us, INT64_MAX, .older = true),
	FIELD(HELLO, hello.time, NUMBER, boot_us, INT64_MAX, .older = true),
	FIELD(HELLO, hello, NUMBER, met_ms, INT64_MAX, .older = true),
	FIELD(HELLO, hello, NUMBER, call, INT64_MAX, .older = true),
	{ .kind = RI_LINK_PHASE, .type = WORD, .name = "phase", .most = RI_LINK_LEAVING,
		.at = offsetof(struct ri_link_message, phase), .words = phases },
	FIELD(END, end.verdict, WORD, class, RI_CLASS_OWN, .words = classes),
	FIELD(END, end.verdict, WHY, why, 0),
	FIELD(END, end.verdict, RANK, rank, LAST_RANK, .older = true),
	FIELD(END, end, FLAG, fatal, 1),
	FIELD(END, end, FLAG, lives, 1, .older = true),
	FIELD(END, end, FLAG, open, 1, .older = true),
	FIELD(END, end.verdict, NUMBER, mark, RI_VERDICT_MARK, .older = true),
	FIELD(END, end, NUMBER, at_us, RI_LINK_CLOCK, .older = true),
	FIELD(END, end, NUMBER, error_us, RI_LINK_CLOCK, .older = true),
	FIELD(END, end, LINES, text, RI_LINK_TEXT),
	FIELD(NEWS, news, LINES, text, RI_LINK_TEXT),
	FIELD(VERDICT, decision.verdict, WHY, why, 0),
	FIELD(VERDICT, decision.verdict, RANK, rank, LAST_RANK, .older = true),
	FIELD(VERDICT, decision.verdict, NAME, host, RI_VERDICT_HOST, .older = true),
	FIELD(VERDICT, decision.verdict, NODE, node, LAST_RANK),
	FIELD(VERDICT, decision, FLAG, order, 1),
	FIELD(VERDICT, decision, FLAG, again, 1, .older = true),
	FIELD(VERDICT, decision.verdict, NUMBER, mark, RI_VERDICT_MARK, .older = true),
	FIELD(VERDICT, decision.verdict, WORD, class, RI_CLASS_OWN, .words = classes,
		.older = true),
	FIELD(VERDICT, decision, LINES, text, RI_LINK_TEXT),
	FIELD(ASK, ask, FLAG, waits, 1, .older = true),
	FIELD(LOOK, look, FLAG, soon, 1),
	FIELD(GROUPS, groups, LINES, text, RI_LINK_GROUPS_TEXT),
	FIELD(FOUND, found, RANK, rank, LAST_RANK),
	FIELD(FOUND, found, NUMBER, node, LAST_RANK),
	FIELD(FOUND, found, LINES, text, RI_LINK_TEXT),
	FIELD(GO, go, WORD, step, RI_LINK_LEAVE, .words = steps),
	FIELD(GO, go, FLAG, go, 1),
	FIELD(GO, go, LINES, text, RI_LINK_TEXT),
	FIELD(TIME, time, NUMBER, clock_us, INT64_MAX, .older = true),
	FIELD(TIME, time, NUMBER, boot_us, INT64_MAX, .older = true),
};

void ri_link_add_node(struct ri_text *out, uint64_t node, const char *host)
{
	ri_text_addf(out, "node %llu", (unsigned long long)node);
	if (host != NULL && host[0] != '\0') {
		ri_text_add(out, " (");
		ri_text_add_shown(out, host, RI_LINK_WORD);
		ri_text_add(out, ")");
	}
}

bool ri_link_life_is_none(const struct ri_link_life *life)
{
	static const struct ri_link_life none;

	return ri_link_life_is(life, &none);
}

bool ri_link_life_is(const struct ri_link_life *a, const struct ri_link_life *b)
{
	return memcmp(a->bytes, b->bytes, RI_LINK_LIFE) == 0;
}

bool ri_link_end_is_earlier(const struct ri_link_end *a, const struct ri_link_end *b)
{
	return a->at_us != 0 && b->at_us != 0 &&
		a->at_us + a->error_us + b->error_us < b->at_us;
}

bool ri_link_class_outweighs(enum ri_class a, enum ri_class b)
{
	return b != RI_CLASS_STOPPED && (a == RI_CLASS_STOPPED || a > b);
}

bool ri_link_end_outweighs(const struct ri_link_end *a, const struct ri_link_end *b)
{
	if (a->verdict.class != b->verdict.class)
		return ri_link_class_outweighs(a->verdict.class, b->verdict.class);
	return a->at_us != 0 && b->at_us != 0 && a->at_us < b->at_us;
}

bool ri_link_end_is_tie(const struct ri_link_end *a, const struct ri_link_end *b)
{
	return a->verdict.class == b->verdict.class && a->at_us != 0 && b->at_us != 0 &&
		!ri_link_end_is_earlier(a, b);
}

void ri_link_text_set(char *out, size_t size, const char *lines)
{
	struct ri_text text = ri_text_of(out, size);
	size_t kept = 0;

	for (const char *end; *lines != '\0'; lines = end) {
		end = lines + strcspn(lines, "\n");
		ri_text_add_bytes(&text, lines, (size_t)(end - lines));
		ri_text_replace_controls(out + kept);
		ri_text_add(&text, "\n");
		if (text.cut)
			break;
		kept = text.length;
		end += *end == '\n';
	}
	out[kept] = '\0';
}

static bool read_life(struct ri_link_life *out, const char *digits)
{
	static const char all[] = "0123456789abcdef";

	if (strlen(digits) != LIFE_DIGITS || strspn(digits, all) != strlen(digits))
		return false;
	for (size_t i = 0; i < RI_LINK_LIFE; i++)
		out->bytes[i] = (unsigned char)((strchr(all, digits[2 * i]) - all) << 4 |
			(strchr(all, digits[2 * i + 1]) - all));
	return true;
}

static void put(json_t *object, const struct field *field, const void *at)
{
	char life[LIFE_DIGITS + 1];
	const struct ri_why *why = at;
	const int64_t *number = at;
	json_t *value = NULL;

	switch (field->type) {
	case WORD:
		value = json_string(field->words[*(const unsigned *)at]);
		break;
	case WHY:
		json_object_set_new(object, "cause", json_string(ri_cause_word_name(why->cause)));
		json_object_set_new(object, "retry", json_string(ri_retry_words[why->retry]));
		return;
	case NODE:
		json_object_set_new(object, "node", json_integer(*number < 0 ? 0 : *number));
		json_object_set_new(object, "named", json_boolean(*number >= 0));
		return;
	case NUMBER:
	case RANK:
		value = json_integer(*number);
		break;
	case FLAG:
		value = json_boolean(*(const bool *)at);
		break;
	case NAME:
	case LINES:
		value = json_string(at);
		break;
	case LIFE:
		for (size_t i = 0; i < RI_LINK_LIFE; i++)
			snprintf(life + 2 * i, 3, "%02x", ((const unsigned char *)at)[i]);
		value = json_string(life);
		break;
	}
	json_object_set_new(object, field->name, value);
}

int ri_link_message_render(const struct ri_link_message *message, struct ri_text *out)
{
	json_t *object = json_object();
	size_t room = out->size - out->length - 1, members = 1, length;

	json_object_set_new(object, "say", json_string(kinds[message->kind]));
	for (size_t i = 0; i < RI_ARRAY_SIZE(fields); i++)
		if (fields[i].kind == message->kind) {
			put(object, &fields[i], (const char *)message + fields[i].at);
			members += fields[i].type == WHY || fields[i].type == NODE ? 2 : 1;
		}
	/* one that is missing is no UTF-8, or there was no memory for it */
	length = json_object_size(object) != members ? 0
		: json_dumpb(object, out->bytes + out->length, room, JSON_COMPACT);
	json_decref(object);
	if (length == 0 || length > room || length > RI_LINK_FRAME)
		return -1;
	out->length += length;
	out->bytes[out->length] = '\0';
	return 0;
}

/* The index of a word, or -1. */
static int find(const char *const *words, size_t count, const char *word)
{
	for (size_t i = 0; word != NULL && i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

static bool read_field(const struct field *field, const json_t *object, void *at)
{
	const json_t *value = json_object_get(object, field->name);
	const char *text = json_string_value(value);
	size_t length = text == NULL ? SIZE_MAX : strlen(text);
	int64_t number = json_integer_value(value);
	const json_t *cause, *retry, *named;
	struct ri_why *why = at;

	/* what an older version leaves out is zero, but for these */
	if (value == NULL && field->older) {
		if (field->type == RANK)
			*(int64_t *)at = -1;
		else if (field->type == WORD)
			*(unsigned *)at = RI_CLASS_UNKNOWN;
		return true;
	}
	switch (field->type) {
	case WORD:
		number = find(field->words, field->most + 1, text);
		*(unsigned *)at = (unsigned)number;
		return number >= 0;
	case WHY:
		/* an older version leaves both out: the cause is unknown, retry is its own */
		cause = json_object_get(object, "cause");
		retry = json_object_get(object, "retry");
		why->cause = ri_cause_word_of(json_string_value(cause));
		why->retry = ri_retry_of(json_string_value(retry), why->cause);
		return (cause == NULL || json_is_string(cause)) &&
			(retry == NULL || json_is_string(retry));
	case NODE:
		named = json_object_get(object, "named");
		*(int64_t *)at = json_is_true(named) ? number : -1;
		return json_is_integer(value) && json_is_boolean(named) && number >= 0 &&
			number <= (int64_t)field->most;
	case NUMBER:
	case RANK:
		*(int64_t *)at = number;
		return json_is_integer(value);
	case FLAG:
		*(bool *)at = json_is_true(value);
		return json_is_boolean(value);
	case NAME:
	case LINES:
		/* nothing that a terminal could take for a command, and no end of line in a word */
		if (length >= field->most ||
			!ri_text_is_clean(text, length, field->type == LINES))
			return false;
		memcpy(at, text, length + 1);
		return true;
	case LIFE:
		return text != NULL && read_life(at, text);
	}
	return false;
}

/* Does a text end? It has no control characters then. */
static bool is_ended(char *text, size_t size, bool lines)
{
	if (memchr(text, '\0', size) == NULL)
		return false;
	for (char *end, last; *text != '\0'; text = end) {
		end = lines ? strchrnul(text, '\n') : text + strlen(text);
		last = *end;
		*end = '\0';
		ri_text_replace_controls(text);
		*end = last;
		end += last != '\0';
	}
	return true;
}

/* Is the value in its bounds, wherever it came from? */
static bool is_sound(const struct field *field, void *at)
{
	switch (field->type) {
	case WORD:
		return *(const unsigned *)at <= field->most;
	case NUMBER:
		return *(const uint64_t *)at <= field->most;
	case RANK:
	case NODE:
		return *(const int64_t *)at >= -1 && *(const int64_t *)at <= (int64_t)field->most;
	case FLAG:
		return *(const unsigned char *)at <= 1;
	case NAME:
	case LINES:
		return is_ended(at, field->most, field->type == LINES);
	case WHY:	/* ri_verdict_is_sound looks at it */
	case LIFE:
		break;
	}
	return true;
}

static bool read(struct ri_link_message *out, const json_t *object)
{
	int kind = find(kinds, KINDS, json_string_value(json_object_get(object, "say")));

	if (kind < 0)
		return false;
	memset(out, 0, sizeof(*out));
	out->kind = (enum ri_link_kind)kind;
	for (size_t i = 0; i < RI_ARRAY_SIZE(fields); i++) {
		void *at = (char *)out + fields[i].at;

		if (fields[i].kind == out->kind &&
			(!read_field(&fields[i], object, at) || !is_sound(&fields[i], at)))
			return false;
	}
	return out->kind != RI_LINK_HELLO || (out->hello.node < out->hello.nodes &&
		!ri_link_life_is_none(&out->hello.life));
}

int ri_link_message_read(struct ri_link_message *out, const char *bytes, size_t length)
{
	json_t *object = length > RI_LINK_FRAME ? NULL
		: json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);
	bool good = object != NULL && read(out, object);

	json_decref(object);
	return good ? 0 : -1;
}

bool ri_link_packet_check(struct ri_link_message *packet, size_t length)
{
	if (length != sizeof(*packet) || (unsigned)packet->kind >= KINDS ||
		packet->kind == RI_LINK_HELLO || packet->kind == RI_LINK_NEWS ||
		packet->kind == RI_LINK_TIME)
		return false;
	for (size_t i = 0; i < RI_ARRAY_SIZE(fields); i++)
		if (fields[i].kind == packet->kind &&
			!is_sound(&fields[i], (char *)packet + fields[i].at))
			return false;
	return (packet->kind != RI_LINK_END || ri_verdict_is_sound(&packet->end.verdict)) &&
		(packet->kind != RI_LINK_VERDICT ||
		ri_verdict_is_sound(&packet->decision.verdict));
}
