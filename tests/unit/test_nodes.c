/* SPDX-License-Identifier: Apache-2.0 */
/* What is written for the launcher of a node, and what is taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "to/to.h"
#include "topology_of.h"

/* Rank 1 of 2, alone on its node. */
#define RANK_1_OF_2 \
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=1"
/* Both of one node. */
#define SECOND_OF_2 \
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=2"
#define AZURE "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"

static struct ri_command command;
static struct ri_env_edits edits;
static const struct ri_context launched = {
	.env = &env, .arena = &arena, .findings = &findings, .command = &command,
	.wishes = &no_wishes,
};

static void judge(char *const *words, enum ri_mode asked)
{
	edits = (struct ri_env_edits){ .count = 0 };
	ri_command_read(&command, words, asked);
}

static int read_launched(char *const *strings)
{
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	return ri_topology_read(&topology, &launched, &err);
}

/* As the sources say it, before the command makes anything of it. */
static void take_said(char *const *strings)
{
	struct ri_reading reading;

	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	assert_int_equal(ri_sources_read(&topology, &reading, &launched, &err), 0);
	ri_identity_choose(&topology, &reading);
	assert_int_equal(ri_claims_settle(&topology, &reading), 0);
}

static void render(char *const *strings)
{
	if (read_launched(strings) < 0 ||
		ri_edits_render(&edits, &topology, &launched, &err) < 0)
		fail_msg("[%s] %s: %s", ri_code_name(err.code), err.subject, err.text);
}

static void refused(char *const *strings, enum ri_code code, const char *subject)
{
	if (read_launched(strings) == 0)
		assert_int_equal(ri_edits_render(&edits, &topology, &launched, &err), -1);
	assert_string_equal(ri_code_name(err.code), ri_code_name(code));
	assert_string_equal(err.subject, subject);
	assert_int_equal(ri_code_status(err.code), 125);
	assert_true(err.hint[0] != '\0');
}

static void assert_set(const char *name, const char *value)
{
	const struct ri_env_edit *edit = ri_env_edits_find(&edits, name);

	if (edit == NULL || edit->value == NULL)
		fail_msg("%s is not set", name);
	assert_string_equal(edit->value, value);
}

static void assert_gone(const char *name)
{
	const struct ri_env_edit *edit = ri_env_edits_find(&edits, name);

	if (edit == NULL || edit->value != NULL)
		fail_msg("%s is not removed", name);
}

static void assert_untouched(const char *name)
{
	if (ri_env_edits_find(&edits, name) != NULL)
		fail_msg("%s is touched", name);
}

static void test_torchrun_gets_its_defaults(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE));
	assert_set("NODE_RANK", "1");
	assert_set("NNODES", "2");
	assert_set("MASTER_ADDR", "10.0.0.4");
	assert_set("MASTER_PORT", "6105");
	assert_set("PET_NNODES", "2");
	assert_set("PET_NODE_RANK", "1");
	assert_set("PET_MASTER_ADDR", "10.0.0.4");
	assert_set("PET_MASTER_PORT", "6105");
	assert_untouched("PET_NPROC_PER_NODE");
	assert_untouched("RANK");
	assert_untouched("LOCAL_RANK");
	assert_gone("OMPI_COMM_WORLD_RANK");
	assert_int_equal(edits.count, 12);
	/* the rank is the node's: nothing is assumed */
	assert_int_equal(findings.count, 0);
}

static void test_identity_of_the_process_goes(void **state)
{
	(void)state;
	judge(LIST("fabric", "run", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0",
		"LOCAL_WORLD_SIZE=1", "GROUP_RANK=0", "TORCHELASTIC_RUN_ID=x", "SLURM_NTASKS=2",
		"SLURM_PROCID=1"));
	assert_gone("RANK");
	assert_gone("WORLD_SIZE");
	assert_gone("LOCAL_RANK");
	assert_gone("LOCAL_WORLD_SIZE");
	assert_gone("GROUP_RANK");
	assert_gone("TORCHELASTIC_RUN_ID");
	assert_gone("SLURM_NTASKS");
	assert_untouched("SLURM_PROCID");
	assert_untouched("PET_NNODES");
	assert_set("NODE_RANK", "1");
}

