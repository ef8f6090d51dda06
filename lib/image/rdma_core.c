/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/proc.h"
#include "base/text.h"

/* Names in a folder, and one file of it. */
enum { LIST_SIZE = 32768, FILE_SIZE = 4096 };

/*
 * Kernel drivers whose provider has another name (drivers/infiniband/hw;
 * rdma-core providers/). The others end in what is cut off: "_core", "_ib".
 */
static const struct {
	const char *driver, *provider;
} others[] = {
	{ "hfi1", "hfi1verbs" }, { "ib_qib", "ipathverbs" }, { "rdma_rxe", "rxe" },
	{ "bnxt_en", "bnxt_re" }, { "ice", "irdma" }, { "i40e", "irdma" }, { "hns3", "hns" },
	{ "ib_mthca", "mthca" }, { "qede", "qedr" }, { "be2net", "ocrdma" },
};

const char *ri_provider_for(const char *driver)
{
	static const char *const plain[] = { "mlx5", "mlx4", "mana", "efa", "cxgb4" };

	for (size_t i = 0; i < RI_ARRAY_SIZE(others); i++)
		if (strcmp(others[i].driver, driver) == 0)
			return others[i].provider;
	for (size_t i = 0; i < RI_ARRAY_SIZE(plain); i++)
		if (strncmp(driver, plain[i], strlen(plain[i])) == 0)
			return plain[i];
	return driver;
}

bool ri_provider_read(const char *file, struct ri_provider *out)
{
	const char *mark = strstr(file, "-rdmav"), *digits;
	struct ri_provider provider = { .abi = 0 };
	size_t length, count;

	if (mark == NULL || strncmp(file, "lib", 3) != 0 || mark - file <= 3)
		return false;
	length = (size_t)(mark - file - 3);
	digits = mark + strlen("-rdmav");
	count = ri_digits_read(digits, &provider.abi);
	if (length >= sizeof(provider.name) || count == 0 || strcmp(digits + count, ".so") != 0)
		return false;
	memcpy(provider.name, file + 3, length);
	*out = provider;
	return true;
}

/* A name, or the path of a provider without its end. */
static void configure(struct ri_rdma_core *core, const char *name, size_t length)
{
	const char *slash = memrchr(name, '/', length), *start;

	if (slash != NULL) {
		start = slash + (strncmp(slash + 1, "lib", 3) == 0 ? 4 : 1);
		length -= (size_t)(start - name);
		name = start;
	}
	if (core->configured_count == RI_MAX_CONFIGURED || length == 0 ||
		length >= RI_PROVIDER_NAME)
		return;
	snprintf(core->configured[core->configured_count++], RI_PROVIDER_NAME, "%.*s", (int)length,
		name);
}

/*
 * By every file of the folder, whatever its name, and by a variable: the second one counts where
 * the first is not there, with colons or semicolons between its names.
 */
static void find_configured(struct ri_rdma_core *core, const struct ri_image *image)
{
	char names[LIST_SIZE], path[RI_PATH_SIZE], text[FILE_SIZE];
	const char *list = ri_env_get(image->env, "RDMAV_DRIVERS");

	ri_host_list(image->host, core->config, names, sizeof(names));
	for (const char *file = names; *file != '\0'; file += strlen(file) + 1) {
		const char *name = text;

		if (!ri_path_join(path, core->config, file) ||
			ri_host_read(image->host, path, text, sizeof(text)) < 0)
			continue;
		/* "driver mlx5" */
		while ((name = ri_proc_field(name, "driver", ' ')) != NULL)
			configure(core, name, strcspn(name, " \t\n"));
	}
	if (list == NULL)
		list = ri_env_get(image->env, "IBV_DRIVERS");
	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ":;");

		configure(core, list, length);
		list += length + (list[length] != '\0');
	}
}

