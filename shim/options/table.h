/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options as a table (options.def), their names, and what is made of a value, by its
 * type or by a reader of its own: options.c reads the command line and the
 * environment by it, usage.c prints it.
 */
#ifndef RI_SHIM_OPTIONS_TABLE_H
#define RI_SHIM_OPTIONS_TABLE_H

#include "options/options.h"

enum ri_option_kind { ACTION, SETTING, POLICY, DEMAND };
enum ri_option_form { NONE, FLAG, OPTIONAL, REQUIRED };

/* As --help has them, in this order. */
enum ri_option_group {
	RI_OPTIONS_START,
	RI_OPTIONS_STOP,
	RI_OPTIONS_OUTPUT,
	RI_OPTIONS_FAILURES,
	RI_OPTIONS_HANGS,
	RI_OPTIONS_NODES,
	RI_OPTIONS_CHECKS,
	RI_OPTIONS_FACTS,
	RI_OPTIONS_ANSWERS,
	RI_OPTIONS_GROUPS
};

struct ri_option {
	const char *symbol;
	const char *meta;
	const char *fallback;
	const char *help;
	const char *brief;
	enum ri_option_kind kind;
	enum ri_option_form form;
	enum ri_option_group group;
	char letter;
};

extern const struct ri_option ri_option_table[RI_OPTION_COUNT];

extern const struct ri_option_gone {
	const char *name, *value;	/* value: only this one is gone, if not NULL */
	enum ri_option_form form;
	const char *hint;
} ri_options_gone[RI_OPTION_GONE_COUNT];

/* "signal_map" as "--signal-map" and as "RANKINIT_SIGNAL_MAP". Both last. */
const char *ri_option_name(const struct ri_option *option);
const char *ri_option_twin(const struct ri_option *option);

/* Does a word "signal-map=..." or "signal_map", without its "--", name this option? */
bool ri_option_is_named(const struct ri_option *option, const char *word);

/* Does the command line give the option of this number? */
bool ri_option_stands(const struct ri_options *options, size_t number);

/* Set what an option reads as SECONDS to what counts without it. */
void ri_option_fall_back(struct ri_options *options);

/*
 * Note what is given of an option, and read it as options.def says. Returns 0, or -1: mostly as
 * ri_option_bad_value.
 */
int ri_option_take(struct ri_options *options, const struct ri_option *option,
	struct ri_given given, struct ri_error *err);

/* An RI_CODE_OPTION_VALUE: the value, and what was expected instead. Returns -1. */
int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err);

/* A number in range, else that. */
int ri_value_number(uint64_t *out, struct ri_range range, struct ri_given given,
	struct ri_error *err);

/*
 * Answer instead of a launch: what --explain and the like do. Two that differ are
 * RI_CODE_OPTION_CONFLICT, but --help and --version win over all others.
 */
int ri_option_answer(struct ri_options *options, enum ri_action action, struct ri_given given,
	struct ri_error *err);

/*
 * The option on the command line, all of which was read, that sets aside the
 * twin of option number twin with this value: both together would contradict
 * each other. NULL: there is none.
 */
const struct ri_option *ri_option_rival(const struct ri_options *options, size_t twin,
	const char *value);

/*
 * peer.c: read the words behind the first one, and the peer's variables, as ri_options_read
 * does. Options end at the first other word: glibc's tini would take more behind it.
 */
int ri_peer_read(struct ri_options *options, char *const *argv, const struct ri_env *env,
	struct ri_error *err);

#endif
