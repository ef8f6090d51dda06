/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the options say about checks: which of them run, and what is asked for. All three
 * lists, of --require, --expect and --checks, are words with commas between.
 */
#ifndef RI_SHIM_CHECK_WISHES_H
#define RI_SHIM_CHECK_WISHES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "demand/demand.h"

/* How many there are, and their ids in the order of the table, NULL at their end. */
size_t ri_check_count(void);
const char *const *ri_check_ids(void);

/* Which checks run, before what the other words of --checks add and take away. */
enum ri_check_pick {
	RI_CHECK_PICK_DEFAULT,
	RI_CHECK_PICK_ALL,
	RI_CHECK_PICK_NONE,
	RI_CHECK_PICK_LIST,
};

enum { RI_CHECK_WORD = 64 };	/* longer than any word of a list that means something */

/* All zero: the defaults. */
struct ri_check_wishes {
	enum ri_check_pick pick;
	struct ri_check_set picked;	/* by their ids or families */
	struct ri_check_set off;	/* of "^shm.size": these never run */
	struct ri_demands demands;	/* of --require and --expect */
	struct ri_given checks;	/* --checks, as stated */
	struct ri_given require;	/* --require, its variable alone, or the names of both */
	bool stated[RI_ASKER_COUNT];	/* the command line has a list of this asker's ... */
	bool alone[RI_ASKER_COUNT];	/* ... and it does not add to that of the variable */
	const char *unknown_asker;	/* the variable that names a VM size which no table has */
	char unknown_size[RI_CHECK_WORD];
	const char *gone[RI_MAX_CHECKS];	/* who named that check of an earlier version */
};

/* Read --checks. Returns 0, or -1 with RI_CODE_OPTION_VALUE. */
int ri_check_read_pick(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err);

/*
 * The same of --require and --expect, of the command line before the variable: what
 * the variable asks for is added, but for what the command line has. "none",
 * alone or before a list, leaves out what the variable asks for.
 */
int ri_check_read_demands(struct ri_check_wishes *wishes, enum ri_asker asker,
	struct ri_given option, struct ri_error *err);

/*
 * One list of --require's two, that of the variable, NULL allowed, and that of the command
 * line: what the command line has, and before it what of the variable it does not name. NULL
 * when out of memory.
 */
const char *ri_check_join_demands(const char *variable, const char *stated,
	struct ri_arena *arena);

/* Warn of what these lists name and is gone: nothing is checked for it. */
void ri_check_judge_gone(const struct ri_check_wishes *wishes, struct ri_findings *findings);

/* Are there checks called so, and a dot behind it: "shm"? */
bool ri_check_is_family(const char *word);

#endif
