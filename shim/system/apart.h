/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may never come back. A file on a mount whose server is gone holds a process in the kernel,
 * where only a signal that ends it can reach it; process 1 is ended by none. So a helper asks for
 * such a file, which shares our memory, descriptors and working directory, while we wait for the
 * helper, for a stop and for the time. wait4(-1) does not know it. Where it is given up it gets
 * SIGKILL, after which it touches our memory no more, and is left behind.
 */
#ifndef RI_SHIM_SYSTEM_APART_H
#define RI_SHIM_SYSTEM_APART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ri_apart {
	int (*work)(void *argument);	/* what it returns and its errno are the caller's */
	void *argument;
	const char *subject;	/* the option or the variable that names the file */
	const char *path;	/* of it, for the message */
	int64_t most_ms;	/* how long it may take; 0: until a stop comes */
	int64_t deaf_ms;	/* for so long a stop changes nothing */
	bool forked;	/* the helper has a copy of our memory: a crash stays in it */
	void (*meanwhile)(void *argument);	/* then, while it works: now and again; or NULL */
};

/*
 * Do the work. Returns what it returned, or -1 with errno EINTR where a stop came first, which
 * stays in the queue, ETIMEDOUT where the time was over, ECANCELED where the helper was ended, or
 * crashed. After five seconds a warning names the path, if there is one. Where no helper can be
 * made the work is done here; or -1 and errno where one is to be forked.
 */
int ri_apart(const struct ri_apart *call);

/* The same of a work that gives its reasons in *err: where it gave none, that code and why. */
int ri_apart_or_fail(const struct ri_apart *call, enum ri_code code, struct ri_error *err);

/* After so long the launch goes on without what a variable asks for. */
enum { RI_APART_TWIN_MS = 30000 };

/* The work of an open or a read of that path: struct ri_host's apart. */
int ri_apart_file(int (*work)(void *argument), void *argument, const char *path);

/* Say that the path, which subject names, has not answered for that long. */
enum { RI_APART_SAY_MS = 5000 };

void ri_apart_say(const char *subject, const char *path);

/* The signal for which something was given up, or 0. */
int ri_apart_stop(void);

#endif
