/* SPDX-License-Identifier: Apache-2.0 */
/* What the detect function of a source looks at: the snapshot alone. */
#ifndef RI_FROM_SIGHT_H
#define RI_FROM_SIGHT_H

#include <stdbool.h>

#include "base/env.h"

/* Has it no bytes but blanks, or none? */
bool ri_text_is_blank(const char *text);

/*
 * Is the variable there, and no link to a Kubernetes service? For detect functions, which
 * have the snapshot alone.
 */
bool ri_source_sees(const struct ri_env *env, const char *variable);

/* Does it see more than blanks? For names that an image may set to nothing. */
bool ri_source_sees_text(const struct ri_env *env, const char *variable);

/*
 * Did some MPI start this process, whether or not its tuple is whole? Then it
 * is no launcher, whatever else it inherited from one.
 */
bool ri_source_sees_mpi_rank(const struct ri_env *env);

#endif
