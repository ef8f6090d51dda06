/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/subreaper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "system/log.h"

void ri_orphans_adopt(pid_t self)
{
	if (self != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		ri_log(RI_LEVEL_WARNING, "orphaned processes cannot be adopted and may outlive the "
			"job: %s [%s]", strerror(errno), ri_code_name(RI_CODE_SUBREAPER_REFUSED));
}
