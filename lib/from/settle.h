/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_FROM_SETTLE_H
#define RI_FROM_SETTLE_H

#include "from/reading.h"

/*
 * Take the winner out of the claims; the others become those that lost. The
 * topology's identity and scope stand already: no other source gives its tuple.
 * Where the nodes are several, which must be known by then, a master that each of
 * them is itself gives way to one that is not: that one is returned, else NULL.
 */
const struct ri_fact *ri_claims_choose(struct ri_topology *out, struct ri_fact *claims,
	enum ri_fact_id id);

/*
 * Step 3: the facts as they are said, the best claim for each of them, and how
 * many nodes and local ranks follow from that. Without an identity broken values
 * are findings. With one, a broken value that is needed is an error:
 * RI_CODE_ENV_VALUE and the name of the variable, or the code of the rule that
 * it breaks. Facts stated by hand win one by one, by whichever source the identity is given;
 * what is wrong with them is always an error: RI_CODE_OPTION_VALUE,
 * RI_CODE_OPTION_CONFLICT. A source that is forced and gives no identity is
 * RI_CODE_SOURCE_ABSENT.
 */
int ri_claims_settle(struct ri_topology *out, struct ri_reading *reading);

/*
 * When all is derived: what is broken and was not needed is a finding, and
 * RI_CODE_ENV_VALUE where no other claim says what it should have.
 */
int ri_claims_report(const struct ri_topology *topology, struct ri_reading *reading);

#endif
