/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the libraries that carry the data have in common: lists of network
 * interfaces, in the environment. They are judged, never written.
 */
#ifndef RI_TO_NETWORK_H
#define RI_TO_NETWORK_H

#include <stdbool.h>

#include "to/writing.h"

/* Does the list, with commas between, name the loopback interface and no other? */
bool ri_network_is_loopback(const char *list);

/*
 * Warn of the first interface of the list that this machine has not. Only a
 * machine whose files may be read is asked.
 */
void ri_network_judge_names(struct ri_writing *writing, const char *variable, const char *list);

/* A warning about the variable's value, RI_CODE_NETWORK_VALUE. */
struct ri_finding *ri_network_warn(struct ri_writing *writing, const char *variable,
	const char *what);

#endif
