/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: a process that PID 1 forks to read what ranks wrote, and to say why they failed. How
 * PID 1 asks, and what it believes, says init/judged.h.
 */
#ifndef RI_SHIM_JUDGING_H
#define RI_SHIM_JUDGING_H

#include "init/judged.h"
#include "run.h"

/* Answers the question. run is a struct ri_run, of which it may change what it likes. */
void ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run);

/* What there is to tell where nothing was started, and rankinit ends with this status, and why. */
struct ri_outcome ri_judge_none(struct ri_run *run, int status, enum ri_retry retry);

#endif
