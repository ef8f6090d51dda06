/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the job: where its data is and whether mounts answer; whether its results and temporary
 * files can be written, and have room. The environment and the command say which paths these are,
 * the table of mounts what they are mounted from: a file below a mount may not answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/host.h"
#include "base/text.h"
#include "check/check.h"
#include "check/machine.h"
#include "command/command.h"
#include "node/node.h"

enum path_use { DATA, OUTPUT };

/* A path that the environment or the command names. */
struct named_path {
	const char *subject;	/* the variable or the option, of length bytes */
	size_t length;
	const char *path;	/* as it is named, absolute or not */
	bool guessed;		/* a word of the command that may be data, by our guess alone */
	bool relative;		/* it was named so, and may be no path but a name */
};

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
static bool may_be_path(struct named_path *named)
{
	if (named->path == NULL || named->path[0] == '\0' || named->path[0] == '-')
		return false;
	named->relative = named->path[0] != '/';
	return !named->relative || strstr(named->path, "://") == NULL;
}

static bool read_variable(struct named_path *out, const struct ri_env_entry *entry,
	enum path_use use)
{
	static const char *const code[] = { "SCRIPT", "CODE", "CONFIG" };
	size_t start;

	*out = (struct named_path){ .subject = entry->text, .length = entry->name_length,
		.path = ri_env_entry_value(entry) };
	if (!may_be_path(out) || (out->relative && strchr(out->path, '/') == NULL))
		return false;
	for (size_t i = 0; use == OUTPUT && folders[i] != NULL; i++)
		if (ri_env_entry_is(entry, folders[i], strlen(folders[i])))
			return true;
	if (use == OUTPUT)
		return find_start(entry, outputs) > 0;
	start = find_start(entry, inputs);
	if (start == 0)
		return false;
	/* inputs that hold no data are named so by those who follow the guides */
	for (; start + 4 <= entry->name_length; start++)
		for (size_t i = 0; i < RI_ARRAY_SIZE(code); i++)
			if (strncasecmp(entry->text + start, code[i], strlen(code[i])) == 0)
				return false;
	return true;
}

/* "--data-dir", "--data_dir=/mnt/x": the length of the name of such an option, or 0. */
static size_t find_option(const char *word, const char *const *names)
{
	const char *name = word + strspn(word, "-");
	size_t length = strcspn(name, "=");

	for (; name != word && *names != NULL; names++)
		if (ri_word_is_name(name, *names, length))
			return length + (size_t)(name - word);
	return 0;
}

static bool read_word(struct named_path *out, char *const *words, size_t at,
	enum path_use use)
{
	size_t length = find_option(words[at],
		use == OUTPUT ? output_options : input_options);

	if (length > 0) {
		*out = (struct named_path){ .subject = words[at], .length = length,
			.path = words[at][length] == '=' ? words[at] + length + 1 : words[at + 1] };
		return may_be_path(out);
	}
	*out = (struct named_path){ .subject = words[at], .length = strlen(words[at]),
		.path = words[at], .guessed = true };
	/* "train.py /mnt/imagenet": a path without an option before it, and not like a file's */
	return use == DATA && at > 0 && strchr(words[at], '/') != NULL &&
		words[at - 1][0] != '-' && strchr(ri_path_name(words[at]), '.') == NULL &&
		may_be_path(out);
}

/* The next one from *at on, which is 0 at first. No system call. False when there is none left. */
static bool next_path(const struct ri_checking *checking, enum path_use use, size_t *at,
	struct named_path *out)
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

/*
 * The same, with a path that is absolute: the working directory's goes before it, and is that of
 * the command. Those for which nothing tells it, as on a recorded machine, are passed over. The
 * path lasts until the next call.
 */
static bool find_path(const struct ri_checking *checking, enum path_use use, size_t *at,
	struct named_path *out)
{
	static char path[RI_PATH_SIZE];
	char here[RI_PATH_SIZE], joined[RI_PATH_SIZE];

