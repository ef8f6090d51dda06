/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options as a table, for the two that use it: options.c reads the
 * command line by it, usage.c prints it.
 */
#ifndef RI_SHIM_OPTION_TABLE_H
#define RI_SHIM_OPTION_TABLE_H

#include "options/options.h"

enum ri_option_kind { ACTION, SETTING, POLICY };
enum ri_option_form { NONE, FLAG, OPTIONAL, REQUIRED };

enum { RI_OPTION_NAME = 48 };	/* bytes of any "--name" or "RANKINIT_NAME" */

enum {
#define RI_OPTION(symbol, letter, kind, form, meta, fallback, help) RI_OPTION_##symbol,
#include "options/options.def"
#undef RI_OPTION
	RI_OPTION_COUNT
};

struct ri_option {
	const char *symbol;
	const char *meta;
	const char *fallback;
	const char *help;
	int (*read)(struct ri_options *options, struct ri_given given, struct ri_error *err);
	enum ri_option_kind kind;
	enum ri_option_form form;
	char letter;
};

/* The readers of the options, which the table names. */
#define RI_OPTION(symbol, letter, kind, form, meta, fallback, help) \
	int ri_read_##symbol(struct ri_options *options, struct ri_given given, \
		struct ri_error *err);
#include "options/options.def"
#undef RI_OPTION

extern const struct ri_option ri_option_table[RI_OPTION_COUNT];

/* "signal_map" as "--signal-map". Returns out. */
const char *ri_option_long_name(const struct ri_option *option, char out[RI_OPTION_NAME]);

/* "signal_map" as "RANKINIT_SIGNAL_MAP". Returns out. */
const char *ri_option_twin_name(const struct ri_option *option, char out[RI_OPTION_NAME]);

/*
 * The option on the command line, all of which was read, that sets aside the
 * twin of option number twin with this value: both together would contradict
 * each other. NULL: there is none.
 */
const struct ri_option *ri_option_rival(const struct ri_options *options, size_t twin,
	const char *value);

/*
 * A finding, RI_CODE_OPTION_APART, where the word behind this option, which was
 * given no value, is the command and looks like one: "--check json". NULL
 * allowed: there is no such word.
 */
void ri_option_judge_next(const struct ri_option *option, const char *word,
	struct ri_findings *findings);

/* An RI_CODE_OPTION_VALUE: the value, and what was expected instead. Returns -1. */
int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err);

#endif
