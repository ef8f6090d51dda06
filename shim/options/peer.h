/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit in the place of another init (peers.def): it is called by that one's
 * name, and knows its options, its variables and its exit statuses.
 */
#ifndef RI_SHIM_OPTIONS_PEER_H
#define RI_SHIM_OPTIONS_PEER_H

#include "options/options.h"

/* By the first word of the command line, which may be NULL; RI_PEER_NONE: rankinit itself. */
enum ri_peer ri_peer_find(const char *called);

/*
 * Read the words behind the first one, and the peer's variables, as ri_options_read
 * does. Options end at the first other word: glibc's tini would take more behind it.
 */
int ri_peer_read(struct ri_options *options, char *const *argv, const struct ri_env *env,
	struct ri_error *err);

/* The exit status that the peer has where rankinit ends with this one without COMMAND. */
int ri_peer_status(enum ri_peer peer, int status);

/* The text of --help, and of --version or -l. */
void ri_peer_help(struct ri_text *out, const struct ri_options *options);
void ri_peer_version(struct ri_text *out, const struct ri_options *options, const char *version);

#endif
