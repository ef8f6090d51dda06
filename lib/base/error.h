/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct ri_error: why a step failed. The caller owns it, usually on its
 * stack; it has a fixed size, so reporting a failure cannot itself fail.
 *
 * Functions that can fail return 0 or -1 (pointers: NULL) and fill in *err.
 * The first error wins: later ones do not overwrite it. Out-parameters are
 * not touched on failure. Library code neither prints nor exits.
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

struct ri_error {
	enum ri_code code;
	int sys_errno;		/* 0 where no system call was involved */
	char subject[96];	/* the variable, option, file or command */
	char text[384];		/* what is wrong and what was expected */
	char hint[256];		/* what to do; may be empty */
};

/* An error to start from: no code, empty texts. */
#define RI_ERROR_INIT { .code = RI_CODE_NONE }

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

/*
 * Findings: what a stage that judges has to say. Unlike an error, a finding
 * does not stop anything; a bounded list of them is handed on and printed.
 */
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