	while (next_path(checking, use, at, out)) {
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

static const char *show_subject(const struct named_path *named, char out[64])
{
	snprintf(out, 64, "%.*s", (int)named->length, named->subject);
	return out;
}

/*
 * The mount that a path is on, also where a link of it leads into one. False where nothing tells.
 * The strings last until the next call.
 */
static bool find_mount(const struct ri_checking *checking, const char *path, struct ri_mount *out)
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

/*
 * Where the training data is. Mounts of Blob Storage and Azure Files are too
 * slow for ranks on several nodes that all read at once (Azure architecture
 * center, "Distributed training of deep learning models", storage
 * considerations), and so is most other storage behind one server.
 */

static const char data_hint[] =
	"copy the data to a local disk when the job starts (Azure ML: mode: download for the "
	"input), or serve it from a parallel file system; use mounts of Blob Storage and Azure "
	"Files for scripts, logs and results";

/* For a warning, which may be wrong. */
static const char meant_hint[] =
	". If the server is built for that many readers: --checks=default,^fs.data";

/* What it means for the ranks of several nodes; "" where it keeps up. */
static const char *const faults[] = {
	[RI_STORAGE_LOCAL] = "", [RI_STORAGE_PARALLEL] = "",
	[RI_STORAGE_NFS] = ", one server for the ranks of all nodes",
	[RI_STORAGE_FUSE] = ", which serves each node through a single process",
	[RI_STORAGE_BLOBFUSE] = ", too slow for the ranks of several nodes",
	[RI_STORAGE_CIFS] = ", too slow for the ranks of several nodes",
};

static void judge(struct ri_checking *checking, const struct named_path *data)
{
	char name[64];
	const char *subject = data->guessed ? "COMMAND" : show_subject(data, name);
	const char *quoted = RI_QUOTED(data->path);
	enum ri_storage storage;
	struct ri_mount mount;
	const char *fault;
	bool wide;

	if (!find_mount(checking, data->path, &mount)) {
		if (!data->guessed && !data->relative)
			ri_check_unknown(checking, RI_CODE_FS_DATA_UNKNOWN, subject,
				"cannot tell what storage %s is on", quoted);
		return;
	}
	storage = ri_storage_of(&mount);
	fault = faults[storage];
	/*
	 * A path that no variable or option calls data is data, where it is a folder on storage
	 * that is none for data. What is relative may be the name of a data set.
	 */
	if ((data->guessed && fault[0] == '\0') || ((data->guessed || data->relative) &&
		!ri_host_has_folder(checking->host, data->path)))
		return;
	if (fault[0] == '\0') {
		ri_check_pass(checking, subject, "%s is on %s", quoted, ri_storage_name(storage));
		return;
	}
	wide = ri_topology_is_wide(checking->topology);
	ri_check_problem(checking, wide, storage == RI_STORAGE_NFS || storage == RI_STORAGE_FUSE
		? RI_CODE_FS_DATA_SHARED : RI_CODE_FS_DATA_SLOW, subject, "%s is on %s%s", quoted,
		ri_storage_name(storage), wide ? fault : "; a local disk is faster");
	ri_check_hint(checking, "%s%s", data_hint, wide ? meant_hint : "");
}

static void check_data(struct ri_checking *checking)
{
	struct named_path data;

	for (size_t at = 0; find_path(checking, DATA, &at, &data);)
		judge(checking, &data);
	if (checking->count == 0)
		ri_check_skip(checking, "data",
			"neither the environment nor the command names a data folder");
}

const struct ri_check ri_check_fs_data = {
	.summary = "training data is on storage that is fast enough",
	.reads = "AZ_BATCHAI_INPUT_*, AZUREML_DATAREFERENCE_*, AZURE_ML_INPUT_*, SM_CHANNEL_*, "
		"options such as --data-dir, folders that the command names without an option, and "
		"the lines of /proc/self/mountinfo for these paths (Azure architecture center, "
		"\"Distributed training of deep learning models\")",
	.fails = "data is on a mount of Blob Storage (blobfuse), an SMB share (Azure Files), NFS "
		"or another FUSE file system; a warning if the job has several nodes",
	.advice = data_hint,
	.runs = RI_CHECK_LAUNCH,
	.run = check_data,
};

/*
 * Mounts that do not answer. A server of NFS that is gone leaves every reader
 * waiting for ever, and so does a FUSE file system whose process is
 * stuck; ranks hang at their first file and nothing says why.
 */

enum { MOST = 64 };

static void check_hang(struct ri_checking *checking)
{
	size_t data = 0, output = 0, asked = 0;
	struct named_path named;
	struct ri_mount mount;
	struct statvfs info;
	char *rest;
	int error;

	if (!checking->asked && !(ri_topology_is_wide(checking->topology) &&
		(next_path(checking, DATA, &data, &named) ||
			next_path(checking, OUTPUT, &output, &named)))) {
		ri_check_skip(checking, "mounts", "this job does not depend on them");
		return;
	}
	rest = ri_machine_mounts(checking->host);
	if (rest == NULL) {
		ri_check_unknown(checking, RI_CODE_FS_HANG_UNKNOWN, "mounts",
			"/proc/self/mountinfo cannot be read");
		return;
	}
	if (!checking->host->live) {
		ri_check_skip(checking, "mounts", "a recorded machine has no live mounts");
		return;
	}
	while (asked < MOST && ri_mount_next(&rest, &mount)) {
		if (ri_storage_of(&mount) == RI_STORAGE_LOCAL)
			continue;
		ri_check_doing(checking, mount.point);
		error = statvfs(mount.point, &info) < 0 ? errno : 0;
		ri_check_doing(checking, NULL);
		/* what is an answer, though none that helps */
		if (error == ENOTCONN || error == ESTALE || error == EIO || error == ETIMEDOUT ||
			error == EHOSTDOWN || error == EHOSTUNREACH || error == ECONNABORTED)
			ri_check_warn(checking, RI_CODE_FS_HANG_DEAD, mount.point,
				"%s does not answer: %s", ri_storage_name(ri_storage_of(&mount)),
				strerror(error));
		asked++;
	}
	if (asked == 0)
		ri_check_skip(checking, "mounts", "no mount is from another machine or by FUSE");
	else if (checking->count == 0)
		ri_check_pass(checking, "mounts", "%zu from other machines or by FUSE: all answer",
			asked);
}

const struct ri_check ri_check_fs_hang = {
	.summary = "mounts from other machines answer",
	.reads = "/proc/self/mountinfo, and statvfs(3) of each NFS, SMB, FUSE or similar mount, in "
		"a process that rankinit need not wait for",
	.fails = "one does not answer in time, and is then named, or reports that its server is "
		"gone",
	.advice = "outside the image: start the container again, so that it is mounted again; "
		"node admin: umount -l PATH on the host, and check the server or the process "
		"behind the mount",
	.runs = RI_CHECK_LAUNCH,
	.run = check_hang,
};

static const char temporary[] = "TMPDIR";	/* POSIX, "Environment Variables" */
static const char usual[] = "/tmp";

/* What a socket's name leaves of sun_path (unix(7)) for what programs put behind TMPDIR. */
enum { LONGEST = 80 };

#define LEAST_BYTES ((uint64_t)1 << 30)
enum { LEAST_FILES = 10000 };

/* TMPDIR, or /tmp; *subject is which of them. */
static const char *temporary_folder(const struct ri_checking *checking, const char **subject)
{
	const char *value = ri_env_get(checking->env, temporary);

	*subject = value == NULL || value[0] != '/' ? usual : temporary;
	return *subject == usual ? usual : value;
}

/* The path itself, or the folder that it would be made in. */
static void find_there(struct ri_checking *checking, const char *path, char out[RI_PATH_SIZE])
{
	snprintf(out, RI_PATH_SIZE, "%s", path);
	while (out[0] != '\0' && !ri_host_has(checking->host, out))
		ri_path_folder(out, out);
	if (out[0] == '\0')
		snprintf(out, RI_PATH_SIZE, "/");
}

static void check_out(struct ri_checking *checking)
{
	char name[64], there[RI_PATH_SIZE];
	struct named_path named;

	for (size_t at = 0; find_path(checking, OUTPUT, &at, &named);) {
		const char *subject = show_subject(&named, name), *quoted = RI_QUOTED(named.path);
		int error = ENOTDIR;

		find_there(checking, named.path, there);
		/* a file that is there is written anew; in one nothing can be made */
		if (strcmp(there, named.path) == 0 || ri_host_has_folder(checking->host, there))
			error = ri_machine_writable(checking->host, there);
		if (error == 0)
			ri_check_pass(checking, subject, "%s is writable", quoted);
		else
			ri_check_warn(checking, RI_CODE_FS_OUT_DENIED, subject,
				"%s: results cannot be written there: %s", quoted, strerror(error));
	}
	if (checking->count == 0)
		ri_check_skip(checking, "output",
			"neither the environment nor the command names an output folder");
}

const struct ri_check ri_check_fs_out = {
	.summary = "the job's results can be written",
	.reads = "AZ_BATCHAI_OUTPUT_*, AZ_BATCHAI_STDOUTERR_DIR, AZURE_ML_OUTPUT_*, SM_MODEL_DIR, "
		"SM_OUTPUT_* and options such as --output-dir, and whether the kernel would let "
		"this user write there (access(2)); nothing is written",
	.fails = "the kernel would refuse it",
	.advice = "outside the image: mount it without :ro (docker run -v SOURCE:PATH; "
		"Kubernetes: readOnly: false; Azure ML: mode: rw_mount for the output), owned by "
		"the user of the job; or use another folder",
	.runs = RI_CHECK_LAUNCH,
	.run = check_out,
};

/* Says nothing where there is enough. */
static void judge_space(struct ri_checking *checking, const char *subject, const char *path)
{
	int fd = ri_host_open(checking->host, path, O_PATH | O_DIRECTORY);
	const char *quoted = RI_QUOTED(path), *left;
	struct statvfs info;
	uint64_t bytes;

	if (fd < 0)
		return;
	if (fstatvfs(fd, &info) == 0 && info.f_blocks > 0) {
		bytes = (uint64_t)info.f_bavail * info.f_frsize;
		left = RI_SIZE_SHOWN(bytes);
		if (bytes < LEAST_BYTES)
			ri_check_lack(checking, RI_CODE_FS_SPACE_SMALL, subject,
				"%s has only %s left", quoted, left);
		else if (info.f_files > 0 && info.f_favail < LEAST_FILES)
			ri_check_lack(checking, RI_CODE_FS_SPACE_FILES, subject,
				"%s has room for only %llu more files", quoted,
				(unsigned long long)info.f_favail);
		else
			ri_check_pass(checking, subject, "%s has %s left", quoted, left);
	}
	close(fd);
}

static void check_space(struct ri_checking *checking)
{
	char name[64], there[RI_PATH_SIZE];
	struct named_path named;
	const char *subject, *folder = temporary_folder(checking, &subject);

	if (!checking->host->live) {
		ri_check_unknown(checking, RI_CODE_FS_SPACE_UNKNOWN, subject,
			"a recorded machine does not show the free space");
		return;
	}
	judge_space(checking, subject, folder);
	for (size_t at = 0; find_path(checking, OUTPUT, &at, &named);) {
		find_there(checking, named.path, there);
		judge_space(checking, show_subject(&named, name), there);
	}
}

const struct ri_check ri_check_fs_space = {
	.summary = "there is room for temporary files and results",
	.reads = "the free space in the file systems of TMPDIR or /tmp and of the folders of "
		"fs.out (statvfs(3))",
	.fails = "one of them has less than 1 GiB left, or room for fewer than 10000 files",
	.advice = "outside the image: more disk for the container, or a volume (docker run -v, "
		"Kubernetes: an emptyDir or resources.limits with ephemeral-storage); or another "
		"folder in TMPDIR, in the job's environment",
	.run = check_space,
};

static void check_tmp(struct ri_checking *checking)
{
	const char *subject, *folder = temporary_folder(checking, &subject);
	const char *quoted = RI_QUOTED(folder);
	struct stat info = { .st_mode = 0 };
	bool found;
	int error;

	if (!checking->asked &&
		(ri_env_get(checking->env, temporary) == NULL || !ri_check_is_shared(checking))) {
		ri_check_skip(checking, subject, "this job does not depend on it");
		return;
	}
	error = ri_host_stat(checking->host, folder, &info) < 0 ? errno : ENOTDIR;
	found = S_ISDIR(info.st_mode);
	if (found)
		error = ri_machine_writable(checking->host, folder);
	if (!found && !checking->host->live) {
		ri_check_unknown(checking, RI_CODE_FS_TMP_UNKNOWN, subject,
			"%s is not in the recorded machine", quoted);
	} else if (error != 0) {
		ri_check_warn(checking, found ? RI_CODE_FS_TMP_DENIED : RI_CODE_FS_TMP_ABSENT,
			subject, "%s: %s: mpirun and Python's multiprocessing need it", quoted,
			strerror(error));
	} else if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
		ri_check_note(checking, RI_CODE_FS_TMP_STICKY, subject, "%s is writable for all "
			"users and has no sticky bit: users can remove each other's files", quoted);
		ri_check_hint(checking, "inside the image: chmod 1777 %s", folder);
	} else {
		ri_check_pass(checking, subject, "%s is writable", quoted);
	}
	if (subject == usual || strlen(folder) <= LONGEST)
		return;
	ri_check_problem(checking, checking->ranks > 1, RI_CODE_FS_TMP_LONG, temporary,
		"has %zu characters: programs append a name to it, and the result is too long for "
		"a socket", strlen(folder));
	ri_check_expected(checking, "at most %d", LONGEST);
}

const struct ri_check ri_check_fs_tmp = {
	.summary = "temporary files and sockets can be created",
	.reads = "TMPDIR (POSIX), else /tmp: its mode, and whether the kernel would let this user "
		"write there (access(2)); the longest name of a socket (unix(7))",
	.fails = "it does not exist, is not writable, or its path is too long for the names of "
		"sockets below it: a warning if several ranks are on the node",
	.advice = "outside the image: docker run --read-only also needs --tmpfs /tmp, Kubernetes: "
		"readOnlyRootFilesystem also needs an emptyDir at /tmp; or TMPDIR in the job's "
		"environment: the short path of an existing, writable folder",
	.runs = RI_CHECK_LAUNCH,
	.in_image = true,
	.run = check_tmp,
};