static void test_torchrun_and_accelerate_keep_rank_and_size(void **state)
{
	static const char *const launchers[] = { "torchrun", "accelerate-launch" };

	for (size_t i = 0; i < 2; i++) {
		judge(LIST(launchers[i]), RI_MODE_AUTO);
		render(LIST(RANK_1_OF_2, AZURE, "RANK=7", "WORLD_SIZE=x", "LOCAL_RANK=0",
			"LOCAL_WORLD_SIZE=1", "SLURM_NTASKS=2"));
		assert_untouched("RANK");
		assert_untouched("WORLD_SIZE");
		assert_untouched("SLURM_NTASKS");
		assert_gone("LOCAL_RANK");
		assert_gone("LOCAL_WORLD_SIZE");
		assert_set("PET_NODE_RANK", "1");
		give_back(state);
	}
}

static void test_composer_keeps_the_users_counts(void **state)
{
	(void)state;
	judge(LIST("composer", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "RANK=1", "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"));
	assert_gone("RANK");
	assert_untouched("WORLD_SIZE");
	assert_untouched("LOCAL_WORLD_SIZE");
	/* not where they are those of the one process */
	topology.facts[RI_FACT_WORLD_SIZE].origin.variable = "WORLD_SIZE";
	assert_int_equal(ri_edits_render(&edits, &topology, &launched, &err), -1);
	assert_int_equal(err.code, RI_CODE_LAUNCH_INCOMPLETE);
	assert_string_equal(err.subject, "WORLD_SIZE");
	assert_true(err.hint[0] != '\0');
}

/* A source that knows how many ranks each node is asked to start. */
static void ask_for(uint64_t count)
{
	topology.facts[RI_FACT_NPROC] = (struct ri_fact){
		.state = RI_STATE_KNOWN, .number = count,
	};
	edits = (struct ri_env_edits){ .count = 0 };
	if (ri_edits_render(&edits, &topology, &launched, &err) < 0)
		fail_msg("[%s] %s: %s", ri_code_name(err.code), err.subject, err.text);
}

static void test_composer_is_told_the_counts(void **state)
{
	(void)state;
	judge(LIST("composer", "--world_size=16", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "WORLD_SIZE=x"));
	assert_untouched("WORLD_SIZE");
	ask_for(8);
	assert_set("WORLD_SIZE", "16");
	assert_set("LOCAL_WORLD_SIZE", "8");
}

static void test_composer_keeps_half_of_its_counts(void **state)
{
	(void)state;
	judge(LIST("composer", "--world_size=16", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "LOCAL_WORLD_SIZE=4"));
	ask_for(8);
	assert_untouched("WORLD_SIZE");
	assert_untouched("LOCAL_WORLD_SIZE");
}

static void test_torchrun_is_told_the_count(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE));
	assert_untouched("PET_NPROC_PER_NODE");
	ask_for(8);
	assert_set("PET_NPROC_PER_NODE", "8");
	give_back(state);
	render(LIST(RANK_1_OF_2, AZURE, "PET_NPROC_PER_NODE=auto"));
	ask_for(8);
	assert_untouched("PET_NPROC_PER_NODE");
	give_back(state);
	judge(LIST("composer", "--world_size=16", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE));
	ask_for(8);
	assert_untouched("PET_NPROC_PER_NODE");
}

static void test_any_command_may_be_a_launcher_by_request(void **state)
{
	(void)state;
	judge(LIST("python", "t.py"), RI_MODE_NODE);
	render(LIST(RANK_1_OF_2, AZURE, "RANK=1", "LOCAL_RANK=0", "SLURM_NTASKS=2"));
	assert_gone("RANK");
	assert_gone("LOCAL_RANK");
	assert_gone("SLURM_NTASKS");
	assert_set("NODE_RANK", "1");
	assert_set("PET_NODE_RANK", "1");
}

