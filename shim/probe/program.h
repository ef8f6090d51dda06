/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of rankinit-probe share: probe.c, which is the program, and nvml.c. */
#ifndef RI_SHIM_PROBE_PROGRAM_H
#define RI_SHIM_PROBE_PROGRAM_H

#include "node/probe_answer.h"

/* One whole line of printable ASCII, whatever a library gave for it. */
void ri_probe_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A name that is one word; "-" for none. Returns out. */
const char *ri_probe_word(char out[RI_PROBE_NAME], const char *text);

/* Load the library, which is said. NULL: it was not, which is said too. */
void *ri_probe_load(const char *path);

/* Look a function up; *function is a pointer to one, NULL where the library lacks it. */
bool ri_probe_find(void *library, const char *name, void *function);

/* NVIDIA's libnvidia-ml: how each GPU is. */
void ri_probe_nvml(const char *path);

#endif
