/* SPDX-License-Identifier: Apache-2.0 */
/* linux/openat2.h, spelled here since musl 1.2.3 has no name for it. */
#ifndef RI_BASE_OPEN_HOW_H
#define RI_BASE_OPEN_HOW_H

#include <stdint.h>
#include <sys/syscall.h>

struct ri_open_how {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

enum { RI_RESOLVE_NO_SYMLINKS = 0x04, RI_RESOLVE_IN_ROOT = 0x10 };

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#endif
