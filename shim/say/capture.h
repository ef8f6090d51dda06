/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --capture: a folder that holds what rankinit read to decide, without secrets.
 *
 *	environ		the variables that were asked for, each ended by a NUL byte
 *	command		the words behind "rankinit --root=root --explain", likewise
 *	explain		the explanation
 *	root/		the files, folders and links that were asked for, below their root
 *	left-out	what is not there, and why; or no such file
 *
 * Files are written by whoever reads them: by us, by a helper (system/apart.h), or
 * by the process in which checks run.
 */
#ifndef RI_SHIM_SAY_CAPTURE_H
#define RI_SHIM_SAY_CAPTURE_H

#include "base/env.h"
#include "base/host.h"
#include "options/options.h"
#include "say/capture_tree.h"

/*
 * Make the folder, which must not be there or be empty, and put an environment in
 * the place of *env in which no value is secret, and which notes what is asked for.
 * Fails with RI_CODE_CAPTURE_REFUSED or RI_CODE_MEMORY.
 */
int ri_capture_begin(const struct ri_given *folder, struct ri_env *env, struct ri_arena *arena,
	struct ri_error *err);

/* A new file of the folder, to be written. Returns a descriptor, or -1 and an error. */
int ri_capture_file(const char *name, struct ri_error *err);

/* The lists, and a line on stdout about it all. */
int ri_capture_end(const struct ri_options *options, const struct ri_env *env,
	struct ri_host *host, struct ri_arena *arena, struct ri_error *err);

#endif
