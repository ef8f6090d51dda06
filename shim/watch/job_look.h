/* SPDX-License-Identifier: Apache-2.0 */
/* With a link all nodes of the job look at their ranks at one moment. */
#ifndef RI_SHIM_WATCH_JOB_LOOK_H
#define RI_SHIM_WATCH_JOB_LOOK_H

#include "watch/phases.h"

/*
 * After each wake-up: ask the others to look if no rank moves here, look if they ask, answer, and
 * print what was found. Does nothing without a link.
 */
void ri_job_look(const struct ri_supervisor *sv);

#endif
