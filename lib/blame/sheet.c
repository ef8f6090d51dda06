/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/sheet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/outcome.h"

enum { PIECE = 4096 };

static void flush(struct ri_sheet *sheet)
{
	if (!sheet->failed && sheet->length > 0)
		sheet->failed = sheet->write(sheet->context, sheet->bytes, sheet->length) < 0;
	sheet->length = 0;
}

static void add_bytes(struct ri_sheet *sheet, const char *bytes, size_t length)
{
	for (size_t part; length > 0; bytes += part, length -= part) {
		if (sheet->length == RI_SHEET_SIZE)
			flush(sheet);
		part = RI_SHEET_SIZE - sheet->length;
		part = part < length ? part : length;
		memcpy(sheet->bytes + sheet->length, bytes, part);
		sheet->length += part;
	}
}

static void add(struct ri_sheet *sheet, const char *text)
{
	add_bytes(sheet, text, strlen(text));
}

void ri_sheet_addf(struct ri_sheet *sheet, const char *format, ...)
{
	char piece[PIECE];
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
	ri_sheet_add_shown(sheet, piece, PIECE);
	if (ends)
		add(sheet, "\n");
}

void ri_sheet_add_shown(struct ri_sheet *sheet, const char *value, size_t columns)
{
	char piece[PIECE];
	struct ri_text text;

	ri_text_init(&text, piece, sizeof(piece));
	ri_text_add_shown(&text, value, columns);
	add(sheet, piece);
}

int ri_sheet_end(struct ri_sheet *sheet)
{
	flush(sheet);
	return sheet->failed ? -1 : 0;
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
static void add_string(struct ri_sheet *sheet, const char *value)
{
	const char *from = value;
	size_t length;

	add(sheet, "\"");
	while (*value != '\0') {
		length = plain_length(value);
		if (length > 0) {
			value += length;
			continue;
		}
		add_bytes(sheet, from, (size_t)(value - from));
		length = ri_utf8_length(value);
		/* of two bytes it is U+0080 to U+009F, whose number the second one is */
		ri_sheet_addf(sheet, "\\u%04x", length == 0 ? 0xfffd
			: (unsigned)(unsigned char)value[length - 1]);
		value += length == 0 ? 1 : length;
		from = value;
	}
	add_bytes(sheet, from, (size_t)(value - from));
	add(sheet, "\"");
}

static void begin(struct ri_sheet *sheet, const char *name)
{
	if (sheet->follows)
		add(sheet, ", ");
	sheet->follows = true;
	if (name == NULL)
		return;
	add_string(sheet, name);
	add(sheet, ": ");
}

void ri_sheet_open(struct ri_sheet *sheet, const char *name, char bracket)
{
	begin(sheet, name);
	add_bytes(sheet, &bracket, 1);
	sheet->follows = false;
}

void ri_sheet_close(struct ri_sheet *sheet, char bracket)
{
	add_bytes(sheet, &bracket, 1);
	sheet->follows = true;
}

void ri_sheet_string(struct ri_sheet *sheet, const char *name, const char *value)
{
	begin(sheet, name);
	if (value == NULL)
		add(sheet, "null");
	else
		add_string(sheet, value);
}

void ri_sheet_number(struct ri_sheet *sheet, const char *name, int64_t value)
{
	begin(sheet, name);
	if (value < 0)
		add(sheet, "null");
	else
		ri_sheet_addf(sheet, "%lld", (long long)value);
}

void ri_sheet_bool(struct ri_sheet *sheet, const char *name, bool value)
{
	begin(sheet, name);
	add(sheet, value ? "true" : "false");
}

void ri_sheet_time(struct ri_sheet *sheet, const char *name, int64_t at)
{
	char buffer[64];
	struct ri_text text;

	ri_text_init(&text, buffer, sizeof(buffer));
	ri_time_show(&text, at);
	ri_sheet_string(sheet, name, at <= 0 ? NULL : buffer);
}

void ri_time_show(struct ri_text *out, int64_t at)
{
	struct timespec time = {
		.tv_sec = (time_t)(at / 1000000), .tv_nsec = (long)(at % 1000000 * 1000),
	};

	if (at <= 0)
		ri_text_add(out, "an unknown time");
	else
		ri_time_add(out, time);
}

void ri_witness_name(struct ri_text *out, const struct ri_witness *witness)
{
	enum { COLUMNS = 64 };

	if (witness->node >= 0)
		ri_text_addf(out, "%lld", (long long)witness->node);
	if (witness->host == NULL && witness->node >= 0)
		return;
	ri_text_add(out, witness->node >= 0 ? " (" : "");
	ri_text_add_shown(out, witness->host != NULL ? witness->host : witness->file, COLUMNS);
	ri_text_add(out, witness->node >= 0 ? ")" : "");
}
