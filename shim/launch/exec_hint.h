/* SPDX-License-Identifier: Apache-2.0 */
/* What was perhaps meant by a command that cannot be started. */
#ifndef RI_SHIM_LAUNCH_EXEC_HINT_H
#define RI_SHIM_LAUNCH_EXEC_HINT_H

#include <stdbool.h>

#include "base/error.h"
#include "command/command.h"

/*
 * Can the option "--log-prefix" among the words of the command be meant for rankinit
 * alone? Yes where its scripts, of Python or a shell, do not mention the option and
 * hand their arguments on to no other program, or are not there. In doubt it is no.
 * Looks at few words, and for half a second at most.
 */
bool ri_exec_hint_for_us(const struct ri_command *command, const char *option);

/*
 * Those that follow return false, and leave *err, where they know nothing
 * better than that it is not there or cannot be executed.
 */

/* Not found: a whole line that came as one word, since somebody quoted it. */
bool ri_exec_hint_words(const char *command, struct ri_error *err);

/* Not found in PATH, and in this folder there is a file of that name. */
bool ri_exec_hint_file(const char *command, struct ri_error *err);

/* Not found: the name of one of rankinit's own options, without its "--". */
bool ri_exec_hint_option(const char *command, struct ri_error *err);

/* Not found in PATH, which has a program of nearly that name, or lacks a launcher of one. */
bool ri_exec_hint_name(const char *command, const char *path, struct ri_error *err);

/*
 * The file at path is there and is no program, by its mode or by what is in it:
 * a script that another program runs. Adds a hint to the error that says so.
 */
bool ri_exec_hint_script(const char *path, struct ri_error *err);

#endif
