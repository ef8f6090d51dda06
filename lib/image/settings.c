/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* --- NCCL ------------------------------------------------------------------- */

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

/* --- Open MPI ---------------------------------------------------------------- */

/* Debian's has 3 kB. */
enum { FILE_SIZE = 65536 };

/* The installation's own file, and the one that stands above the environment. */
static const char plain[] = "openmpi-mca-params.conf";
static const char above[] = "openmpi-mca-params-override.conf";

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

static bool read_file(struct ri_mca *mca, const char *path, struct ri_mca_file *out)
{
	char text[FILE_SIZE];
	long length = ri_host_read(mca->image->host, path, text, sizeof(text));

	if (length < 0)
		return false;
	out->path = ri_arena_copy(mca->image->arena, path, strlen(path));
	out->text = ri_arena_copy(mca->image->arena, text, (size_t)length);
	return out->path != NULL && out->text != NULL;
}

static bool add_file(struct ri_mca *mca, const char *folder, const char *name)
{
	char path[RI_PATH_SIZE];

	if (mca->count == RI_MCA_FILES || !ri_path_join(path, folder, name) ||
		!read_file(mca, path, &mca->files[mca->count]))
		return false;
	mca->count++;
	return true;
}

/* Commas between them in version 4, colons before; "none" is none. */
static void add_stated(struct ri_mca *mca, const char *list)
{
	char path[RI_PATH_SIZE];

	while (*list != '\0') {
		size_t length = strcspn(list, ",:");

		if (list[0] == '/' && length < sizeof(path) && mca->count < RI_MCA_FILES) {
			memcpy(path, list, length);
			path[length] = '\0';
			mca->count += read_file(mca, path, &mca->files[mca->count]);
		}
		list += length + (list[length] != '\0');
	}
}

void ri_mca_init(struct ri_mca *mca, const struct ri_image *image, const char *prefix)
{
	char own[RI_PATH_SIZE], path[RI_PATH_SIZE];
	/* the installation's own, and of one that is a distribution's these, too */
	const char *const folders[] = { own, "/etc/openmpi", "/etc/openmpi-" ARCHITECTURE, "/etc" };
	const char *moved = ri_env_get(image->env, "OPAL_PREFIX");
	const char *home = ri_env_get(image->env, "HOME");
	struct ri_mca_value stated;
	size_t count = 1;

	*mca = (struct ri_mca){ .image = image };
	if (moved != NULL && moved[0] == '/')
		prefix = moved;
	if (ri_path_below(prefix, "/usr") && !ri_path_below(prefix, "/usr/local"))
		count = sizeof(folders) / sizeof(folders[0]);
	if (!ri_path_join(own, prefix, "etc"))
		return;
	for (size_t i = 0; i < count && mca->override.path == NULL; i++)
		if (ri_path_join(path, folders[i], above) &&
			!read_file(mca, path, &mca->override))
			mca->override.path = NULL;
	if (ri_mca_get(mca, "mca_base_param_files", &stated)) {
		add_stated(mca, stated.value);
		return;
	}
	if (home != NULL && home[0] == '/')
		add_file(mca, home, ".openmpi/mca-params.conf");
	for (size_t i = 0; i < count; i++)
		if (add_file(mca, folders[i], plain))
			return;
}

/* The last line of a file that sets the name counts. */
static bool get_from_file(const struct ri_mca *mca, const struct ri_mca_file *file,
	const char *name, struct ri_mca_value *out)
{
	struct ri_mca_text text = { .rest = ri_arena_copy(mca->image->arena, file->text,
		strlen(file->text)) };
	struct ri_mca_value set = { .origin = file->path };
	bool found = false;

	while (text.rest != NULL && ri_mca_next(&text, &set))
		if (strcmp(set.name, name) == 0) {
			*out = set;
			found = true;
		}
	return found;
}

bool ri_mca_get(const struct ri_mca *mca, const char *name, struct ri_mca_value *out)
{
	const char *variable = ri_arena_format(mca->image->arena, "OMPI_MCA_%s", name);
	const char *value = variable == NULL ? NULL : ri_env_get(mca->image->env, variable);

	if (mca->override.path != NULL && get_from_file(mca, &mca->override, name, out))
		return true;
	if (value != NULL) {
		*out = (struct ri_mca_value){ .value = value, .origin = variable };
		return true;
	}
	for (size_t i = 0; i < mca->count; i++)
		if (get_from_file(mca, &mca->files[i], name, out))
			return true;
	return false;
}

bool ri_mca_takes(const char *list, const char *component)
{
	bool without = list[0] == '^';
	bool named = list[0] == '\0' ||
		ri_list_has(list + without, strlen(list + without), component);

	return named != without;
}
