/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: storage refuses tokens of a node whose clock is minutes off. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "check/check.h"

static const char clock_name[] = "CLOCK_REALTIME";

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
		ri_check_lack(checking, RI_CODE_TIME_SYNC_LOOSE, clock_name, "the kernel was not "
			"told that the clock is synchronised: if it is minutes off, storage "
			"rejects tokens");
	} else {
		ri_check_pass(checking, clock_name, "is synchronised");
	}
}

const struct ri_check ri_check_time_sync = {
	.id = "time.sync",
	.summary = "the host's clock is synchronised",
	.reads = "the kernel's record of its clock (adjtimex(2), STA_UNSYNC); nothing is set",
	.fails = "the kernel was not told that the clock is synchronised",
	.advice = "node admin: run chrony or another time service on the host; if one runs, or "
		"the host is a virtual machine whose hypervisor sets the clock, nothing has to be "
		"done",
	.run = check_sync,
};
