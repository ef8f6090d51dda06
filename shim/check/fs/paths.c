/* SPDX-License-Identifier: Apache-2.0 */
#include "check/fs/paths.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "check/machine.h"
#include "node/storage.h"

/*
 * Batch AI REST reference, "Jobs - Create", inputDirectories; Azure ML SDK v1,
 * azureml.data.data_reference; Azure ML's runtime for inputs of jobs;
 * sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md.
 */
static const char *const inputs[] = { "AZ_BATCHAI_INPUT_", "AZUREML_DATAREFERENCE_",
	"AZURE_ML_INPUT_", "SM_CHANNEL_", NULL };

/* The same places: outputDirectories, outputs of jobs, and SageMaker's folders by name. */
static const char *const outputs[] = { "AZ_BATCHAI_OUTPUT_", "AZURE_ML_OUTPUT_", NULL };
static const char *const folders[] = { "AZ_BATCHAI_STDOUTERR_DIR", "SM_MODEL_DIR",
	"SM_OUTPUT_DATA_DIR", "SM_OUTPUT_DIR", "SM_OUTPUT_INTERMEDIATE_DIR", NULL };

/* Options as trainers call them, without dashes in front and '-' for '_'. */
static const char *const input_options[] = { "data", "data-dir", "data-path", "data-root",
	"datadir", "dataset", "dataset-dir", "dataset-path", "train-data", "train-dir", NULL };
static const char *const output_options[] = { "output-dir", "output-path", "out-dir", "save-dir",
	"save-path", "checkpoint-dir", "ckpt-dir", "logdir", "log-dir", "logging-dir", NULL };

static size_t find_start(const struct ri_env_entry *entry, const char *const *starts)
{
	for (; *starts != NULL; starts++)
		if (strncmp(entry->text, *starts, strlen(*starts)) == 0)
			return strlen(*starts);
	return 0;
}

/* No URL, and not the next option. */
static bool may_be_path(struct ri_named_path *named)
{
	if (named->path == NULL || named->path[0] == '\0' || named->path[0] == '-')
		return false;
	named->relative = named->path[0] != '/';
	return !named->relative || strstr(named->path, "://") == NULL;
}

static bool read_variable(struct ri_named_path *out, const struct ri_env_entry *entry,
	enum ri_path_use use)
{
	static const char *const code[] = { "SCRIPT", "CODE", "CONFIG" };
	size_t start;

	*out = (struct ri_named_path){ .subject = entry->text, .length = entry->name_length,
		.path = ri_env_entry_value(entry) };
	if (!may_be_path(out) || (out->relative && strchr(out->path, '/') == NULL))
		return false;
	for (size_t i = 0; use == RI_PATH_OUTPUT && folders[i] != NULL; i++)
		if (ri_env_entry_is(entry, folders[i], strlen(folders[i])))
			return true;
	if (use == RI_PATH_OUTPUT)
		return find_start(entry, outputs) > 0;
	start = find_start(entry, inputs);
	if (start == 0)
		return false;
	/* inputs that hold no data are named so by those who follow the guides */
	for (; start + 4 <= entry->name_length; start++)
		for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
			if (strncasecmp(entry->text + start, code[i], strlen(code[i])) == 0)
				return false;
	return true;
}

/* "--data-dir", "--data_dir=/mnt/x": the length of the name of such an option, or 0. */
static size_t find_option(const char *word, const char *const *names)
{
	const char *name = word + strspn(word, "-");
	size_t length = strcspn(name, "="), at;

	for (; name != word && *names != NULL; names++) {
		if (strlen(*names) != length)
			continue;
		for (at = 0; at < length; at++)
			if (name[at] != (*names)[at] && !(name[at] == '_' && (*names)[at] == '-'))
				break;
		if (at == length)
			return length + (size_t)(name - word);
	}
	return 0;
}

static bool read_word(struct ri_named_path *out, char *const *words, size_t at,
	enum ri_path_use use)
{
	size_t length = find_option(words[at],
		use == RI_PATH_OUTPUT ? output_options : input_options);

	if (length > 0) {
		*out = (struct ri_named_path){ .subject = words[at], .length = length,
			.path = words[at][length] == '=' ? words[at] + length + 1 : words[at + 1] };
		return may_be_path(out);
	}
	*out = (struct ri_named_path){ .subject = words[at], .length = strlen(words[at]),
		.path = words[at], .guessed = true };
	/* "train.py /mnt/imagenet": a path without an option before it, and not like a file's */
	return use == RI_PATH_DATA && at > 0 && strchr(words[at], '/') != NULL &&
		words[at - 1][0] != '-' && strchr(ri_path_name(words[at]), '.') == NULL &&
		may_be_path(out);
}

bool ri_path_next(const struct ri_checking *checking, enum ri_path_use use, size_t *at,
	struct ri_named_path *out)
{
	const struct ri_env *env = checking->env;
	const size_t variables = env->count;

	while (*at < variables)
		if (read_variable(out, &env->entries[(*at)++], use))
			return true;
	while (checking->command != NULL && checking->command[*at - variables] != NULL)
		if (read_word(out, checking->command, (*at)++ - variables, use))
			return true;
	return false;
}

bool ri_path_find(const struct ri_checking *checking, enum ri_path_use use, size_t *at,
	struct ri_named_path *out)
{
	static char path[RI_PATH_SIZE];
	char here[RI_PATH_SIZE], joined[RI_PATH_SIZE];

	while (ri_path_next(checking, use, at, out)) {
		if (!out->relative)
			return true;
		if (!checking->host->live || getcwd(here, sizeof(here)) == NULL || here[0] != '/')
			continue;
		while (out->path[0] == '.' && out->path[1] == '/')
			out->path += 2;
		if (snprintf(joined, sizeof(joined), "%s/%s", here[1] == '\0' ? "" : here,
			out->path) >= (int)sizeof(joined))
			continue;
		/* without links and ".." where it is there */
		if (ri_host_real(checking->host, joined, path) < 0)
			ri_text_copy(path, sizeof(path), joined);
		out->path = path;
		return true;
	}
	return false;
}

const char *ri_path_subject(const struct ri_named_path *named, char out[64])
{
	snprintf(out, 64, "%.*s", (int)named->length, named->subject);
	return out;
}

bool ri_path_mount(const struct ri_checking *checking, const char *path, struct ri_mount *out)
{
	char real[RI_PATH_SIZE], *text = ri_machine_mounts(checking->host);

	if (text == NULL || !ri_mount_of(text, path, out))
		return false;
	/* by its words first: to follow a path into a mount is to touch it */
	if (ri_storage_of(out) != RI_STORAGE_LOCAL ||
		ri_host_real(checking->host, path, real) < 0 || strcmp(real, path) == 0)
		return true;
	text = ri_machine_mounts(checking->host);
	return text != NULL && ri_mount_of(text, real, out);
}
