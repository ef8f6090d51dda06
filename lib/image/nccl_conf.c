/* SPDX-License-Identifier: Apache-2.0 */
#include "image/nccl_conf.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"

bool ri_nccl_conf_find(const char *text, const char *name, char *value)
{
	size_t length = strlen(name), size;

	for (const char *line = text; *line != '\0';) {
		size = strcspn(line, "\n");
		if (strncmp(line, name, length) == 0 && line[length] == '=' &&
			size - length - 1 < RI_NCCL_VALUE) {
			memcpy(value, line + length + 1, size - length - 1);
			value[size - length - 1] = '\0';
			return true;
		}
		line += size + (line[size] == '\n');
	}
	value[0] = '\0';
	return false;
}

const char *ri_nccl_conf_get(const struct ri_image *image, const char *name, char *value)
{
	const char *set = ri_env_get(image->env, name);
	const char *own = ri_env_get(image->env, "NCCL_CONF_FILE");
	const char *home = ri_env_get(image->env, "HOME");
	char text[RI_NCCL_FILE], path[RI_PATH_SIZE];
	const char *files[] = { NULL, "/etc/nccl.conf" };

	value[0] = '\0';
	if (set != NULL) {
		if (strlen(set) >= RI_NCCL_VALUE)
			return NULL;
		ri_text_copy(value, RI_NCCL_VALUE, set);
		return name;
	}
	if (own != NULL && own[0] == '/')
		files[0] = own;
	else if (own == NULL && home != NULL && home[0] == '/' &&
		ri_path_join(path, home, ".nccl.conf"))
		files[0] = path;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] != NULL &&
			ri_host_read(image->host, files[i], text, sizeof(text)) >= 0 &&
			ri_nccl_conf_find(text, name, value))
			return ri_arena_copy(image->arena, files[i], strlen(files[i]));
	return NULL;
}