static void test_process_by_request_keeps_everything(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_PROCESS);
	render(LIST(RANK_1_OF_2, AZURE));
	assert_set("RANK", "1");
	assert_set("LOCAL_RANK", "0");
	assert_untouched("PET_NNODES");
	assert_untouched("NNODES");
	assert_untouched("OMPI_COMM_WORLD_RANK");
}

static void test_whole_job_is_left_alone(void **state)
{
	(void)state;
	judge(LIST("mpirun", "-np", "8", "x"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "LOCAL_RANK=9"));
	assert_int_equal(edits.count, 0);
}

static void test_no_identity_no_edits(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST("LOCAL_RANK=0", "PMIX_RANK=1", AZURE));
	assert_int_equal(edits.count, 0);
}

static void test_standalone_gets_no_defaults(void **state)
{
	static const char *const alone[] = { "--standalone", "--nnodes=1", "--nnodes=1:1" };

	for (size_t i = 0; i < 3; i++) {
		judge(LIST("torchrun", alone[i], "t.py"), RI_MODE_AUTO);
		render(LIST(RANK_1_OF_2, AZURE, "PMIX_RANK=1"));
		assert_untouched("PET_NNODES");
		assert_untouched("PET_NODE_RANK");
		assert_untouched("PET_MASTER_ADDR");
		assert_gone("PMIX_RANK");
		give_back(state);
	}
	judge(LIST("torchrun", "t.py", "--standalone"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE));
	assert_set("PET_NNODES", "2");
	give_back(state);
	/* the last one counts */
	judge(LIST("torchrun", "--nnodes=1", "--nnodes=2", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE));
	assert_set("PET_NODE_RANK", "1");
	give_back(state);
	render(LIST(RANK_1_OF_2, AZURE, "PET_STANDALONE=1"));
	assert_untouched("PET_NODE_RANK");
}

static void test_elastic_range_stays(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "PET_NNODES=1:4", "PET_RDZV_BACKEND=c10d"));
	assert_untouched("PET_NNODES");
	assert_untouched("PET_RDZV_BACKEND");
	assert_untouched("PET_NODE_RANK");
	give_back(state);
	render(LIST(RANK_1_OF_2, AZURE, "PET_NNODES=5", "PET_RDZV_BACKEND=static"));
	assert_set("PET_NNODES", "2");
	assert_set("PET_NODE_RANK", "1");
}

static void test_pet_follows_the_master(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, "MASTER_ADDR=a", "MASTER_PORT=7", "PET_MASTER_ADDR=b",
		"PET_MASTER_PORT=7"));
	assert_set("PET_MASTER_ADDR", "a");
	assert_untouched("PET_MASTER_PORT");
	assert_int_equal(findings.count, 1);
	assert_found(RI_CODE_ENV_DIFFERS, "PET_MASTER_ADDR");
}

/* What the platform makes of it is less than what somebody told torchrun. */
static void test_pet_of_the_user_stays(void **state)
{
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "PET_MASTER_ADDR=b", "PET_MASTER_PORT=7"));
	assert_untouched("PET_MASTER_ADDR");
	assert_untouched("PET_MASTER_PORT");
	assert_set("MASTER_ADDR", "10.0.0.4");
	assert_int_equal(findings.count, 2);
	assert_string_equal(findings.items[0].subject, "PET_MASTER_ADDR");
	assert_string_equal(findings.items[1].subject, "PET_MASTER_PORT");
	give_back(state);
	/* that of the image says nothing */
	render(LIST(RANK_1_OF_2, "MASTER_ADDR=localhost", "PET_MASTER_ADDR=fd00::7"));
	assert_untouched("PET_MASTER_ADDR");
	assert_set("PET_MASTER_PORT", "29500");
}

