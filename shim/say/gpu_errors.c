/* SPDX-License-Identifier: Apache-2.0 */
#include "say/gpu_errors.h"

#include <fcntl.h>
#include <string.h>

#include "node/xids.h"
#include "system/apart.h"
#include "system/clock.h"

/*
 * The records' clock (Linux kernel/printk/printk.c, local_clock) is neither CLOCK_MONOTONIC nor
 * CLOCK_MONOTONIC_RAW, though it began with them: on a machine of its own it goes like that,
 * where a hypervisor tells the time like this. So a moment is one between the two, and a bit more.
 */
#define BIT_US INT64_C(1000000)

enum { MOST_MS = 1000 };	/* for a log of millions of bytes; a driver in trouble may hang */

struct look {
	const struct ri_env *env;
	int64_t since_us;
	struct ri_xids xids;
	struct ri_gpus gpus;
	struct ri_arena arena;
};

static int64_t us_of(clockid_t clock)
{
	struct timespec now = { .tv_sec = 0 };

	ri_clock_read(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The earliest, or the latest, that the log may have had for that time of day. */
static int64_t log_time(struct timespec at, bool latest)
{
	int64_t ago = us_of(CLOCK_REALTIME) - ((int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000);
	int64_t one = us_of(CLOCK_MONOTONIC), other = us_of(CLOCK_MONOTONIC_RAW);

	/* the time of day was set back meanwhile, or is not known */
	if (ago < 0 || at.tv_sec == 0)
		ago = 0;
	if (latest)
		return (one > other ? one : other) - ago + BIT_US;
	return (one < other ? one : other) - ago - BIT_US;
}

/* The driver's own files may hang where it does, so they are asked for only where it matters. */
static int look(void *argument)
{
	struct look *look = argument;
	struct ri_host host = { .root = AT_FDCWD, .live = true };
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = &host, .env = look->env, .arena = &look->arena, .findings = &findings,
	};
	uint64_t since_us = look->since_us < 0 ? 0 : (uint64_t)look->since_us;

	if (ri_xids_read(&look->xids, &host, since_us) != 0)
		return -1;
	look->gpus.count = 0;
	if (look->xids.count > 0 && ri_gpus_find(&look->gpus, &node, &err) < 0)
		look->gpus.count = 0;
	return 0;
}

/* Of its GPU's, the worst one from here on, and of these the first. */
static const struct ri_xid_seen *find_worst(const struct ri_xids *xids, size_t from)
{
	const struct ri_xid_seen *worst = &xids->list[from];

	for (size_t i = from + 1; i < xids->count; i++)
		if (strcmp(xids->list[i].address, worst->address) == 0 &&
			xids->list[i].kind->fault > worst->kind->fault)
			worst = &xids->list[i];
	return worst;
}

static bool is_told(const struct ri_gpu_errors *errors, const char *address)
{
	for (size_t i = 0; i < errors->count; i++)
		if (strcmp(errors->items[i].address, address) == 0)
			return true;
	return false;
}

static void choose(struct ri_gpu_errors *out, const struct look *look, int64_t end_us)
{
	const struct ri_xid_seen *worst;

	for (size_t i = 0; i < look->xids.count; i++) {
		const struct ri_xid_seen *seen = &look->xids.list[i];

		if (!ri_xid_is_ours(&look->gpus, seen->address))
			continue;
		out->more += seen->count;
		if (out->count == RI_GPU_ERRORS || is_told(out, seen->address))
			continue;
		worst = find_worst(&look->xids, i);
		out->items[out->count++] = (struct ri_gpu_error){
			.number = worst->kind->number, .address = worst->address,
			.text = worst->kind->text,
			.of_program = worst->kind->fault == RI_XID_PROGRAM,
			.fatal = worst->kind->fault == RI_XID_FATAL,
			.later = (int64_t)worst->first_us > end_us,
		};
	}
	out->more -= out->count;
}

const struct ri_gpu_errors *ri_gpu_errors_find(const struct ri_outcome *outcome,
	const struct ri_env *env)
{
	static struct look found;
	static struct ri_gpu_errors errors;
	struct ri_host host = { .root = AT_FDCWD, .live = true };
	const struct ri_apart looking = {
		.work = look, .argument = &found, .subject = "/dev/kmsg", .path = "/dev/kmsg",
		.most_ms = MOST_MS, .deaf_ms = MOST_MS,
	};
	int status;

	if (outcome->first < 0 || !ri_host_has(&host, "proc/driver/nvidia"))
		return NULL;
	found.env = env;
	found.since_us = log_time(outcome->started, false);
	status = ri_apart(&looking);
	errors = (struct ri_gpu_errors){ .count = 0 };
	if (status == 0)
		choose(&errors, &found, log_time(outcome->ranks[outcome->first].ended, true));
	ri_arena_release(&found.arena);
	return status == 0 ? &errors : NULL;
}
