/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/open_how.h"

static int open_in_root(int root, const char *path, int flags)
{
	struct ri_open_how how = { .flags = (uint64_t)flags, .resolve = RI_RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* A path still to be walked, and where the walk stands. */
struct walk {
	char rest[PATH_MAX];	/* components not yet taken */
	int stack[64];		/* open directories below the root, for ".." */
	int depth;
	int links;		/* symbolic links followed */
	int root;
	bool slash;		/* the path ends in '/': only a directory will do */
};

static int walk_here(const struct walk *walk)
{
	return walk->depth == 0 ? walk->root : walk->stack[walk->depth - 1];
}

static void walk_up(struct walk *walk)
{
	if (walk->depth > 0)
		close(walk->stack[--walk->depth]);
}

static void walk_to_root(struct walk *walk)
{
	while (walk->depth > 0)
		walk_up(walk);
}

/* Put a link's target before what is left. An absolute one starts at the root. */
static int walk_follow(struct walk *walk, const char *name)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(walk_here(walk), name, target, sizeof(target));
	size_t rest = strlen(walk->rest);

	if (length < 0)
		return -1;
	if (++walk->links > RI_MAX_LINKS) {
		errno = ELOOP;
		return -1;
	}
	if ((size_t)length + 1 + rest + 1 > sizeof(walk->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(walk->rest + length + (rest > 0), walk->rest, rest + 1);
	memcpy(walk->rest, target, (size_t)length);
	if (rest > 0)
		walk->rest[length] = '/';
	if (target[0] == '/')
		walk_to_root(walk);
	return 0;
}

/* Cut the first component off rest; false when none is left. */
static bool walk_next(struct walk *walk, char *name, bool *last)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t full = strcspn(start, "/"), length = full;
	char *rest = start + full + strspn(start + full, "/");

	if (length == 0)
		return false;
	if (length > NAME_MAX)
		length = NAME_MAX + 1;
	memcpy(name, start, length);
	name[length] = '\0';
	*last = *rest == '\0';
	walk->slash |= *last && start[full] == '/';
	memmove(walk->rest, rest, strlen(rest) + 1);
	return true;
}

static int walk_down(struct walk *walk, const char *name)
{
	int fd = openat(walk_here(walk), name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (walk->depth == (int)(sizeof(walk->stack) / sizeof(walk->stack[0]))) {
		close(fd);
		errno = ENAMETOOLONG;
		return -1;
	}
	walk->stack[walk->depth++] = fd;
	return 0;
}

static bool is_link(int dir, const char *name)
{
	struct stat info;

	return fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

/* O_NOFOLLOW is about the last component, and only where no '/' follows it. */
static bool must_follow(const struct walk *walk, const char *name, bool last, int flags)
{
	bool stop = last && (flags & O_NOFOLLOW) && !walk->slash;

	return !stop && is_link(walk_here(walk), name);
}

static int walk_open(struct walk *walk, int flags)
{
	char name[NAME_MAX + 2];
	bool last;

	while (walk_next(walk, name, &last)) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			walk_up(walk);
		} else if (must_follow(walk, name, last, flags)) {
			if (walk_follow(walk, name) < 0)
				return -1;
		} else if (last) {
			flags |= O_NOFOLLOW | (walk->slash ? O_DIRECTORY : 0);
			return openat(walk_here(walk), name, flags);
		} else if (walk_down(walk, name) < 0) {
			return -1;
		}
	}
	return openat(walk_here(walk), ".", flags);
}

static int open_by_walking(int root, const char *path, int flags)
{
	struct walk walk = { .root = root };
	int fd;

	if (path[0] == '\0' || strlen(path) >= sizeof(walk.rest)) {
		errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(walk.rest, path, strlen(path) + 1);
	fd = walk_open(&walk, flags);
	walk_to_root(&walk);
	return fd;
}

int ri_host_root(struct ri_host *host)
{
	if (host->root < 0 && host->path != NULL)
		host->root = open(host->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return host->root;
}

static int open_untold(struct ri_host *host, const char *path, int flags)
{
	int fd;

	if (host->path != NULL && ri_host_root(host) < 0)
		return -1;
	flags |= O_CLOEXEC;
	if (!host->walk) {
		fd = open_in_root(host->root, path, flags);
		if (fd >= 0)
			return fd;
		/*
		 * EPERM: how container runtimes' older seccomp profiles say
		 * ENOSYS. EAGAIN: something anywhere was renamed or mounted
		 * while ".." was taken. EXDEV: a magic link of /proc. The
		 * last two concern this path alone.
		 */
		if (errno == ENOSYS || errno == EPERM)
			host->walk = true;
		else if (errno != EAGAIN && errno != EXDEV)
			return -1;
	}
	return open_by_walking(host->root, path, flags);
}

static int open_here(struct ri_host *host, const char *path, int flags)
{
	int fd = open_untold(host, path, flags), saved = errno;

	if (host->tell != NULL)
		host->tell(host, path, flags, fd < 0 ? saved : 0);
	errno = saved;
	return fd;
}

/* Is the file on a mount of its own, whose server may be gone? */
static bool may_hang(const struct ri_host *host, const char *path)
{
	static const char *const kernel[] = { "proc", "sys", "dev" };
	size_t length;

	path += strspn(path, "/");
	length = strcspn(path, "/");
	for (size_t i = 0; i < 3 && host->live; i++)
		if (strlen(kernel[i]) == length && strncmp(path, kernel[i], length) == 0)
			return false;
	return host->apart != NULL;
}

/* What a helper is told to do. */
struct request {
	struct ri_host *host;
	const char *path;
	int flags;
	char *buffer;
	size_t size;
	long length;	/* what ri_host_read returns */
};

static int open_requested(void *argument)
{
	const struct request *request = argument;

	return open_here(request->host, request->path, request->flags);
}

int ri_host_open(struct ri_host *host, const char *path, int flags)
{
	struct request request = { .host = host, .path = path, .flags = flags };

	return may_hang(host, path) ? host->apart(open_requested, &request, path)
				    : open_here(host, path, flags);
}

static long read_here(struct ri_host *host, const char *path, char *buffer, size_t size)
{
	/* O_NONBLOCK: a pipe that stands where a file should must not hang us. */
	int fd = open_here(host, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	size_t length = 0;
	ssize_t count = 0;
	int saved;

	if (fd < 0)
		return -1;
	while (length < size) {
		count = read(fd, buffer + length, size - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += (size_t)count;
	}
	saved = errno;
	close(fd);
	errno = count < 0 ? saved : EFBIG;
	if (count < 0 || length == size)
		return -1;
	buffer[length] = '\0';
	return (long)length;
}

static int read_requested(void *argument)
{
	struct request *request = argument;

	request->length = read_here(request->host, request->path, request->buffer, request->size);
	return request->length < 0 ? -1 : 0;
}

static const struct ri_host_file *find_file(const struct ri_host *host, const char *path)
{
	const struct ri_host_file *file = host->files;

	while (file != NULL && file->path != NULL && strcmp(file->path, path) != 0)
		file++;
	return file == NULL || file->path == NULL ? NULL : file;
}

/* What stands in front of the machine's file. */
static long read_given(const struct ri_host_file *file, char *buffer, size_t size)
{
	if (file->length >= size) {
		errno = EFBIG;
		return -1;
	}
	memcpy(buffer, file->text, file->length);
	buffer[file->length] = '\0';
	return (long)file->length;
}

long ri_host_read(struct ri_host *host, const char *path, char *buffer, size_t size)
{
	const struct ri_host_file *given = find_file(host, path);
	struct request request = {
		.host = host, .path = path, .buffer = buffer, .size = size,
	};

	if (given != NULL)
		return read_given(given, buffer, size);
	if (!may_hang(host, path))
		return read_here(host, path, buffer, size);
	return host->apart(read_requested, &request, path) < 0 ? -1 : request.length;
}

/*
 * What getdents64(2) gave, copied after used[] of the caller's; -1: no room. On a
 * 64-bit machine struct dirent is the kernel's struct linux_dirent64, which musl has
 * had no other name for since 1.2.4.
 */
static long copy_names(const char *entries, long length, char *names, size_t room)
{
	size_t used = 0;

	for (long at = 0; at < length;) {
		const void *here = entries + at;
		const struct dirent *entry = here;
		size_t size = strlen(entry->d_name) + 1;

		at += entry->d_reclen;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (size > room - used)
			return -1;
		memcpy(names + used, entry->d_name, size);
		used += size;
	}
	return (long)used;
}

long ri_host_list(struct ri_host *host, const char *path, char *names, size_t size)
{
	int fd = ri_host_open(host, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	_Alignas(struct dirent) char entries[4096];
	size_t used = 0;
	long length, added = 0, count = 0;
	int saved;

	if (fd < 0)
		return -1;
	while ((length = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		added = copy_names(entries, length, names + used, size - used);
		if (added < 0)
			break;
		used += (size_t)added;
	}
	saved = errno;
	close(fd);
	errno = added < 0 ? EFBIG : saved;
	if (length != 0)
		return -1;
	for (size_t i = 0; i < used; i++)
		count += names[i] == '\0';
	return count;
}

long ri_host_link(struct ri_host *host, const char *path, char *target, size_t size)
{
	int fd = ri_host_open(host, path, O_PATH | O_NOFOLLOW);
	ssize_t length;
	int saved;

	if (fd < 0)
		return -1;
	length = readlinkat(fd, "", target, size);
	/* ENOENT: how readlinkat(2) says of an empty path that it is no link */
	saved = length >= 0 ? EFBIG : errno == ENOENT ? EINVAL : errno;
	close(fd);
	errno = saved;
	if (length < 0 || (size_t)length >= size)
		return -1;
	target[length] = '\0';
	return (long)length;
}

static int node_of_mode(mode_t mode)
{
	if ((mode & 0600) == 0600)
		return 0;
	return mode & 0400 ? EPERM : EACCES;
}

/* What is at the path, which O_PATH asks no device about. */
static int node_look(struct ri_host *host, const char *path, struct stat *info)
{
	int fd = ri_host_open(host, path, O_PATH), saved = errno;

	if (fd < 0)
		return saved;
	saved = fstat(fd, info) < 0 ? errno : 0;
	close(fd);
	return saved;
}

int ri_host_node(struct ri_host *host, const char *path, dev_t *number)
{
	bool walk = host->walk;
	struct stat info;
	int fd, saved = node_look(host, path, &info);

	if (saved != 0)
		return saved;
	if (number != NULL)
		*number = S_ISCHR(info.st_mode) ? info.st_rdev : 0;
	if (!host->live && S_ISREG(info.st_mode))
		return node_of_mode(info.st_mode);
	if (!S_ISCHR(info.st_mode))
		return ENODEV;
	fd = ri_host_open(host, path, O_RDWR | O_NONBLOCK | O_NOCTTY);
	saved = errno;
	/* an EPERM of the device is none of openat2 */
	host->walk = walk;
	if (fd < 0)
		return saved;
	close(fd);
	return 0;
}

bool ri_host_has(struct ri_host *host, const char *path)
{
	int fd;

	if (find_file(host, path) != NULL)
		return true;
	fd = ri_host_open(host, path, O_PATH);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *ri_host_name(struct ri_host *host, struct ri_arena *arena)
{
	char name[RI_MAX_NAME + 2];

	if (host->name != NULL)
		return host->name;
	if (host->live) {
		if (host->ask_name == NULL || host->ask_name(name, sizeof(name)) < 0)
			return NULL;
		name[sizeof(name) - 1] = '\0';
	} else if (ri_host_read(host, "/etc/hostname", name, sizeof(name)) < 0) {
		return NULL;
	}
	host->name = ri_arena_copy(arena, name, strcspn(name, " \t\r\n"));
	return host->name;
}

enum ri_host_proc ri_host_proc(struct ri_host *host)
{
	if (host->proc == RI_PROC_UNASKED)
		host->proc = host->live && host->ask_proc != NULL ? host->ask_proc()
								  : RI_PROC_OURS;
	return host->proc;
}
