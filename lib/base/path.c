/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

int ri_way_begin(struct ri_way *way, const char *path)
{
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(way->rest)) {
		errno = length == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	memcpy(way->rest, path, length + 1);
	way->links = 0;
	way->slash = false;
	return 0;
}

bool ri_way_next(struct ri_way *way, char name[NAME_MAX + 2], bool *last)
{
	char *start = way->rest + strspn(way->rest, "/");
	size_t length = strcspn(start, "/");
	char *rest = start + length + strspn(start + length, "/");

	if (length == 0)
		return false;
	snprintf(name, NAME_MAX + 2, "%.*s", (int)length, start);
	*last = *rest == '\0';
	way->slash |= *last && start[length] == '/';
	memmove(way->rest, rest, strlen(rest) + 1);
	return true;
}

int ri_way_follow(struct ri_way *way, const char *target)
{
	size_t length = strlen(target), rest = strlen(way->rest);

	if (++way->links > RI_MAX_LINKS || length + 1 + rest >= sizeof(way->rest)) {
		errno = way->links > RI_MAX_LINKS ? ELOOP : ENAMETOOLONG;
		return -1;
	}
	memmove(way->rest + length + 1, way->rest, rest + 1);
	memcpy(way->rest, target, length);
	way->rest[length] = rest > 0 ? '/' : '\0';
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
