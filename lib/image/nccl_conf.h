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

/*
 * What a name is set to by its variable, the user's file, or /etc/nccl.conf: value has
 * RI_NCCL_VALUE bytes. A file that is absent, cannot be read or is longer than RI_NCCL_FILE sets
 * nothing. Returns which of them says so, the variable or the file; NULL, and value "", where
 * none does or it does not fit.
 */
const char *ri_nccl_conf_get(const struct ri_image *image, const char *name, char *value);

/* The same of the text of one file: the first line that sets the name counts. */
bool ri_nccl_conf_find(const char *text, const char *name, char *value);

#endif
