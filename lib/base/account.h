/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users and groups from /etc/passwd and /etc/group of the image. The name service switch is not
 * asked: it would load the image's modules into PID 1.
 */
#ifndef RI_BASE_ACCOUNT_H
#define RI_BASE_ACCOUNT_H

#include "base/host.h"

/* Whom a process shall run as. */
struct ri_account {
	uid_t uid;
	gid_t gid;
	gid_t *groups;		/* supplementary ones, in the arena */
	size_t group_count;
};

/*
 * Read "NAME", "UID", "NAME:GROUP" or "UID:GID". A known user without a group has its own group and
 * its supplementary ones; with a group that one alone. A number that /etc/passwd does not know
 * needs a group: other tools silently take group 0, which surprises their users. subject names the
 * option in errors about the wish (RI_CODE_OPTION_VALUE, ACCOUNT_UNKNOWN); those about a file
 * (FILE_*) name the file.
 */
int ri_account_find(struct ri_host *host, const char *text, const char *subject,
	struct ri_account *out, struct ri_arena *arena, struct ri_error *err);

#endif
