/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a secret show that it is not random? An attacker who plays a node can try some hundred
 * thousand guesses a second, and finds what people type or copy.
 */
#ifndef RI_LINK_SECRET_H
#define RI_LINK_SECRET_H

#include <stddef.h>

/* How much of it counts: not the end of its line, which an editor, a shell or YAML may add. */
size_t ri_secret_length(const void *secret, size_t length);

/*
 * Returns what shows it, as the end of a sentence that begins with "it"; NULL where nothing does,
 * which proves nothing: words without a space between them pass. What a generator made passes,
 * whether raw, base64, hex, UUIDs, letters or digits, of RI_SEAL_SECRET bytes or more: less than
 * one of ten million is refused. The bytes may be any.
 */
const char *ri_secret_flaw(const void *secret, size_t length);

#endif
