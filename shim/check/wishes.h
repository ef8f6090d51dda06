/* SPDX-License-Identifier: Apache-2.0 */
/* What the options say about checks: which of them, how much each matters, what is asked for. */
#ifndef RI_SHIM_CHECK_WISHES_H
#define RI_SHIM_CHECK_WISHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/given.h"
#include "check/ids.h"
#include "demand/demand.h"

enum ri_check_pick {
	RI_CHECK_PICK_DEFAULT,
	RI_CHECK_PICK_ALL,
	RI_CHECK_PICK_NONE,
	RI_CHECK_PICK_LIST,
};

/* --check-level: what a problem that the check finds amounts to. */
enum ri_check_level {
	RI_CHECK_LEVEL_OWN,	/* as it comes */
	RI_CHECK_LEVEL_OFF,	/* it does not run */
	RI_CHECK_LEVEL_NOTE,
	RI_CHECK_LEVEL_WARN,
	RI_CHECK_LEVEL_FAIL,	/* as if it were required */
};

/* All zero: the defaults. */
struct ri_check_wishes {
	enum ri_check_pick pick;
	struct ri_check_set picked;	/* of a list */
	uint8_t levels[RI_MAX_CHECKS];	/* enum ri_check_level, by number */
	struct ri_demands demands;	/* of --require, --expect and levels of fail */
	bool deep;			/* those that run a program may do so */
	struct ri_given checks;	/* --checks, as stated */
	struct ri_given require;	/* --require, its variable alone, or the names of both */
	bool stated[RI_ASKER_COUNT];	/* the command line has a list of this asker's ... */
	bool alone[RI_ASKER_COUNT];	/* ... and it does not add to that of the variable */
	struct ri_given level;	/* --check-level */
	bool fails;			/* one of its levels is fail */
	struct ri_given azure_size;
};

/* Read one option each. Return 0, or -1 with RI_CODE_OPTION_VALUE. */
int ri_check_read_pick(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err);
int ri_check_read_level(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err);

/*
 * The same of --require and --expect, of the command line before the variable: what
 * the variable asks for is added, but for topics that the command line has. "none",
 * alone or before a list, leaves out what the variable asks for.
 */
int ri_check_read_demands(struct ri_check_wishes *wishes, enum ri_asker asker,
	struct ri_given option, struct ri_error *err);

/* Are there checks called so, and a dot behind it: "shm"? */
bool ri_check_is_family(const char *word);

/* What may find a node unfit: --require, else --check-level; NULL: nothing does. */
const struct ri_given *ri_check_refuser(const struct ri_check_wishes *wishes);

#endif
