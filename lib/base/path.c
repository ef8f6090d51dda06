/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"

/* How far a path is resolved, and what of it is left. */
struct way {
	char *real;
	size_t length;
	char rest[RI_PATH_SIZE];
	int links;
};

/* Cut the first name off rest; 0 when none is left. */
static size_t next_name(struct way *way, char *name)
{
	char *start = way->rest + strspn(way->rest, "/");
	size_t length = strcspn(start, "/");

	memcpy(name, start, length);
	name[length] = '\0';
	memmove(way->rest, start + length, strlen(start + length) + 1);
	return length;
}

static void go_up(struct way *way)
{
	while (way->length > 0 && way->real[way->length - 1] != '/')
		way->length--;
	way->length -= way->length > 0;
	way->real[way->length] = '\0';
}

static int go_down(struct way *way, const char *name, size_t length)
{
	if (way->length + 1 + length >= RI_PATH_SIZE) {
		errno = ENAMETOOLONG;
		return -1;
	}
	way->real[way->length++] = '/';
	memcpy(way->real + way->length, name, length + 1);
	way->length += length;
	return 0;
}

/* Put a link's target before what is left, and go back to where it counts from. */
static int follow(struct way *way, char *target, size_t length)
{
	size_t rest = strlen(way->rest);

	if (++way->links > RI_MAX_LINKS || length + rest >= sizeof(way->rest)) {
		errno = way->links > RI_MAX_LINKS ? ELOOP : ENAMETOOLONG;
		return -1;
	}
	memmove(way->rest + length, way->rest, rest + 1);
	memcpy(way->rest, target, length);
	if (target[0] == '/')
		way->length = 0;
	else
		go_up(way);
	way->real[way->length] = '\0';
	return 0;
}

static int step(struct ri_host *host, struct way *way)
{
	char target[RI_PATH_SIZE];
	ssize_t length;
	int fd = ri_host_open(host, way->real, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		return -1;
	/* an empty path is the link itself, and for all else ENOENT (readlink(2)) */
	length = readlinkat(fd, "", target, sizeof(target));
	close(fd);
	if (length <= 0)
		return 0;
	if ((size_t)length == sizeof(target)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return follow(way, target, (size_t)length);
}

int ri_path_real(struct ri_host *host, const char *path, char *real)
{
	struct way way = { .real = real };
	char name[RI_PATH_SIZE];
	size_t length;

	real[0] = '\0';
	if (path[0] == '\0' || strlen(path) >= sizeof(way.rest)) {
		errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(way.rest, path, strlen(path) + 1);
	while ((length = next_name(&way, name)) > 0) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0)
			go_up(&way);
		else if (go_down(&way, name, length) < 0 || step(host, &way) < 0)
			return -1;
	}
	if (way.length == 0)
		memcpy(real, "/", 2);
	return 0;
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

bool ri_path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return length > 0 && strncmp(path, folder, length) == 0 &&
		(path[length] == '/' || path[length] == '\0');
}
