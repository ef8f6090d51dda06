/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another node says, once its frame has opened: what is read is in bounds, has no control
 * characters, and means the same when it is written again. Likewise the packets of the helper.
 */
#include "fuzz.h"
#include "link/message.h"

static void check_text(const char *text, enum ri_link_kind kind)
{
	CHECK(strlen(text) < (kind == RI_LINK_GROUPS ? RI_LINK_GROUPS_TEXT : RI_LINK_TEXT));
	for (const char *p = text; *p != '\0'; p++)
		CHECK(*p == '\n' || ((unsigned char)*p >= ' ' && *p != 0x7f));
}

static const char *text_of(const struct ri_link_message *message)
{
	switch (message->kind) {
	case RI_LINK_END:
		return message->end.text;
	case RI_LINK_NEWS:
		return message->news.text;
	case RI_LINK_VERDICT:
		return message->decision.text;
	case RI_LINK_GROUPS:
		return message->groups.text;
	case RI_LINK_FOUND:
		return message->found.text;
	case RI_LINK_GO:
		return message->go.text;
	case RI_LINK_HELLO:
	case RI_LINK_PHASE:
	case RI_LINK_HEARD:
	case RI_LINK_ASK:
	case RI_LINK_ANSWER:
	case RI_LINK_LOOK:
	case RI_LINK_TIME:
		break;
	}
	return "";
}

static void check_message(const struct ri_link_message *message)
{
	static struct ri_link_message again;
	static char bytes[RI_LINK_FRAME + 1], twice[RI_LINK_FRAME + 1];
	struct ri_text text;

	check_text(text_of(message), message->kind);
	if (message->kind == RI_LINK_HELLO) {
		CHECK(message->hello.node < message->hello.nodes);
		CHECK(message->hello.nodes <= RI_MAX_RANKS);
		CHECK(!ri_link_life_is_none(&message->hello.life));
	}
	text = ri_text_of(bytes, sizeof(bytes));
	CHECK(ri_link_message_render(message, &text) == 0);
	CHECK(ri_link_message_read(&again, bytes, text.length) == 0);
	CHECK(again.kind == message->kind);
	text = ri_text_of(twice, sizeof(twice));
	CHECK(ri_link_message_render(&again, &text) == 0);
	CHECK(strcmp(bytes, twice) == 0);
}

/* Between PID 1 and its helper: what was read of another node is a packet as it is. */
static void check_packet(const struct ri_link_message *message)
{
	static struct ri_link_message packet;

	packet = *message;
	CHECK(ri_link_packet_check(&packet, sizeof(packet)));
	CHECK(memcmp(&packet, message, sizeof(packet)) == 0);
	CHECK(!ri_link_packet_check(&packet, sizeof(packet) - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_link_message message;

	if (ri_link_message_read(&message, (const char *)data, size) == 0) {
		check_message(&message);
		if (message.kind != RI_LINK_HELLO && message.kind != RI_LINK_NEWS &&
			message.kind != RI_LINK_TIME)
			check_packet(&message);
	}
	memset(&message, 0, sizeof(message));
	memcpy(&message, data, size < sizeof(message) ? size : sizeof(message));
	if (ri_link_packet_check(&message, sizeof(message)))
		check_text(text_of(&message), message.kind);
	return 0;
}
