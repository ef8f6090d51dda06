/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as a shell would find them: by PATH, below the root. */
#ifndef RI_IMAGE_PROGRAM_H
#define RI_IMAGE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/host.h"

/* Where it is looked for: on a machine or in an image of one, in an environment. */
struct ri_image {
	struct ri_host *host;
	const struct ri_env *env;
	struct ri_arena *arena;
};

/* Where there is no PATH: what Debian's and Alpine's login(1) start from. */
extern const char ri_default_path[];

struct ri_program {
	const char *path;	/* as it is found */
	const char *real;	/* without links */
};

/*
 * The next program of that name on PATH, from *at on, which is moved behind
 * it; 0 is the first. Relative folders are passed over: where we stand is no
 * matter of the image. False when there is no more.
 */
bool ri_program_next(const struct ri_image *image, const char *name, size_t *at,
	struct ri_program *out);

/* The first one. */
bool ri_program_find(const struct ri_image *image, const char *name, struct ri_program *out);

/* The same of one path: a regular file that somebody may execute. */
bool ri_program_at(const struct ri_image *image, const char *path, struct ri_program *out);

/*
 * The program that runs a script, as the kernel reads its #! line (execve(2), "Interpreter
 * scripts"; Linux fs/binfmt_script.c): the name ends at a blank or a newline,
 * and a carriage return before that is a part of it.
 */
enum { RI_SCRIPT_HEAD = 256 };	/* bytes of it that the kernel looks at (BINPRM_BUF_SIZE) */

struct ri_script {
	char interpreter[RI_SCRIPT_HEAD];	/* without the carriage return; never empty */
	bool has_return;	/* the name ends with one */
};

/* From the beginning of a file. False, and *out is left, where it names no program. */
bool ri_script_read(struct ri_script *out, const char *head, size_t length);

#endif
