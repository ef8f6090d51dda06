/* SPDX-License-Identifier: Apache-2.0 */
#include "image/nccl_conf.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"

static const char system_file[] = "/etc/nccl.conf";

static void read_file(struct ri_nccl_file *out, const struct ri_image *image, const char *path)
{
	char *text;

	/* most images have none, and need no memory for it */
	if (!ri_host_has(image->host, path))
		return;
	text = ri_arena_alloc(image->arena, RI_NCCL_FILE);
	if (text == NULL || ri_host_read(image->host, path, text, RI_NCCL_FILE) < 0)
		return;
	*out = (struct ri_nccl_file){ ri_arena_copy(image->arena, path, strlen(path)), text };
}

void ri_nccl_conf_read(struct ri_nccl_conf *out, const struct ri_image *image)
{
	const char *own = ri_env_get(image->env, "NCCL_CONF_FILE");
	const char *home = ri_env_get(image->env, "HOME");
	char path[RI_PATH_SIZE];

	*out = (struct ri_nccl_conf){ .env = image->env };
	if (own != NULL && own[0] == '/')
		read_file(&out->files[0], image, own);
	else if (own == NULL && home != NULL && home[0] == '/' &&
		ri_path_join(path, home, ".nccl.conf"))
		read_file(&out->files[0], image, path);
	read_file(&out->files[1], image, system_file);
}

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

const char *ri_nccl_conf_get(const struct ri_nccl_conf *conf, const char *name, char *value)
{
	const char *set = ri_env_get(conf->env, name);

	value[0] = '\0';
	if (set != NULL) {
		if (strlen(set) >= RI_NCCL_VALUE)
			return NULL;
		ri_text_copy(value, RI_NCCL_VALUE, set);
		return name;
	}
	for (size_t i = 0; i < sizeof(conf->files) / sizeof(conf->files[0]); i++)
		if (conf->files[i].path != NULL &&
			ri_nccl_conf_find(conf->files[i].text, name, value))
			return conf->files[i].path;
	return NULL;
}
