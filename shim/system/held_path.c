/* SPDX-License-Identifier: Apache-2.0 */
#include "system/held_path.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/host.h"
#include "base/text.h"

enum {
	FIRST_FD = 3,		/* 0 to 2 are the ranks', even where they are closed */
	MAX_LINKS = 40,		/* as the kernel (path_resolution(7)) */
	MODE = 0644,
};

enum found { FAILED = -1, FOUND, LINK };

/* What is written in another way, as /dev//shm, is walked through like any other path. */
bool ri_held_path_is_kept(const char *path)
{
	const char *rest = path[0] == '/' ? strchr(path + 1, '/') : NULL;

	if (rest == NULL || rest[1] == '/' || rest[1] == '.' || strstr(rest, "/../") != NULL)
		return false;
	return strncmp(path, "/proc/", 6) == 0 ||
		(strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0);
}

int ri_fd_move_up(int fd)
{
	int high;

	if (fd < 0 || fd >= FIRST_FD)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
	ri_close_quietly(fd);
	return high;
}

int ri_held_name(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
	int fd = ri_fd_move_up(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), saved;

	ri_text_copy(address.sun_path + 1, sizeof(address.sun_path) - 1, name);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, (socklen_t)length) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

bool ri_held_path_is_anothers_name(const struct stat *file, int folder)
{
	struct stat info;

	if (getauxval(AT_EUID) != 0 || file->st_nlink < 2 || fstat(folder, &info) < 0)
		return false;
	return info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static bool is_trusted(const struct stat *link, int folder)
{
	const mode_t open_to_all = S_ISVTX | S_IWOTH;
	uid_t us = (uid_t)getauxval(AT_EUID);
	struct stat info;

	if (link->st_uid == 0 || link->st_uid == us)
		return !ri_held_path_is_anothers_name(link, folder);
	if (us == 0 || fstat(folder, &info) < 0)
		return false;
	return (info.st_mode & open_to_all) != open_to_all || link->st_uid == info.st_uid;
}

/* Put what a link says in the place of its name, which is at start. */
static int replace_link(char *path, size_t start, size_t length, int link)
{
	char target[PATH_MAX], made[PATH_MAX];
	ssize_t count = readlinkat(link, "", target, sizeof(target) - 1);
	int size;

	if (count < 0)
		return -1;
	target[count] = '\0';
	size = snprintf(made, sizeof(made), "%.*s%s%s", target[0] == '/' ? 0 : (int)start, path,
		target, path + start + length);
	if (size >= (int)sizeof(made)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path, made, (size_t)size + 1);
	return 0;
}

/*
 * One name further: *folder becomes what is there if more is to come, else
 * stays the folder of the last name.
 */
static enum found take_name(char *path, size_t start, size_t length, int *folder, bool ours)
{
	char name[NAME_MAX + 1];
	bool last = path[start + length] == '\0', shared, is_ours;
	enum found found = FAILED;
	struct stat info;
	int fd;

	if (length > NAME_MAX) {
		errno = ENAMETOOLONG;
		return FAILED;
	}
	snprintf(name, sizeof(name), "%.*s", (int)length, path + start);
	fd = openat(*folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return last && errno == ENOENT ? FOUND : FAILED;
	if (fstat(fd, &info) < 0) {
		ri_close_quietly(fd);
		return FAILED;
	}
	/* could only root and we have put it there, or put something into it? */
	shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	is_ours = (info.st_uid == 0 || info.st_uid == (uid_t)getauxval(AT_EUID)) &&
		(!shared || (info.st_mode & S_ISVTX) != 0);
	if (S_ISLNK(info.st_mode) && is_trusted(&info, *folder)) {
		found = replace_link(path, start, length, fd) < 0 ? FAILED : LINK;
	} else if (last) {
		found = FOUND;
	} else if (!S_ISDIR(info.st_mode)) {
		errno = S_ISLNK(info.st_mode) ? RI_SPOT_FOREIGN : ENOTDIR;
	} else if (ours && !is_ours) {
		errno = EPERM;
	} else {
		close(*folder);
		*folder = fd;
		return FOUND;
	}
	ri_close_quietly(fd);
	return found;
}

/* The last name is a link only where it can be read as one. */
static enum found take_last(char *path, size_t start, int *folder, bool ours)
{
	char byte;

	if (path[start] == '\0') {
		errno = EISDIR;		/* "/", or a name with '/' at its end */
		return FAILED;
	}
	if (readlinkat(*folder, path + start, &byte, sizeof(byte)) < 0 &&
		(errno == EINVAL || errno == ENOENT))
		return FOUND;
	return take_name(path, start, strlen(path + start), folder, ours);
}

/*
 * From where the path begins to the last name, whose offset *last gets, or to a link. The folder of
 * the last name is opened at once where no link is on the way to it, and no name has to be ours.
 */
static enum found walk(char *path, int *folder, size_t *last, bool ours)
{
	const struct ri_open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RI_RESOLVE_NO_SYMLINKS,
	};
	const char *slash = strrchr(path, '/');
	enum found found = FOUND;
	size_t start = 0;
	char first;

	*last = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	first = path[*last];
	path[*last] = '\0';
	*folder = ours ? -1 : (int)syscall(SYS_openat2, AT_FDCWD, *last == 0 ? "." : path, &how,
		sizeof(how));
	path[*last] = first;
	if (*folder < 0) {
		*folder = openat(AT_FDCWD, path[0] == '/' ? "/" : ".",
			O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (*folder < 0)
			return FAILED;
		for (size_t length; found == FOUND && start < *last; start += length) {
			length = strcspn(path + start, "/");
			if (length == 0)
				length = 1;
			else
				found = take_name(path, start, length, folder, ours);
		}
	}
	if (found == FOUND)
		found = take_last(path, *last, folder, ours);
	if (found != FOUND) {
		ri_close_quietly(*folder);
		*folder = -1;
	}
	return found;
}

/* As far as links lead: FOUND, or LINK to what is kept. */
static enum found resolve(char real[PATH_MAX], const char *path, int *folder, size_t *last,
	bool ours)
{
	enum found what = LINK;

	if (snprintf(real, PATH_MAX, "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return FAILED;
	}
	for (int links = 0; what == LINK && !ri_held_path_is_kept(real); links++) {
		if (links > MAX_LINKS) {
			errno = ELOOP;
			return FAILED;
		}
		what = walk(real, folder, last, ours);
	}
	return what;
}

int ri_held_path_find(struct ri_held_path *spot, const char *path, struct ri_arena *arena)
{
	struct ri_held_path found = { .folder = -1 };
	char real[PATH_MAX];
	size_t last = 0;
	enum found what = resolve(real, path, &found.folder, &last, false);
	const char *name = what == LINK ? real : real + last;

	if (what == FAILED)
		return -1;
	found.name = ri_arena_copy(arena, name, strlen(name));
	if (found.name == NULL) {
		ri_held_path_close(&found);
		errno = ENOMEM;
		return -1;
	}
	found.folder = ri_fd_move_up(found.folder);
	*spot = found;
	return what == LINK || found.folder >= 0 ? 0 : -1;
}

int ri_held_path_renew(struct ri_held_path *spot, const char *path)
{
	char real[PATH_MAX];
	size_t last = 0;
	int folder = -1, status = -1;

	if (resolve(real, path, &folder, &last, true) != FOUND)
		return -1;
	if (strcmp(real + last, spot->name) != 0)
		errno = ENOENT;
	else if (dup3(folder, spot->folder, O_CLOEXEC) >= 0)
		status = 0;
	ri_close_quietly(folder);
	return status;
}

int ri_held_path_open(const struct ri_held_path *spot, int flags)
{
	int fd = spot->folder < 0
		? open(spot->name, flags | O_CLOEXEC, MODE)
		: openat(spot->folder, spot->name, flags | O_NOFOLLOW | O_CLOEXEC, MODE);

	/* the links that may be followed were */
	if (fd < 0 && errno == ELOOP && spot->folder >= 0)
		errno = RI_SPOT_FOREIGN;
	return ri_fd_move_up(fd);
}

const char *ri_held_path_reason(int error)
{
	switch (error) {
	case RI_SPOT_FOREIGN:
		return "another user owns, or may have made, a symbolic link in the path";
	case RI_SPOT_SECOND_NAME:
		return "it has a second name (a hard link), and other users may write to its "
		       "folder";
	case ELOOP:
		return "its symbolic links lead back to each other, or are more than 40";
	default:
		return strerror(error);
	}
}

void ri_held_path_close(struct ri_held_path *spot)
{
	if (spot->folder >= 0)
		ri_close_quietly(spot->folder);
	spot->folder = -1;
}

void ri_held_path_name_new(char name[RI_SPOT_NEW], const char *start, const char *end)
{
	static uint32_t number;

	/* the first bytes are the C library's own */
	if (number == 0)
		memcpy(&number, (const char *)getauxval(AT_RANDOM) + 8, sizeof(number));
	snprintf(name, RI_SPOT_NEW, "%s-%08x%s", start, (unsigned)number++, end);
}
