/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for programs: one JSON document, "rankinit-report-1". Foreign
 * text in it has no secrets and is UTF-8, as model/json.h says.
 */
#ifndef RI_REPORT_REPORT_H
#define RI_REPORT_REPORT_H

#include "report/verdict.h"

/* All of it is borrowed. */
struct ri_report {
	const char *version;
	const struct ri_outcome *outcome;
	const char *refusal;	/* why nothing was started, in lines; or NULL */
	/* Makes what checks of the node found before the launch; NULL: nothing was checked. */
	json_t *(*check)(struct ri_json *json, const void *checked);
	const void *checked;
};

/*
 * Append the document and a '\n'. Returns 0, or -1 when memory ran out or it
 * does not fit; what was appended has no meaning then. jansson's hash must
 * have been seeded (json_object_seed).
 */
int ri_report_render(const struct ri_report *report, struct ri_text *out);

#endif
