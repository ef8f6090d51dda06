/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every bound that protects PID 1 from its input, in one place.
 * Nothing here is a tunable: a value is as large as a real job ever needs.
 */
#ifndef RI_BASE_LIMITS_H
#define RI_BASE_LIMITS_H

enum {
	RI_MAX_RANKS = 1048576,		/* world size accepted from a source */
	RI_MAX_RESTARTS = 1000,		/* --restarts */
	RI_MAX_LOCAL = 512,		/* ranks that are started on one node */
	RI_MAX_NAME = 255,		/* bytes of a host name, DNS allows 253 */
	RI_MAX_FINDINGS = 64,		/* kept; what comes later is counted */
	RI_MAX_GRACE_S = 86400,		/* a day: longer is a typing error */
	RI_MAX_GROUPS = 1024,		/* supplementary groups of --user */
	RI_MAX_FILE = 1048576,		/* bytes read of one small system file */
	RI_MAX_HOSTFILE = 33554432,	/* bytes of a host file: a line for each of RI_MAX_RANKS */
	RI_MAX_LDCACHE = 4194304,	/* bytes of the loader's table; large images have 200 kB */
	RI_MAX_LINE = 1024,		/* one line of our own on stderr */
	RI_MAX_QUOTE = 64,		/* bytes of a foreign value shown in a message */
	RI_MAX_CPUS = 4096,		/* the largest number of a CPU, and one */
	RI_MAX_GPUS = 256,		/* of one node, MIG instances counted */
	RI_OUTPUT_LINE = 65536,		/* bytes of a rank's line; a longer one is cut */
	RI_OUTPUT_TAIL = 65536,		/* last bytes of a rank's stderr that are kept */
	RI_OUTPUT_HEAD = 32768,		/* and first ones of a long traceback */
	/* MAX_ARG_STRLEN (Linux include/uapi/linux/binfmts.h): 32 pages, '\0' counted */
	RI_MAX_VARIABLE = 131072,
	RI_MAX_LINKS = 40,		/* symbolic links followed, as the kernel does */
};

/* How many elements an array has. */
#define RI_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
