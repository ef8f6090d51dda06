/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --user, --cap-drop, --cap-keep, --no-new-privs: worked out before the
 * spawn, applied in the child.
 */
#ifndef RI_SHIM_LAUNCH_PRIVILEGES_H
#define RI_SHIM_LAUNCH_PRIVILEGES_H

#include <stdbool.h>

#include <sys/capability.h>

#include "base/account.h"
#include "options/options.h"

/* What the child has to do; all zero: nothing. */
struct ri_privileges {
	bool change_user;
	struct ri_account account;
	bool change_caps;
	uint64_t drop;		/* capability n is bit n; leaves the bounding set */
	uint64_t keep;		/* raised in the ambient set of another user */
	cap_t armed;		/* while the bounding set is cut: what we have, effective */
	cap_t final;
	bool no_new_privs;
};

/* Read the options. Costs nothing where none of them is given. */
int ri_privileges_prepare(struct ri_privileges *out, const struct ri_options *options,
	struct ri_host *host, struct ri_arena *arena, struct ri_error *err);

/*
 * In the child, which shares our memory: system calls only. Returns 0, or -1 with errno and the
 * step that failed, as "set the user id".
 */
int ri_privileges_apply(const struct ri_privileges *privileges, const char **step);

#endif
