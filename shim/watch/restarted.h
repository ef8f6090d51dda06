/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher that starts its ranks again after a failure, as torchrun and those made of it do with
 * --max-restarts: it is said when it happens, and in the verdict and the report of a job that fails
 * in the end. The new ranks show it, by TORCHELASTIC_RESTART_COUNT in their environment.
 */
#ifndef RI_SHIM_WATCH_RESTARTED_H
#define RI_SHIM_WATCH_RESTARTED_H

#include "base/span.h"
#include "pump/output.h"
#include "report/launched.h"
#include "report/outcome.h"

/*
 * Where the ranks of an attempt and their words are put, while one is told of: as launched.h. The
 * launcher's name may be NULL.
 */
void ri_restarted_begin(struct ri_rank_outcome *ranks, char *words, const char *launcher);

/* Say what there is to say. Call it after each wake-up; where nothing is new it costs nothing. */
void ri_restarted_hear(struct ri_output *output);

/* What the launcher's stderr has of the attempt that runs, or ran last; at NULL: none was kept. */
struct ri_tail_text ri_restarted_last_text(struct ri_output *output);

/* NULL: there was none. */
const struct ri_restarts *ri_restarted_seen(void);

#endif
