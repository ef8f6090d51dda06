/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody between a launcher and us put before each line of a stream, in a form that no table
 * has: nemo-run's "nemo.collections.llm.api.finetune/0 " (github.com/NVIDIA-NeMo/Run/issues/16).
 */
#ifndef RI_WORDS_SHARED_PREFIX_H
#define RI_WORDS_SHARED_PREFIX_H

#include <stdbool.h>

#include "base/span.h"

/* Is it a line whose place is at the start: a header, a label, a launcher's? */
typedef bool ri_starts_line(struct ri_span line);

/*
 * The bytes, numbers in them aside, that lines begin with up to such a place, as one of them has
 * them. Empty where fewer than eight lines have them, or fewer than three in four.
 */
struct ri_span ri_shared_prefix_find(struct ri_span text, ri_starts_line *starts);

/* A line without that prefix; as it is where it has none. */
struct ri_span ri_shared_prefix_skip(struct ri_span line, struct ri_span prefix);

#endif
