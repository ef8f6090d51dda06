/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launcher is told of where its nodes meet, by its own words and torchrun's variables, and
 * what that makes of the job's name.
 */
#ifndef RI_LINK_TOLD_H
#define RI_LINK_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/context.h"
#include "model/topology.h"

/*
 * What it is told by a word, else by a variable of torchrun's (NULL: there is none); "" for a word
 * without a value, NULL where it is not told, or is not known.
 */
const char *ri_told_find(const struct ri_context *context, const char *option,
	const char *variable);

/* The options by which it is told a host and a port: pairs, ended by a NULL host. */
struct ri_told_pair {
	const char *host, *port;
	const char *host_variable, *port_variable;	/* of torchrun, or NULL */
};
extern const struct ri_told_pair ri_told_pairs[];

/*
 * A port in words: *port. The variable of it, which rankinit or a shell replaces, is the one that
 * is known, and leaves it. False where it is neither.
 */
bool ri_told_port(uint16_t *port, const char *value);

/* Is it the variable of node 0's host, which rankinit or a shell replaces? */
bool ri_told_is_master(const char *value, size_t length);

/*
 * What tells the job from others whose node 0 is on the same host: what the command says of the
 * meeting, and what the platform says of the job. It is the same on all nodes of the job, except
 * where they are told to meet by names that have nothing in common. *apart: something in it is the
 * job's own, and no default. Returns NULL where memory ran out.
 */
const char *ri_told_name(const struct ri_topology *topology, const struct ri_context *context,
	bool *apart);

#endif
