/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --capture: one JSON document that holds what rankinit read to decide, without secrets.
 * docs/capture.schema.json has its form, and base/recorded.h that of its files.
 *
 * What is opened below the root of a machine is remembered, with the links on the way,
 * and an entry for what a listed folder holds, in memory that helpers (system/apart.h)
 * and the process of the checks share with rankinit.
 */
#ifndef RI_SHIM_SAY_CAPTURE_H
#define RI_SHIM_SAY_CAPTURE_H

#include "base/env.h"
#include "base/host.h"
#include "base/text.h"
#include "model/topology.h"
#include "options/options.h"

/*
 * Put an environment in the place of *env in which no value is secret, and which notes
 * what is asked for; from here on ri_capture_tell remembers. Fails with RI_CODE_MEMORY.
 */
int ri_capture_begin(const struct ri_given *file, struct ri_env *env, struct ri_arena *arena,
	struct ri_error *err);

/* struct ri_host's tell. */
void ri_capture_tell(const struct ri_host *host, const struct ri_host_told *told);

/* What is written beside the files. */
struct ri_captured {
	const struct ri_options *options;
	const struct ri_topology *topology;
	const struct ri_env *env;
	struct ri_host *host;
	const struct ri_text *explanation;
};

/*
 * Write the document, for its user alone, and a line on stdout about it unless the
 * document goes there. Fails with RI_CODE_CAPTURE_REFUSED, OPTION_VALUE or MEMORY.
 */
int ri_capture_end(const struct ri_captured *captured, struct ri_arena *arena,
	struct ri_error *err);

#endif
