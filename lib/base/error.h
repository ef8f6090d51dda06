/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct ri_error: why a step failed, or what a stage that judges has to say. The caller owns it,
 * usually on its stack; it has a fixed size, so reporting a failure cannot itself fail.
 *
 * Functions that can fail return 0 or -1 (pointers: NULL) and fill in *err. The first error wins.
 * Library code leaves out-parameters as they are on failure, and neither prints nor exits.
 */
#ifndef RI_BASE_ERROR_H
#define RI_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

enum ri_code {
#define RI_CODE(symbol, name, status, meaning) RI_CODE_##symbol,
#include "base/codes.def"
#undef RI_CODE
	RI_CODE_COUNT
};

enum ri_severity {
	RI_SEVERITY_NOTE,	/* shown with -v */
	RI_SEVERITY_WARNING,	/* shown unless --quiet */
	RI_SEVERITY_ERROR,	/* refuses the launch */
};

struct ri_error {
	enum ri_severity severity;
	enum ri_code code;
	int sys_errno;		/* 0 where no system call was involved */
	char subject[96];	/* the variable, option, file or command */
	char text[384];		/* what is wrong and what was expected */
	char hint[256];		/* what to do; may be empty */
};

#define RI_ERROR_INIT { .severity = RI_SEVERITY_ERROR, .code = RI_CODE_NONE }

/*
 * Record a failure unless one is recorded already. Always returns -1, so that
 * `return ri_fail(...)` is one line. Texts that do not fit are cut.
 */
int ri_fail(struct ri_error *err, enum ri_code code, const char *subject, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Add what to do about it; a hint that is there already stays. Returns -1. */
int ri_fail_hint(struct ri_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Remember the errno behind the failure just recorded. Returns -1. */
int ri_fail_errno(struct ri_error *err, int sys_errno);

/* The stable public name of a code: "option.value". Never NULL. */
const char *ri_code_name(enum ri_code code);

/* The exit status that a code stands for; 0 for codes of findings. */
int ri_code_status(enum ri_code code);

/* One line that says what the code means. Never NULL. */
const char *ri_code_meaning(enum ri_code code);

/* What the command line or the environment gives, and the name to blame for it. */
struct ri_given {
	const char *subject;	/* "--rank" or "RANKINIT_RANK"; it lasts */
	const char *value;	/* NULL: not given, or an option that stands without one */
	bool twin;		/* the environment gives it, not the command line */
};

/* Findings, of any severity, stop nothing: a bounded list of them is handed on and printed. */
struct ri_findings {
	size_t count;
	size_t dropped;		/* that came past RI_MAX_FINDINGS */
	struct ri_error items[RI_MAX_FINDINGS];
};

/* Add one. Returns it, for ri_finding_hint, or NULL when the list is full. */
struct ri_error *ri_findings_add(struct ri_findings *findings, enum ri_severity severity,
	enum ri_code code, const char *subject, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* The same with a severity that is certain: findings, code, subject, format, ... */
#define ri_warn(findings, ...) ri_findings_add(findings, RI_SEVERITY_WARNING, __VA_ARGS__)
#define ri_note(findings, ...) ri_findings_add(findings, RI_SEVERITY_NOTE, __VA_ARGS__)

/* Say what to do about it. A NULL finding is ignored. */
void ri_finding_hint(struct ri_error *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "note", "warning", "error". */
const char *ri_severity_name(enum ri_severity severity);

#endif
