/* SPDX-License-Identifier: Apache-2.0 */
/* What rankinit-probe may tell, and what it may not; what libraries of MPI answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "image/image.h"
#include "node/probe_answer.h"

static struct ri_probe probe;

/* As a probe that has opened one device and one GPU leaves it. */
static void fill(void)
{
	memset(&probe, 0, sizeof(probe));
	probe.magic = RI_PROBE_MAGIC;
	probe.size = sizeof(probe);
	probe.at = RI_PROBE_ASK;
	probe.question = RI_GPU_MIG;
	probe.device_count = probe.gpu_count = 1;
	strcpy(probe.devices[0].name, "mlx5_ib0");
	strcpy(probe.gpus[0].address, "00000000:1B:00.0");
	strcpy(probe.gpus[0].uuid, "GPU-0");
}

static void test_good(void **state)
{
	(void)state;
	fill();
	assert_true(ri_probe_check(&probe));
	assert_string_equal(probe.gpus[0].address, "0000:1b:00.0");
	probe.device_count = RI_MAX_HCAS;
	probe.gpu_count = RI_GPU_STATES;
	probe.devices[0].port_count = RI_MAX_HCA_PORTS;
	memset(probe.text, 'x', sizeof(probe.text) - 1);
	assert_true(ri_probe_check(&probe));
}

/* Each alone. */
static void test_another_build(void **state)
{
	(void)state;
	fill();
	probe.magic++;
	assert_false(ri_probe_check(&probe));
	fill();
	probe.size -= 8;
	assert_false(ri_probe_check(&probe));
	memset(&probe, 0, sizeof(probe));
	assert_false(ri_probe_check(&probe));
	memset(&probe, 0xff, sizeof(probe));
	assert_false(ri_probe_check(&probe));
}

static void test_out_of_range(void **state)
{
	uint32_t *const numbers[] = { &probe.at, &probe.question, &probe.device_count,
		&probe.gpu_count, &probe.devices[0].port_count };
	const uint32_t ends[] = { RI_PROBE_STEPS, RI_GPU_ASKED_COUNT, RI_MAX_HCAS + 1,
		RI_GPU_STATES + 1, RI_MAX_HCA_PORTS + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		fill();
		*numbers[i] = ends[i];
		assert_false(ri_probe_check(&probe));
		*numbers[i] = UINT32_MAX;
		assert_false(ri_probe_check(&probe));
		*numbers[i] = ends[i] - 1;
		assert_true(ri_probe_check(&probe));
	}
	/* what no count covers is never looked at */
	fill();
	memset(&probe.devices[1], 0xff, sizeof(probe.devices[1]));
	assert_true(ri_probe_check(&probe));
}

static void test_text_that_is_none(void **state)
{
	static const struct {
		char *text;
		size_t size;
	} texts[] = {
#define TEXT(member) { probe.member, sizeof(probe.member) }
		TEXT(subject), TEXT(text), TEXT(registered.device), TEXT(refused.device),
		TEXT(devices[0].name), TEXT(devices[0].firmware), TEXT(gpus[0].address),
		TEXT(gpus[0].uuid),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fill();
		memset(texts[i].text, 'x', texts[i].size);
		assert_false(ri_probe_check(&probe));
		fill();
		strcpy(texts[i].text, "\x1b[31m");
		assert_false(ri_probe_check(&probe));
		strcpy(texts[i].text, "\xc3\xa4");
		assert_false(ri_probe_check(&probe));
		strcpy(texts[i].text, "a b\n");
		assert_false(ri_probe_check(&probe));
		strcpy(texts[i].text, "");
		assert_true(ri_probe_check(&probe));
	}
}

static void test_rates(void **state)
{
	(void)state;
	assert_int_equal(ri_link_rate(1, 1), 2500);
	assert_int_equal(ri_link_rate(2, 16), 56000);
	assert_int_equal(ri_link_rate(2, 32), 100000);
	assert_int_equal(ri_link_rate(2, 64), 200000);
	assert_int_equal(ri_link_rate(2, 128), 400000);
	assert_int_equal(ri_link_rate(16, 128), 200000);
	assert_int_equal(ri_link_rate(8, 4), 120000);
	assert_int_equal(ri_link_rate(0, 64), 0);
	assert_int_equal(ri_link_rate(2, 3), 0);
	assert_int_equal(ri_link_rate(255, 255), 0);
}

static void test_answers(void **state)
{
	static const struct {
		const char *text, *version;
		enum ri_mpi_family family;
	} cases[] = {
		{ "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "4.1.4",
			RI_MPI_OPENMPI },
		{ "Open MPI v5.1.0a1, package", "5.1.0", RI_MPI_OPENMPI },
		{ "MPICH Version:      4.0.2 MPICH Release date: Thu", "4.0.2", RI_MPI_MPICH },
		{ "MPI VERSION    : CRAY MPICH version 7.7.10 (ANL base 3.2)", "7.7.10",
			RI_MPI_MPICH },
		{ "Intel(R) MPI Library 2021.6 for Linux* OS", "2021.6", RI_MPI_INTEL },
		{ "Intel(R) MPI Library 2019 Update 4 for Linux* OS", "2019", RI_MPI_INTEL },
		{ "MVAPICH2 Version      : 2.3.6 MVAPICH2 Release date :", "2.3.6",
			RI_MPI_MVAPICH2 },
		{ "MVAPICH Version:      4.0", "4.0", RI_MPI_MVAPICH2 },
		{ "MPICH Version:", "", RI_MPI_MPICH }, { "Open MPI vX", "", RI_MPI_OPENMPI },
		{ "Open MPI v1234567890.1234567890.1234567890", "", RI_MPI_OPENMPI },
		{ "Open MPI v...", "", RI_MPI_OPENMPI },
		{ "", "", RI_MPI_UNKNOWN }, { "4.1.4", "", RI_MPI_UNKNOWN },
		{ "Microsoft MPI 10.1", "", RI_MPI_UNKNOWN },
	};
	char version[RI_MPI_VERSION];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(version, 'x', sizeof(version));
		assert_int_equal(ri_mpi_read_answer(cases[i].text, version), cases[i].family);
		assert_string_equal(version, cases[i].version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_another_build),
		cmocka_unit_test(test_out_of_range), cmocka_unit_test(test_text_that_is_none),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
