/* SPDX-License-Identifier: Apache-2.0 */
/* What explains an abnormal end: what a check says of the thing that it ended of. */
#ifndef RI_SHIM_SAY_CAUSE_H
#define RI_SHIM_SAY_CAUSE_H

#include "check/machine.h"
#include "report/outcome.h"

/*
 * A process of its own looks at /dev/shm: now, since what filled it goes with those who made it.
 * Nothing but a file system in memory is asked, which answers at once. Returns false where it is
 * none, or where there is no such process.
 */
bool ri_cause_look(struct ri_space *shm);

/*
 * It, in static storage, or NULL. shm: as it was at that end; NULL: it was
 * not looked at, and is where the rank's last words are of it.
 */
const struct ri_cause *ri_cause_find(const struct ri_outcome *outcome, const struct ri_space *shm);

#endif
