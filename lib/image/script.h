/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that runs a script, as the kernel reads its #! line (execve(2), "Interpreter
 * scripts"; Linux fs/binfmt_script.c): the name ends at a blank or a newline,
 * and a carriage return before that is a part of it.
 */
#ifndef RI_IMAGE_SCRIPT_H
#define RI_IMAGE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum { RI_SCRIPT_HEAD = 256 };	/* bytes of it that the kernel looks at (BINPRM_BUF_SIZE) */

struct ri_script {
	char interpreter[RI_SCRIPT_HEAD];	/* without the carriage return; never empty */
	bool has_return;	/* the name ends with one */
};

/* From the beginning of a file. False, and *out is left, where it names no program. */
bool ri_script_read(struct ri_script *out, const char *head, size_t length);

#endif
