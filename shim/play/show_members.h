/* SPDX-License-Identifier: Apache-2.0 */
/* What a member of a simulated job answers, in place of a job. */
#ifndef RI_SHIM_PLAY_SHOW_MEMBERS_H
#define RI_SHIM_PLAY_SHOW_MEMBERS_H

#include "play/start_member.h"

/* --print-env of the one that --node-rank and --local-rank say, by becoming it. Returns -1. */
int ri_members_print_env(struct ri_members *members, struct ri_error *err);

/*
 * --explain of one after the other, each below a line that says whose it is. Returns the first
 * exit status other than 0, 128 + N after a stop, or -1.
 */
int ri_members_explain(struct ri_members *members, struct ri_error *err);

#endif
