/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of a report is text that --blame does not show: tracebacks, what checks said, lists of
 * hosts. To find where such a value ends is much less work than to read it.
 */
#ifndef RI_BLAME_SKIM_H
#define RI_BLAME_SKIM_H

#include <stddef.h>

/*
 * Put null in the place of all members of a report that ri_witness_read does not look at, in
 * place. Returns the new length. What is left of a document that is JSON is JSON, and of one that
 * breaks off it breaks off, too; what is no object stays as it is. In what is left out, only the
 * ends of strings and brackets are looked for.
 */
size_t ri_report_skim(char *bytes, size_t length);

#endif
