/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts that do not answer. A server of NFS that is gone leaves every reader
 * waiting for ever, and so does a FUSE file system whose process is
 * stuck; ranks hang at their first file and nothing says why.
 */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "check/check.h"
#include "check/fs/paths.h"
#include "check/machine.h"
#include "node/storage.h"

enum { MOST = 64 };

/* What an answer is, though none that helps. */
static bool is_dead(int error)
{
	return error == ENOTCONN || error == ESTALE || error == EIO || error == ETIMEDOUT ||
		error == EHOSTDOWN || error == EHOSTUNREACH || error == ECONNABORTED;
}

static void ask(struct ri_checking *checking, const struct ri_mount *mount)
{
	struct statvfs info;
	int error;

	ri_check_doing(checking, mount->point);
	error = statvfs(mount->point, &info) < 0 ? errno : 0;
	ri_check_doing(checking, NULL);
	if (!is_dead(error))
		return;
	ri_check_warn(checking, RI_CODE_FS_HANG_DEAD, mount->point, "%s does not answer: %s",
		ri_storage_name(ri_storage_of(mount)), strerror(error));
}

static void check_hang(struct ri_checking *checking)
{
	size_t data = 0, output = 0, asked = 0;
	struct ri_named_path named;
	struct ri_mount mount;
	char *rest;

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
		ask(checking, &mount);
		asked++;
	}
	if (asked == 0)
		ri_check_skip(checking, "mounts", "no mount is from another machine or by FUSE");
	else if (checking->count == 0)
		ri_check_pass(checking, "mounts", "%zu from other machines or by FUSE: all answer",
			asked);
}

const struct ri_check ri_check_fs_hang = {
	.id = "fs.hang",
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
