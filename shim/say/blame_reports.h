/* SPDX-License-Identifier: Apache-2.0 */
/* --blame: what the reports of a job's nodes say together. */
#ifndef RI_SHIM_SAY_BLAME_REPORTS_H
#define RI_SHIM_SAY_BLAME_REPORTS_H

#include "base/error.h"
#include "options/options.h"

/*
 * Read the files, and those of folders whose names end in .json, one after the other, and print
 * who failed first. Returns 0, or -1: RI_CODE_BLAME_NONE where none of them is a report.
 */
int ri_blame_print(const struct ri_options *options, struct ri_error *err);

#endif
