/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: parts that a line "%%" divides: what the files of an RDMA device, of
 * its node and of its driver say, all of them the same; then the kernel's
 * release.
 */
#include "node/devices.h"
#include "fuzz.h"

#define HCA "sys/class/infiniband/mlx5_0/"
#define VERBS "sys/class/infiniband_verbs/uverbs0/"

static struct ri_host host;
static int first[8], release_fd;

static void start(void)
{
	static const char *const folders[] = { "sys", "sys/class", "sys/class/infiniband",
		"sys/class/infiniband/mlx5_0", HCA "ports", HCA "ports/1",
		"sys/class/infiniband_verbs", "sys/class/infiniband_verbs/uverbs0", "sys/module",
		"sys/module/mlx5_core", "proc", "proc/sys", "proc/sys/kernel", "sys/module/ib_core",
		"sys/module/ib_core/parameters" };
	static const char *const files[] = { HCA "ports/1/link_layer", HCA "ports/1/state",
		HCA "ports/1/phys_state", HCA "ports/1/rate", HCA "ports/1/sm_lid", VERBS "dev",
		"sys/module/mlx5_core/version", "sys/module/ib_core/parameters/netns_mode" };
	int folder = fuzz_folder_make();

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(folder, folders[i], 0755) == 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		first[i] = fuzz_file_make(folder, files[i]);
	fuzz_fill(fuzz_file_make(folder, VERBS "ibdev"), "mlx5_0\n", "");
	release_fd = fuzz_file_make(folder, "proc/sys/kernel/osrelease");
	host.root = folder;
}

static void check_ofed(void)
{
	struct ri_ofed ofed;

	ri_ofed_read(&ofed, &host);
	CHECK(ofed.kind == RI_OFED_INBOX || ofed.kind == RI_OFED_MELLANOX);
	CHECK(strlen(ofed.version) < sizeof(ofed.version));
	CHECK(strchr(ofed.version, '\n') == NULL && ri_ofed_name(&ofed) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_arena arena;
	char *text = fuzz_string(data, size), *release = fuzz_cut_part(text);
	struct ri_hcas hcas;

	if (release_fd == 0)
		start();
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		fuzz_fill(first[i], text, "");
	fuzz_fill(release_fd, release, "");
	ri_hcas_find(&hcas, &host, &arena);
	CHECK(hcas.count == 1 && hcas.list[0].count == 1);
	CHECK(hcas.list[0].ports[0].rate <= 1000000900);
	ri_hcas_open(&hcas, &host);
	check_ofed();
	ri_arena_release(&arena);
	free(text);
	return 0;
}
