/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_HOSTS_H
#define RI_SHIM_HOSTS_H

#include "base/error.h"
#include "base/host.h"
#include "model/context.h"
#include "model/wishes.h"

/*
 * What hosts stated by hand and sources (wants: bits of enum ri_want) need of
 * the machine: the content of --hostfile, and this machine's name (of a
 * recorded one: its /etc/hostname) in context->host_name. Asks nothing that
 * nobody needs; --hosts with --hostfile is RI_CODE_OPTION_CONFLICT, a file
 * that cannot be read is RI_CODE_FILE_UNREADABLE and its path.
 */
int ri_hosts_prepare(struct ri_wishes *wishes, struct ri_context *context, unsigned wants,
	struct ri_error *err);

#endif
