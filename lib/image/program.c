/* SPDX-License-Identifier: Apache-2.0 */
#include "image/program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

const char ri_default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool ri_program_at(const struct ri_image *image, const char *path, struct ri_program *out)
{
	char real[RI_PATH_SIZE];
	struct stat info;

	if (ri_host_stat(image->host, path, &info) < 0 || !S_ISREG(info.st_mode) ||
		(info.st_mode & 0111) == 0 || ri_host_real(image->host, path, real) < 0)
		return false;
	*out = (struct ri_program){ .path = ri_arena_copy(image->arena, path, strlen(path)),
		.real = ri_arena_copy(image->arena, real, strlen(real)) };
	return out->path != NULL && out->real != NULL;
}

bool ri_program_next(const struct ri_image *image, const char *name, size_t *at,
	struct ri_program *out)
{
	const char *list = ri_env_get(image->env, "PATH");
	char folder[RI_PATH_SIZE], path[RI_PATH_SIZE];

	if (list == NULL)
		list = ri_default_path;
	while (list[*at] != '\0') {
		const char *start = list + *at;
		size_t length = strcspn(start, ":");

		*at += length + (start[length] == ':');
		if (start[0] != '/' || length >= sizeof(folder))
			continue;
		while (length > 0 && start[length - 1] == '/')
			length--;
		memcpy(folder, start, length);
		folder[length] = '\0';
		if (ri_path_join(path, folder, name) && ri_program_at(image, path, out))
			return true;
	}
	return false;
}

bool ri_program_find(const struct ri_image *image, const char *name, struct ri_program *out)
{
	size_t at = 0;

	return ri_program_next(image, name, &at, out);
}
