/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose driver the kernel runs for the adapters of Mellanox: its own ("inbox"),
 * or that of MLNX_OFED, since 2025 DOCA-OFED. It is the machine's, whatever
 * the image brings, and /sys/module shows it in containers too.
 */
#ifndef RI_NODE_OFED_H
#define RI_NODE_OFED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host.h"

enum ri_ofed_kind {
	RI_OFED_NONE,		/* no such driver is loaded, or it is built in */
	RI_OFED_INBOX,
	RI_OFED_MELLANOX,
};

struct ri_ofed {
	enum ri_ofed_kind kind;
	const char *module;	/* "mlx5_core"; NULL where none */
	char version[64];	/* as the driver says it: "23.10-1.1.9"; "" where it does not */
	uint64_t series[2];	/* of OFED: 23 and 10; zeroes where unknown */
};

/* What a version says of a driver; release: of the kernel, "" where unknown. */
enum ri_ofed_kind ri_ofed_judge(const char *version, const char *release);

void ri_ofed_read(struct ri_ofed *out, struct ri_host *host);

/* "MLNX_OFED", "DOCA-OFED": what packages of this series are called. */
const char *ri_ofed_name(const struct ri_ofed *ofed);

#endif
