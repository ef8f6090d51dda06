/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"

enum { TRIES = 4 };		/* of openat2(2), then the way is walked by name */

/* How far a path is resolved below the root, and what stands there. */
struct walk {
	char rest[PATH_MAX];	/* the names that are not yet taken */
	int links;		/* that were replaced */
	bool slash;		/* the path ends in '/': only a folder will do */
	char done[PATH_MAX];	/* without links; "" is the root */
	struct stat info;
	char target[PATH_MAX];	/* of a link */
};

/*
 * Take the next name, which *last says is the last one so far. A name of more than
 * NAME_MAX bytes is cut to one more, which no file has. False: none is left.
 */
static bool take_name(struct walk *walk, char name[NAME_MAX + 2], bool *last)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(start, "/");
	char *rest = start + length + strspn(start + length, "/");

	if (length == 0)
		return false;
	snprintf(name, NAME_MAX + 2, "%.*s", (int)length, start);
	*last = *rest == '\0';
	walk->slash |= *last && start[length] == '/';
	memmove(walk->rest, rest, strlen(rest) + 1);
	return true;
}

static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash == NULL ? path : slash) = '\0';
}

/* Put what the link at the end says before what is left. -1 and errno: ELOOP or ENAMETOOLONG. */
static int follow(struct walk *walk)
{
	size_t length = strlen(walk->target), rest = strlen(walk->rest);

	if (++walk->links > RI_MAX_LINKS || length + 1 + rest >= sizeof(walk->rest)) {
		errno = walk->links > RI_MAX_LINKS ? ELOOP : ENAMETOOLONG;
		return -1;
	}
	memmove(walk->rest + length + 1, walk->rest, rest + 1);
	memcpy(walk->rest, walk->target, length);
	walk->rest[length] = rest > 0 ? '/' : '\0';
	go_up(walk->done);
	if (walk->target[0] == '/')
		walk->done[0] = '\0';
	walk->info.st_mode = S_IFDIR;
	return 0;
}

/* What stands at walk->done, no name of which is a link but perhaps the last one. */
static int look(const struct ri_host *host, struct walk *walk)
{
	enum { DONT_SYNC = 0x4000 };	/* AT_STATX_DONT_SYNC of linux/fcntl.h */
	ssize_t length;

	/*
	 * As lstat(2), by what the kernel knows already: no server is asked, which may not answer.
	 * Before Linux 4.11 it does not know the flag, which statx(2) has brought.
	 */
	if (fstatat(host->root, walk->done, &walk->info, AT_SYMLINK_NOFOLLOW | DONT_SYNC) < 0 &&
		(errno != EINVAL ||
			fstatat(host->root, walk->done, &walk->info, AT_SYMLINK_NOFOLLOW) < 0))
		return -1;
	if (!S_ISLNK(walk->info.st_mode))
		return 0;
	length = readlinkat(host->root, walk->done, walk->target, sizeof(walk->target) - 1);
	if (length >= 0)
		walk->target[length] = '\0';
	return length < 0 ? -1 : 0;
}

/*
 * Find where a path leads, a last link included unless flags have O_NOFOLLOW, which is
 * about a path that does not end in '/'. Returns 0, or -1 and errno.
 */
static int resolve(const struct ri_host *host, struct walk *walk, const char *path, int flags)
{
	size_t length = strlen(path);
	char name[NAME_MAX + 2];
	bool last;

	if (length == 0 || length >= sizeof(walk->rest)) {
		errno = length == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(walk->rest, path, length + 1);
	walk->done[0] = '\0';
	walk->links = 0;
	walk->slash = false;
	walk->info = (struct stat){ .st_mode = S_IFDIR };
	while (S_ISDIR(walk->info.st_mode) && take_name(walk, name, &last)) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			go_up(walk->done);
			continue;
		}
		length = strlen(walk->done);
		if (snprintf(walk->done + length, PATH_MAX - length, "%s%s", length == 0 ? "" : "/",
			    name) >= (int)(PATH_MAX - length)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (look(host, walk) < 0)
			return -1;
		if (!S_ISLNK(walk->info.st_mode) ||
			(last && (flags & O_NOFOLLOW) && !walk->slash))
			continue;
		if (follow(walk) < 0)
			return -1;
	}
	if (S_ISDIR(walk->info.st_mode) || (walk->rest[0] == '\0' && !walk->slash))
		return 0;
	errno = ENOTDIR;
	return -1;
}

void ri_close_quietly(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
}

