/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the text as SageMaker's resourceconfig.json, and as SM_HOSTS.
 * Whatever it is, the answer is a node of a list of hosts, or a refusal that
 * names the file or the variable.
 */
#include "fuzz.h"

#include "from/reading.h"
#include "../unit/stages_of.h"

#define CONFIG "opt/ml/input/config/resourceconfig.json"

static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_host host;
static int config;

static void make_machine(void)
{
	static const char *const folders[] = {
		"opt", "opt/ml", "opt/ml/input", "opt/ml/input/config",
	};

	host.root = fuzz_folder_make();
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(host.root, folders[i], 0755) == 0);
	config = fuzz_file_make(host.root, CONFIG);
}

static void check_node(const struct ri_topology *topology)
{
	const struct ri_fact *hosts = &topology->facts[RI_FACT_HOSTS];
	uint64_t node;

	CHECK(topology->scope == RI_SCOPE_NODE && hosts->state == RI_STATE_KNOWN);
	CHECK(ri_topology_get(topology, RI_FACT_NODE_RANK, &node) && node < hosts->number);
	for (size_t i = 0; i < hosts->number; i++)
		CHECK(ri_is_host((struct ri_span){ hosts->list[i], strlen(hosts->list[i]) }));
	CHECK(strcmp(topology->facts[RI_FACT_MASTER_ADDR].text, hosts->list[0]) == 0);
}

static void read_job(char **strings, const char *subject)
{
	struct ri_env env;
	const struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .host = &host,
		.wishes = &no_wishes, .command = &no_command,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_topology topology;

	findings.count = findings.dropped = 0;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_topology_read(&topology, &context, &err) == 0) {
		if (topology.identity != NULL)
			check_node(&topology);
		else
			CHECK(findings.count > 0 || strings[1] != NULL);
		return;
	}
	CHECK(err.code == RI_CODE_FILE_SYNTAX || err.code == RI_CODE_ENV_VALUE);
	CHECK(strstr(err.subject, subject) != NULL && fuzz_is_printable(err.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char arn[] = "TRAINING_JOB_ARN=arn:aws:sagemaker:", current[] = "SM_CURRENT_HOST=algo-1";
	char *text = fuzz_string(data, size), *hosts = malloc(size + 16);
	char *with_file[] = { arn, NULL }, *with_toolkit[] = { hosts, current, NULL };

	CHECK(hosts != NULL);
	if (config == 0)
		make_machine();
	fuzz_fill(config, text, "");
	read_job(with_file, "resourceconfig.json");
	snprintf(hosts, size + 16, "SM_HOSTS=%s", text);
	read_job(with_toolkit, "SM_");
	ri_arena_release(&arena);
	free(hosts);
	free(text);
	return 0;
}
