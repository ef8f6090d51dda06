/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_HOSTS_H
#define RI_SHIM_HOSTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/host.h"
#include "model/wishes.h"

/*
 * What hosts stated by hand need of the machine: the content of --hostfile,
 * and this machine's name (of a recorded one: its /etc/hostname). Asks nothing
 * where neither --hosts nor --hostfile is given; both are
 * RI_CODE_OPTION_CONFLICT, a file that cannot be read is
 * RI_CODE_FILE_UNREADABLE and its path.
 */
int ri_hosts_prepare(struct ri_wishes *wishes, struct ri_host *host, struct ri_arena *arena,
	struct ri_error *err);

#endif
