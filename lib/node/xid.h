/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xid messages, by which NVIDIA's driver tells the kernel's log of a GPU's
 * errors (NVIDIA XID Errors): "NVRM: Xid (PCI:0000:1b:00): 79, ...".
 */
#ifndef RI_NODE_XID_H
#define RI_NODE_XID_H

#include <stdbool.h>
#include <stdint.h>

struct ri_xid {
	uint64_t number;	/* 79 */
	uint64_t at;		/* seconds since the machine was started */
	char address[24];	/* "0000:1b:00.0" */
};

/* A record of /dev/kmsg (kernel documentation, ABI/testing/dev-kmsg). False: it has no Xid. */
bool ri_xid_read(struct ri_xid *out, const char *record);

/* What the hardware did; NULL for those that a program may cause, and unknown ones. */
const char *ri_xid_text(uint64_t number);

#endif
