/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers say of the ends of their ranks (launcher_words.def), and the lines of one rank
 * among those of all. Whoever writes to the stream can write the same words: they are hints, for
 * where the kernel does not tell, and no line that bears a rank's label is a launcher's.
 */
#ifndef RI_WORDS_LAUNCHER_WORDS_H
#define RI_WORDS_LAUNCHER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "words/owner.h"
#include "words/rank_said.h"

/*
 * What the last bytes of a launcher's stderr, whose first line may be half a one, tell of ends, in
 * the order of the text. Several lines about one rank are one record. Returns how many; where they
 * are more than room, the last one, which says most, is among them.
 */
size_t ri_launcher_words_read(struct ri_span text, struct ri_rank_said *out, size_t room);

/* Is it a launcher's own, by this line alone? Then it is no reason. */
bool ri_line_is_launchers(struct ri_span line);

/* Which labels a text bears: of its lines that are no launcher's three in four at least. */
enum ri_labels ri_labels_find(struct ri_span text);

/*
 * Copy the lines of a rank, without their labels, or with NULL those that bear none and are no
 * launcher's, with '\n' behind each, up to size bytes. Returns how many bytes.
 */
size_t ri_lines_of(struct ri_span text, const struct ri_owner *rank, char *room, size_t size);

#endif
