/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actions that answer, mostly on stdout, and run nothing: --help, --version, --list,
 * --print-env, --explain, --check, --blame; and --install, this program as a file for other
 * containers, without a cp(1) in the image. --status is state_file.h's.
 */
#ifndef RI_SHIM_SAY_PRINT_H
#define RI_SHIM_SAY_PRINT_H

#include "check/runner.h"
#include "model/explain.h"
#include "options/options.h"
#include "system/log.h"

/* On stderr in the place of dumb-init, which does so. */
int ri_print_help(const struct ri_options *options, struct ri_error *err);
int ri_print_version(const struct ri_options *options, struct ri_error *err);

/* A text of the caller's. */
int ri_print_text(const struct ri_text *text, struct ri_error *err);

/* One table, tab-separated, a line for each entry; in columns on a terminal. */
int ri_print_list(const char *table, struct ri_error *err);

/*
 * The edits in force, as shell (export and unset lines), dotenv, json (one
 * object, null where a variable is removed) or null (NAME=value, each ended
 * by a NUL byte; removed ones are left out, as in dotenv). A NULL format is
 * shell.
 */
int ri_print_env(const char *format, const struct ri_env_edits *edits, struct ri_error *err);

/*
 * The explanation, of which version, looked_for and color are filled in here,
 * as text or json. A NULL format is text. Never touches explain->err.
 */
int ri_print_explain(const char *format, struct ri_explain *explain, enum ri_log_color color,
	struct ri_error *err);

/* What checks found, as text or json. A NULL format is text. */
int ri_print_check(const char *format, const struct ri_check_report *report,
	enum ri_log_color color, struct ri_error *err);

/*
 * Read the files, and those of folders whose names end in .json, one after the
 * other, and print who failed first. Returns 0, or -1: RI_CODE_BLAME_NONE where none of them is a
 * report.
 */
int ri_blame_print(const struct ri_options *options, struct ri_error *err);

/*
 * Copy the running program to DIR/rankinit, with mode 755 whatever the umask. What
 * stands there is replaced in one step, also while it runs; where that fails it stays as it was,
 * and no half of a copy is left. Waits for the file system without an end, but not beyond a stop.
 * Returns 0, or -1: RI_CODE_INSTALL_REFUSED, OPTION_CONFLICT where a command follows, MEMORY.
 */
int ri_install(const struct ri_options *options, struct ri_arena *arena, struct ri_error *err);

#endif
