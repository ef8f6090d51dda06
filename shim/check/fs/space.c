/* SPDX-License-Identifier: Apache-2.0 */
/* Where results and temporary files go: it is there, can be written to, and has room. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/path.h"
#include "check/check.h"
#include "check/fs/paths.h"
#include "check/machine.h"

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
	char name[64], quoted[RI_QUOTE_SIZE], there[RI_PATH_SIZE];
	struct ri_named_path named;

	for (size_t at = 0; ri_path_find(checking, RI_PATH_OUTPUT, &at, &named);) {
		const char *subject = ri_path_subject(&named, name);
		int error = ENOTDIR;

		find_there(checking, named.path, there);
		ri_quote(quoted, sizeof(quoted), named.path);
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
	char quoted[RI_QUOTE_SIZE], left[RI_SIZE_TEXT];
	struct statvfs info;
	uint64_t bytes;

	if (fd < 0)
		return;
	ri_quote(quoted, sizeof(quoted), path);
	if (fstatvfs(fd, &info) == 0 && info.f_blocks > 0) {
		bytes = (uint64_t)info.f_bavail * info.f_frsize;
		ri_size_show(left, bytes);
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
	struct ri_named_path named;
	const char *subject, *folder = temporary_folder(checking, &subject);

	if (!checking->host->live) {
		ri_check_unknown(checking, RI_CODE_FS_SPACE_UNKNOWN, subject,
			"a recorded machine does not show the free space");
		return;
	}
	judge_space(checking, subject, folder);
	for (size_t at = 0; ri_path_find(checking, RI_PATH_OUTPUT, &at, &named);) {
		find_there(checking, named.path, there);
		judge_space(checking, ri_path_subject(&named, name), there);
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
	struct stat info = { .st_mode = 0 };
	char quoted[RI_QUOTE_SIZE];
	bool found;
	int error;

	if (!checking->asked &&
		(ri_env_get(checking->env, temporary) == NULL || !ri_check_is_shared(checking))) {
		ri_check_skip(checking, subject, "this job does not depend on it");
		return;
	}
	ri_quote(quoted, sizeof(quoted), folder);
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
