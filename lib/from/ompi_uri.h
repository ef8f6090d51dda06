/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two grammars in which Open MPI's daemons tell their children about
 * themselves.
 *
 * A daemon's URI: "<job>.<index>;tcp://a,b:port;tcp6://[c,d]:port" (Open MPI
 * 4.1, orte/mca/oob/base/oob_base_stubs.c and orte/mca/oob/tcp; a PMIx server
 * writes the same shape, openpmix src/mca/ptl).
 * The node list: "vm,n[1:0-1]-x@0(3)": names, with ranges in brackets after
 * the number of their digits, and after '@' the daemons that run there
 * (Open MPI 4.1, orte/mca/regx).
 */
#ifndef RI_FROM_OMPI_URI_H
#define RI_FROM_OMPI_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "from/endpoint.h"

/* The index of the daemon whose URI this is; false where there is none. */
bool ri_ompi_uri_index(const char *uri, uint64_t *index);

/*
 * The first address in uri that is no loopback and, where other is not NULL,
 * does not stand in other too: what two machines both have (a docker bridge)
 * is the way to neither. False where there is none.
 */
bool ri_ompi_uri_address(const char *uri, const char *other, struct ri_slice *out);

/*
 * The name of the node that daemon index runs on. False where the list does
 * not say, cannot be read, or the name is longer than size - 1.
 */
bool ri_ompi_regex_host(const char *regex, uint64_t index, char *name, size_t size);

#endif