static void test_pet_that_is_no_use_follows(void **state)
{
	static const char *const hosts[] = {
		"PET_MASTER_ADDR=", "PET_MASTER_ADDR=b c", "PET_MASTER_ADDR=b:7",
		"PET_MASTER_ADDR=localhost",
	};
	static const char *const ports[] = {
		"PET_MASTER_PORT=0", "PET_MASTER_PORT=x", "PET_MASTER_PORT=65536",
	};

	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		render(LIST(RANK_1_OF_2, AZURE, hosts[i]));
		assert_set("PET_MASTER_ADDR", "10.0.0.4");
		give_back(state);
	}
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		render(LIST(RANK_1_OF_2, AZURE, ports[i]));
		assert_set("PET_MASTER_PORT", "6105");
		give_back(state);
	}
	/* on one node there is nothing wrong with it */
	render(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1",
		"PET_MASTER_ADDR=localhost"));
	assert_untouched("PET_MASTER_ADDR");
}

/* srun -n 2 torchrun --nnodes=2: each process is a node of one machine. */
static void test_each_process_may_be_a_node(void **state)
{
	judge(LIST("torchrun", "--nnodes=2", "t.py"), RI_MODE_AUTO);
	render(LIST(SECOND_OF_2));
	assert_set("PET_NODE_RANK", "1");
	assert_set("PET_NNODES", "2");
	assert_set("PET_MASTER_ADDR", "127.0.0.1");
	assert_gone("OMPI_COMM_WORLD_RANK");
	assert_int_equal(findings.count, 0);
	give_back(state);
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST(SECOND_OF_2, "PET_NNODES=2"));
	assert_set("PET_NODE_RANK", "1");
	give_back(state);
	/* of another number it says nothing about these */
	judge(LIST("torchrun", "--nnodes=4", "t.py"), RI_MODE_AUTO);
	refused(LIST(SECOND_OF_2, "PET_NNODES=2"), RI_CODE_LAUNCH_RANKS,
		"OMPI_COMM_WORLD_LOCAL_SIZE");
	give_back(state);
	judge(LIST("composer", "t.py"), RI_MODE_AUTO);
	refused(LIST(SECOND_OF_2, "PET_NNODES=2"), RI_CODE_LAUNCH_RANKS,
		"OMPI_COMM_WORLD_LOCAL_SIZE");
}

static void test_launcher_per_rank_is_refused(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	refused(LIST(RANK_13, AZURE), RI_CODE_LAUNCH_RANKS, "OMPI_COMM_WORLD_LOCAL_SIZE");
	give_back(state);
	/* the fourth of 3 + 1 ranks */
	refused(LIST("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1",
		"OMPI_MCA_orte_num_nodes=2", AZURE), RI_CODE_LAUNCH_RANKS,
		"OMPI_MCA_orte_num_nodes");
	give_back(state);
	/* who does not say how many there are says that this is the second */
	take_said(LIST(RANK_1_OF_2, AZURE));
	topology.facts[RI_FACT_LOCAL_WORLD_SIZE].state = RI_STATE_ABSENT;
	assert_int_equal(ri_topology_adapt(&topology, &launched, &err), 0);
	topology.facts[RI_FACT_LOCAL_RANK].number = 1;
	assert_int_equal(ri_topology_adapt(&topology, &launched, &err), -1);
	assert_int_equal(err.code, RI_CODE_LAUNCH_RANKS);
	assert_string_equal(err.subject, "OMPI_COMM_WORLD_LOCAL_RANK");
	give_back(state);
	judge(LIST("sh", "run.sh"), RI_MODE_NODE);
	refused(LIST(RANK_13, AZURE), RI_CODE_LAUNCH_RANKS, "OMPI_COMM_WORLD_LOCAL_SIZE");
	give_back(state);
	/* each on its own may run as often as it likes */
	judge(LIST("torchrun", "--standalone", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_13, AZURE));
	assert_untouched("PET_NNODES");
	assert_gone("OMPI_COMM_WORLD_RANK");
}

