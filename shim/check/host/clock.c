/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: storage refuses tokens of a node whose clock is minutes off. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "check/check.h"

static const char clock_name[] = "CLOCK_REALTIME";

static const char sync_hint[] =
	"node admin: chrony or another service for time on the host; where it runs, and the host "
	"is a virtual machine that takes its time from below, nothing has to be done";

/* By the system call: musl's adjtimex(3) makes another one, which Docker's filter forbids. */
static void check_sync(struct ri_checking *checking)
{
	struct timex now;
	long state;

	if (!checking->host->live) {
		ri_check_skip(checking, clock_name, "a recorded machine has no clock");
		return;
	}
	memset(&now, 0, sizeof(now));
	state = syscall(SYS_adjtimex, &now);
	if (state < 0) {
		ri_check_unknown(checking, RI_CODE_TIME_SYNC_UNKNOWN, clock_name, "%s",
			strerror(errno));
	} else if ((now.status & STA_UNSYNC) != 0) {
		ri_check_lack(checking, RI_CODE_TIME_SYNC_LOOSE, clock_name, "nothing on the host "
			"tells the kernel that it keeps the clock: where it is minutes off, "
			"storage refuses tokens");
		ri_check_hint(checking, "%s", sync_hint);
	} else {
		ri_check_pass(checking, clock_name, "is kept");
	}
}

const struct ri_check ri_check_time_sync = {
	.id = "time.sync",
	.summary = "somebody keeps the host's clock",
	.reads = "what the kernel was told of its clock (adjtimex(2), STA_UNSYNC); nothing is set",
	.fails = "nobody has told it that the clock is kept",
	.advice = sync_hint,
	.run = check_sync,
};
