/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: an image as fuzz_tree.h has it. Which libraries, launchers and parameters
 * are found in it, and that each of them is there.
 */
#include "image/image.h"
#include "fuzz_tree.h"

static struct fuzz_tree tree;
static struct ri_arena arena;
static struct ri_host host;

static void check_library(const struct ri_library *library)
{
	if (library->path == NULL)
		return;
	CHECK(library->path[0] == '/' && ri_host_has(&host, library->path));
	CHECK(library->real[0] == '/' && ri_host_has(&host, library->real));
	CHECK(library->fault != RI_ELF_MISSING && library->fault != RI_ELF_FOREIGN);
	CHECK(ri_library_place_name(library->place) != NULL);
	CHECK(library->foreign == NULL || library->machine != ri_elf_machine_here() ||
		ri_elf_machine_name(library->machine) != NULL);
}

static void check_parameters(const struct ri_image *image, const char *prefix)
{
	struct ri_mca_value value;

	if (ri_mca_get(image, prefix, "pml", &value))
		CHECK(value.value != NULL && value.origin != NULL &&
			(value.line > 0) == (value.origin[0] == '/'));
}

static void check_mpi(const struct ri_loader *loader)
{
	struct ri_mpi mpi;

	ri_mpi_find_loaded(&mpi, loader);
	ri_mpi_find_rest(&mpi, loader);
	CHECK(mpi.library_count <= RI_MPI_MOST && mpi.launcher_count <= RI_MPI_MOST);
	for (size_t i = 0; i < mpi.library_count; i++) {
		const struct ri_mpi_library *library = &mpi.libraries[i];

		check_library(&library->file);
		CHECK(strlen(library->version) < sizeof(library->version));
		CHECK(strspn(library->version, "0123456789.") == strlen(library->version));
		CHECK(ri_mpi_family_name(library->family) != NULL);
		check_parameters(loader->image, library->prefix);
	}
	for (size_t i = 0; i < mpi.launcher_count; i++) {
		const struct ri_mpi_launcher *launcher = &mpi.launchers[i];

		CHECK(ri_host_has(&host, launcher->program.path));
		CHECK(ri_host_has(&host, launcher->program.real));
		CHECK(ri_mpi_fits(launcher->family, launcher->family));
		CHECK(strlen(launcher->version) < sizeof(launcher->version));
	}
}

static void check_rdma_core(const struct ri_loader *loader)
{
	struct ri_rdma_core core;

	ri_rdma_core_find(&core, loader);
	check_library(&core.verbs);
	check_library(&core.manager);
	CHECK(core.provider_count <= RI_MAX_PROVIDERS);
	CHECK(core.configured_count <= RI_MAX_CONFIGURED);
	for (size_t i = 0; i < core.provider_count; i++)
		CHECK(ri_rdma_core_provider(&core, core.providers[i].name) != NULL);
	for (size_t i = 0; i < core.configured_count; i++)
		CHECK(ri_rdma_core_configured(&core, core.configured[i]));
	CHECK(!ri_rdma_core_mixed(&core) || core.provider_count > 1);
}

static void check_cuda(const struct ri_loader *loader)
{
	struct ri_cuda cuda;

	ri_cuda_find(&cuda, loader, "580.95.05");
	check_library(&cuda.driver.file);
	check_library(&cuda.management.file);
	check_library(&cuda.compat.file);
	CHECK(cuda.stub == NULL || ri_host_has(&host, cuda.stub));
	CHECK(!cuda.compat_used || cuda.driver.file.path != NULL);
	CHECK((cuda.toolkit[0] == '\0') == (cuda.toolkit_origin == NULL));
	CHECK(strspn(cuda.toolkit, "0123456789.") == strlen(cuda.toolkit));
	if (cuda.compat.file.path != NULL)
		ri_cuda_compat_fits(cuda.compat.version, &cuda.note, "535.161.08");
}

static void check_settings(const struct ri_image *image)
{
	char value[RI_NCCL_VALUE];
	const char *origin;

	origin = ri_nccl_conf_get(image, "NCCL_IB_HCA", value);
	CHECK(strnlen(value, sizeof(value)) < sizeof(value));
	CHECK(origin != NULL || value[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env env;
	const struct ri_image image = { .host = &host, .env = &env, .arena = &arena };
	struct ri_loader loader;

	if (host.root == 0)
		tree.root = host.root = fuzz_folder_make();
	fuzz_grow(&tree, data, size);
	CHECK(ri_env_init(&env, tree.strings, &arena, &err) == 0);
	ri_loader_init(&loader, &image);
	check_mpi(&loader);
	check_rdma_core(&loader);
	check_cuda(&loader);
	check_settings(&image);
	check_parameters(&image, "/usr");
	ri_arena_release(&arena);
	fuzz_fell(&tree);
	return 0;
}
