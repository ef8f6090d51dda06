/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that is asked, and what it has for ranks: CPUs that may be used
 * and GPUs that can be seen. Only findings and arena are written to.
 */
#ifndef RI_NODE_NODE_H
#define RI_NODE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/error.h"
#include "base/host.h"
#include "base/limits.h"
#include "base/text.h"

/*
 * Sets of CPUs, and the lists that the kernel writes of them: "0-3,8-11" (cpuset(7), "List
 * format"). CPU n is bit n % 64 of word n / 64: where a long has 64 bits, that is what
 * sched_setaffinity(2) takes.
 */
struct ri_cpus {
	uint64_t words[RI_MAX_CPUS / 64];
};

/*
 * Read a list. False, and *out untouched, where it is none, or a number in it
 * is RI_MAX_CPUS or larger. An empty list is the empty set.
 */
bool ri_cpus_read(const char *text, struct ri_cpus *out);

/* The same from a file of the machine. */
bool ri_cpus_read_file(struct ri_host *host, const char *path, struct ri_cpus *out);

/*
 * Cpus_allowed_list of a process, from its status file (proc(5)); what is
 * offline may be in it.
 */
bool ri_cpus_read_allowed(struct ri_host *host, const char *path, struct ri_cpus *out);

/* Append the list of them. */
void ri_cpus_add(struct ri_text *text, const struct ri_cpus *cpus);

void ri_cpus_set(struct ri_cpus *cpus, unsigned cpu);
bool ri_cpus_has(const struct ri_cpus *cpus, unsigned cpu);

/* The first from this one on, or -1. */
int ri_cpus_next(const struct ri_cpus *cpus, unsigned from);

size_t ri_cpus_size(const struct ri_cpus *cpus);
bool ri_cpus_equal(const struct ri_cpus *a, const struct ri_cpus *b);

/* What is in both; returns how many. */
size_t ri_cpus_and(struct ri_cpus *into, const struct ri_cpus *other);

struct ri_node {
	struct ri_host *host;
	const struct ri_env *env;
	struct ri_arena *arena;
	struct ri_findings *findings;
	/* sched_getaffinity(2) of this machine; NULL: what the recorded one says */
	const struct ri_cpus *affinity;
};

/*
 * For --nproc-per-node=cpu: the CPUs that may be used, at least 1.
 * RI_CODE_CPU_UNKNOWN where the machine does not say.
 */
int ri_cpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);

/*
 * For --nproc-per-node=gpu and auto: the GPUs that a program would see, which
 * may be none. RI_CODE_ENV_VALUE for a CUDA_VISIBLE_DEVICES that cannot be
 * used, RI_CODE_GPU_UNKNOWN for GPUs that are there and cannot be counted.
 */
int ri_gpus_count(const struct ri_node *node, uint64_t *count, struct ri_error *err);

#endif
