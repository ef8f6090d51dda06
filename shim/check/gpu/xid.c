/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's log has on the GPUs, where it can be read at all. */
#include <inttypes.h>
#include <stdio.h>

#include "check/check.h"
#include "check/machine.h"
#include "node/gpus.h"
#include "node/xids.h"

enum { SHOWN = 12 };

static const char log_path[] = "/dev/kmsg";

static void say_seen(struct ri_checking *checking, const struct ri_xid_seen *seen, uint64_t uptime)
{
	uint64_t at = seen->last_us / 1000000, ago = uptime > at ? uptime - at : 0;
	char times[48] = "";

	if (seen->count > 1)
		snprintf(times, sizeof(times), ", %" PRIu64 " times", seen->count);
	ri_check_note(checking, RI_CODE_GPU_XID_LOGGED, seen->address, "the kernel's log has "
		"Xid %" PRIu64 " of this GPU: %s%s, last %" PRIu64 " min ago", seen->kind->number,
		seen->kind->text, times, ago / 60);
	ri_check_advise(checking);
}

static void check_xid(struct ri_checking *checking)
{
	static struct ri_xids xids;
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &findings,
	};
	struct ri_gpus gpus = { .count = 0 };
	uint64_t uptime = 0;
	size_t shown = 0;

	if (!ri_host_has(checking->host, "proc/driver/nvidia") ||
		ri_xids_read(&xids, checking->host, 0) != 0) {
		ri_check_skip(checking, log_path, "no NVIDIA driver is here, or the kernel's log "
			"cannot be read");
		return;
	}
	if (ri_gpus_find(&gpus, &node, &err) < 0)
		gpus.count = 0;
	ri_machine_uptime(checking->host, &uptime);
	for (size_t i = 0; i < xids.count && shown < SHOWN; i++) {
		if (xids.list[i].kind->fault == RI_XID_PROGRAM ||
			!ri_xid_is_ours(&gpus, xids.list[i].address))
			continue;
		say_seen(checking, &xids.list[i], uptime);
		shown++;
	}
	if (shown == 0)
		ri_check_pass(checking, log_path, "has no Xid of a hardware error");
}

const struct ri_check ri_check_gpu_xid = {
	.id = "gpu.xid",
	.summary = "the kernel has logged no hardware error of a GPU",
	.reads = "/dev/kmsg, where the container has it and may read it (kernel documentation, "
		"ABI/testing/dev-kmsg), CLOCK_BOOTTIME; Xid 48, 62, 63, 64, 74, 79, 92, 94, 95, "
		"119, 120 and 140 (NVIDIA XID Errors)",
	.fails = "never: a note if there is one, because the log goes back to the machine's start",
	.advice = "it may be of an earlier job; node admin: NVIDIA XID Errors says what to do "
		"about each",
	.unverified = "all of it",
	.run = check_xid,
};
