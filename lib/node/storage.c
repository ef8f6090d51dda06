/* SPDX-License-Identifier: Apache-2.0 */
#include "node/storage.h"

#include <string.h>

static bool is_one_of(const char *type, const char *const *types)
{
	for (; *types != NULL; types++)
		if (strcmp(type, *types) == 0)
			return true;
	return false;
}

/* Azure/azure-storage-fuse: "blobfuse" and "blobfuse2"; Azure ML mounts by rslex. */
static bool is_blob(const char *name)
{
	return strstr(name, "blobfuse") != NULL || strstr(name, "rslex") != NULL;
}

enum ri_storage ri_storage_of(const struct ri_mount *mount)
{
	/* Samba's and the kernel's names of mount.cifs(8) and mount.smb3(8) */
	static const char *const cifs[] = { "cifs", "smb3", "smbfs", NULL };
	static const char *const nfs[] = { "nfs", "nfs4", NULL };
	static const char *const parallel[] = { "lustre", "gpfs", "beegfs", "wekafs", "ceph",
		"fuse.ceph", "fuse.ceph-fuse", "pvfs2", NULL };
	/* what rootless runtimes put an image together with */
	static const char *const image[] = { "fuse.fuse-overlayfs", "fuse.squashfuse",
		"fuse.squashfuse_ll", "fuse.lxcfs", NULL };
	bool fuse = (strcmp(mount->type, "fuse") == 0 || strncmp(mount->type, "fuse.", 5) == 0) &&
		!is_one_of(mount->type, image);

	if (is_one_of(mount->type, cifs))
		return RI_STORAGE_CIFS;
	if (is_one_of(mount->type, nfs))
		return RI_STORAGE_NFS;
	if (is_one_of(mount->type, parallel))
		return RI_STORAGE_PARALLEL;
	if (!fuse)
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
