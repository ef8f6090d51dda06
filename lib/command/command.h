/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command is, judged by its words alone: a training process, a
 * launcher that starts the ranks of its node, or one that starts a whole job.
 * The launchers that are known, and the wrappers that are looked through,
 * stand in launchers.def.
 */
#ifndef RI_COMMAND_COMMAND_H
#define RI_COMMAND_COMMAND_H

#include "base/env.h"
#include "base/text.h"

/* The name of the shell that this is a path or the name of: "bash"; NULL: of none. */
const char *ri_word_shell(const char *word);

/*
 * What the shell at words is given to run (POSIX, sh): where *is_line is set the text behind -c,
 * which other options may precede, as in "-lc"; else a script. NULL: neither.
 */
const char *ri_words_shell_runs(char *const *words, bool *is_line);

/* Does it end so, and is more than that: "train.py", ".py"? */
bool ri_word_ends(const char *word, const char *end);

/*
 * Are the first length bytes of the word this name, which '\0' or a blank
 * ends, with '_' for '-' or not?
 */
bool ri_word_is_name(const char *word, const char *name, size_t length);

/* Is the name in a list with blanks between, or where it may be cut short the beginning of one? */
bool ri_word_is_listed(const char *list, const char *name, bool shortens);

enum ri_mode {
	RI_MODE_AUTO,		/* by the command: what is asked for, never an answer */
	RI_MODE_PROCESS,	/* the command is a rank, or starts one */
	RI_MODE_NODE,		/* the command starts the ranks of this node */
	RI_MODE_NONE,		/* the command starts the whole job */
};

/* One launcher: what follows from knowing it. */
struct ri_launcher {
	const char *name;
	enum ri_mode mode;
	bool reads_pet;		/* takes PET_* for its defaults, as torchrun does */
	const char *keeps;	/* variables of an identity that are not taken away, or NULL */
	bool counts;		/* ... unless that is where the identity was read */
	bool shortens;		/* a long option of its may be cut short, as argparse allows */
	/* It finds the nodes without us, or each node may well have a job of its own. */
	bool needs_no_nodes;
	const char *letters;	/* its options that take a value: see launchers.def */
	const char *longs;
};

struct ri_command {
	enum ri_mode mode;
	const struct ri_launcher *launcher;	/* NULL: not a known one */
	char *const *words;	/* what follows the launcher's name; NULL without one */
	char *const *argv;	/* all of its words, or NULL */
	bool stated;		/* the mode was asked for */
	bool is_python;		/* no known launcher, and a program of Python's for certain */
	/* what Python runs there, where that is known; NULL of what is no launcher but Python's */
	const char *script, *module;
};

/*
 * Judge the NULL-terminated words of a command, NULL for no command at all.
 * A mode that is asked for is the answer; the launcher is found all the same.
 * Never fails: what is not understood is not a launcher.
 */
void ri_command_read(struct ri_command *out, char *const *argv, enum ri_mode asked);

/* Does this line of a shell have the name of a known launcher among its words? */
bool ri_command_text_names_launcher(struct ri_span text);

/*
 * Does the launcher have this long option ("--master-addr"; '_' is '-') among
 * its own, ahead of the script, perhaps cut short? Then *value, where value is
 * not NULL, is what it is given, or NULL. False without a known launcher. What is
 * short for several options counts as each: the launcher refuses it.
 */
bool ri_command_has(const struct ri_command *command, const char *option, const char **value);

/*
 * How many ranks of this node the launcher is told to start by its own words:
 * true where they say a plain number. nodes: of the job, for those that are
 * told how many there are in all; 0: not known.
 */
bool ri_command_ranks(const struct ri_command *command, uint64_t nodes, uint64_t *out);

/*
 * Does the option stand anywhere among the words behind a known launcher, its
 * script's own included, perhaps cut short as argparse allows? For those who
 * would refuse what is not there.
 */
bool ri_command_mentions(const struct ri_command *command, const char *option);

/*
 * Do the words behind a known launcher say how many nodes there are, which one this is or
 * where they meet, or that there is one alone? A script's own words count, too.
 */
bool ri_command_tells_nodes(const struct ri_command *command);

/*
 * Was torchrun told not to look beyond this process: --standalone, or
 * --nnodes=1, or PET_STANDALONE=1? False for a command that is no launcher.
 */
bool ri_meeting_is_here(const struct ri_command *command, const struct ri_env *env);

/*
 * Was the launcher told where to meet by its words, or torchrun by PET_RDZV_*?
 * Then no other launcher has to know. False as above.
 */
bool ri_meeting_is_told(const struct ri_command *command, const struct ri_env *env);

/* Is it torchrun or made of it, so that it needs a master of its words or of PET_*? */
bool ri_launcher_is_torchruns(const struct ri_launcher *launcher);

/* The launcher's name, or "the command". */
const char *ri_command_name(const struct ri_command *command);

/* The name of a launcher, a wrapper or Python that is nearest to this word, or NULL. */
const char *ri_command_nearest(const char *word);

/* "auto", "process", "node", "none". */
const char *ri_mode_name(enum ri_mode mode);

/*
 * Variables in the command's arguments. A container's CMD is no shell, so
 * `--local_rank $LOCAL_RANK` arrives as it was written.
 */

enum ri_expand {
	/* "$NAME" and "${NAME}" alone, and what ends in "=$NAME" or "=${NAME}" */
	RI_EXPAND_AUTO,
	RI_EXPAND_ALL,	/* wherever they stand in an argument */
	RI_EXPAND_OFF,
};

/*
 * The words of a command with each NAME that stands in variables, and is not
 * removed there, replaced by its value. All other text stays, byte for byte:
 * there is no quoting, "$$" and "\$" mean nothing, and what was put in is not
 * looked at again. argv[0], the command itself, stays. Returns argv where
 * nothing changes, else a new list; NULL when out of memory.
 */
char *const *ri_expand_words(char *const *argv, enum ri_expand how,
	const struct ri_env_edits *variables, struct ri_arena *arena);

#endif
