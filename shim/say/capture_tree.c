/* SPDX-License-Identifier: Apache-2.0 */
#include "say/capture_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/pages.h"
#include "redact/redact.h"

enum {
	LEFT_OUT = 256,		/* lines at most */
	CONTENT = RI_CAPTURE_FILE + 1,
	MASKED = 2 * RI_CAPTURE_FILE,
};

/* All processes that read have it in common. */
static struct counts {
	size_t made;
	size_t bytes;
	size_t left_out;
} *counts;

static int folder, root = -1;

/* Where the way to a path stands: of what was taken nothing is a link. */
static struct walk {
	int from;		/* the root of the machine */
	int flags;		/* with which it was opened, */
	int error;		/* and what came of it */
	int links;
	char done[PATH_MAX];	/* "" for the root, else without a '/' at its start */
	char rest[PATH_MAX];
} walk;

/* Of one file: as it is, and without its secrets. */
static char *content, *masked;

/* One line, which a path cannot break. */
static void leave_out(const char *path, const char *why)
{
	char line[PATH_MAX + 128];
	int fd;

	if (counts->left_out >= LEFT_OUT)
		return;
	snprintf(line, sizeof(line), "%s: %s", path, why);
	ri_text_replace_controls(line);
	fd = openat(folder, "left-out", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		0600);
	if (fd < 0)
		return;
	counts->left_out++;
	if (dprintf(fd, "%s\n", line) < 0)
		counts->left_out--;
	close(fd);
}

/* May one more be made? */
static bool has_room(const char *path)
{
	if (counts->made < RI_CAPTURE_FILES)
		return true;
	leave_out(path, "too many files");
	return false;
}

/* The folder of a path in the copy, made where it is not there, and its last name. */
static int enter(const char *path, const char **last)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0), next;
	char name[NAME_MAX + 1];
	size_t length;

	for (*last = path; at >= 0; *last += length + 1) {
		*last += strspn(*last, "/");
		length = strcspn(*last, "/");
		if ((*last)[length] == '\0')
			break;
		snprintf(name, sizeof(name), "%.*s", (int)length, *last);
		mkdirat(at, name, 0700);
		next = strcmp(name, "..") == 0 ? -1
			: openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	if (at < 0)
		leave_out(path, "no folder for it");
	return at;
}

static void put_folder(const char *path)
{
	const char *last;
	int at = has_room(path) ? enter(path, &last) : -1;

	if (at < 0)
		return;
	if (mkdirat(at, last, 0700) == 0)
		counts->made++;
	close(at);
}

void ri_capture_link(const char *path, const char *target)
{
	const char *last;
	int at = has_room(path) ? enter(path, &last) : -1;

	if (at < 0)
		return;
	if (symlinkat(target, at, last) == 0)
		counts->made++;
	close(at);
}

static void write_new(int at, const char *path, const char *last, const char *bytes, size_t length,
	mode_t mode)
{
	int fd = openat(at, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0) {
		if (errno != EEXIST)
			leave_out(path, strerror(errno));
		return;
	}
	counts->made++;
	counts->bytes += length;
	if (write(fd, bytes, length) != (ssize_t)length)
		leave_out(path, "cannot be written");
	fchmod(fd, mode);
	close(fd);
}

void ri_capture_put(const char *path, const char *line)
{
	const char *last;
	int at = enter(path, &last);

	if (at < 0)
		return;
	unlinkat(at, last, 0);
	write_new(at, path, last, line, strlen(line), 0644);
	close(at);
}

/* The strings of /proc/PID/environ and the like, each by itself. Returns the length. */
static size_t mask_strings(size_t length)
{
	struct ri_arena arena = { 0 };
	size_t used = 0;

	content[length] = '\0';
	for (size_t at = 0; at < length; at += strlen(content + at) + 1) {
		const char *string = ri_redact_copy(content + at, &arena);
		size_t size = string == NULL ? 0 : strlen(string) + 1;

		if (string == NULL || size > MASKED - used)
			break;
		memcpy(masked + used, string, size);
		used += size;
	}
	ri_arena_release(&arena);
	return used;
}

