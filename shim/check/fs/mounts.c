/* SPDX-License-Identifier: Apache-2.0 */
/* Where the training data is, and whether mounts answer. */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "check/check.h"
#include "check/fs/paths.h"
#include "check/machine.h"
#include "node/storage.h"

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

static void judge(struct ri_checking *checking, const struct ri_named_path *data)
{
	char name[64], quoted[RI_QUOTE_SIZE];
	const char *subject = data->guessed ? "COMMAND" : ri_path_subject(data, name);
	enum ri_storage storage;
	struct ri_mount mount;
	const char *fault;
	bool wide;

	ri_quote(quoted, sizeof(quoted), data->path);
	if (!ri_path_mount(checking, data->path, &mount)) {
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
	struct ri_named_path data;

	for (size_t at = 0; ri_path_find(checking, RI_PATH_DATA, &at, &data);)
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
	struct ri_named_path named;
	struct ri_mount mount;
	struct statvfs info;
	char *rest;
	int error;

	if (!checking->asked && !(ri_topology_is_wide(checking->topology) &&
		(ri_path_next(checking, RI_PATH_DATA, &data, &named) ||
			ri_path_next(checking, RI_PATH_OUTPUT, &output, &named)))) {
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
