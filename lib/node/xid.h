/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xid messages, by which NVIDIA's driver tells the kernel's log of a GPU's
 * errors (NVIDIA XID Errors): "NVRM: Xid (PCI:0000:1b:00): 79, ...".
 */
#ifndef RI_NODE_XID_H
#define RI_NODE_XID_H

#include <stdbool.h>
#include <stdint.h>

enum { RI_XID_ADDRESS = 24 };

struct ri_xid {
	uint64_t number;	/* 79 */
	uint64_t at_us;		/* since the machine was started, by the kernel's log */
	char address[RI_XID_ADDRESS];	/* "0000:1b:00.0" */
};

/*
 * A record of /dev/kmsg (kernel documentation, ABI/testing/dev-kmsg) that begins so. False: it
 * has no Xid, or is not the kernel's own: a process may write there, too.
 */
bool ri_xid_read(struct ri_xid *out, const char *record);

/* From the mildest to the worst. */
enum ri_xid_fault {
	RI_XID_PROGRAM,		/* a program may cause it, and mostly does */
	RI_XID_HARDWARE,	/* the hardware, or its firmware */
	RI_XID_FATAL,		/* the same, and what a program did on the GPU is lost */
};

struct ri_xid_kind {
	uint64_t number;
	enum ri_xid_fault fault;
	const char *text;	/* "an NVLink error" */
};

/* NULL: it is not in our table. */
const struct ri_xid_kind *ri_xid_kind_find(uint64_t number);

#endif
