/* SPDX-License-Identifier: Apache-2.0 */
#include "link/note.h"

#include <string.h>

enum { FATAL = 1, SOON = 1, GOES = 1, NAMED = 2, LIVES = 2, AGAIN = 4 };

_Static_assert((int)RI_LINK_TEXT <= (int)RI_LINK_GROUPS_TEXT, "a packet has room for each text");

void ri_link_note_make(struct ri_link_note *out, const struct ri_link_message *message)
{
	const struct ri_link_end *end = &message->end;
	const struct ri_link_verdict *verdict = &message->verdict;

	memset(out, 0, sizeof(*out));
	out->kind = (unsigned char)message->kind;
	if (message->kind == RI_LINK_PHASE) {
		out->word = (unsigned char)message->phase;
	} else if (message->kind == RI_LINK_END) {
		out->word = (unsigned char)end->class;
		out->flags = (unsigned char)((end->fatal ? FATAL : 0) | (end->lives ? LIVES : 0));
		out->mark = end->mark;
		out->cause = (unsigned char)end->why.cause;
		out->retry = (unsigned char)end->why.retry;
		out->rank = end->rank;
		out->at_us = end->at_us;
		ri_link_text_set(out->text, end->text);
	} else if (message->kind == RI_LINK_VERDICT) {
		out->word = (unsigned char)verdict->class;
		out->flags = (unsigned char)((verdict->order ? FATAL : 0) |
			(verdict->named ? NAMED : 0) | (verdict->again ? AGAIN : 0));
		out->mark = verdict->mark;
		out->cause = (unsigned char)verdict->why.cause;
		out->retry = (unsigned char)verdict->why.retry;
		out->rank = verdict->rank;
		ri_text_copy(out->host, sizeof(out->host), verdict->host);
		out->node = (uint32_t)verdict->node;
		ri_link_text_set(out->text, verdict->text);
	} else if (message->kind == RI_LINK_LOOK) {
		out->flags = message->look.soon ? SOON : 0;
	} else if (message->kind == RI_LINK_GROUPS) {
		ri_link_lines_set(out->text, sizeof(out->text), message->groups.text);
	} else if (message->kind == RI_LINK_FOUND) {
		out->rank = message->found.rank;
		out->node = (uint32_t)message->found.node;
		ri_link_text_set(out->text, message->found.text);
	} else if (message->kind == RI_LINK_GO) {
		out->word = (unsigned char)message->go.step;
		out->flags = message->go.go ? GOES : 0;
		ri_link_text_set(out->text, message->go.text);
	}
}

static bool has_why(const struct ri_link_note *note)
{
	return note->cause < RI_CAUSE_COUNT && note->retry < RI_RETRY_COUNT;
}

static bool has_rank(const struct ri_link_note *note)
{
	return note->rank >= -1 && note->rank < RI_MAX_RANKS;
}

static bool read_found(struct ri_link_found *out, const struct ri_link_note *note)
{
	out->rank = note->rank;
	out->node = note->node;
	ri_link_text_set(out->text, note->text);
	return has_rank(note) && note->node < RI_MAX_RANKS;
}

static bool read_end(struct ri_link_end *out, const struct ri_link_note *note)
{
	out->class = (enum ri_link_class)note->word;
	out->why.cause = (enum ri_cause_word)note->cause;
	out->why.retry = (enum ri_retry)note->retry;
	out->rank = note->rank;
	out->fatal = (note->flags & FATAL) != 0;
	out->lives = (note->flags & LIVES) != 0;
	out->mark = note->mark;
	out->at_us = note->at_us;
	out->error_us = 0;
	ri_link_text_set(out->text, note->text);
	return note->word <= RI_LINK_STOPPED && note->at_us <= RI_LINK_CLOCK &&
		note->mark <= RI_LINK_MARK && has_why(note) && has_rank(note);
}

static bool read_verdict(struct ri_link_verdict *out, const struct ri_link_note *note)
{
	out->class = (enum ri_link_class)note->word;
	out->why.cause = (enum ri_cause_word)note->cause;
	out->why.retry = (enum ri_retry)note->retry;
	out->rank = note->rank;
	out->node = note->node;
	out->order = (note->flags & FATAL) != 0;
	out->named = (note->flags & NAMED) != 0;
	out->again = (note->flags & AGAIN) != 0;
	out->mark = note->mark;
	ri_text_copy(out->host, sizeof(out->host), note->host);
	ri_text_replace_controls(out->host);
	ri_link_text_set(out->text, note->text);
	return note->word <= RI_LINK_STOPPED && note->mark <= RI_LINK_MARK &&
		has_why(note) && has_rank(note);
}

bool ri_link_note_read(struct ri_link_message *out, const struct ri_link_note *note,
	size_t length)
{
	if (length != sizeof(*note) || memchr(note->text, '\0', sizeof(note->text)) == NULL ||
		memchr(note->host, '\0', sizeof(note->host)) == NULL)
		return false;
	out->kind = (enum ri_link_kind)note->kind;
	switch (note->kind) {
	case RI_LINK_PHASE:
		out->phase = (enum ri_link_phase)note->word;
		return note->word <= RI_LINK_LEAVING;
	case RI_LINK_END:
		return read_end(&out->end, note);
	case RI_LINK_HEARD:
	case RI_LINK_ASK:
		return true;
	case RI_LINK_VERDICT:
		return read_verdict(&out->verdict, note);
	case RI_LINK_LOOK:
		out->look.soon = (note->flags & SOON) != 0;
		return true;
	case RI_LINK_GROUPS:
		ri_link_lines_set(out->groups.text, sizeof(out->groups.text), note->text);
		return true;
	case RI_LINK_FOUND:
		return read_found(&out->found, note);
	case RI_LINK_GO:
		out->go.step = (enum ri_link_step)note->word;
		out->go.go = (note->flags & GOES) != 0;
		ri_link_text_set(out->go.text, note->text);
		return note->word <= RI_LINK_LEAVE;
	default:
		return false;
	}
}
