/* SPDX-License-Identifier: Apache-2.0 */
#include "model/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ri_page_paint(struct ri_page *page, enum ri_look look)
{
	static const char *const codes[] = {
		[RI_LOOK_PLAIN] = "0", [RI_LOOK_BOLD] = "1", [RI_LOOK_DIM] = "2",
		[RI_LOOK_RED] = "31", [RI_LOOK_GREEN] = "32", [RI_LOOK_YELLOW] = "33",
	};

	if (page->color)
		ri_text_addf(page->out, "\033[%sm", codes[look]);
}

void ri_page_end_line(struct ri_page *page)
{
	ri_text_add(page->out, "\n");
	page->column = 0;
}

void ri_page_go(struct ri_page *page, size_t column)
{
	size_t blanks = column > page->column ? column - page->column : page->column > 0;

	if (blanks > ri_page_room(page))
		blanks = ri_page_room(page);
	ri_text_addf(page->out, "%*s", (int)blanks, "");
	page->column += blanks;
}

size_t ri_page_room(const struct ri_page *page)
{
	return page->column < RI_PAGE_WIDTH ? RI_PAGE_WIDTH - page->column : 0;
}

void ri_page_show_in(struct ri_page *page, size_t columns, const char *text)
{
	if (columns > ri_page_room(page))
		columns = ri_page_room(page);
	page->column += ri_text_add_shown(page->out, text, columns);
}

void ri_page_show(struct ri_page *page, const char *text)
{
	ri_page_show_in(page, RI_PAGE_WIDTH, text);
}

void ri_page_showf(struct ri_page *page, const char *format, ...)
{
	char bytes[2 * RI_PAGE_WIDTH];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(bytes, sizeof(bytes), format, arguments);
	va_end(arguments);
	ri_page_show(page, bytes);
}

void ri_page_show_as(struct ri_page *page, enum ri_look look, const char *text)
{
	ri_page_paint(page, look);
	ri_page_show(page, text);
	ri_page_paint(page, RI_LOOK_PLAIN);
}

void ri_page_fold(struct ri_page *page, const char *words, size_t indent)
{
	if (page->column < indent)
		ri_page_go(page, indent);
	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		RI_TEXT(word, 4 * RI_PAGE_WIDTH);

		ri_text_add_bytes(&word, words, length);
		words += length + strspn(words + length, " ");
		if (page->column > indent && length + 1 > ri_page_room(page)) {
			ri_page_end_line(page);
			ri_page_go(page, indent);
		} else if (page->column > indent) {
			ri_page_go(page, 0);
		}
		if (page->whole)
			page->column += ri_text_add_shown(page->out, word.bytes, word.size);
		else
			ri_page_show(page, word.bytes);
	}
	ri_page_end_line(page);
}

void ri_page_title(struct ri_page *page, const char *text)
{
	ri_page_end_line(page);
	ri_page_show_as(page, RI_LOOK_BOLD, text);
	ri_page_end_line(page);
}
