/* SPDX-License-Identifier: Apache-2.0 */
#include "link/message.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

static const char *const kinds[] = {
	[RI_LINK_HELLO] = "hello",
	[RI_LINK_PHASE] = "phase",
	[RI_LINK_END] = "end",
	[RI_LINK_HEARD] = "heard",
	[RI_LINK_NEWS] = "news",
	[RI_LINK_VERDICT] = "verdict",
	[RI_LINK_ASK] = "ask",
	[RI_LINK_LOOK] = "look",
	[RI_LINK_GROUPS] = "groups",
	[RI_LINK_FOUND] = "found",
	[RI_LINK_GO] = "go",
};

static const char *const places[] = {
	[RI_LINK_TAKEN] = "taken",
	[RI_LINK_GUEST] = "guest",
	[RI_LINK_LATER] = "later",
	[RI_LINK_REPLACED] = "replaced",
	[RI_LINK_OTHER] = "other",
	[RI_LINK_SIZE] = "size",
};

static const char *const phases[] = {
	[RI_LINK_STARTING] = "starting",
	[RI_LINK_RUNNING] = "running",
	[RI_LINK_LEAVING] = "leaving",
};

static const char *const classes[] = {
	[RI_LINK_DONE] = "done",
	[RI_LINK_LOSS] = "loss",
	[RI_LINK_UNKNOWN] = "unknown",
	[RI_LINK_OWN] = "own",
	[RI_LINK_STOPPED] = "stopped",
};

static const char *const steps[] = {
	[RI_LINK_START] = "start",
	[RI_LINK_LEAVE] = "leave",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

bool ri_link_end_outweighs(const struct ri_link_end *a, const struct ri_link_end *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	return a->at_us != 0 && b->at_us != 0 && a->at_us < b->at_us;
}

bool ri_link_end_is_tie(const struct ri_link_end *a, const struct ri_link_end *b)
{
	return a->class == b->class && a->at_us != 0 && b->at_us != 0 &&
		!ri_link_end_is_earlier(a, b);
}

void ri_link_lines_set(char *out, size_t size, const char *lines)
{
	struct ri_text text;
	size_t kept = 0;

	ri_text_init(&text, out, size);
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

void ri_link_text_set(char out[RI_LINK_TEXT], const char *lines)
{
	ri_link_lines_set(out, RI_LINK_TEXT, lines);
}

/* Two digits a byte. */
static void write_life(char digits[2 * RI_LINK_LIFE + 1], const struct ri_link_life *life)
{
	for (size_t i = 0; i < RI_LINK_LIFE; i++)
		snprintf(digits + 2 * i, 3, "%02x", life->bytes[i]);
}

static bool read_life(struct ri_link_life *out, const char *digits)
{
	static const char all[] = "0123456789abcdef";

	if (strlen(digits) != (size_t)2 * RI_LINK_LIFE || strspn(digits, all) != strlen(digits))
		return false;
	for (size_t i = 0; i < RI_LINK_LIFE; i++)
		out->bytes[i] = (unsigned char)((strchr(all, digits[2 * i]) - all) << 4 |
			(strchr(all, digits[2 * i + 1]) - all));
	return true;
}

static json_t *pack_hello(const struct ri_link_hello *hello)
{
	char life[2 * RI_LINK_LIFE + 1], centre[sizeof(life)];

	write_life(life, &hello->life);
	write_life(centre, &hello->centre);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:s, s:I, s:I}",
		"say", kinds[RI_LINK_HELLO], "life", life, "centre", centre,
		"node", (json_int_t)hello->node, "nodes", (json_int_t)hello->nodes,
		"age_ms", (json_int_t)hello->age_ms, "may_stop", hello->may_stop,
		"restarts", (json_int_t)hello->restarts, "place", places[hello->place],
		"host", hello->host, "version", hello->version,
		"clock_us", (json_int_t)hello->clock_us, "met_ms", (json_int_t)hello->met_ms);
}

