/* SPDX-License-Identifier: Apache-2.0 */
#include "report/exit_class.h"

#include "base/error.h"

int ri_exit_class(int status, enum ri_cause_word why)
{
	if (status == 0)
		return 0;
	switch (ri_cause_word_retry(why)) {
	case RI_RETRY_NEVER:
		return RI_EXIT_NEVER;
	case RI_RETRY_OTHER_NODE:
		if (status != ri_code_status(RI_CODE_LINK_STOPPED))
			return RI_EXIT_OTHER_NODE;
		break;
	case RI_RETRY_SAME:
		break;
	}
	return RI_EXIT_SAME;
}
