/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of the tables that say which environment variables a source reads
 * or a framework is given. `--list` and the documentation print from them.
 */
#ifndef RI_MODEL_VARIABLE_H
#define RI_MODEL_VARIABLE_H

struct ri_variable {
	const char *name;
	const char *meaning;	/* what it says, in one line */
	const char *cite;	/* where that was read: a document or a source file */
};

#endif
