/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <stdio.h>
#include <string.h>

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
