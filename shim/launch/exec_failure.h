/* SPDX-License-Identifier: Apache-2.0 */
/* Why a command could not be executed, and what to do. */
#ifndef RI_SHIM_LAUNCH_EXEC_FAILURE_H
#define RI_SHIM_LAUNCH_EXEC_FAILURE_H

#include "base/error.h"

struct ri_exec_failure {
	int error;		/* errno of the last execve */
	char *const *argv, *const *envp;
	const char *candidates;	/* paths that were tried, each ended by '\0', then an empty one */
	const char *path;	/* in which a command without a slash was looked for */
};

/*
 * By that, and by what there is now at the paths: RI_CODE_EXEC_NOT_FOUND, EXEC_DENIED or
 * EXEC_TOO_BIG. Returns -1.
 */
int ri_exec_explain(const struct ri_exec_failure *failure, struct ri_error *err);

#endif
