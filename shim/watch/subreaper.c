/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/subreaper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "system/log.h"

int ri_orphans_adopt(pid_t self, const struct ri_options *options, struct ri_error *err)
{
	const enum ri_switch subreaper = options->subreaper;
	const char *subject = options->given.subreaper.subject;

	if (self == 1 || subreaper == RI_SWITCH_NEVER ||
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
		return 0;
	if (subreaper == RI_SWITCH_ALWAYS) {
		ri_fail(err, RI_CODE_SUBREAPER_REFUSED, subject,
			"the kernel refused to make rankinit a subreaper: %s", strerror(errno));
		return ri_fail_hint(err, "leave %s out to run without it", subject);
	}
	ri_log(RI_LEVEL_WARNING, "orphaned processes cannot be adopted and may outlive the job: %s "
		"[%s]", strerror(errno), ri_code_name(RI_CODE_SUBREAPER_REFUSED));
	return 0;
}
