/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_LAUNCH_HOSTS_H
#define RI_SHIM_LAUNCH_HOSTS_H

#include "base/error.h"
#include "base/host.h"
#include "model/context.h"
#include "model/wishes.h"

/*
 * The content of --hostfile, where that is given. With --hosts it is
 * RI_CODE_OPTION_CONFLICT; a file that cannot be read is RI_CODE_FILE_UNREADABLE
 * and its path.
 */
int ri_hosts_prepare(struct ri_wishes *wishes, const struct ri_context *context,
	struct ri_error *err);

#endif
