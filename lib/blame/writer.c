/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/outcome.h"

enum { PIECE = 4096 };

static void flush(struct ri_writer *writer)
{
	if (!writer->failed && writer->length > 0)
		writer->failed = writer->write(writer->context, writer->bytes, writer->length) < 0;
	writer->length = 0;
}

static void add_bytes(struct ri_writer *writer, const char *bytes, size_t length)
{
	for (size_t part; length > 0; bytes += part, length -= part) {
		if (writer->length == RI_WRITER_SIZE)
			flush(writer);
		part = RI_WRITER_SIZE - writer->length;
		part = part < length ? part : length;
		memcpy(writer->bytes + writer->length, bytes, part);
		writer->length += part;
	}
}

static void add(struct ri_writer *writer, const char *text)
{
	add_bytes(writer, text, strlen(text));
}

void ri_writer_addf(struct ri_writer *writer, const char *format, ...)
{
	char piece[PIECE], whole[PIECE];
	struct ri_text text;
	va_list arguments;
	bool ends;
	int length;

	va_start(arguments, format);
	length = vsnprintf(piece, sizeof(piece), format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	/* only the format's own newline, its last byte, ends the line */
	ends = format[0] != '\0' && format[strlen(format) - 1] == '\n';
	if (ends && (size_t)length < sizeof(piece))
		piece[length - 1] = '\0';
	ri_text_init(&text, whole, sizeof(whole));
	ri_text_add_shown(&text, piece, PIECE);
	add(writer, whole);
	if (ends)
		add(writer, "\n");
}

char *ri_writer_place(struct ri_writer *writer)
{
	return writer->places[writer->place++ % RI_WRITER_PLACES];
}

const char *ri_writer_show(struct ri_writer *writer, const char *value, size_t columns)
{
	char *place = ri_writer_place(writer);
	struct ri_text text;

	ri_text_init(&text, place, RI_WRITER_PLACE);
	ri_text_add_shown(&text, value, columns);
	return place;
}

int ri_writer_end(struct ri_writer *writer)
{
	flush(writer);
	return writer->failed ? -1 : 0;
}

/* The next character goes as it is, if it is one and no control character. Returns its bytes. */
static size_t plain_length(const char *value)
{
	unsigned char byte = (unsigned char)*value;
	bool c1 = byte == 0xc2 && (unsigned char)value[1] < 0xa0;

	return byte < ' ' || byte == '"' || byte == '\\' || byte == 0x7f || c1 ? 0
		: ri_utf8_length(value);
}

/* JSON is UTF-8; the name of a file may be anything: what is none becomes U+FFFD. */
static void add_string(struct ri_writer *writer, const char *value)
{
	const char *from = value;
	size_t length;

	add(writer, "\"");
	while (*value != '\0') {
		length = plain_length(value);
		if (length > 0) {
			value += length;
			continue;
		}
		add_bytes(writer, from, (size_t)(value - from));
		length = ri_utf8_length(value);
		/* of two bytes it is U+0080 to U+009F, whose number the second one is */
		ri_writer_addf(writer, "\\u%04x", length == 0 ? 0xfffd
			: (unsigned)(unsigned char)value[length - 1]);
		value += length == 0 ? 1 : length;
		from = value;
	}
	add_bytes(writer, from, (size_t)(value - from));
	add(writer, "\"");
}

static void begin(struct ri_writer *writer, const char *name)
{
	if (writer->follows)
		add(writer, ", ");
	writer->follows = true;
	if (name == NULL)
		return;
	add_string(writer, name);
	add(writer, ": ");
}

void ri_writer_open(struct ri_writer *writer, const char *name, char bracket)
{
	begin(writer, name);
	add_bytes(writer, &bracket, 1);
	writer->follows = false;
}

void ri_writer_close(struct ri_writer *writer, char bracket)
{
	add_bytes(writer, &bracket, 1);
	writer->follows = true;
}

void ri_writer_string(struct ri_writer *writer, const char *name, const char *value)
{
	begin(writer, name);
	if (value == NULL)
		add(writer, "null");
	else
		add_string(writer, value);
}

void ri_writer_number(struct ri_writer *writer, const char *name, int64_t value)
{
	begin(writer, name);
	if (value < 0)
		add(writer, "null");
	else
		ri_writer_addf(writer, "%lld", (long long)value);
}

void ri_writer_bool(struct ri_writer *writer, const char *name, bool value)
{
	begin(writer, name);
	add(writer, value ? "true" : "false");
}

void ri_writer_time(struct ri_writer *writer, const char *name, int64_t at)
{
	char buffer[RI_TIME_SHOWN];

	ri_writer_string(writer, name, at <= 0 ? NULL : ri_time_show(buffer, at));
}

const char *ri_time_show(char out[RI_TIME_SHOWN], int64_t at)
{
	struct ri_text text;
	struct timespec time = {
		.tv_sec = (time_t)(at / 1000000), .tv_nsec = (long)(at % 1000000 * 1000),
	};

	ri_text_init(&text, out, RI_TIME_SHOWN);
	if (at <= 0)
		ri_text_add(&text, "an unknown time");
	else
		ri_time_add(&text, time);
	return out;
}

const char *ri_node_report_name(char out[RI_NODE_SHOWN], const struct ri_node_report *report)
{
	enum { COLUMNS = 64 };
	struct ri_text text;

	ri_text_init(&text, out, RI_NODE_SHOWN);
	if (report->node >= 0)
		ri_text_addf(&text, "node %lld", (long long)report->node);
	if (report->host == NULL && report->node >= 0)
		return out;
	ri_text_add(&text, report->node >= 0 ? " (" : "");
	ri_text_add_shown(&text, report->host != NULL ? report->host : report->file, COLUMNS);
	ri_text_add(&text, report->node >= 0 ? ")" : "");
	return out;
}
