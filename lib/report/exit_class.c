/* SPDX-License-Identifier: Apache-2.0 */
#include "report/exit_class.h"

#include "base/error.h"

int ri_exit_class(int status, enum ri_retry retry)
{
	if (status == 0)
		return 0;
	switch (retry) {
	case RI_RETRY_NEVER:
		return RI_EXIT_NEVER;
	case RI_RETRY_OTHER_NODE:
		if (status != ri_code_status(RI_CODE_LINK_STOPPED))
			return RI_EXIT_OTHER_NODE;
		break;
	case RI_RETRY_SAME:
	case RI_RETRY_COUNT:
		break;
	}
	return RI_EXIT_SAME;
}
