/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file of ours is: its folder, held open from the start, and its name in there. We may be
 * root while the command is not, so that what it does to the names on the way must not matter:
 * links that are there at the start are followed then, once, and no link is followed later.
 *
 * Nor is one that a container that ended before, or its neighbour, may have left for us: where we
 * are root a link must belong to root, and its name be no second one that another user may have
 * given it; else one in a folder like /tmp must belong to root, to us or to the folder's owner, as
 * the kernel has it (fs.protected_symlinks, proc_sys_fs(5)).
 */
#ifndef RI_SHIM_SYSTEM_HELD_PATH_H
#define RI_SHIM_SYSTEM_HELD_PATH_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/arena.h"

struct ri_held_path {
	int folder;		/* O_PATH, 3 or more; -1: the name says it all */
	const char *name;	/* in the folder; of what is in /dev or /proc the path */
};

/* Values of errno that no file system gives: why a file that is there is not taken. */
enum {
	RI_SPOT_FOREIGN = EREMCHG,	/* a link that another user may have made */
	RI_SPOT_SECOND_NAME = ENOTUNIQ,	/* the caller's: see ri_held_path_is_anothers_name */
};

/* What these mean, in words; of all others what strerror(3) says, or better. */
const char *ri_held_path_reason(int error);

/* Names in /dev and /proc are the kernel's or the container's, and stay; not those in /dev/shm. */
bool ri_held_path_is_kept(const char *path);

/*
 * Find the spot of a path, whose file need not be there. Returns 0, or -1 and errno:
 * RI_SPOT_FOREIGN where a link on the way must not be followed, ELOOP where they lead in a circle.
 */
int ri_held_path_find(struct ri_held_path *spot, const char *path, struct ri_arena *arena);

/*
 * Find the folder of that path again, where it was removed and made anew since, and only if every
 * folder on the way is root's or ours, and no other user may write to it, /tmp and its like aside:
 * then it is no trick. It gets the same descriptor, which may be a kept one. -1 and errno.
 */
int ri_held_path_renew(struct ri_held_path *spot, const char *path);

/* openat(2), with O_NOFOLLOW where there is a folder: RI_SPOT_FOREIGN. The fd is 3 or more. */
int ri_held_path_open(const struct ri_held_path *spot, int flags);

/*
 * Where we are root: has the file, or the link, another name besides, and could another user have
 * made this one in the folder? link(2) takes what belongs to root, where the kernel lets it
 * (fs.protected_hardlinks, proc_sys_fs(5)).
 */
bool ri_held_path_is_anothers_name(const struct stat *file, int folder);

void ri_held_path_close(struct ri_held_path *spot);

/*
 * A name that is hardly in use yet, START-xxxxxxxxEND, another one each time: other rankinits may
 * write to the same folder, also as PID 1 each. Make it with O_EXCL or mkdirat(2).
 */
enum { RI_SPOT_NEW = 32, RI_SPOT_ATTEMPTS = 8 };

void ri_held_path_name_new(char name[RI_SPOT_NEW], const char *start, const char *end);

/* The same descriptor or a copy that is 3 or more, with O_CLOEXEC; -1 stays. */
int ri_fd_move_up(int fd);

/*
 * Have this name, of less than a hundred bytes, until the last copy of the descriptor is closed. It
 * is abstract (unix(7)): of the network namespace, as ports are. Returns the descriptor, 3 or more
 * and with O_CLOEXEC; or -1 and errno, EADDRINUSE where another process has it.
 */
int ri_held_name(const char *name);

#endif
