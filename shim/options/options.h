/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line and its RANKINIT_ twins, read into one struct.
 */
#ifndef RI_SHIM_OPTIONS_OPTIONS_H
#define RI_SHIM_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/signals.h"
#include "base/text.h"
#include "check/wishes.h"
#include "command/command.h"
#include "model/context.h"
#include "node/place.h"
#include "play/simulation.h"

enum ri_action {
	RI_ACTION_LAUNCH,
	RI_ACTION_HELP,
	RI_ACTION_VERSION,
	RI_ACTION_LIST,
	RI_ACTION_PRINT_ENV,
	RI_ACTION_EXPLAIN,
	RI_ACTION_STATUS,
	RI_ACTION_AUTOPSY,
	RI_ACTION_CHECK,
	RI_ACTION_BLAME,
	RI_ACTION_INSTALL,
};

/* Whose options are read, by the name that rankinit is called by. */
enum ri_peer { RI_PEER_NONE, RI_PEER_TINI, RI_PEER_DUMB_INIT };

/* auto, or a choice made by hand */
enum ri_switch { RI_SWITCH_AUTO, RI_SWITCH_ALWAYS, RI_SWITCH_NEVER };

/* How many ranks are started here: stated, or by what is here. */
enum ri_nproc { RI_NPROC_STATED, RI_NPROC_GPU, RI_NPROC_CPU, RI_NPROC_AUTO };

/* What the nodes of a job may do for each other. */
enum ri_link_mode { RI_LINK_MODE_NO, RI_LINK_MODE_STOP, RI_LINK_MODE_TELL };

/* What each line of a rank begins with. */
enum ri_prefix { RI_PREFIX_NONE, RI_PREFIX_RANK, RI_PREFIX_NODE };

enum {
#define RI_OPTION(symbol, ...) RI_OPTION_##symbol,
#include "options/options.def"
	RI_OPTION_COUNT
};

/* The rows of options that are gone. */
enum {
#define RI_OPTION_GONE(...) + 1
	RI_OPTION_GONE_COUNT = 0
#include "options/options.def"
};

/* What is given of each option, by name or by number; no subject: nothing is. */
union ri_options_given {
	struct ri_given at[RI_OPTION_COUNT];
	struct {
#define RI_OPTION(symbol, ...) struct ri_given symbol;
#include "options/options.def"
	};
};

struct ri_options {
	union ri_options_given given;
	enum ri_action action;
	const char *action_value;	/* of --list, --explain and the like; NULL: none given */
	char *const *command;		/* NULL-terminated and not empty, or NULL */
	const struct ri_given *took_last;	/* whose value is the last word, or NULL */
	bool disabled;			/* RANKINIT_DISABLE: a plain init */
	/* Of each option that is gone the name by which it is given, in options.def's order. */
	const char *gone[RI_OPTION_GONE_COUNT];

	/* As options.def says. Of wishes files and the host name are the caller's. */
	enum ri_mode launch;
	enum ri_expand expand;
	enum ri_switch supervise;
	enum ri_link_mode link;
	enum ri_prefix log_prefix;
	bool signal_group, exit_class, no_new_privs, quiet, verbose;
	uint64_t grace_ms, linger_ms, restart_wait_ms, link_grace_ms, roll_call_ms, stall_ms;
	uint64_t autopsy_after_ms, wait_master_ms;
	uint64_t restarts, link_port;
	int autopsy_signal;		/* 0: none */
	struct ri_signal_map signal_map, exit_map;
	struct ri_simulation simulation;
	struct ri_wishes wishes;
	enum ri_nproc nproc;		/* how wishes.nproc_count comes about */
	struct ri_place_wish place;
	struct ri_check_wishes checks;

	/* Under the name of another init; what only such a one has is 0 otherwise. */
	enum ri_peer peer;
	const char *called;		/* the name that it has in messages */
	int parent_signal;		/* that we get when our parent ends; 0: none */
	bool tells_reaped;		/* warn of each orphan */
	bool stops_too;			/* stop as well where a stop of job control is forwarded */
};

/*
 * Read the command line, and then the twins of what does not stand there; none
 * for --help, --version and --list. Everything after the first word that is no
 * option, or after "--", is the command, byte for byte.
 * A twin that contradicts another option on the command line is left out, and
 * a finding says so. Unknown RANKINIT_ variables become findings. With RANKINIT_DISABLE set, no
 * other twin counts and the command line alone is read.
 *
 * Where argv[0] is the name of another init, that one's options and variables are
 * read instead of the command line of rankinit's own; the twins count there too.
 *
 * Fails with a usage code; what was read so far (verbosity, colour, the exit
 * map) is in *options then, so that the error can be shown accordingly.
 */
int ri_options_read(struct ri_options *options, char *const *argv, const struct ri_env *env,
	struct ri_findings *findings, struct ri_error *err);

/*
 * RI_CODE_OPTION_CONFLICT, and -1, where two options of the command line, or two of
 * the environment, exclude each other, or one lacks what it is about.
 */
int ri_options_check(const struct ri_options *options, struct ri_error *err);

/* A warning, RI_CODE_OPTION_GONE, for each option of an earlier version that is given. */
void ri_options_judge_gone(const struct ri_options *options, struct ri_findings *findings);

/*
 * Among the words of the command: a warning, RI_CODE_COMMAND_EMPTY, about the first argument such
 * as --local_rank that has an empty value; and a note, RI_CODE_OPTION_BEHIND, about the first
 * option that only rankinit has and no launcher there knows: the command may have one of that
 * name, too. Where stderr is a terminal the note is a warning.
 */
void ri_options_judge_words(const struct ri_options *options, const struct ri_command *command,
	struct ri_findings *findings);

/*
 * Take the twins out of the child's environment. Nothing to do when disabled.
 * applied: this node is looked at as the options say. Where it is not, those about
 * checks stay, as the command line has them if it does: the command may be a
 * rankinit that looks, or start one.
 */
int ri_options_scrub(const struct ri_options *options, const struct ri_env *env, bool applied,
	struct ri_env_edits *edits, struct ri_arena *arena, struct ri_error *err);

/*
 * The options of the command line but those that are left out (by number, ended by
 * -1), as words that mean the same, ended by NULL. NULL when out of memory.
 */
char **ri_options_words(const struct ri_options *options, const int *left_out,
	struct ri_arena *arena);

/*
 * The text of --help, or of --help=WORD; false where no option has that word. And the table as
 * --list=options prints it.
 */
bool ri_options_help(struct ri_text *out, const char *word);
void ri_options_list(struct ri_text *out);

/*
 * peer.c: rankinit in the place of another init (peers.def). It is called by that one's name, and
 * knows its options, its variables and its exit statuses.
 */

/* By the first word of the command line, which may be NULL; RI_PEER_NONE: rankinit itself. */
enum ri_peer ri_peer_find(const char *called);

/* The exit status that the peer has where rankinit ends with this one without COMMAND. */
int ri_peer_status(enum ri_peer peer, int status);

/* The text of --help, and of --version or -l. */
void ri_peer_help(struct ri_text *out, const struct ri_options *options);
void ri_peer_version(struct ri_text *out, const struct ri_options *options, const char *version);

#endif
