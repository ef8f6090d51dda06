/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: what a stage that judges has to say. Unlike an error, a finding
 * does not stop anything; a bounded list of them is handed on and printed.
 */
#ifndef RI_BASE_FINDING_H
#define RI_BASE_FINDING_H

#include <stddef.h>

#include "base/error.h"
#include "base/limits.h"

enum ri_severity {
	RI_SEVERITY_NOTE,	/* shown with -v */
	RI_SEVERITY_WARNING,	/* shown unless --quiet */
	RI_SEVERITY_ERROR,	/* refuses the launch */
};

struct ri_finding {
	enum ri_severity severity;
	enum ri_code code;
	char subject[96];
	char text[384];
	char hint[256];
};

/* What came past RI_MAX_FINDINGS is counted in dropped, not stored. */
struct ri_findings {
	size_t count;
	size_t dropped;
	struct ri_finding items[RI_MAX_FINDINGS];
};

/*
 * Add one; its text is made by the format, its hint is empty. Returns where a
 * hint can be added with ri_finding_hint, or NULL when the list is full.
 */
struct ri_finding *ri_findings_add(struct ri_findings *findings, enum ri_severity severity,
	enum ri_code code, const char *subject, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* A refusal as a finding of RI_SEVERITY_ERROR. */
struct ri_finding ri_finding_of_error(const struct ri_error *err);

/* Say what to do about it. A NULL finding is ignored. */
void ri_finding_hint(struct ri_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "note", "warning", "error". */
const char *ri_severity_name(enum ri_severity severity);

#endif
