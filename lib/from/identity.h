/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which source says who we are: the innermost launcher with a whole tuple of
 * ranks, else the first source that knows which node this is.
 */
#ifndef RI_FROM_IDENTITY_H
#define RI_FROM_IDENTITY_H

#include "from/reading.h"

/*
 * Is the source whose turn it is the identity from here on, by its tuple? One
 * without a signature is weighed against the innermost launcher's, and no
 * other one. Half of a tuple is a finding.
 */
bool ri_identity_takes(struct ri_reading *reading);

/* Are all ranks of the job here, by the identity's own account? There must be one. */
bool ri_identity_is_on_one_node(const struct ri_reading *reading);

#endif
