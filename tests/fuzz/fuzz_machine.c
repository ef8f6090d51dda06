/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a machine as fuzz_tree.h has it, of which the hardware and the limits are
 * read, and on which ranks are placed.
 */
#include "image/image.h"
#include "node/devices.h"
#include "node/node.h"
#include "node/place.h"
#include "fuzz_tree.h"

static struct fuzz_tree tree;
static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_host host;

static void check_rdma(void)
{
	struct ri_hcas hcas;
	struct ri_ofed ofed;

	ri_hcas_find(&hcas, &host, &arena);
	CHECK(hcas.count <= RI_MAX_HCAS && (hcas.error == 0 || hcas.count == 0));
	ri_hcas_open(&hcas, &host);
	for (size_t i = 0; i < hcas.count; i++) {
		const struct ri_hca *hca = &hcas.list[i];

		CHECK(hca->name[0] != '\0' && hca->count <= RI_MAX_HCA_PORTS);
		CHECK(hca->driver != NULL);
		for (size_t n = 0; n < hca->count; n++) {
			const struct ri_port *port = &hca->ports[n];

			CHECK(port->number > (n == 0 ? 0 : port[-1].number));
			CHECK(ri_hca_has(hca, port->link));
			CHECK(ri_port_state_name(port->state) != NULL);
		}
		CHECK(hca->node[0] != '\0' || hca->error == ENODEV);
	}
	for (size_t i = 0; i < hcas.count; i++)
		CHECK(ri_provider_for(hcas.list[i].driver) != NULL);
	ri_ofed_read(&ofed, &host);
	CHECK((ofed.kind == RI_OFED_NONE) == (ofed.module == NULL));
}

static void check_nvidia(void)
{
	struct ri_nvidia nvidia;
	const char *way;

	ri_nvidia_read(&nvidia, &host);
	CHECK(strspn(nvidia.version, "0123456789.") == strlen(nvidia.version));
	CHECK(!nvidia.open || nvidia.version[0] != '\0');
	way = ri_peer_memory_find(&nvidia, &host);
	CHECK(way == NULL || (way[0] == '/' ? ri_host_has(&host, way) : nvidia.open));
}

static void check_network(void)
{
	struct ri_interfaces all;
	char name[64];

	CHECK(ri_interfaces_find(&all, &host, &arena) || all.count == 0);
	for (size_t i = 1; i < all.count; i++)
		CHECK(strcmp(all.list[i - 1].name, all.list[i].name) < 0);
	CHECK(ri_hostname_read(&host, name, sizeof(name)) == (name[0] != '\0'));
}

static void check_limits(void)
{
	struct ri_group_limit group;
	struct ri_limit limit;

	if (ri_group_limit_find(&group, RI_GROUP_MEMORY, &host, &arena))
		CHECK(group.path[0] != '\0');
	if (ri_group_limit_find(&group, RI_GROUP_PIDS, &host, &arena))
		CHECK(group.path[0] != '\0');
	for (unsigned name = 0; name < RI_LIMIT_COUNT; name++)
		ri_limit_read_file(&host, (enum ri_limit_name)name, &limit);
}

static void check_counts(const struct ri_node *node)
{
	struct ri_error err = RI_ERROR_INIT;
	uint64_t count;

	CHECK(ri_cpus_count(node, &count, &err) < 0 || count > 0);
	err = (struct ri_error)RI_ERROR_INIT;
	if (ri_gpus_count(node, &count, &err) < 0)
		CHECK(err.code != RI_CODE_NONE && fuzz_is_printable(err.text));
}

/* Nobody is bound to what is not ours. */
static void check_place(const struct ri_placement *placement, uint64_t rank,
	const struct ri_cpus *ours)
{
	const struct ri_place *place = ri_placement_of(placement, rank);
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env_edits edits = { .count = 0 };
	struct ri_cpus cpus;

	CHECK(ri_placement_write(placement, rank, &edits, &arena, &err) == 0);
	CHECK((edits.count > 0) ==
		(placement->threads != NULL || (place != NULL && place->gpu != NULL)));
	if (place == NULL || !place->bound)
		return;
	cpus = place->cpus;
	CHECK(ri_cpus_size(&cpus) > 0);
	CHECK(ri_cpus_and(&cpus, ours) == ri_cpus_size(&place->cpus));
}

static void check_places(const struct ri_node *node, struct ri_place_wish wish, uint64_t count)
{
	const struct ri_place_ranks ranks = { .count = count, .ours = true };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_placement placement;
	struct ri_budget budget;

	wish.bind_subject = "--bind-to";
	wish.gpu_subject = "--gpu-bind";
	wish.omp_subject = "--omp-threads";
	if (ri_placement_find(&placement, &wish, &ranks, node, &err) < 0) {
		CHECK(err.code != RI_CODE_NONE && fuzz_is_printable(err.text));
		return;
	}
	if (ri_budget_find(&budget, node, &err) < 0)
		ri_cpus_read("0", &budget.cpus);
	for (uint64_t rank = 0; rank < count; rank++)
		check_place(&placement, rank, &budget.cpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env env;
	const struct ri_node node = {
		.host = &host, .env = &env, .arena = &arena, .findings = &findings,
	};

	if (host.root == 0)
		tree.root = host.root = fuzz_folder_make();
	findings.count = findings.dropped = 0;
	fuzz_grow(&tree, data, size);
	CHECK(ri_env_init(&env, tree.strings, &arena, &err) == 0);
	check_rdma();
	check_nvidia();
	check_network();
	check_limits();
	check_counts(&node);
	check_places(&node, (struct ri_place_wish){ .bind = RI_BIND_NUMA }, 8);
	check_places(&node, (struct ri_place_wish){ .gpu_bind = RI_GPU_BIND_SINGLE }, 1);
	check_places(&node, (struct ri_place_wish){ .omp = RI_OMP_STATED, .threads = 4 }, 3);
	ri_arena_release(&arena);
	fuzz_fell(&tree);
	return 0;
}
