/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <string.h>

/* TABLE: types of file systems that are behind a server, and those by FUSE that are none. */
static const struct {
	const char *type;
	enum ri_storage storage;
} types[] = {
	/* Samba's and the kernel's names of mount.cifs(8) and mount.smb3(8) */
	{ "cifs", RI_STORAGE_CIFS }, { "smb3", RI_STORAGE_CIFS }, { "smbfs", RI_STORAGE_CIFS },
	{ "nfs", RI_STORAGE_NFS }, { "nfs4", RI_STORAGE_NFS },
	{ "lustre", RI_STORAGE_PARALLEL }, { "gpfs", RI_STORAGE_PARALLEL },
	{ "beegfs", RI_STORAGE_PARALLEL }, { "wekafs", RI_STORAGE_PARALLEL },
	{ "ceph", RI_STORAGE_PARALLEL }, { "fuse.ceph", RI_STORAGE_PARALLEL },
	{ "fuse.ceph-fuse", RI_STORAGE_PARALLEL }, { "pvfs2", RI_STORAGE_PARALLEL },
	/* what rootless runtimes put an image together with */
	{ "fuse.fuse-overlayfs", RI_STORAGE_LOCAL }, { "fuse.squashfuse", RI_STORAGE_LOCAL },
	{ "fuse.squashfuse_ll", RI_STORAGE_LOCAL }, { "fuse.lxcfs", RI_STORAGE_LOCAL },
};

/* Azure/azure-storage-fuse: "blobfuse" and "blobfuse2"; Azure ML mounts by rslex. */
static bool is_blob(const char *name)
{
	return strstr(name, "blobfuse") != NULL || strstr(name, "rslex") != NULL;
}

enum ri_storage ri_storage_of(const struct ri_mount *mount)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(mount->type, types[i].type) == 0)
			return types[i].storage;
	if (strcmp(mount->type, "fuse") != 0 && strncmp(mount->type, "fuse.", 5) != 0)
		return RI_STORAGE_LOCAL;
	return is_blob(mount->type) || is_blob(mount->source) ? RI_STORAGE_BLOBFUSE
							      : RI_STORAGE_FUSE;
}

const char *ri_storage_name(enum ri_storage storage)
{
	static const char *const names[] = {
		[RI_STORAGE_LOCAL] = "local storage",
		[RI_STORAGE_BLOBFUSE] = "a mount of Azure Blob Storage",
		[RI_STORAGE_CIFS] = "an SMB share, such as Azure Files",
		[RI_STORAGE_NFS] = "an NFS share",
		[RI_STORAGE_FUSE] = "a FUSE file system",
		[RI_STORAGE_PARALLEL] = "a parallel file system",
	};

	return names[storage];
}
