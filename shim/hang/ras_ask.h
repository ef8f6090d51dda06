/* SPDX-License-Identifier: Apache-2.0 */
/* A look's question to NCCL's RAS, on a port of this machine alone (lib/hang/ras.h). */
#ifndef RI_SHIM_HANG_RAS_ASK_H
#define RI_SHIM_HANG_RAS_ASK_H

#include <stdint.h>

#include "hang/ras.h"

/*
 * Ask whoever listens at this address, 200 ms at most of the caller's clock and RI_RAS_TEXT bytes.
 * *out stays as it is where the address is not of this machine, or nobody answers.
 */
void ri_ras_ask(const char *address, int64_t (*now_ms)(void), struct ri_ras *out);

#endif
