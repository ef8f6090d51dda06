/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a machine, read below a root directory, "/" of the live one or a recorded tree. No
 * path, and no symbolic link in the tree, leads out of it: openat2(2) with RESOLVE_IN_ROOT sees to
 * that, or a walk of our own, which relies on a tree that no process changes meanwhile.
 */
#ifndef RI_BASE_HOST_H
#define RI_BASE_HOST_H

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

enum { RI_PATH_SIZE = 1024 };

/* What follows the last '/'. */
const char *ri_path_name(const char *path);

/* The path without its last name into a buffer of RI_PATH_SIZE bytes; that of "/bin" is "". */
void ri_path_folder(const char *path, char *folder);

/* FOLDER/NAME into a buffer of RI_PATH_SIZE bytes; false where it does not fit. */
bool ri_path_join(char *path, const char *folder, const char *name);

/*
 * Take the next absolute path off a list that has one of these between its items, into a buffer of
 * RI_PATH_SIZE bytes, without slashes at its end. False when there is no more.
 */
bool ri_path_next(const char **list, const char *ends, char *path);

/* Is path inside of folder, or the folder itself? Both without links. */
bool ri_path_below(const char *path, const char *folder);

/* linux/openat2.h, spelled here since musl 1.2.3 has no name for it. */

struct ri_open_how {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

enum { RI_RESOLVE_NO_SYMLINKS = 0x04, RI_RESOLVE_IN_ROOT = 0x10 };

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* What /proc of a machine shows. */
enum ri_host_proc {
	RI_PROC_UNASKED,
	RI_PROC_OURS,		/* our PID namespace, and another process as its first one */
	RI_PROC_OURS_FIRST,	/* our PID namespace, whose process 1 we are ourselves */
	RI_PROC_FOREIGN,	/* another PID namespace, or nothing */
};

/* A file that stands in front of the machine's own: overlay.c makes them. */
struct ri_host_file {
	const char *path;	/* as it is asked for */
	const char *text;
	size_t length;
};

struct ri_host {
	int root;	/* directory fd of the caller's, or -1 until the first use */
	const char *path;	/* which that opens; NULL: none has to */
	const char *name;	/* of the machine; NULL: not asked yet */
	const char *job;	/* the simulated one that it plays a part in, or NULL */
	bool unfit;		/* and plays a machine that is not fit for it */
	enum ri_host_proc proc;
	/* Both are asked at the first use and of the live machine alone; NULL: nothing is known. */
	int (*ask_name)(char *out, size_t size);	/* as gethostname(2) */
	enum ri_host_proc (*ask_proc)(void);
	bool live;	/* this machine; else a recorded one */
	const struct ri_host_file *files;	/* end with a NULL path; NULL: there are none */
	bool walk;	/* openat2 was refused once: do not ask again */
	/*
	 * Does what may never come back, as where the mount of a file is dead: returns what work
	 * returns, with its errno, or -1 and errno when it is waited for no longer. NULL, and in
	 * /proc, /sys and /dev of the live machine: work is done at once.
	 */
	int (*apart)(int (*work)(void *argument), void *argument, const char *path);
};

/* close(2) that leaves errno as it is. */
void ri_close_quietly(int fd);

/* Open the root now if it is not yet open and there is one. Returns 0, or -1 and errno. */
int ri_host_root(struct ri_host *host);

/* The machine's own name, of a recorded one what /etc/hostname says; NULL: not known. */
const char *ri_host_name(struct ri_host *host, struct ri_arena *arena);

/* What its /proc shows; a recorded one's counts as ours. Never RI_PROC_UNASKED. */
enum ri_host_proc ri_host_proc(struct ri_host *host);

/*
 * Open a path, which counts from the root with or without a '/' before it, with O_CLOEXEC added to
 * flags (reading only). Returns an fd, or -1 and errno; EXDEV never: ".." stops at the root.
 */
int ri_host_open(struct ri_host *host, const char *path, int flags);

/*
 * Each returns -1 and errno, EFBIG when what was asked does not fit, or: the bytes of a whole file;
 * how many names a folder has, without "." and "..", in the kernel's order, each with its '\0', and
 * an empty one behind them and where it fails; the bytes of a symbolic link as it is written,
 * EINVAL when it is none. All of it ends in '\0'.
 */
long ri_host_read(struct ri_host *host, const char *path, char *buffer, size_t size);
long ri_host_list(struct ri_host *host, const char *path, char *names, size_t size);
long ri_host_link(struct ri_host *host, const char *path, char *target, size_t size);

/*
 * Open a device node for reading and writing, and close it: 0, or the errno of it, ENODEV when
 * something else stands there. *number, where not NULL, gets its number, 0 for an unknown one. In
 * a recorded machine a file stands for the node, and its owner's mode for the answer: 6 is 0, 4
 * EPERM (what a device cgroup that grants reading says), 0 EACCES.
 */
int ri_host_node(struct ri_host *host, const char *path, dev_t *number);

/* What stands at a path, as stat(2) has it: 0, or -1 and errno. */
int ri_host_stat(struct ri_host *host, const char *path, struct stat *info);

/* What realpath(3) says, seen from the root, into RI_PATH_SIZE bytes: 0, or -1 and errno. */
int ri_host_real(struct ri_host *host, const char *path, char *real);

/* Is there something, or a folder, at this path? A symbolic link counts as what it leads to. */
bool ri_host_has(struct ri_host *host, const char *path);
bool ri_host_has_folder(struct ri_host *host, const char *path);

/*
 * The machine that a rankinit of a simulated job plays: a JSON object in RANKINIT_SIMULATED, which
 * stays in the environment of what that starts, so that a rankinit below it plays the same one.
 *
 *     name       of the machine, instead of its host name
 *     files      an object: the text of each path, read instead of the machine's own file;
 *                /proc/net/fib_trie and /proc/net/if_inet6 say which address is its own
 *     from       when it comes, in milliseconds of CLOCK_MONOTONIC; 0: it is there
 *     job        what tells this job from others that are simulated here; or left out
 *     unfit      the start of the ranks, 1 the first, for which it is not fit; or left out
 *
 * What else stands in it is left alone.
 */

#define RI_OVERLAY_VARIABLE "RANKINIT_SIMULATED"

struct ri_overlay {
	const char *name;
	const struct ri_host_file *files;	/* end with a NULL path */
	uint64_t from_ms;
	const char *job;			/* or NULL */
	uint64_t unfit;				/* 0: it is always fit */
};

/* Read its value. RI_CODE_OPTION_VALUE where it is none; its texts live in the arena. */
int ri_overlay_read(struct ri_overlay *out, const char *text, struct ri_arena *arena,
	struct ri_error *err);

/*
 * From here on this process plays it. The machines of a simulated job are addresses of 127.0.0.0/8:
 * each of them but 127.0.0.1 counts as a machine's own.
 */
void ri_overlay_play(struct ri_host *host, const struct ri_overlay *overlay);

/* The same as text, in the arena; NULL when out of memory. */
char *ri_overlay_write(const struct ri_overlay *overlay, struct ri_arena *arena);

/*
 * Is this host the machine itself, wherever it is read: a usual name of it in any case, an address
 * of 127.0.0.0/8 or ::1, or the unspecified address, to connect to which is to connect to oneself?
 */
bool ri_loopback_is(const char *host, size_t length);

/* Is this address of 127.0.0.0/8, in network order, every machine's own? */
bool ri_loopback_has(const unsigned char ipv4[4]);

#endif
