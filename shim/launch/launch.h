/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From us to the command: spawn it as a child, once or for each rank, or
 * become it.
 *
 * The child runs in our memory until it has executed the command or failed, and
 * we wait for that: no signal can fall between fork and setpgid, and a failure
 * comes back as a step and an errno in shared memory. It is no vfork(2), which
 * would hold us in the kernel for as long as the command's file system does not
 * answer: a stop ends the waiting.
 */
#ifndef RI_SHIM_LAUNCH_LAUNCH_H
#define RI_SHIM_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/account.h"
#include "options/options.h"

struct ri_launch {
	pid_t self;		/* getpid() */
	char *const *argv;	/* not empty */
	char **envp;		/* a LISTEN_PID that names us is rewritten in it */
	int input;		/* fd that becomes its standard input, 3 or above; -1: ours */
	int terminal;		/* fd of a terminal to hand over, or -1 */
	bool new_group;		/* the child leads a process group of its own */
	bool told_by_step;	/* what a Slurm step sends us reaches the child as well */
	pid_t told_by;		/* and what this launcher sends our process group; 0: none */
	bool admits_us;		/* our helpers may read its memory, where Yama forbids it */
	bool die_with_us;	/* SIGKILL for the child when we are gone */
	const struct ri_cpus *cpus;	/* that it is bound to; NULL: as we are */
	int word, outer;	/* fds that it inherits, and does not; 0: none */
	int outputs[2];		/* its stdout and stderr; -1: as ours */
	const struct rlimit *files_before;	/* its limit of open files; NULL: as ours */
	const struct ri_privileges *privileges;
	const struct ri_signal_map *signal_map;
	/* made by ri_launch_prepare */
	const char *path;	/* in which a command without a slash is looked for */
	char *candidates;	/* paths to try, each ended by '\0', then an empty one */
	char *listen_pid;	/* room for its digits, or NULL */
	/* made by ri_launch_spawn: a stop came before the command was executed */
	bool hangs;
};

/* All that takes memory. argv[0], and PATH in envp, must be final. */
int ri_launch_prepare(struct ri_launch *launch, struct ri_arena *arena, struct ri_error *err);

/*
 * Start the command as a child. Returns its pid, or -1 with the reason and
 * its exit status in *err: EXEC_NOT_FOUND, EXEC_DENIED, EXEC_TOO_BIG,
 * SPAWN_REFUSED, PLACEMENT_REFUSED, PRIVILEGE_REFUSED. A child that failed is
 * reaped already. When this returns the child has copies of argv and envp: both
 * may be changed for the next one. Where launch->hangs it has not, and shares
 * our memory still; the stop that came waits in the queue, it can be told by
 * signals as any child, and none may be started after it.
 */
pid_t ri_launch_spawn(struct ri_launch *launch, struct ri_error *err);

/* Become the command: same process, same group. Returns only if that failed. */
int ri_launch_replace(const struct ri_launch *launch, struct ri_error *err);

/*
 * exec_failure.c: why no candidate could be executed, by the errno of the last one and by what
 * there is now at their paths: RI_CODE_EXEC_NOT_FOUND, EXEC_DENIED or EXEC_TOO_BIG. Returns -1.
 */
int ri_exec_explain(const struct ri_launch *launch, int error, struct ri_error *err);

/* privileges.c: --user, --cap-drop, --cap-keep, --no-new-privs, applied in the child. */

/* Of a process: capability n is bit n. */
struct ri_capabilities {
	uint64_t permitted;	/* and effective */
	uint64_t inheritable;
};

/* What the child has to do; all zero: nothing. */
struct ri_privileges {
	bool change_user;
	struct ri_account account;
	bool change_caps;
	uint64_t drop;		/* leaves the bounding set */
	uint64_t keep;		/* raised in the ambient set of another user */
	struct ri_capabilities armed;	/* while the bounding set is cut: what we have, effective */
	struct ri_capabilities final;
	bool no_new_privs;
};

/* Read the options. Costs nothing where none of them is given. */
int ri_privileges_prepare(struct ri_privileges *out, const struct ri_options *options,
	struct ri_host *host, struct ri_arena *arena, struct ri_error *err);

/*
 * In the child, which shares our memory: system calls only. Returns 0, or -1 with errno and the
 * step that failed, as "set the user id".
 */
int ri_privileges_apply(const struct ri_privileges *privileges, const char **step);

#endif