/* A stray NUL makes no binary file of a text: of those a sixteenth is NUL at least. */
static bool is_text(size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += content[i] == '\0';
	return count <= length / 16;
}

/* Of what is no text only the strings of processes can hold a secret. Returns the length. */
static size_t mask(const char *path, size_t length, const char **out)
{
	struct ri_text text;

	*out = masked;
	if (strncmp(path, "proc/", 5) == 0 && memchr(content, '\0', length) != NULL)
		return mask_strings(length);
	if (is_text(length)) {
		ri_text_init(&text, masked, MASKED);
		ri_redact(&text, (struct ri_span){ content, length });
		return text.length;
	}
	*out = content;
	return length;
}

/* The bytes of the file, or -1. */
static ssize_t read_content(const char *path)
{
	int fd = openat(walk.from, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	size_t length = 0;
	ssize_t count = 0;

	if (fd < 0)
		return -1;
	while (length < CONTENT) {
		count = read(fd, content + length, CONTENT - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += (size_t)count;
	}
	close(fd);
	errno = count < 0 ? errno : EFBIG;
	return count < 0 || length > RI_CAPTURE_FILE ? -1 : (ssize_t)length;
}

/* It replaces what was made for a file that was only looked for. */
static void put_content(int at, const char *path, const char *last, mode_t mode)
{
	ssize_t length = read_content(path);
	const char *bytes;
	size_t size;

	if (length < 0) {
		leave_out(path, errno == EFBIG ? "larger than 1 MiB" : strerror(errno));
	} else if (counts->bytes + (size_t)length > RI_CAPTURE_TOTAL) {
		leave_out(path, "larger than 16 MiB with the others");
	} else {
		size = mask(path, (size_t)length, &bytes);
		unlinkat(at, last, 0);
		write_new(at, path, last, bytes, size, mode);
	}
}

/* Of a node by what became of opening it: see ri_host_node. */
static mode_t mode_of(const struct stat *info)
{
	if (S_ISREG(info->st_mode))
		return info->st_mode & 0777;
	if ((walk.flags & O_ACCMODE) != O_RDWR)
		return 0;
	return walk.error == 0 ? 0600 : walk.error == EPERM ? 0400 : 0;
}

static void put_file(const char *path, const struct stat *info, bool whole)
{
	const char *last;
	int at = has_room(path) ? enter(path, &last) : -1;
	struct stat there;
	bool is_there;

	if (at < 0)
		return;
	is_there = fstatat(at, last, &there, AT_SYMLINK_NOFOLLOW) == 0;
	if (whole && S_ISREG(info->st_mode) && (!is_there || there.st_size == 0))
		put_content(at, path, last, mode_of(info));
	if (!is_there)
		write_new(at, path, last, "", 0, mode_of(info));
	else if (!S_ISREG(info->st_mode) && S_ISREG(there.st_mode))
		fchmodat(at, last, mode_of(info), 0);
	close(at);
}

/* Whatever stands there; true: the way may go on below it. */
static bool put_entry(const char *path, bool whole, char target[PATH_MAX])
{
	int fd = openat(walk.from, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;
	ssize_t length = 0;

	target[0] = '\0';
	if (fd < 0 || fstat(fd, &info) < 0) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (S_ISLNK(info.st_mode)) {
		length = readlinkat(fd, "", target, PATH_MAX - 1);
		target[length < 0 ? 0 : length] = '\0';
		if (length > 0)
			ri_capture_link(path, target);
	} else if (S_ISDIR(info.st_mode)) {
		put_folder(path);
	} else {
		put_file(path, &info, whole);
	}
	close(fd);
	return length > 0 || S_ISDIR(info.st_mode);
}

/* Path is FOLDER/NAME, or NAME in the root; false where that is too long. */
static bool join(char path[PATH_MAX], const char *where, const char *name)
{
	return snprintf(path, PATH_MAX, "%s%s%s", where, where[0] == '\0' ? "" : "/", name) <
		PATH_MAX;
}

static void put_listed(void)
{
	const char *where = walk.done[0] == '\0' ? "." : walk.done;
	int fd = openat(walk.from, where, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_Alignas(struct dirent64) char entries[4096];
	char path[PATH_MAX], target[PATH_MAX];
	long length = 0;

	while (fd >= 0 && (length = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < length;) {
			const void *here = entries + at;
			const struct dirent64 *entry = here;

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
				join(path, walk.done, entry->d_name))
				put_entry(path, false, target);
		}
	if (fd >= 0)
		close(fd);
}

/* Put a link's target before what is left. */
static bool follow(const char *target)
{
	char rest[PATH_MAX];

	if (++walk.links > RI_MAX_LINKS || snprintf(rest, sizeof(rest), "%s/%s", target,
		walk.rest) >= (int)sizeof(rest))
		return false;
	memcpy(walk.rest, rest, strlen(rest) + 1);
	if (target[0] == '/')
		walk.done[0] = '\0';
	return true;
}

static void go_up(void)
{
	char *slash = strrchr(walk.done, '/');

	*(slash == NULL ? walk.done : slash) = '\0';
}

/* Take the first name of what is left. Returns false where the way ends. */
static bool step(void)
{
	char *start = walk.rest + strspn(walk.rest, "/"), name[NAME_MAX + 1];
	size_t length = strcspn(start, "/");
	char *rest = start + length + strspn(start + length, "/");
	char path[PATH_MAX], target[PATH_MAX];
	bool last = *rest == '\0';

	if (length == 0) {
		if (walk.flags & O_DIRECTORY && (walk.flags & (O_PATH | O_ACCMODE)) == O_RDONLY)
			put_listed();
		return false;
	}
	if (length > NAME_MAX)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	memmove(walk.rest, rest, strlen(rest) + 1);
	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		go_up();
		return true;
	}
	if (!join(path, walk.done, name) ||
		!put_entry(path, last && (walk.flags & O_PATH) == 0, target))
		return false;
	if (target[0] != '\0')
		return !(last && (walk.flags & O_NOFOLLOW) != 0) && follow(target);
	memcpy(walk.done, path, strlen(path) + 1);
	return true;
}

void ri_capture_tell(const struct ri_host *host, const char *path, int flags, int error)
{
	bool node = (flags & O_ACCMODE) == O_RDWR;

	if (root < 0 || (error != 0 && !node)) {
		if (root >= 0 && error != ENOENT && error != ENOTDIR)
			leave_out(path, strerror(error));
		return;
	}
	if (strlen(path) >= sizeof(walk.rest))
		return;
	walk.from = host->root;
	walk.flags = flags;
	walk.error = error;
	walk.links = 0;
	walk.done[0] = '\0';
	memcpy(walk.rest, path, strlen(path) + 1);
	while (step())
		;
}

int ri_capture_tree_begin(int where, const char *subject, struct ri_error *err)
{
	counts = ri_pages_shared(sizeof(*counts));
	content = ri_pages(CONTENT);
	masked = ri_pages(MASKED);
	if (counts == NULL || content == NULL || masked == NULL)
		return ri_fail(err, RI_CODE_MEMORY, subject, "no memory left to make it");
	folder = where;
	if (mkdirat(folder, "root", 0700) == 0)
		root = openat(folder, "root", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0)
		return ri_fail(err, RI_CODE_CAPTURE_REFUSED, subject, "cannot be made: %s",
			strerror(errno));
	return 0;
}

size_t ri_capture_count(size_t *left_out)
{
	*left_out = counts->left_out;
	return counts->made;
}
