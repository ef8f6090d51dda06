/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lives of a node, as the centre knows them: what it makes of a hello (ri_centre_hello), and
 * when another life may take the place of one that is gone. centre.h has what it keeps of them.
 *
 * The life that came first has the place. Another one is a guest, which is told what happens and
 * decides nothing: it may be a copy of the container. That the first one is gone is proved when
 * it closed its connection, as the kernel does for a process that it kills, a younger life calls,
 * and the first one does not call again for as long as it needs. A connection that broke proves
 * nothing. After the verdict guests are sent away: the next centre may take them.
 */
#ifndef RI_LINK_LIVES_H
#define RI_LINK_LIVES_H

#include "link/centre.h"

/* When a life is gone whose node has a guest, or INT64_MAX. */
int64_t ri_lives_due(const struct ri_centre *centre);

/* Call this behind each thing that was heard, and when it is due. */
void ri_lives_pass(struct ri_centre *centre, int64_t now);

#endif
