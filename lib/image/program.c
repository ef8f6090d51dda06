/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

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

bool ri_script_read(struct ri_script *out, const char *head, size_t length)
{
	size_t from = 2, end;
	bool has_return;

	if (length > RI_SCRIPT_HEAD)
		length = RI_SCRIPT_HEAD;
	if (length < 2 || head[0] != '#' || head[1] != '!')
		return false;
	while (from < length && ri_is_blank(head[from]))
		from++;
	for (end = from; end < length && !ri_is_blank(head[end]) && head[end] != '\n' &&
		head[end] != '\0';)
		end++;
	has_return = end > from && head[end - 1] == '\r';
	if (has_return)
		end--;
	if (end == from)
		return false;
	memcpy(out->interpreter, head + from, end - from);
	out->interpreter[end - from] = '\0';
	out->has_return = has_return;
	return true;
}
