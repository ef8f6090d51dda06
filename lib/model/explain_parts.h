/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that explain.c puts together; each writes whole lines. */
#ifndef RI_MODEL_EXPLAIN_PARTS_H
#define RI_MODEL_EXPLAIN_PARTS_H

#include "model/explain.h"
#include "model/page.h"

/* Columns that the parts share. */
enum {
	RI_EXPLAIN_LABEL = 2,	/* of a name or a label */
	RI_EXPLAIN_TEXT = 11,	/* of what stands beside a short label */
};

void ri_explain_summary(struct ri_page *page, const struct ri_explain *explain);
void ri_explain_facts(struct ri_page *page, const struct ri_topology *topology);
void ri_explain_environment(struct ri_page *page, const struct ri_explain *explain);
void ri_explain_placement(struct ri_page *page, const struct ri_explain *explain);
void ri_explain_command(struct ri_page *page, const struct ri_explain *explain);
void ri_explain_findings(struct ri_page *page, const struct ri_explain *explain);

#endif
