/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the same text as a host file, as --hosts, and as the host file of
 * an MPIJob's rank. Whatever it is, the answer is a list of hosts, or where it
 * goes wrong; a rank gets the first of them or nothing.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "from/hosts.h"
#include "from/reading.h"
#include "model/context.h"
#include "../unit/reading_of.h"
#include "../unit/stages_of.h"

static struct ri_arena arena;
static struct ri_findings findings;

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static void check_hosts(const char *const *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK(ri_is_host((struct ri_span){ hosts[i], strlen(hosts[i]) }));
}

static void check_file(const char *text)
{
	struct ri_hostfile file;

	CHECK(ri_hostfile_read(&file, text, reading_of(&arena)));
	CHECK(file.bad_line <= count_lines(text) && file.count <= count_lines(text));
	CHECK(file.bad_line == 0 || file.count == 0);
	check_hosts(file.hosts, file.count);
	for (size_t i = 0; i < file.count; i++)
		CHECK(file.slots[i] > 0 && file.slots[i] <= RI_MAX_RANKS);
	CHECK(ri_hostfile_share(&file, file.count) == 0);
	for (size_t i = 0; i < file.count && i < 64; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(file.hosts[i], file.hosts[j]) != 0);
}

static void check_option(const char *text)
{
	static char *no_strings[] = { NULL };
	const struct ri_wishes wishes = {
		.facts[RI_FACT_HOSTS] = { "--hosts", text },
	};
	struct ri_host machine = { .root = -1, .name = "b" };
	struct ri_env env;
	const struct ri_context context = {
		.env = &env, .wishes = &wishes, .arena = &arena, .findings = &findings,
		.host = &machine, .command = &no_command,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_topology topology;
	const struct ri_fact *hosts = &topology.facts[RI_FACT_HOSTS];

	CHECK(ri_env_init(&env, no_strings, &arena, &err) == 0);
	if (ri_topology_read(&topology, &context, &err) == 0) {
		CHECK(hosts->state == RI_STATE_KNOWN && hosts->number > 0);
		check_hosts(hosts->list, hosts->number);
		return;
	}
	CHECK(err.code == RI_CODE_OPTION_VALUE && strcmp(err.subject, "--hosts") == 0);
	CHECK(hosts->next->state == RI_STATE_BROKEN && hosts->next->fault_at <= strlen(text));
}

/* A machine whose /etc/mpi/hostfile is this text. */
static struct ri_host *make_machine(const char *text)
{
	static struct ri_host host;
	static int hostfile;

	if (hostfile == 0) {
		host.root = fuzz_folder_make();
		CHECK(mkdirat(host.root, "etc", 0755) == 0);
		CHECK(mkdirat(host.root, "etc/mpi", 0755) == 0);
		hostfile = fuzz_file_make(host.root, "etc/mpi/hostfile");
	}
	fuzz_fill(hostfile, text, "");
	return &host;
}

static void check_rank(const char *text)
{
	static char path[] = "HYDRA_HOST_FILE=/etc/mpi/hostfile", rank[] = "PMI_RANK=2",
		size[] = "PMI_SIZE=4", local_rank[] = "MPI_LOCALRANKID=0",
		local_size[] = "MPI_LOCALNRANKS=2";
	static char *strings[] = { path, rank, size, local_rank, local_size, NULL };
	struct ri_env env;
	const struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .host = make_machine(text),
		.wishes = &no_wishes, .command = &no_command,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_topology topology;
	const struct ri_fact *master = &topology.facts[RI_FACT_MASTER_ADDR];
	struct ri_hostfile file;

	context.host->name = "b";
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	CHECK(ri_topology_read(&topology, &context, &err) == 0);
	CHECK(strcmp(topology.identity, "hydra") == 0);
	CHECK(ri_hostfile_read(&file, text, reading_of(&arena)));
	CHECK(master->state != RI_STATE_KNOWN ||
		(file.count == 2 && strcmp(master->text, file.hosts[0]) == 0 &&
			file.hosts[1][0] == 'b'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	findings = (struct ri_findings){ .count = 0 };
	check_file(text);
	check_option(text);
	check_rank(text);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