static void test_torchrun_needs_a_master_on_several_nodes(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	refused(LIST(RANK_1_OF_2), RI_CODE_LAUNCH_INCOMPLETE, "MASTER_ADDR");
	give_back(state);
	render(LIST(RANK_1_OF_2, "PET_RDZV_ENDPOINT=a:1"));
	assert_set("PET_NODE_RANK", "1");
	give_back(state);
	judge(LIST("torchrun", "--rdzv_endpoint=a:1", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2));
	give_back(state);
	judge(LIST("torchrun", "--master_addr", "a", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2));
	assert_untouched("PET_MASTER_ADDR");
	give_back(state);
	/* accelerate has a file, and a script may do anything */
	judge(LIST("accelerate", "launch", "t.py"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2));
	assert_found(RI_CODE_MASTER_ABSENT, "MASTER_ADDR");
	give_back(state);
	judge(LIST("bash", "t.sh"), RI_MODE_NODE);
	render(LIST(RANK_1_OF_2));
}

static void test_single_node(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	render(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1"));
	assert_set("PET_NNODES", "1");
	assert_set("PET_NODE_RANK", "0");
	assert_set("PET_MASTER_ADDR", "127.0.0.1");
	assert_int_equal(findings.count, 0);
}

static void test_rank_is_the_nodes_whatever_the_daemon_says(void **state)
{
	(void)state;
	judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
	take_said(LIST(RANK_1_OF_2, AZURE));
	topology.facts[RI_FACT_NODE_RANK] = (struct ri_fact){
		.state = RI_STATE_KNOWN, .number = 0, .origin = { .source = "openmpi" },
	};
	assert_int_equal(ri_topology_adapt(&topology, &launched, &err), 0);
	assert_number(RI_FACT_NODE_RANK, 1);
	assert_number(RI_FACT_NNODES, 2);
	assert_string_equal(ri_topology_subject(&topology, RI_FACT_NODE_RANK),
		"OMPI_COMM_WORLD_RANK");
}

static void test_loopback_on_several_nodes(void **state)
{
	static const char *const hosts[] = {
		"MASTER_ADDR=localhost", "MASTER_ADDR=127.0.1.1", "MASTER_ADDR=::1",
	};

	for (size_t i = 0; i < 3; i++) {
		judge(LIST("python", "t.py"), RI_MODE_AUTO);
		refused(LIST(RANK_1_OF_2, hosts[i]), RI_CODE_MASTER_LOOPBACK, "MASTER_ADDR");
		give_back(state);
		/* the node of rank 0 may call itself that */
		render(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
			"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1", hosts[i]));
		assert_found(RI_CODE_MASTER_LOOPBACK, "MASTER_ADDR");
		give_back(state);
		judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
		refused(LIST(RANK_1_OF_2, hosts[i]), RI_CODE_MASTER_LOOPBACK, "MASTER_ADDR");
		give_back(state);
		judge(LIST("torchrun", "--master-addr=a", "t.py"), RI_MODE_AUTO);
		render(LIST(RANK_1_OF_2, hosts[i]));
		give_back(state);
		judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
		render(LIST(RANK_1_OF_2, hosts[i], "PET_RDZV_ENDPOINT=a:1"));
		give_back(state);
	}
	judge(LIST("python", "t.py"), RI_MODE_AUTO);
	render(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1",
		"MASTER_ADDR=localhost"));
	assert_int_equal(findings.count, 0);
}

