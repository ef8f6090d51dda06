/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_MODEL_EXPLAIN_CHANGES_H
#define RI_MODEL_EXPLAIN_CHANGES_H

#include "model/explain.h"
#include "model/page.h"

/* Columns of the whole text of --explain. */
enum {
	RI_EXPLAIN_LABEL = 2,	/* of a name or a label */
	RI_EXPLAIN_TEXT = 11,	/* of what stands beside a short label */
};

/* Write, in whole lines, what a launch changes: variables, placement, the command. */
void ri_explain_changes(struct ri_page *page, const struct ri_explain *explain);

#endif
