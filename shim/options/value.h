/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of options by their kind, for the readers of single options. Those
 * that return an int fail as ri_option_bad_value does.
 */
#ifndef RI_SHIM_OPTION_VALUE_H
#define RI_SHIM_OPTION_VALUE_H

#include <stdint.h>

#include "base/number.h"
#include "options/table.h"

int ri_value_flag(bool *out, struct ri_given given, struct ri_error *err);

/* One of three words, in the order of enum ri_switch. */
int ri_value_switch(enum ri_switch *out, const char *const words[3], struct ri_given given,
	struct ri_error *err);

/* A text with the option's name, which in given is in a buffer of the caller's. */
int ri_value_word(struct ri_given *word, struct ri_given given, int option);

/* One of the words, NULL at their end, as its place among them. */
int ri_value_choice(unsigned *out, const char *const words[], struct ri_given given,
	struct ri_error *err);

/* A copy of the option's name that lasts: given.subject does not. */
struct ri_given ri_value_stated(struct ri_given given, const char *option, const char *twin);

int ri_value_number(uint64_t *out, struct ri_range range, struct ri_given given,
	struct ri_error *err);

int ri_value_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err);

#endif