static void test_scrub_removes_all_of_a_name(void **state)
{
	(void)state;
	judge(LIST("torchrun"), RI_MODE_AUTO);
	render(LIST(RANK_1_OF_2, AZURE, "PMIX_RANK=1", "PMIX_RANK=2", "PMIX_X"));
	assert_gone("PMIX_RANK");
	assert_untouched("PMIX_X"); /* not a variable: it has no '=' */
	assert_int_equal(edits.count, 13);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

/* Where a launcher is not started once on each node, the hint has the words of this platform. */
static void test_way_to_start(void **state)
{
	const struct { char *const *strings; const char *hint; } ways[] = {
		{ LIST("AZUREML_RUN_ID=r", "AZUREML_NODE_COUNT=2"), "distribution: {type: py" },
		{ LIST("SLURM_JOB_ID=7", "SLURM_JOB_NUM_NODES=2"), "tasks-per-node=1 rankinit" },
		{ LIST(SECOND_OF_2), "node: mpirun --map-by ppr:1:node r" },
		{ LIST("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"),
		  "mpiexec -n NODES -ppn 1" },
		{ LIST("MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=2",
			"MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2"),
		  "srun -n NODES --ntasks-per-node=1, or mpirun" },
	};
	const char *hint;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		judge(LIST("torchrun", "t.py"), RI_MODE_AUTO);
		if (read_launched(ways[i].strings) == 0)
			ri_nodes_judge(&topology, &launched);
		hint = findings.count > 0 ? findings.items[findings.count - 1].hint : err.hint;
		if (strstr(hint, ways[i].hint) == NULL)
			fail_msg("%s: %s", ways[i].strings[0], hint);
		give_back(state);
	}
}

/* The refusal names what is not there, and what decides of a place that is. */
static void test_what_decides_of_a_split(void **state)
{
	static const char why[] = "; JOB_COMPLETION_INDEX is not used: the index starts again at 0 "
		"in each Job of the set, unless GLOBAL_REPLICAS is 1";

	(void)state;
	judge(LIST("torchrun", "--nproc-per-node=8", "train.py"), RI_MODE_AUTO);
	refused(LIST("JOBSET_NAME=a", "REPLICATED_JOB_NAME=w", "GLOBAL_REPLICAS=2", "NNODES=2",
		"JOB_COMPLETION_INDEX=1", "MASTER_ADDR=a-w-0-0.a"), RI_CODE_LAUNCH_SPLIT, "NNODES");
	assert_non_null(strstr(err.text, why));
	assert_ptr_equal(strstr(err.hint, "set NODE_RANK on each node, or state "), err.hint);
	err = (struct ri_error)RI_ERROR_INIT;
	/* the control: no source has a place */
	refused(LIST("RANK=1", "NODE_RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=10.0.0.4"),
		RI_CODE_LAUNCH_SPLIT, "NODE_RANK");
	assert_null(strstr(err.text, "is not used"));
	assert_ptr_equal(strstr(err.hint, "set NNODES on each node, or state "), err.hint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_torchrun_gets_its_defaults),
		TEST(test_identity_of_the_process_goes),
		TEST(test_torchrun_and_accelerate_keep_rank_and_size),
		TEST(test_composer_keeps_the_users_counts),
		TEST(test_composer_is_told_the_counts),
		TEST(test_composer_keeps_half_of_its_counts),
		TEST(test_torchrun_is_told_the_count),
		TEST(test_any_command_may_be_a_launcher_by_request),
		TEST(test_process_by_request_keeps_everything),
		TEST(test_whole_job_is_left_alone),
		TEST(test_what_decides_of_a_split),
		TEST(test_no_identity_no_edits),
		TEST(test_standalone_gets_no_defaults),
		TEST(test_elastic_range_stays),
		TEST(test_pet_follows_the_master),
		TEST(test_pet_of_the_user_stays),
		TEST(test_pet_that_is_no_use_follows),
		TEST(test_each_process_may_be_a_node),
		TEST(test_launcher_per_rank_is_refused),
		TEST(test_way_to_start),
		TEST(test_torchrun_needs_a_master_on_several_nodes),
		TEST(test_single_node),
		TEST(test_rank_is_the_nodes_whatever_the_daemon_says),
		TEST(test_loopback_on_several_nodes),
		TEST(test_scrub_removes_all_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
