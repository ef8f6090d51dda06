/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: an environment, one string a line, and after a line "%%" what the
 * machine's files hold: /proc/net/fib_trie, and the host file /hosts. It may
 * be a node of a job, with a place among the nodes, and never a rank by that.
 */
#include "fuzz.h"
#include "../unit/stages_of.h"


enum { STRINGS = 64 };

static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_host host;
static int fib_trie, hosts_file;

static void make_machine(void)
{
	host.root = fuzz_folder_make();
	CHECK(mkdirat(host.root, "proc", 0755) == 0);
	CHECK(mkdirat(host.root, "proc/net", 0755) == 0);
	fib_trie = fuzz_file_make(host.root, "proc/net/fib_trie");
	hosts_file = fuzz_file_make(host.root, "hosts");
}

static void check_node(const struct ri_topology *topology)
{
	const struct ri_fact *hosts = &topology->facts[RI_FACT_HOSTS];
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	uint64_t node, nodes;

	CHECK(!ri_topology_knows(topology, RI_FACT_RANK));
	CHECK(ri_topology_get(topology, RI_FACT_NODE_RANK, &node));
	CHECK(ri_topology_get(topology, RI_FACT_NNODES, &nodes) && node < nodes);
	CHECK(hosts->state != RI_STATE_KNOWN || hosts->number == nodes);
	CHECK(master->state != RI_STATE_KNOWN || master->text != NULL);
	CHECK(nodes > 1 || master->state == RI_STATE_KNOWN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *files = fuzz_cut_part(text);
	char *strings[STRINGS + 1];
	struct ri_env env;
	const struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .host = &host,
		.wishes = &no_wishes, .command = &no_command,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_topology topology;

	if (fib_trie == 0)
		make_machine();
	host.name = "node-1.cluster";
	fuzz_fill(fib_trie, files, "");
	fuzz_fill(hosts_file, files, "");
	fuzz_split(text, strings, 0, STRINGS);
	findings.count = findings.dropped = 0;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_topology_read(&topology, &context, &err) < 0)
		CHECK(err.code != RI_CODE_NONE && err.subject[0] != '\0');
	else if (topology.identity != NULL && topology.scope == RI_SCOPE_NODE)
		check_node(&topology);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
