/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's settings: variables, and files that set those which are not there
 * (NCCL src/misc/param.cc; NCCL documentation, "Environment Variables").
 */
#ifndef RI_IMAGE_NCCL_CONF_H
#define RI_IMAGE_NCCL_CONF_H

#include <stdbool.h>

#include "image/program.h"

enum { RI_NCCL_VALUE = 1024, RI_NCCL_FILE = 65536 };

struct ri_nccl_file {
	const char *path;	/* NULL: none */
	const char *text;
};

struct ri_nccl_conf {
	const struct ri_env *env;
	struct ri_nccl_file files[2];	/* the user's, and /etc/nccl.conf */
};

/* A file that is absent, cannot be read or is longer than RI_NCCL_FILE sets nothing. */
void ri_nccl_conf_read(struct ri_nccl_conf *out, const struct ri_image *image);

/*
 * What a name is set to: value has RI_NCCL_VALUE bytes. Returns which of them says so,
 * the variable or the file; NULL, and value "", where neither does or it does
 * not fit.
 */
const char *ri_nccl_conf_get(const struct ri_nccl_conf *conf, const char *name, char *value);

/* The same of the text of one file: the first line that sets the name counts. */
bool ri_nccl_conf_find(const char *text, const char *name, char *value);

#endif
