/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal numbers and names, and maps of the form "A:B,C:D". Signals are 1 to 64 as the kernel
 * counts them. SIGRTMIN is 34: the C libraries keep 32 and 33 (musl 34 too) for themselves, but a
 * PID 1 must forward what the kernel delivers.
 */
#ifndef RI_BASE_SIGNALS_H
#define RI_BASE_SIGNALS_H

#include <stdint.h>

#include "base/error.h"

enum {
	RI_SIGNAL_MAX = 64,	/* _NSIG of the kernel on every architecture we build for */
	RI_SIGNAL_RTMIN = 34,
	RI_SIGNAL_NAME = 16,	/* bytes that any name needs */
};

/* Read "TERM", "SIGTERM", "sigterm", "15", "RTMIN+2" or "RTMAX-1". Returns the number, or -1. */
int ri_signal_read(const char *text);

/* "SIGTERM", "SIGRTMIN+2"; "signal 32" where there is no name. Returns buffer. */
const char *ri_signal_name(int number, char buffer[RI_SIGNAL_NAME]);

/* The same, and it lasts as long as the block that it stands in. */
#define RI_SIGNAL_SHOWN(number) ri_signal_name(number, (char[RI_SIGNAL_NAME]){ "" })

/* to[n] is what signal n becomes, 0: it is dropped; or the exit status that replaces n. */
struct ri_signal_map {
	uint8_t to[256];
};

/* Each stays what it is. */
void ri_signal_map_init(struct ri_signal_map *map);

/*
 * Read "TERM:INT,USR1:0", or of exit statuses "143:0,123:138"; each other one stays what it is.
 * The map is as it was where the text is wrong: then subject names the option or variable in the
 * error (RI_CODE_OPTION_VALUE). KILL, STOP and CHLD, which never reach us or mean something else
 * to us, cannot be mapped, and nothing to CHLD.
 */
int ri_signal_map_read(struct ri_signal_map *map, const char *text, const char *subject,
	struct ri_error *err);
int ri_exit_map_read(struct ri_signal_map *map, const char *text, const char *subject,
	struct ri_error *err);

#endif
