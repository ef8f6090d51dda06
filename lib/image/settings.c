/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/proc.h"
#include "base/text.h"

/* --- NCCL ------------------------------------------------------------------- */

bool ri_nccl_conf_find(const char *text, const char *name, char *value)
{
	const char *at = ri_proc_field(text, name, '=');
	size_t length = at == NULL ? RI_NCCL_VALUE : strcspn(at, "\n");
	bool found = length < RI_NCCL_VALUE;

	snprintf(value, RI_NCCL_VALUE, "%.*s", found ? (int)length : 0, found ? at : "");
	return found;
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
	for (size_t i = 0; i < RI_ARRAY_SIZE(files); i++)
		if (files[i] != NULL &&
			ri_host_read(image->host, files[i], text, sizeof(text)) >= 0 &&
			ri_nccl_conf_find(text, name, value))
			return ri_arena_copy(image->arena, files[i], strlen(files[i]));
	return NULL;
}

/* --- Open MPI ---------------------------------------------------------------- */

/* Debian's has 3 kB. */
enum { FILE_SIZE = 65536 };

#if defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "x86_64"
#endif

/* What is left of a line after comments that end within it. */
static char *skip_comments(struct ri_mca_text *text, char *line)
{
	char *end;

	for (;;) {
		line += text->comment ? 0 : strspn(line, " \t\f\v");
		if (!text->comment && strncmp(line, "/*", 2) != 0)
			return line;
		end = strstr(text->comment ? line : line + 2, "*/");
		text->comment = end == NULL;
		if (end == NULL)
			return line + strlen(line);
		line = end + 2;
	}
}

/* Cut the word that line starts with; the rest begins behind the blanks after it. */
static char *cut_word(char *line, char *after)
{
	size_t length = 0, blanks;

	while (isalnum((unsigned char)line[length]) ||
		(line[length] != '\0' && strchr("_-.", line[length]) != NULL))
		length++;
	blanks = strspn(line + length, " \t\f\v");
	*after = line[length + blanks];
	line[length] = '\0';
	return line + length + blanks;
}

/* The value of "-mca": a word, or what stands between quotes. */
static char *cut_value(char *line, char **value)
{
	const char quote = *line == '"' || *line == '\'' ? *line : '\0';
	char *end = quote == '\0' ? NULL : strchr(line + 1, quote);

	*value = line + (end != NULL);
	if (end == NULL)
		end = line + strcspn(line, " \t");
	line = *end == '\0' ? end : end + 1;
	*end = '\0';
	return line;
}

static bool read_line(struct ri_mca_text *text, char *line, struct ri_mca_value *out)
{
	char after, *rest = cut_word(line, &after), *value;
	size_t length;

	/* "-mca NAME VALUE", which several may stand in one line */
	if (strcmp(line, "-mca") == 0 || strcmp(line, "--mca") == 0) {
		line = rest;
		rest = cut_word(line, &after);
		if (after == '\0' || line[0] == '\0' || rest == line + strlen(line))
			return false;
		text->line = cut_value(rest, &value);
		out->name = line;
		out->value = value;
		return true;
	}
	if (line[0] == '\0' || after != '=')
		return false;
	out->name = line;
	out->value = rest + 1 + strspn(rest + 1, " \t\f\v");
	length = strlen(rest);
	while (length > 1 && (rest[length - 1] == ' ' || rest[length - 1] == '\t'))
		rest[--length] = '\0';
	return true;
}

bool ri_mca_next(struct ri_mca_text *text, struct ri_mca_value *out)
{
	bool found = false;

	while (!found && (text->line != NULL || *text->rest != '\0')) {
		char *line = text->line, *end;

		/* the rest of a line, or the next one, without comments */
		text->line = NULL;
		if (line == NULL) {
			line = text->rest;
			end = line + strcspn(line, "\n");
			text->rest = *end == '\0' ? end : end + 1;
			*end = '\0';
			text->number++;
		}
		found = read_line(text, skip_comments(text, line), out);
		out->line = text->number;
	}
	return found;
}

/* Is there this file? *out is what its last line for the name says, and left where none does. */
static bool read_file(const struct ri_image *image, const char *path, const char *name,
	struct ri_mca_value *out)
{
	char bytes[FILE_SIZE];
	struct ri_mca_text text = { .rest = bytes };
	struct ri_mca_value set, last = { .value = NULL };

	if (ri_host_read(image->host, path, bytes, sizeof(bytes)) < 0)
		return false;
	while (ri_mca_next(&text, &set))
		if (strcmp(set.name, name) == 0)
			last = set;
	if (last.value != NULL)
		*out = (struct ri_mca_value){ .line = last.line,
			.value = ri_arena_copy(image->arena, last.value, strlen(last.value)),
			.origin = ri_arena_copy(image->arena, path, strlen(path)) };
	return true;
}

/* The installation's own folder, and of one that is a distribution's more. */
struct folders {
	const char *paths[4];
	size_t count;
};

/* The first of them that has the file decides. */
static void read_first(const struct ri_image *image, const struct folders *folders,
	const char *file, const char *name, struct ri_mca_value *out)
{
	char path[RI_PATH_SIZE];

	for (size_t i = 0; i < folders->count; i++)
		if (ri_path_join(path, folders->paths[i], file) &&
			read_file(image, path, name, out))
			return;
}

/* By what stands above all files that are listed. */
static void get_above(const struct ri_image *image, const struct folders *folders,
	const char *name, struct ri_mca_value *out)
{
	const char *variable = ri_arena_format(image->arena, "OMPI_MCA_%s", name);

	*out = (struct ri_mca_value){ .value = NULL };
	read_first(image, folders, "openmpi-mca-params-override.conf", name, out);
	if (out->value == NULL && variable != NULL)
		*out = (struct ri_mca_value){ .value = ri_env_get(image->env, variable),
			.origin = variable };
}

bool ri_mca_get(const struct ri_image *image, const char *prefix, const char *name,
	struct ri_mca_value *out)
{
	char own[RI_PATH_SIZE], path[RI_PATH_SIZE];
	struct folders folders = { { own, "/etc/openmpi", "/etc/openmpi-" ARCHITECTURE, "/etc" },
		.count = 1 };
	const char *moved = ri_env_get(image->env, "OPAL_PREFIX");
	const char *home = ri_env_get(image->env, "HOME");
	struct ri_mca_value stated;

	if (moved != NULL && moved[0] == '/')
		prefix = moved;
	if (ri_path_below(prefix, "/usr") && !ri_path_below(prefix, "/usr/local"))
		folders.count = 4;
	if (!ri_path_join(own, prefix, "etc"))
		folders.count = 0;
	get_above(image, &folders, name, out);
	if (out->value != NULL)
		return true;
	get_above(image, &folders, "mca_base_param_files", &stated);
	if (stated.value != NULL) {
		/* commas between them in version 4, colons before; "none" is none */
		while (out->value == NULL && ri_path_next(&stated.value, ",:", path))
			read_file(image, path, name, out);
		return out->value != NULL;
	}
	if (home != NULL && home[0] == '/' && ri_path_join(path, home, ".openmpi/mca-params.conf"))
		read_file(image, path, name, out);
	if (out->value == NULL)
		read_first(image, &folders, "openmpi-mca-params.conf", name, out);
	return out->value != NULL;
}

bool ri_mca_takes(const char *list, const char *component)
{
	bool without = list[0] == '^';
	bool named = list[0] == '\0' ||
		ri_list_has(list + without, strlen(list + without), component);

	return named != without;
}
