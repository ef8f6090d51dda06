/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line or the environment gives, and the name to blame for it. */
#ifndef RI_BASE_GIVEN_H
#define RI_BASE_GIVEN_H

#include <stdbool.h>

struct ri_given {
	const char *subject;	/* "--rank" or "RANKINIT_RANK"; it lasts */
	const char *value;	/* NULL: not given, or an option that stands without one */
	bool twin;		/* the environment gives it, not the command line */
};

#endif