static json_t *pack(const struct ri_link_message *message)
{
	const char *say = kinds[message->kind];
	const struct ri_link_end *end = &message->end;
	const struct ri_link_verdict *verdict = &message->verdict;
	const struct ri_link_found *found = &message->found;

	switch (message->kind) {
	case RI_LINK_HELLO:
		break;
	case RI_LINK_LOOK:
		return json_pack("{s:s, s:b}", "say", say, "soon", message->look.soon);
	case RI_LINK_GROUPS:
		return json_pack("{s:s, s:s}", "say", say, "text", message->groups.text);
	case RI_LINK_FOUND:
		return json_pack("{s:s, s:I, s:I, s:s}", "say", say, "rank",
			(json_int_t)found->rank, "node", (json_int_t)found->node, "text",
			found->text);
	case RI_LINK_END:
		return json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:I, s:I, s:I, s:s}",
			"say", say, "class", classes[end->class], "cause",
			ri_cause_word_name(end->why.cause), "retry",
			ri_retry_name(end->why.retry), "rank", (json_int_t)end->rank, "fatal",
			end->fatal, "lives", end->lives, "mark", (json_int_t)end->mark, "at_us",
			(json_int_t)end->at_us, "error_us", (json_int_t)end->error_us, "text",
			end->text);
	case RI_LINK_PHASE:
		return json_pack("{s:s, s:s}", "say", say, "phase", phases[message->phase]);
	case RI_LINK_HEARD:
	case RI_LINK_ASK:
		return json_pack("{s:s}", "say", say);
	case RI_LINK_NEWS:
		return json_pack("{s:s, s:s}", "say", say, "text", message->news.text);
	case RI_LINK_VERDICT:
		return json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:b, s:b, s:b, s:I, s:s, s:s}",
			"say", say, "cause", ri_cause_word_name(verdict->why.cause), "retry",
			ri_retry_name(verdict->why.retry), "rank",
			(json_int_t)verdict->rank, "host", verdict->host, "node",
			(json_int_t)verdict->node, "named", verdict->named, "order",
			verdict->order, "again", verdict->again, "mark",
			(json_int_t)verdict->mark, "class", classes[verdict->class], "text",
			verdict->text);
	case RI_LINK_GO:
		return json_pack("{s:s, s:s, s:b, s:s}", "say", say, "step",
			steps[message->go.step], "go", message->go.go, "text", message->go.text);
	}
	return pack_hello(&message->hello);
}

