/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rankinits in one job, an image's ENTRYPOINT and a command. The inner one sees more, so it
 * speaks, and tells the outer one so. RANKINIT_OUTER, which the outer one sets, says how:
 *
 * "FD:INODE": the descriptor of a memory file that the command inherits. Into it goes one word
 * (report/verdict.h), whose reader waits for nobody and takes nothing else. Where it does not
 * get through, since a program between the two closes its descriptors or the inner one is killed,
 * the outer one speaks.
 * "ranks": the command is one of several ranks, and the outer one tells of all of them.
 * "manager": the outer one has become its command, below a process manager.
 */
#ifndef RI_SHIM_SAY_TWO_RANKINITS_H
#define RI_SHIM_SAY_TWO_RANKINITS_H

#include <stdbool.h>

#include "base/env.h"
#include "report/verdict.h"

extern const char ri_outer_ranks[], ri_outer_manager[];

/* Does RANKINIT_OUTER say this, one of the words above? */
bool ri_outer_says(const struct ri_env *env, const char *word);

/* Where the outer one waits for a word, kept open from now on; -1: nowhere. */
int ri_outer_fd(const struct ri_env *env);

/* The last line is said: tell the outer one, where it waits for that. */
void ri_outer_tell(const struct ri_env *env, const struct ri_inner_word *word);

/*
 * Before the command starts: make room for the word of a rankinit in it. Returns the variable's
 * value, and the descriptor, which an exec closes; NULL: there is none.
 */
const char *ri_inner_listen(struct ri_arena *arena, int *fd);

/* All is over: has an inner one left a word? */
bool ri_inner_told(struct ri_inner_word *out);

#endif
