/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which checks run: for --check all that were picked, before a launch those of
 * them that are for it, or asked for. No system call.
 */
#ifndef RI_SHIM_CHECK_CHOOSE_H
#define RI_SHIM_CHECK_CHOOSE_H

#include <stdbool.h>

#include "check/runner.h"

/* May what runs a program do so? */
bool ri_checks_are_deep(const struct ri_check_wishes *wishes);

/*
 * Is a check that runs a program asked for by its id, and "deep" is not? Then -1, with
 * RI_CODE_OPTION_VALUE: it would say nothing.
 */
int ri_checks_hold_deep(const struct ri_check_wishes *wishes, struct ri_error *err);

/*
 * What --require names and --checks leaves out, or NULL: the id of a check, of a family the
 * first, or a word such as "gpu" of which no check is left.
 */
const char *ri_checks_turned_off(const struct ri_check_wishes *wishes);

/* Put them into plan->chosen, those asked for into plan->asked too. Is there any? */
bool ri_checks_choose(struct ri_check_plan *plan, bool before_launch);

#endif
