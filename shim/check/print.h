/* SPDX-License-Identifier: Apache-2.0 */
/* What checks found: as a table, as JSON, and as lines of our own. */
#ifndef RI_SHIM_CHECK_PRINT_H
#define RI_SHIM_CHECK_PRINT_H

#include <stdbool.h>

#include "check/runner.h"
#include "model/json.h"

/* For people: a line or more for each result, skips together unless -v asks, and the sum. */
void ri_check_print_text(const struct ri_check_report *report, struct ri_text *out, bool color);

/* {"schema": "rankinit-check-1", "fit": ..., "checks": [...], ...}; NULL: out of memory. */
json_t *ri_check_json(struct ri_json *json, const struct ri_check_report *report);

enum { RI_CHECK_TEXT = 768 };

/* "has 64 MiB; expected at least 1 GiB" */
void ri_check_text(const struct ri_check_result *result, char out[RI_CHECK_TEXT]);

/*
 * The id of the check that found what this result follows from, or NULL. Such
 * a result is left out of lines, where that check's own says as much; tables
 * and JSON have them all.
 */
const char *ri_check_cause(const struct ri_check_report *report,
	const struct ri_check_result *result);

/* On stderr before a launch: what is wrong, and with -v what there is to note. */
void ri_check_log(const struct ri_check_report *report);

/* The lines of it that make the node unfit, as they are but for what begins them. */
void ri_check_words(const struct ri_check_report *report, struct ri_text *out);

enum { RI_CHECK_REASONS = 272 };

/*
 * What makes the node unfit in a few words, to go on with after a sentence:
 * ": gpu.count (GPUs: a program sees 0; expected 8), shm.size". Returns out.
 */
const char *ri_check_reasons(const struct ri_check_report *report, char out[RI_CHECK_REASONS]);

/* What ri_check_log would say, notes left out, among the findings of --explain. */
void ri_check_explain(const struct ri_check_report *report, struct ri_findings *findings);

/* The table of checks for --list. */
void ri_check_list(struct ri_text *out);

#endif