/* A copy that is built elsewhere, conda's for one, has its own folder. */
static void find_config(struct ri_rdma_core *core, const struct ri_loader *loader)
{
	char path[RI_PATH_SIZE], folder[RI_PATH_SIZE];

	core->config = "/etc/libibverbs.d";
	ri_path_folder(core->verbs.real, folder);
	ri_path_folder(folder, folder);
	if (ri_path_below(folder, "/usr") || ri_path_below(folder, "/lib") || folder[0] == '\0' ||
		!ri_path_join(path, folder, "etc/libibverbs.d") ||
		!ri_host_has(loader->image->host, path))
		return;
	core->config = ri_arena_copy(loader->image->arena, path, strlen(path));
	if (core->config == NULL)
		core->config = "/etc/libibverbs.d";
}

static void add_provider(struct ri_rdma_core *core, const char *file)
{
	if (core->provider_count < RI_MAX_PROVIDERS &&
		ri_provider_read(file, &core->providers[core->provider_count]))
		core->provider_count++;
}

/*
 * In a folder beside libibverbs; what that lacks is looked for as any library is. Libibverbs before
 * rdma-core, as in MLNX_OFED 4, knew no other way; its interface was number 2.
 */
static void find_providers(struct ri_rdma_core *core, const struct ri_loader *loader)
{
	char names[LIST_SIZE] = "", folder[RI_PATH_SIZE], path[RI_PATH_SIZE], name[64];
	const uint64_t abi = core->abi == 0 ? 2 : core->abi;
	struct ri_library library;

	ri_path_folder(core->verbs.real, folder);
	if (ri_path_join(path, folder, "libibverbs")) {
		core->folder = ri_arena_copy(loader->image->arena, path, strlen(path));
		ri_host_list(loader->image->host, path, names, sizeof(names));
	}
	for (const char *file = names; *file != '\0'; file += strlen(file) + 1)
		add_provider(core, file);
	for (size_t i = 0; i < core->configured_count; i++) {
		snprintf(name, sizeof(name), "lib%s-rdmav%" PRIu64 ".so", core->configured[i], abi);
		if (ri_rdma_core_provider(core, core->configured[i]) == NULL &&
			ri_loader_find(loader, name, &library))
			add_provider(core, name);
	}
}

void ri_rdma_core_find(struct ri_rdma_core *out, const struct ri_loader *loader)
{
	static const char beginning[] = "IBVERBS_PRIVATE_";
	char version[RI_ELF_NAME];
	struct ri_elf elf;
	uint64_t number;
	const char *at;
	size_t digits;

	*out = (struct ri_rdma_core){ .release = 0 };
	ri_loader_find(loader, "librdmacm.so.1", &out->manager);
	if (!ri_loader_find(loader, "libibverbs.so.1", &out->verbs))
		return;
	/* rdma-core names its files by its own release: libibverbs.so.1.14.44.0 */
	at = strstr(ri_path_name(out->verbs.real), ".so.1.");
	digits = at == NULL ? 0 : ri_digits_read(at + 6, &number);
	if (digits > 0 && at[6 + digits] == '.')
		ri_digits_read(at + 7 + digits, &out->release);
	if (ri_elf_open(&elf, loader->image->host, out->verbs.real) == RI_ELF_OK &&
		ri_elf_version(&elf, beginning, version))
		ri_digits_read(version + sizeof(beginning) - 1, &out->abi);
	ri_elf_close(&elf);
	find_config(out, loader);
	find_configured(out, loader->image);
	find_providers(out, loader);
}

const struct ri_provider *ri_rdma_core_provider(const struct ri_rdma_core *core, const char *name)
{
	const struct ri_provider *found = NULL;

	for (size_t i = 0; i < core->provider_count; i++) {
		const struct ri_provider *provider = &core->providers[i];

		if (strcmp(provider->name, name) != 0)
			continue;
		if (provider->abi == core->abi)
			return provider;
		found = provider;
	}
	return found;
}

bool ri_rdma_core_configured(const struct ri_rdma_core *core, const char *name)
{
	for (size_t i = 0; i < core->configured_count; i++)
		if (strcmp(core->configured[i], name) == 0)
			return true;
	return false;
}

bool ri_rdma_core_mixed(const struct ri_rdma_core *core)
{
	for (size_t i = 1; i < core->provider_count; i++)
		if (core->providers[i].abi != core->providers[0].abi)
			return true;
	return false;
}
