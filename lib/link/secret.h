/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what should be a random secret show that it is none? Whoever listens at the port tries some
 * hundred thousand guesses a second, so what people type or copy falls.
 */
#ifndef RI_LINK_SECRET_H
#define RI_LINK_SECRET_H

#include <stddef.h>

/*
 * Returns what shows it, as the end of a sentence that begins with "it"; NULL where nothing does,
 * which proves nothing: words without a space between them pass. What a generator made passes,
 * whether raw, base64, hex, UUIDs, letters or digits, of RI_SEAL_SECRET bytes or more: less than
 * one of ten million is refused. The bytes may be any.
 */
const char *ri_secret_flaw(const void *secret, size_t length);

#endif
