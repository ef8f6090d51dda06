/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables several ranks must not inherit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "to/to.h"
#include "topology_of.h"

static bool removes(const char *name)
{
	return ri_scrub_removes(name, strlen(name), false);
}

static void test_scrub_takes_what_one_launch_says(void **state)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE",
		"OMPI_APP_CTX_NUM_PROCS", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_APP_SIZES",
		"OMPI_FILE_LOCATION", "OMPI_COMMAND", "OMPI_ARGV", "OMPI_MCA_orte_hnp_uri",
		"OMPI_MCA_ess", "OMPI_MCA_ess_base_vpid", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
		"OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_shmem_RUNTIME_QUERY_hint", "PMIX_RANK",
		"PMIX_SERVER_URI41", "PMIX_MCA", "PMI_RANK", "PMI_SIZE", "PMI_FD",
		"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PRTE_LAUNCHED", "HOROVOD_RANK", "GROUP_RANK",
		"OMPI_WORLD_SIZE", "OMPI_MCA_num_procs", "PMI_PORT", "PMI_ID", "PMI_JOBID",
		"PMI_SPAWNED", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "PMI_UNIVERSE_SIZE",
		"MV2_COMM_WORLD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
		"HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "GROUP_WORLD_SIZE", "ROLE_RANK",
		"ROLE_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
		"TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
		"HOROVOD_HOSTNAME", "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT",
		"MPISPAWN_LOCAL_NPROCS", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_SIZE",
		"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "PALS_APID", "PALS_APINFO", "PALS_RANKID",
		"PALS_NODEID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PMI_CONTROL_PORT",
		"PMI_SHARED_SECRET",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!removes(names[i]))
			fail_msg("%s stays", names[i]);
}

static void test_scrub_leaves_what_tunes(void **state)
{
	static const char *const names[] = {
		"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
		"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_pml", "OMPI_MCA_coll_hcoll_enable",
		"OMPI_MCA_plm_rsh_agent", "OMPI_MCA_ess_x", "OMPI_MCA_pmix_x", "UCX_TLS",
		"UCX_NET_DEVICES", "NCCL_DEBUG", "PMIX_MCA_gds", "PMIX_MCA_", "PMIX", "PMI_RANKS",
		"HOROVOD_TIMELINE", "HOROVOD_CONTROLLER", "FLUX_JOB_ID", "TORCHELASTIC_ERROR_FILE",
		"MASTER_ADDR", "OMPI_COMM_WORLD",
		"XOMPI_COMM_WORLD_RANK", "ompi_comm_world_rank", "", "O", "SLURM_PROCID",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (removes(names[i]))
			fail_msg("%s goes", names[i]);
	/* the name need not end */
	assert_true(ri_scrub_removes("PMI_RANK=3", 8, false));
	assert_false(ri_scrub_removes("PMI_RANK=3", 9, false));
	assert_false(ri_scrub_removes("PMI_RANK=3", 7, false));
}

static void test_slurm_s_goes_from_our_own_ranks(void **state)
{
	static const char *const names[] = {
		"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NPROCS",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(ri_scrub_removes(names[i], strlen(names[i]), true));
		assert_false(removes(names[i]));
	}
	assert_false(ri_scrub_removes("SLURM_JOB_ID", strlen("SLURM_JOB_ID"), true));
}

enum { KEEP, REMOVE, REMOVE_HERE };
static const struct {
	int what;
	const char *cite;
	const char *const *patterns;
} rows[] = {
#define RI_SCRUB(what, cite, ...) { what, cite, (const char *const[]){ __VA_ARGS__, NULL } },
#include "to/scrub.def"
#undef RI_SCRUB
};

/* Every line can decide: none stands behind one that takes all of its names. */
static void test_every_line_of_the_scrub_can_be_reached(void **state)
{
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (const char *const *pattern = rows[i].patterns; *pattern != NULL; pattern++) {
			size_t length = strcspn(*pattern, "*");

			memcpy(name, *pattern, length);
			name[length] = '\0';
			assert_true(rows[i].cite[0] != '\0');
			assert_int_equal(ri_scrub_removes(name, length, true),
				rows[i].what != KEEP);
			assert_int_equal(ri_scrub_removes(name, length, false),
				rows[i].what == REMOVE);
		}
}

static void test_a_value_and_its_absence_conflict(void **state)
{
	struct ri_writing writing = { .context = &context, .err = &err };

	ri_want_gone(&writing, "A");
	ri_want_gone(&writing, "A");
	assert_int_equal(writing.wanted.count, 1);
	assert_int_equal(err.code, RI_CODE_NONE);
	ri_want(&writing, "A", "1");
	assert_int_equal(err.code, RI_CODE_ENV_CONFLICT);
	assert_string_equal(err.subject, "A");
	give_back(state);
	writing = (struct ri_writing){ .context = &context, .err = &err };
	ri_want(&writing, "A", "1");
	ri_want_gone(&writing, "A");
	assert_int_equal(err.code, RI_CODE_ENV_CONFLICT);
}

static void test_scrub_knows_what_the_frameworks_want(void **state)
{
	struct ri_writing writing = { .context = &context, .err = &err };

	take(LIST("PMIX_RANK=1", "PMI_RANK=2"));
	ri_want_gone(&writing, "PMIX_RANK");
	ri_scrub(&writing);
	assert_int_equal(writing.wanted.count, 2);
	assert_int_equal(err.code, RI_CODE_NONE);
	give_back(state);
	take(LIST("PMIX_RANK=1"));
	writing = (struct ri_writing){ .context = &context, .err = &err };
	ri_want(&writing, "PMIX_RANK", "1");
	ri_scrub(&writing);
	assert_int_equal(err.code, RI_CODE_ENV_CONFLICT);
	assert_string_equal(err.subject, "PMIX_RANK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scrub_takes_what_one_launch_says),
		cmocka_unit_test(test_scrub_leaves_what_tunes),
		cmocka_unit_test(test_slurm_s_goes_from_our_own_ranks),
		cmocka_unit_test(test_every_line_of_the_scrub_can_be_reached),
		cmocka_unit_test_teardown(test_a_value_and_its_absence_conflict, give_back),
		cmocka_unit_test_teardown(test_scrub_knows_what_the_frameworks_want, give_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
