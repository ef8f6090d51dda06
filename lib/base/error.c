/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

static const struct {
	const char *name;
	const char *meaning;
	int status;
} codes[] = {
#define RI_CODE(symbol, name_, status_, meaning_) \
	[RI_CODE_##symbol] = { .name = name_, .meaning = meaning_, .status = status_ },
#include "base/codes.def"
#undef RI_CODE
};

int ri_fail(struct ri_error *err, enum ri_code code, const char *subject, const char *format, ...)
{
	va_list args;

	if (err->code != RI_CODE_NONE)
		return -1;
	err->code = code;
	err->sys_errno = 0;
	err->hint[0] = '\0';
	ri_text_copy(err->subject, sizeof(err->subject), subject);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

int ri_fail_hint(struct ri_error *err, const char *format, ...)
{
	va_list args;

	if (err->hint[0] != '\0')
		return -1;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return -1;
}

int ri_fail_errno(struct ri_error *err, int sys_errno)
{
	if (err->sys_errno == 0)
		err->sys_errno = sys_errno;
	return -1;
}

const char *ri_code_name(enum ri_code code)
{
	return code < RI_CODE_COUNT ? codes[code].name : codes[RI_CODE_NONE].name;
}

int ri_code_status(enum ri_code code)
{
	return code < RI_CODE_COUNT ? codes[code].status : 0;
}

const char *ri_code_meaning(enum ri_code code)
{
	return code < RI_CODE_COUNT ? codes[code].meaning : codes[RI_CODE_NONE].meaning;
}
