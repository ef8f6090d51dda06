/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of storage is behind a path, by the table of mounts alone. */
#ifndef RI_NODE_STORAGE_H
#define RI_NODE_STORAGE_H

#include "base/mounts.h"

enum ri_storage {
	RI_STORAGE_LOCAL,	/* a disk, memory, an image */
	RI_STORAGE_BLOBFUSE,	/* Azure Blob Storage by FUSE */
	RI_STORAGE_CIFS,	/* Azure Files, another SMB share */
	RI_STORAGE_NFS,
	RI_STORAGE_FUSE,	/* another program's file system */
	RI_STORAGE_PARALLEL,	/* Lustre, BeeGFS, GPFS and the like, made for many readers */
};

enum ri_storage ri_storage_of(const struct ri_mount *mount);

/* "an Azure blob mount (blobfuse)" */
const char *ri_storage_name(enum ri_storage storage);

#endif
