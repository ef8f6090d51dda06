/* SPDX-License-Identifier: Apache-2.0 */
#include "base/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

struct ri_finding *ri_findings_add(struct ri_findings *findings, enum ri_severity severity,
	enum ri_code code, const char *subject, const char *format, ...)
{
	struct ri_finding *finding;
	va_list args;

	if (findings->count == RI_MAX_FINDINGS) {
		findings->dropped++;
		return NULL;
	}
	finding = &findings->items[findings->count++];
	finding->severity = severity;
	finding->code = code;
	finding->hint[0] = '\0';
	ri_text_copy(finding->subject, sizeof(finding->subject), subject);
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
	return finding;
}

struct ri_finding ri_finding_of_error(const struct ri_error *err)
{
	struct ri_finding finding = { .severity = RI_SEVERITY_ERROR, .code = err->code };

	ri_text_copy(finding.subject, sizeof(finding.subject), err->subject);
	ri_text_copy(finding.text, sizeof(finding.text), err->text);
	ri_text_copy(finding.hint, sizeof(finding.hint), err->hint);
	return finding;
}

void ri_finding_hint(struct ri_finding *finding, const char *format, ...)
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
	static const char *const names[] = {
		[RI_SEVERITY_NOTE] = "note",
		[RI_SEVERITY_WARNING] = "warning",
		[RI_SEVERITY_ERROR] = "error",
	};

	return severity <= RI_SEVERITY_ERROR ? names[severity] : "note";
}
