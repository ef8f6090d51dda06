/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of options by their kind, whichever option it is. They fail as
 * ri_option_bad_value does.
 */
#ifndef RI_SHIM_OPTIONS_VALUE_H
#define RI_SHIM_OPTIONS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/given.h"
#include "base/number.h"

/* An RI_CODE_OPTION_VALUE: the value, and what was expected instead. Returns -1. */
int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err);

/* yes or no; without a value it is yes. */
int ri_value_flag(bool *out, struct ri_given given, struct ri_error *err);

/* One of the words "auto|always|never", as its place among them; out: NULL allowed. */
int ri_value_choice(unsigned *out, const char *words, struct ri_given given,
	struct ri_error *err);

/* Can output/pattern.h read it? */
int ri_value_pattern(struct ri_given given, struct ri_error *err);

int ri_value_number(uint64_t *out, struct ri_range range, struct ri_given given,
	struct ri_error *err);

int ri_value_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err);

#endif