int ri_link_message_render(const struct ri_link_message *message, struct ri_text *out)
{
	json_t *object = pack(message);
	size_t room = out->size - out->length - 1;
	size_t length = object == NULL ? 0
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
	for (size_t i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

/* Nothing in it that a terminal could take for a command, and no end of line in a word. */
static bool copy(char *out, size_t size, const char *from, bool lines)
{
	size_t length;

	if (strlen(from) >= size)
		return false;
	for (const char *p = from; *p != '\0'; p += length) {
		length = ri_utf8_length(p);
		/* C0 and DEL, and C1, which are two bytes */
		if (length == 0 || (*p == '\n' ? !lines : (unsigned char)*p < ' ' || *p == 0x7f) ||
			((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0))
			return false;
	}
	memcpy(out, from, strlen(from) + 1);
	return true;
}

static bool read_hello(struct ri_link_hello *out, json_t *object)
{
	const char *life, *centre, *place, *host, *version;
	json_int_t node, nodes, age, restarts = 0, clock = 0, met = 0;
	int may_stop, index;

	if (json_unpack(object, "{s:s, s:s, s:I, s:I, s:I, s:b, s?:I, s:s, s:s, s:s, s?:I, s?:I}",
		    "life", &life, "centre", &centre, "node", &node, "nodes", &nodes, "age_ms",
		    &age, "may_stop", &may_stop, "restarts", &restarts, "place", &place, "host",
		    &host, "version", &version, "clock_us", &clock, "met_ms", &met) < 0)
		return false;
	index = find(places, COUNT(places), place);
	if (index < 0 || nodes < 1 || nodes > RI_MAX_RANKS || node < 0 || node >= nodes)
		return false;
	if (age < 0 || restarts < 0 || clock < 0 || met < 0)
		return false;
	out->clock_us = (uint64_t)clock;
	out->node = (uint64_t)node;
	out->nodes = (uint64_t)nodes;
	out->age_ms = (uint64_t)age;
	out->met_ms = (uint64_t)met;
	out->may_stop = may_stop;
	out->restarts = (uint64_t)restarts;
	out->place = (enum ri_link_place)index;
	return read_life(&out->life, life) && read_life(&out->centre, centre) &&
		!ri_link_life_is_none(&out->life) &&
		copy(out->host, sizeof(out->host), host, false) &&
		copy(out->version, sizeof(out->version), version, false);
}

static bool read_phase(enum ri_link_phase *out, json_t *object)
{
	const char *phase = json_string_value(json_object_get(object, "phase"));
	int index = phase == NULL ? -1 : find(phases, COUNT(phases), phase);

	if (index >= 0)
		*out = (enum ri_link_phase)index;
	return index >= 0;
}

static bool read_end(struct ri_link_end *out, json_t *object)
{
	json_int_t mark = 0, at = 0, error = 0, rank = -1;
	/* a member of an older version has no retry: it followed from the cause */
	const char *class, *cause = NULL, *retry = NULL, *text;
	int fatal, lives = 0, index;

	if (json_unpack(object, "{s:s, s?:s, s?:s, s?:I, s:b, s?:b, s?:I, s?:I, s?:I, s:s}",
		    "class", &class, "cause", &cause, "retry", &retry, "rank", &rank, "fatal",
		    &fatal, "lives", &lives, "mark", &mark, "at_us", &at, "error_us", &error,
		    "text", &text) < 0)
		return false;
	index = find(classes, COUNT(classes), class);
	if (index < 0 || mark < 0 || at < 0 || at > RI_LINK_CLOCK || error < 0 ||
		error > RI_LINK_CLOCK || rank < -1 || rank >= RI_MAX_RANKS)
		return false;
	out->why.cause = ri_cause_word_of(cause);
	out->why.retry = ri_retry_of(retry, out->why.cause);
	out->rank = rank;
	out->mark = (uint64_t)mark;
	out->at_us = (uint64_t)at;
	out->error_us = (uint64_t)error;
	out->class = (enum ri_link_class)index;
	out->fatal = fatal;
	out->lives = lives;
	return copy(out->text, sizeof(out->text), text, true);
}

static bool read_news(struct ri_link_news *out, json_t *object)
{
	const char *text;

	return json_unpack(object, "{s:s}", "text", &text) == 0 &&
		copy(out->text, sizeof(out->text), text, true);
}

static bool read_verdict(struct ri_link_verdict *out, json_t *object)
{
	/* a centre of an older version leaves these out */
	const char *class = classes[RI_LINK_UNKNOWN], *cause = NULL, *retry = NULL;
	const char *host = "", *text;
	json_int_t node, mark = 0, rank = -1;
	int named, order, again = 0, index;

	if (json_unpack(object, "{s?:s, s?:s, s?:I, s?:s, s:I, s:b, s:b, s?:b, s?:I, s?:s, s:s}",
		    "cause", &cause, "retry", &retry, "rank", &rank, "host", &host, "node", &node,
		    "named", &named,
		    "order", &order, "again", &again, "mark", &mark, "class", &class,
		    "text", &text) < 0)
		return false;
	index = find(classes, COUNT(classes), class);
	if (index < 0 || node < 0 || node >= RI_MAX_RANKS || mark < 0 || rank < -1 ||
		rank >= RI_MAX_RANKS)
		return false;
	out->why.cause = ri_cause_word_of(cause);
	out->why.retry = ri_retry_of(retry, out->why.cause);
	out->rank = rank;
	out->again = again;
	out->mark = (uint64_t)mark;
	out->class = (enum ri_link_class)index;
	out->node = (uint64_t)node;
	out->named = named;
	out->order = order;
	return copy(out->host, sizeof(out->host), host, false) &&
		copy(out->text, sizeof(out->text), text, true);
}

static bool read_go(struct ri_link_go *out, json_t *object)
{
	const char *step, *text;
	int go, index;

	if (json_unpack(object, "{s:s, s:b, s:s}", "step", &step, "go", &go, "text", &text) < 0)
		return false;
	index = find(steps, COUNT(steps), step);
	if (index < 0)
		return false;
	out->step = (enum ri_link_step)index;
	out->go = go;
	return copy(out->text, sizeof(out->text), text, true);
}

static bool read_look(struct ri_link_look *out, json_t *object)
{
	int soon;

	if (json_unpack(object, "{s:b}", "soon", &soon) < 0)
		return false;
	out->soon = soon;
	return true;
}

static bool read_groups(struct ri_link_groups *out, json_t *object)
{
	const char *text;

	return json_unpack(object, "{s:s}", "text", &text) == 0 &&
		copy(out->text, sizeof(out->text), text, true);
}

static bool read_found(struct ri_link_found *out, json_t *object)
{
	json_int_t rank, node;
	const char *text;

	if (json_unpack(object, "{s:I, s:I, s:s}", "rank", &rank, "node", &node, "text",
		    &text) < 0)
		return false;
	if (rank < -1 || rank >= RI_MAX_RANKS || node < 0 || node >= RI_MAX_RANKS)
		return false;
	out->rank = rank;
	out->node = (uint64_t)node;
	return copy(out->text, sizeof(out->text), text, true);
}

static bool read(struct ri_link_message *out, json_t *object)
{
	const char *say = json_string_value(json_object_get(object, "say"));
	int kind = say == NULL ? -1 : find(kinds, COUNT(kinds), say);

	if (kind < 0)
		return false;
	out->kind = (enum ri_link_kind)kind;
	switch (out->kind) {
	case RI_LINK_HELLO:
		return read_hello(&out->hello, object);
	case RI_LINK_END:
		return read_end(&out->end, object);
	case RI_LINK_PHASE:
		return read_phase(&out->phase, object);
	case RI_LINK_HEARD:
	case RI_LINK_ASK:
		return true;
	case RI_LINK_NEWS:
		return read_news(&out->news, object);
	case RI_LINK_VERDICT:
		return read_verdict(&out->verdict, object);
	case RI_LINK_LOOK:
		return read_look(&out->look, object);
	case RI_LINK_GROUPS:
		return read_groups(&out->groups, object);
	case RI_LINK_FOUND:
		return read_found(&out->found, object);
	case RI_LINK_GO:
		return read_go(&out->go, object);
	}
	return false;
}

int ri_link_message_read(struct ri_link_message *out, const char *bytes, size_t length)
{
	json_t *object = length > RI_LINK_FRAME ? NULL
		: json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);
	bool good = object != NULL && read(out, object);

	json_decref(object);
	return good ? 0 : -1;
}