int ri_host_root(struct ri_host *host)
{
	if (host->root >= 0 || host->path == NULL)
		return 0;
	host->root = open(host->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return host->root < 0 ? -1 : 0;
}

static int open_here(struct ri_host *host, const char *path, int flags)
{
	struct ri_open_how how = { .resolve = RI_RESOLVE_IN_ROOT };
	struct walk walk;
	int fd;

	if (ri_host_root(host) < 0)
		return -1;
	flags |= O_CLOEXEC;
	how.flags = (uint64_t)flags;
	if (!host->walk) {
		/* EAGAIN: something anywhere was renamed or mounted while ".." was taken */
		for (int tries = 0; tries < TRIES && (tries == 0 || errno == EAGAIN); tries++) {
			fd = (int)syscall(SYS_openat2, host->root, path, &how, sizeof(how));
			if (fd >= 0)
				return fd;
		}
		/*
		 * EPERM: how container runtimes' older seccomp profiles say ENOSYS. EXDEV: a magic
		 * link of /proc, which concerns this path alone, as EAGAIN does. ELOOP: where a
		 * rename has the kernel begin anew it goes on counting (fs/namei.c, path_init).
		 */
		if (errno == ENOSYS || errno == EPERM)
			host->walk = true;
		else if (errno != EAGAIN && errno != EXDEV && errno != ELOOP)
			return -1;
	}
	if (resolve(host, &walk, path, flags) < 0)
		return -1;
	return openat(host->root, walk.done[0] == '\0' ? "." : walk.done, flags | O_NOFOLLOW);
}

/* What is asked of a file, and the answer. */
struct request {
	struct ri_host *host;
	const char *path;
	int flags;
	char *buffer;
	size_t size;
	long length;		/* what ri_host_read returns */
	struct walk *walk;	/* where the path led */
};

/*
 * Here, or in a helper where the file may hang: it is on a mount of its own, whose server may be
 * gone. What the kernel itself has of the live machine is read at once.
 */
static int ask(int (*work)(void *argument), struct request *request)
{
	static const char *const kernel[] = { "proc", "sys", "dev" };
	const struct ri_host *host = request->host;
	const char *path = request->path + strspn(request->path, "/");
	size_t length = strcspn(path, "/");
	bool may_hang = host->apart != NULL;

	for (size_t i = 0; i < 3 && host->live; i++)
		if (strlen(kernel[i]) == length && strncmp(path, kernel[i], length) == 0)
			may_hang = false;
	return may_hang ? host->apart(work, request, request->path) : work(request);
}

static int open_requested(void *argument)
{
	const struct request *request = argument;

	return open_here(request->host, request->path, request->flags);
}

int ri_host_open(struct ri_host *host, const char *path, int flags)
{
	struct request request = { .host = host, .path = path, .flags = flags };

	return ask(open_requested, &request);
}

static int find_requested(void *argument)
{
	const struct request *request = argument;

	return ri_host_root(request->host) < 0 ? -1
		: resolve(request->host, request->walk, request->path, request->flags);
}

static int find(struct ri_host *host, const char *path, int flags, struct walk *walk)
{
	struct request request = { .host = host, .path = path, .flags = flags, .walk = walk };

	return ask(find_requested, &request);
}

/* By the kernel where it finds the way: that takes fewer calls than there are names. */
static int stat_requested(void *argument)
{
	struct request *request = argument;
	int fd, status;

	if (request->host->walk)
		return find_requested(request);
	fd = open_here(request->host, request->path, O_PATH);
	if (fd < 0)
		return -1;
	status = fstat(fd, &request->walk->info);
	ri_close_quietly(fd);
	return status;
}

int ri_host_stat(struct ri_host *host, const char *path, struct stat *info)
{
	struct walk walk;
	struct request request = { .host = host, .path = path, .walk = &walk };

	if (ask(stat_requested, &request) < 0)
		return -1;
	*info = walk.info;
	return 0;
}

int ri_host_real(struct ri_host *host, const char *path, char *real)
{
	struct walk walk;

	if (find(host, path, 0, &walk) < 0)
		return -1;
	if (snprintf(real, RI_PATH_SIZE, "/%s", walk.done) < RI_PATH_SIZE)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

long ri_host_link(struct ri_host *host, const char *path, char *target, size_t size)
{
	struct walk walk;
	size_t length;

	if (find(host, path, O_NOFOLLOW, &walk) < 0)
		return -1;
	length = S_ISLNK(walk.info.st_mode) ? strlen(walk.target) : 0;
	if (length == 0 || length >= size) {
		errno = length == 0 ? EINVAL : EFBIG;
		return -1;
	}
	memcpy(target, walk.target, length + 1);
	return (long)length;
}

static int read_requested(void *argument)
{
	struct request *request = argument;
	/* O_NONBLOCK: a pipe that stands where a file should must not hang us. */
	int fd = open_here(request->host, request->path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	size_t length = 0;
	ssize_t count = 0;

	if (fd < 0)
		return -1;
	while (length < request->size) {
		count = read(fd, request->buffer + length, request->size - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += (size_t)count;
	}
	ri_close_quietly(fd);
	if (length == request->size)
		errno = EFBIG;
	if (count < 0 || length == request->size)
		return -1;
	request->buffer[length] = '\0';
	request->length = (long)length;
	return 0;
}

static const struct ri_host_file *find_file(const struct ri_host *host, const char *path)
{
	const struct ri_host_file *file = host->files;

	while (file != NULL && file->path != NULL && strcmp(file->path, path) != 0)
		file++;
	return file == NULL || file->path == NULL ? NULL : file;
}

long ri_host_read(struct ri_host *host, const char *path, char *buffer, size_t size)
{
	const struct ri_host_file *given = find_file(host, path);
	struct request request = {
		.host = host, .path = path, .buffer = buffer, .size = size,
	};

	if (given == NULL)
		return ask(read_requested, &request) < 0 ? -1 : request.length;
	/* what stands in front of the machine's file */
	if (given->length >= size) {
		errno = EFBIG;
		return -1;
	}
	memcpy(buffer, given->text, given->length);
	buffer[given->length] = '\0';
	return (long)given->length;
}

long ri_host_list(struct ri_host *host, const char *path, char *names, size_t size)
{
	int fd = ri_host_open(host, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	_Alignas(struct dirent) char entries[4096];
	size_t used = 0;
	long length = 0, count = 0;
	bool fits = true;

	names[0] = '\0';
	if (fd < 0)
		return -1;
	while (fits && (length = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < length && fits;) {
			/*
			 * On a 64-bit machine struct dirent is the kernel's struct linux_dirent64,
			 * which musl has had no other name for since 1.2.4.
			 */
			const void *here = entries + at;
			const struct dirent *entry = here;
			size_t bytes = strlen(entry->d_name) + 1;

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			fits = bytes < size - used;
			if (fits) {
				memcpy(names + used, entry->d_name, bytes);
				used += bytes;
				count++;
			}
		}
	ri_close_quietly(fd);
	if (!fits)
		errno = EFBIG;
	fits &= length == 0;
	names[fits ? used : 0] = '\0';
	return fits ? count : -1;
}

int ri_host_node(struct ri_host *host, const char *path, dev_t *number)
{
	bool walk = host->walk;
	struct stat info;
	int fd, saved;

	if (ri_host_stat(host, path, &info) < 0)
		return errno;
	if (number != NULL)
		*number = S_ISCHR(info.st_mode) ? info.st_rdev : 0;
	if (!host->live && S_ISREG(info.st_mode))
		return (info.st_mode & 0600) == 0600 ? 0 : info.st_mode & 0400 ? EPERM : EACCES;
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

/* To open it asks a file system less than stat(2) does, which one that hangs does not answer. */
static bool can_open(struct ri_host *host, const char *path, int flags)
{
	struct walk walk;
	int fd;

	if (host->walk)
		return find(host, path, 0, &walk) == 0 &&
			((flags & O_DIRECTORY) == 0 || S_ISDIR(walk.info.st_mode));
	fd = ri_host_open(host, path, flags);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool ri_host_has(struct ri_host *host, const char *path)
{
	return find_file(host, path) != NULL || can_open(host, path, O_PATH);
}

bool ri_host_has_folder(struct ri_host *host, const char *path)
{
	return can_open(host, path, O_PATH | O_DIRECTORY);
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

const char *ri_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void ri_path_folder(const char *path, char *folder)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash == NULL ? 0 : (size_t)(slash - path);

	if (length >= RI_PATH_SIZE)
		length = 0;
	memmove(folder, path, length);
	folder[length] = '\0';
}

bool ri_path_join(char *path, const char *folder, const char *name)
{
	int length = snprintf(path, RI_PATH_SIZE, "%s/%s", folder, name);

	return length > 0 && length < RI_PATH_SIZE;
}

bool ri_path_next(const char **list, const char *ends, char *path)
{
	while (**list != '\0') {
		const char *item = *list;
		size_t length = strcspn(item, ends);

		*list += length + (item[length] != '\0');
		if (item[0] != '/' || length >= RI_PATH_SIZE)
			continue;
		while (length > 0 && item[length - 1] == '/')
			length--;
		memcpy(path, item, length);
		path[length] = '\0';
		return true;
	}
	return false;
}

bool ri_path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return length > 0 && strncmp(path, folder, length) == 0 &&
		(path[length] == '/' || path[length] == '\0');
}
