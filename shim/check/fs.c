/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the training data is. Mounts of Blob Storage and Azure Files are too
 * slow for ranks on several nodes that all read at once (Azure architecture
 * center, "Distributed training of deep learning models", storage
 * considerations); the table of mounts tells, and no file of them is touched:
 * one that does not answer would keep us.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "check/check.h"
#include "node/storage.h"

enum { MOUNTS_SIZE = 262144 };

static const char data_hint[] =
	"copy the data to a local disk when the job starts (Azure ML: mode: download for the "
	"input), or serve it from NFS or a parallel file system; mounts of Blob Storage and Azure "
	"Files are for scripts, logs and results";

/* One path that holds data, and what said so. */
struct data {
	const char *subject;
	size_t length;		/* of subject */
	const char *path;
};

static char *read_mounts(struct ri_checking *checking)
{
	static char text[MOUNTS_SIZE];

	return ri_host_read(checking->host, "proc/self/mountinfo", text, sizeof(text)) < 0
		? NULL : text;
}

/*
 * The mount of a path, by its words; where these lead to a local disk, by
 * where they really lead: a link may point into a mount.
 */
static bool find_mount(struct ri_checking *checking, const struct data *data,
	struct ri_mount *out)
{
	char real[RI_PATH_SIZE], *text = read_mounts(checking);

	if (text == NULL || !ri_mount_of(text, data->path, out))
		return false;
	if (ri_storage_of(out) != RI_STORAGE_LOCAL ||
		ri_path_real(checking->host, data->path, real) < 0 ||
		strcmp(real, data->path) == 0)
		return true;
	text = read_mounts(checking);
	return text != NULL && ri_mount_of(text, real, out);
}

static void judge(struct ri_checking *checking, const struct data *data)
{
	char subject[64], quoted[RI_QUOTE_SIZE];
	enum ri_storage storage;
	struct ri_mount mount;

	snprintf(subject, sizeof(subject), "%.*s", (int)data->length, data->subject);
	ri_quote(quoted, sizeof(quoted), data->path);
	if (!find_mount(checking, data, &mount)) {
		ri_check_unknown(checking, RI_CODE_FS_DATA_UNKNOWN, subject,
			"nothing tells what %s is on", quoted);
		return;
	}
	storage = ri_storage_of(&mount);
	if (storage == RI_STORAGE_LOCAL || storage == RI_STORAGE_PARALLEL) {
		ri_check_pass(checking, subject, "%s is on %s", quoted, ri_storage_name(storage));
	} else if (storage == RI_STORAGE_NFS || storage == RI_STORAGE_FUSE) {
		ri_check_note(checking, RI_CODE_FS_DATA_SHARED, subject,
			"%s is on %s; a local disk is faster", quoted, ri_storage_name(storage));
	} else {
		if (ri_topology_is_wide(checking->topology))
			ri_check_warn(checking, RI_CODE_FS_DATA_SLOW, subject, "%s is on %s, "
				"too slow for the ranks of several nodes", quoted,
				ri_storage_name(storage));
		else
			ri_check_lack(checking, RI_CODE_FS_DATA_SLOW, subject, "%s is on %s",
				quoted, ri_storage_name(storage));
		ri_check_hint(checking, "%s", data_hint);
	}
}

/* Inputs that hold no data are named so by those who follow the guides. */
static bool is_code(const char *name, size_t length)
{
	static const char *const words[] = { "SCRIPT", "CODE", "CONFIG" };

	for (size_t i = 0; i + 4 <= length; i++)
		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			if (strncasecmp(name + i, words[j], strlen(words[j])) == 0)
				return true;
	return false;
}

/* Does a variable name an input of the job? */
static bool is_input(const struct ri_env_entry *entry)
{
	/*
	 * Batch AI REST reference, "Jobs - Create", inputDirectories; Azure ML SDK
	 * v1, azureml.data.data_reference; Azure ML's runtime for inputs of jobs;
	 * sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md.
	 */
	static const char *const starts[] = { "AZ_BATCHAI_INPUT_", "AZUREML_DATAREFERENCE_",
		"AZURE_ML_INPUT_", "SM_CHANNEL_" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t length = strlen(starts[i]);

		if (strncmp(entry->text, starts[i], length) == 0)
			return !is_code(entry->text + length, entry->name_length - length);
	}
	return false;
}

/* "--data-dir", "--data_dir=/mnt/x": the length of the name of such an option, or 0. */
static size_t data_option(const char *word)
{
	static const char *const names[] = { "data", "data-dir", "data-path", "data-root",
		"datadir", "dataset", "dataset-dir", "dataset-path", "train-data", "train-dir" };
	const char *name = word + strspn(word, "-");
	size_t length = strcspn(name, "="), at;

	for (size_t i = 0; name != word && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) != length)
			continue;
		for (at = 0; at < length; at++)
			if (name[at] != names[i][at] && !(name[at] == '_' && names[i][at] == '-'))
				break;
		if (at == length)
			return length + (size_t)(name - word);
	}
	return 0;
}

/* A word of the command, and the next one. */
static bool read_word(struct data *out, char *const *word)
{
	*out = (struct data){ .subject = *word, .length = data_option(*word) };
	if (out->length == 0)
		return false;
	out->path = (*word)[out->length] == '=' ? *word + out->length + 1 : word[1];
	return out->path != NULL && out->path[0] == '/';
}

static bool read_variable(struct data *out, const struct ri_env_entry *entry)
{
	*out = (struct data){ entry->text, entry->name_length, ri_env_entry_value(entry) };
	return out->path != NULL && out->path[0] == '/' && is_input(entry);
}

static bool names_data(const struct ri_checking *checking)
{
	struct data data;

	for (size_t i = 0; i < checking->env->count; i++)
		if (read_variable(&data, &checking->env->entries[i]))
			return true;
	for (char *const *word = checking->command; word != NULL && *word != NULL; word++)
		if (read_word(&data, word))
			return true;
	return false;
}

static void check_data(struct ri_checking *checking)
{
	struct data data;

	for (size_t i = 0; i < checking->env->count; i++)
		if (read_variable(&data, &checking->env->entries[i]))
			judge(checking, &data);
	for (char *const *word = checking->command; word != NULL && *word != NULL; word++)
		if (read_word(&data, word))
			judge(checking, &data);
	if (checking->count == 0)
		ri_check_skip(checking, "data",
			"neither the environment nor the command names any");
}

const struct ri_check ri_check_fs_data = {
	.id = "fs.data",
	.summary = "training data is on storage that keeps up",
	.reads = "AZ_BATCHAI_INPUT_*, AZUREML_DATAREFERENCE_*, AZURE_ML_INPUT_*, SM_CHANNEL_* "
		"and options like --data-dir, and what /proc/self/mountinfo says of these paths "
		"(Azure architecture center, \"Distributed training of deep learning models\")",
	.fails = "data is on a mount of Blob Storage (blobfuse) or an SMB share (Azure Files), a "
		"warning where the job has several nodes; on NFS or another FUSE file system, a "
		"note",
	.advice = data_hint,
	.unverified = "by which names the mounts of Azure ML's own data runtime appear",
	.when = RI_CHECK_WIDE,
	.concerns = names_data,
	.run = check_data,
};
