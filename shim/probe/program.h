/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of rankinit-probe share: probe.c, which is the program, and nvml.c. */
#ifndef RI_SHIM_PROBE_PROGRAM_H
#define RI_SHIM_PROBE_PROGRAM_H

#include "node/probe_answer.h"

/* What rankinit reads. Without it, by hand, a line on stdout says the same of each step. */
extern struct ri_probe *ri_answers;

/*
 * "port mlx5_0 1": before what may not come back. What follows the first word is the subject;
 * kept, zeroed first, has the answer.
 */
void ri_probe_try(struct ri_probe_answer *kept, enum ri_probe_step step, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * It has come back: with an error, 0 for none, and what the line says beside that; NULL: no more.
 * Returns true where there is no error.
 */
bool ri_probe_end(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A name that is one word of printable ASCII, "" for none. Returns what a line says: "-" then. */
const char *ri_probe_word(char out[RI_PROBE_NAME], const char *text);

/* Load the library, which is said. NULL: it was not, which is said too. */
void *ri_probe_load(const char *path);

/* Look a function up; *function is a pointer to one, NULL where the library lacks it. */
bool ri_probe_find(void *library, const char *name, void *function);

/* NVIDIA's libnvidia-ml: how each GPU is. */
void ri_probe_nvml(const char *path);

#endif
