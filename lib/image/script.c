/* SPDX-License-Identifier: Apache-2.0 */
#include "image/script.h"

#include <string.h>

#include "base/text.h"

static bool ends_name(char c)
{
	return ri_is_blank(c) || c == '\n' || c == '\0';
}

bool ri_script_read(struct ri_script *out, const char *head, size_t length)
{
	size_t from = 2, end;
	bool has_return;

	if (length > RI_SCRIPT_HEAD)
		length = RI_SCRIPT_HEAD;
	if (length < 2 || head[0] != '#' || head[1] != '!')
		return false;
	while (from < length && ri_is_blank(head[from]))
		from++;
	for (end = from; end < length && !ends_name(head[end]);)
		end++;
	has_return = end > from && head[end - 1] == '\r';
	if (has_return)
		end--;
	if (end == from)
		return false;
	memcpy(out->interpreter, head + from, end - from);
	out->interpreter[end - from] = '\0';
	out->has_return = has_return;
	return true;
}
