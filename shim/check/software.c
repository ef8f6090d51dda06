/* SPDX-License-Identifier: Apache-2.0 */
#include "check/software.h"

#include <errno.h>
#include <stddef.h>

const struct ri_loader *ri_check_loader(const struct ri_checking *checking)
{
	static struct ri_image image;
	static struct ri_loader loader;

	if (image.host == checking->host)
		return &loader;
	image = (struct ri_image){ .host = checking->host, .env = checking->env,
		.arena = checking->arena };
	ri_loader_init(&loader, &image);
	return &loader;
}

/* What is read stays as it was: a check and the next one see the same. */
#define ONCE(read) \
	do { \
		static bool done; \
		if (!done) \
			read; \
		done = true; \
	} while (0)

static struct ri_mpi mpi;

const struct ri_mpi *ri_check_mpi_loaded(const struct ri_checking *checking)
{
	ONCE(ri_mpi_find_loaded(&mpi, ri_check_loader(checking)));
	return &mpi;
}

const struct ri_mpi *ri_check_mpi(const struct ri_checking *checking)
{
	ri_check_mpi_loaded(checking);
	ONCE(ri_mpi_find_rest(&mpi, ri_check_loader(checking)));
	return &mpi;
}

const struct ri_rdma_core *ri_check_rdma_core(const struct ri_checking *checking)
{
	static struct ri_rdma_core core;

	ONCE(ri_rdma_core_find(&core, ri_check_loader(checking)));
	return &core;
}

const struct ri_nvidia *ri_check_nvidia(const struct ri_checking *checking)
{
	static struct ri_nvidia nvidia;

	ONCE(ri_nvidia_read(&nvidia, checking->host));
	return &nvidia;
}

static bool has_nvidia(struct ri_checking *checking)
{
	return ri_check_nvidia(checking)->control != ENOENT;
}

const struct ri_check_need ri_check_needs_nvidia = {
	"/dev/nvidiactl", "is not here", has_nvidia,
};

const struct ri_cuda *ri_check_cuda(const struct ri_checking *checking)
{
	static struct ri_cuda cuda;

	ONCE(ri_cuda_find(&cuda, ri_check_loader(checking), ri_check_nvidia(checking)->version));
	return &cuda;
}

const struct ri_gpus *ri_check_gpus(const struct ri_checking *checking)
{
	static struct ri_gpus gpus;
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &findings,
	};

	return ri_gpus_find(&gpus, &node, &err) < 0 ? NULL : &gpus;
}

const char *ri_check_library_fault(const struct ri_library *library)
{
	static const char *const faults[] = {
		[RI_ELF_OK] = NULL, [RI_ELF_OTHER] = "is not a library",
		[RI_ELF_FOREIGN] = "is for another processor",
		[RI_ELF_MISSING] = "cannot be opened", [RI_ELF_BROKEN] = "is truncated or damaged",
	};

	return faults[library->fault];
}
