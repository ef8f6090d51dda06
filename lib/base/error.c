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

static void fill(struct ri_error *err, enum ri_severity severity, enum ri_code code,
	const char *subject, const char *format, va_list args)
{
	err->severity = severity;
	err->code = code;
	err->sys_errno = 0;
	err->hint[0] = '\0';
	ri_text_copy(err->subject, sizeof(err->subject), subject);
	vsnprintf(err->text, sizeof(err->text), format, args);
}

int ri_fail(struct ri_error *err, enum ri_code code, const char *subject, const char *format, ...)
{
	va_list args;

	if (err->code != RI_CODE_NONE)
		return -1;
	va_start(args, format);
	fill(err, RI_SEVERITY_ERROR, code, subject, format, args);
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

struct ri_error *ri_findings_add(struct ri_findings *findings, enum ri_severity severity,
	enum ri_code code, const char *subject, const char *format, ...)
{
	struct ri_error *finding = &findings->items[findings->count];
	va_list args;

	if (findings->count == RI_MAX_FINDINGS) {
		findings->dropped++;
		return NULL;
	}
	findings->count++;
	va_start(args, format);
	fill(finding, severity, code, subject, format, args);
	va_end(args);
	return finding;
}

void ri_finding_hint(struct ri_error *finding, const char *format, ...)
{
	va_list args;

	if (finding == NULL)
		return;
	va_start(args, format);
	vsnprintf(finding->hint, sizeof(finding->hint), format, args);
	va_end(args);
}

const char *ri_severity_name(enum ri_severity severity)
{
	static const char *const names[] = { "note", "warning", "error" };

	return names[severity <= RI_SEVERITY_ERROR ? severity : RI_SEVERITY_NOTE];
}
