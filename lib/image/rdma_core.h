/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's side of RDMA: libibverbs, and for each kind of device a provider
 * that it loads by name (rdma-core libibverbs/dynamic_driver.c). Both come
 * from rdma-core, or from the packages of MLNX_OFED, and must be of one
 * release: their private interface has a number.
 */
#ifndef RI_IMAGE_RDMA_CORE_H
#define RI_IMAGE_RDMA_CORE_H

#include "image/library.h"

enum { RI_MAX_PROVIDERS = 64, RI_MAX_CONFIGURED = 64, RI_PROVIDER_NAME = 24 };

/* A file libNAME-rdmavNUMBER.so in a folder beside libibverbs, or where the loader looks. */
struct ri_provider {
	char name[RI_PROVIDER_NAME];
	uint64_t abi;
};

struct ri_rdma_core {
	struct ri_library verbs;	/* libibverbs.so.1; path NULL: none */
	struct ri_library manager;	/* librdmacm.so.1 */
	uint64_t release;		/* of rdma-core, by the name of the file; 0: unknown */
	uint64_t abi;			/* that libibverbs asks of its providers; 0: unknown */
	const char *folder;		/* of the providers */
	struct ri_provider providers[RI_MAX_PROVIDERS];
	size_t provider_count;
	/* what is to be loaded, by the files of a folder and by IBV_DRIVERS */
	char configured[RI_MAX_CONFIGURED][RI_PROVIDER_NAME];
	size_t configured_count;
	const char *config;		/* that folder */
};

/* Look for all of it. Never fails: what is not found is not there. */
void ri_rdma_core_find(struct ri_rdma_core *out, const struct ri_loader *loader);

/* The provider of this name that libibverbs can load, or one of another number, or NULL. */
const struct ri_provider *ri_rdma_core_provider(const struct ri_rdma_core *core, const char *name);

/* Will libibverbs try it? */
bool ri_rdma_core_configured(const struct ri_rdma_core *core, const char *name);

/* Are there providers of several numbers: parts of two releases in one folder? */
bool ri_rdma_core_mixed(const struct ri_rdma_core *core);

/* The provider for devices of this kernel driver: "mlx5" for "mlx5_core". Never NULL. */
const char *ri_provider_for(const char *driver);

/*
 * Take the next word behind "driver" off the text of such a file, which is
 * cut into strings. False when there is no more.
 */
bool ri_driver_next(char **text, const char **name);

/* Read "libmlx5-rdmav34.so". False where the name is no provider's. */
bool ri_provider_read(const char *file, struct ri_provider *out);

#endif
