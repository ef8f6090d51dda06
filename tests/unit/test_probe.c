/* SPDX-License-Identifier: Apache-2.0 */
/* What rankinit-probe may say, and what it may not; what libraries of MPI answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "image/mpi.h"
#include "node/probe_answer.h"

#define BEGIN "rankinit-probe 2\n"
#define LOADED BEGIN "try load /usr/lib/libibverbs.so.1\nok\n"
#define LISTED LOADED "try list\nok 2\n"
#define OPENED LISTED "try open mlx5_ib0\nok 1 20.31.1014\n"

#define STARTED BEGIN "try load /usr/lib/libnvidia-ml.so.1\nok\ntry init\nok\n"
#define COUNTED STARTED "try list\nok 2\n"
#define ASKED COUNTED "try gpu 0\nok 00000000:1B:00.0 GPU-0\n"

static struct ri_probe probe;

static size_t read_text(const char *text)
{
	memset(&probe, 0xff, sizeof(probe));
	return ri_probe_read(&probe, text, strlen(text));
}

static void test_all(void **state)
{
	static const char text[] = OPENED
		"try port mlx5_ib0 1\nok 4 5 1 2 64 291 1\n"
		"try memory mlx5_ib0 4096\nok\n"
		"try memory mlx5_ib0 67108864\nerror 12\n"
		"try close mlx5_ib0\nok\n"
		"try open mlx5_an0\nerror 13 Permission denied\n"
		"end\n";
	const struct ri_probe_device *device = probe.devices;
	const struct ri_probe_port *port = device->ports;

	(void)state;
	assert_int_equal(read_text(text), 0);
	assert_true(probe.began && probe.ended && probe.load.ok && probe.list.ok);
	assert_int_equal(probe.listed, 2);
	assert_int_equal(probe.device_count, 2);
	assert_string_equal(device->name, "mlx5_ib0");
	assert_string_equal(device->firmware, "20.31.1014");
	assert_int_equal(device->port_count, 1);
	assert_true(port->answer.ok);
	assert_int_equal(port->port.number, 1);
	assert_int_equal(port->port.state, RI_PORT_ACTIVE);
	assert_int_equal(port->port.phys, RI_PHYS_UP);
	assert_int_equal(port->port.link, RI_LINK_INFINIBAND);
	assert_int_equal(port->port.rate, 200000);
	assert_int_equal(port->lid, 291);
	assert_int_equal(port->port.manager, 1);
	assert_int_equal(probe.registered.size, 4096);
	assert_int_equal(probe.refused.size, 67108864);
	assert_string_equal(probe.refused.device, "mlx5_ib0");
	assert_int_equal(probe.refused.answer.error, ENOMEM);
	assert_false(probe.devices[1].answer.ok);
	assert_int_equal(probe.devices[1].answer.error, EACCES);
}

static void test_memory_of_several(void **state)
{
	(void)state;
	assert_int_equal(read_text(OPENED "try memory mlx5_ib0 4096\nerror 12\n"
		"try open mlx5_ib1\nok 1 -\ntry memory mlx5_ib1 4096\nok\n"
		"try memory mlx5_ib1 8192\nok\ntry memory mlx5_ib1 16384\nerror 1\nend\n"), 0);
	assert_string_equal(probe.devices[1].firmware, "");
	assert_string_equal(probe.refused.device, "mlx5_ib0");
	assert_int_equal(probe.refused.answer.error, ENOMEM);
	assert_string_equal(probe.registered.device, "mlx5_ib1");
	assert_int_equal(probe.registered.size, 8192);
}

static void test_version(void **state)
{
	(void)state;
	assert_int_equal(read_text(BEGIN "try load /a b/libmpi.so\nok\ntry version\n"
		"ok Open MPI v4.1.4,  package\nend\n"), 0);
	assert_true(probe.version.ok);
	assert_string_equal(probe.text, "Open MPI v4.1.4,  package");
	assert_int_equal(read_text(BEGIN "try load x\nerror 0 x: file too short\nend\n"), 0);
	assert_true(probe.load.given && !probe.load.ok && probe.ended);
	assert_string_equal(probe.text, "x: file too short");
	assert_int_equal(read_text(BEGIN "try load x\nok\ntry version\nok\nend\n"), 0);
	assert_string_equal(probe.text, "");
	assert_int_equal(read_text(BEGIN "try load x\nok\ntry version\nerror 16\nend\n"), 0);
	assert_int_equal(probe.version.error, 16);
}

static void test_gpus(void **state)
{
	static const char text[] = ASKED
		"try ask 0 remap\nok 1 2 0 1\n"
		"try ask 0 ecc\nerror 3\n"
		"try ask 0 memory\nok 85520809984 84891664384 18446744073709551615\n"
		"try gpu 7\nok - -\n"
		"try ask 7 mig\n";
	const struct ri_gpu_state *gpu = probe.gpus;

	(void)state;
	assert_int_equal(read_text(text), 0);
	assert_true(probe.init.ok);
	assert_int_equal(probe.gpu_count, 2);
	assert_string_equal(gpu->address, "0000:1b:00.0");
	assert_string_equal(gpu->uuid, "GPU-0");
	assert_int_equal(ri_gpu_numbers(gpu, RI_GPU_REMAP)[3], 1);
	assert_true(ri_gpu_numbers(gpu, RI_GPU_MEMORY)[2] == UINT64_MAX);
	assert_null(ri_gpu_numbers(gpu, RI_GPU_ECC));
	assert_int_equal(gpu->asked[RI_GPU_ECC].answer.error, RI_NVML_NOT_SUPPORTED);
	assert_null(ri_gpu_numbers(gpu, RI_GPU_MIG));
	assert_int_equal(gpu[1].index, 7);
	assert_string_equal(gpu[1].address, "");
	assert_true(gpu[1].asked[RI_GPU_MIG].answer.tried);
	assert_false(gpu[1].asked[RI_GPU_MIG].answer.given);
	assert_int_equal(probe.at, RI_PROBE_ASK);
	assert_int_equal(probe.question, RI_GPU_MIG);
	assert_int_equal(read_text(STARTED "try list\nerror 15\nend\n"), 0);
	assert_int_equal(probe.list.error, RI_NVML_LOST);
	assert_int_equal(read_text(COUNTED "try gpu 0\nerror 15\ntry gpu 1\nok a b\nend\n"), 0);
	assert_int_equal(probe.gpus[0].answer.error, RI_NVML_LOST);
	assert_true(probe.gpus[1].answer.ok);
}

/* Where it was when it ended, or was ended. */
static void test_cut(void **state)
{
	(void)state;
	assert_int_equal(read_text(""), 0);
	assert_false(probe.began || probe.ended);
	assert_int_equal(probe.at, RI_PROBE_NOTHING);
	assert_int_equal(read_text("exec 13\n"), 0);
	assert_int_equal(probe.exec_error, EACCES);
	assert_int_equal(read_text(BEGIN "try load /lib/libmpi.so.40\n"), 0);
	assert_true(probe.load.tried && !probe.load.given && !probe.ended);
	assert_int_equal(probe.at, RI_PROBE_LOAD);
	assert_string_equal(probe.subject, "/lib/libmpi.so.40");
	assert_int_equal(read_text(LISTED "try open mlx5_ib0\n"), 0);
	assert_int_equal(probe.at, RI_PROBE_OPEN);
	assert_string_equal(probe.subject, "mlx5_ib0");
	assert_false(probe.answer.given);
	assert_int_equal(read_text(OPENED "try memory mlx5_ib0 4096\n"), 0);
	assert_string_equal(probe.subject, "mlx5_ib0 4096");
	assert_false(probe.refused.answer.tried || probe.registered.answer.tried);
	assert_int_equal(read_text(LOADED "try list"), 0);
	assert_false(probe.list.tried);
}

static void test_against_the_rules(void **state)
{
	static const struct {
		const char *text;
		size_t line;
	} cases[] = {
		{ "\n", 1 }, { "try load x\n", 1 }, { "rankinit-probe 1\n", 1 },
		{ "rankinit-probe\n", 1 }, { "rankinit-probe 2 \n", 1 },
		{ "rankinit-probe 01x\n", 1 }, { "exec 0\n", 1 }, { "exec 13\n" BEGIN, 2 },
		{ BEGIN BEGIN, 2 }, { BEGIN "\n", 2 }, { BEGIN "exec 13\n", 2 },
		{ BEGIN "ok\n", 2 }, { BEGIN "try\n", 2 }, { BEGIN "try load\n", 2 },
		{ BEGIN "try  load x\n", 2 }, { BEGIN " try load x\n", 2 },
		{ BEGIN "try init x\n", 2 }, { BEGIN "try list\n", 2 },
		{ BEGIN "try version\n", 2 }, { BEGIN "try open mlx5_ib0\n", 2 },
		{ BEGIN "try load x\ny\n", 3 }, { BEGIN "try load x\r\n", 2 },
		{ BEGIN "try load \x1b[31m\n", 2 }, { BEGIN "try load \xc3\xa4\n", 2 },
		{ BEGIN "try load x\ntry load x\n", 3 }, { BEGIN "try load x\nend\n", 3 },
		{ BEGIN "try load x\nok 1\n", 3 }, { BEGIN "try load x\nerror\n", 3 },
		{ BEGIN "try load x\nerror -1\n", 3 }, { BEGIN "try load x\nerror 65536\n", 3 },
		{ BEGIN "try load x\nerror 0 x\nok\n", 4 },
		{ BEGIN "try load x\nerror 0 x\ntry list\n", 4 },
		{ LOADED "try list x\n", 4 }, { LOADED "try list\nok\n", 5 },
		{ LOADED "try list\nok 1 \n", 5 }, { LOADED "try list\nok 4294967296\n", 5 },
		{ LOADED "try list\nok 0\ntry open mlx5_ib0\n", 6 },
		{ LISTED "try port mlx5_ib0 1\n", 6 }, { LISTED "try open\n", 6 },
		{ LISTED "try open a b\n", 6 }, { LISTED "try open mlx5_ib0\nok\n", 7 },
		{ LISTED "try open mlx5_ib0\nok 1\n", 7 },
		{ LISTED "try open mlx5_ib0\nok 256 -\n", 7 },
		{ LISTED "try open mlx5_ib0\nerror 13\ntry port mlx5_ib0 1\n", 8 },
		{ LISTED "try open mlx5_ib0\nerror 13\ntry memory mlx5_ib0 1\n", 8 },
		{ LISTED "try open a\nok 1 -\ntry open b\nok 1 -\ntry open c\n", 10 },
		{ OPENED "try port mlx5_ib1 1\n", 8 }, { OPENED "try port mlx5_ib0\n", 8 },
		{ OPENED "try port mlx5_ib0 256\n", 8 }, { OPENED "try memory mlx5_ib0 0\n", 8 },
		{ OPENED "try memory mlx5_ib0 18446744073709551616\n", 8 },
		{ OPENED "try port mlx5_ib0 1\nok 4 5 1 2 64 291\n", 9 },
		{ OPENED "try port mlx5_ib0 1\nok 4 5 1 2 64 291 1 1\n", 9 },
		{ OPENED "try port mlx5_ib0 1\nok 400 5 1 2 64 291 1\n", 9 },
		{ BEGIN "end\nend\n", 3 }, { BEGIN "end\ntry load x\n", 3 },
		{ BEGIN "end x\n", 2 }, { LOADED "try init x\n", 4 },
		{ LISTED "try gpu 0\n", 6 }, { STARTED "try gpu 0\n", 6 },
		{ COUNTED "try gpu x\n", 8 }, { COUNTED "try ask 0 remap\n", 8 },
		{ COUNTED "try gpu 0\nok a\n", 9 }, { COUNTED "try gpu 0\nok a b c\n", 9 },
		{ COUNTED "try gpu 0\nerror 15\ntry ask 0 remap\n", 10 },
		{ ASKED "try ask 1 remap\n", 10 }, { ASKED "try ask 0 else\n", 10 },
		{ ASKED "try ask 0\n", 10 }, { ASKED "try ask 0 remap x\n", 10 },
		{ ASKED "try ask 0 remap\nok 1 2 3\n", 11 },
		{ ASKED "try ask 0 remap\nok 1 2 3 4 5\n", 11 },
		{ ASKED "try ask 0 mig\nok -1\n", 11 },
		{ ASKED "try ask 0 mig\nok 1\ntry ask 0 mig\n", 12 },
		{ ASKED "try gpu 1\nok a b\ntry gpu 2\n", 12 },
	};
	static char text[2 * RI_PROBE_LINE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (read_text(cases[i].text) != cases[i].line)
			fail_msg("%s: line %zu", cases[i].text, read_text(cases[i].text));
	memset(text, 'x', sizeof(text));
	memcpy(text, BEGIN "try load ", strlen(BEGIN "try load "));
	text[sizeof(text) - 1] = '\n';
	assert_int_equal(ri_probe_read(&probe, text, sizeof(text)), 2);
	assert_int_equal(ri_probe_read(&probe, BEGIN "\0\n", strlen(BEGIN) + 2), 2);
	assert_int_equal(ri_probe_read(&probe, NULL, 0), 0);
}

/* No more of anything than there is room for. */
static void test_bounds(void **state)
{
	static char text[RI_PROBE_OUTPUT];
	size_t used;

	(void)state;
	used = (size_t)snprintf(text, sizeof(text), LOADED "try list\nok 1000\n");
	for (size_t i = 0; i < RI_MAX_HCAS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"try open d%zu\nok 9 -\n", i);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(probe.device_count, RI_MAX_HCAS);
	snprintf(text + used, sizeof(text) - used, "try open more\n");
	assert_int_equal(read_text(text), 5 + 2 * RI_MAX_HCAS + 1);
	used = (size_t)snprintf(text, sizeof(text), OPENED);
	for (size_t i = 0; i < RI_MAX_HCA_PORTS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"try port mlx5_ib0 %zu\nerror 22\n", i);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(probe.devices[0].ports[RI_MAX_HCA_PORTS - 1].answer.error, EINVAL);
	snprintf(text + used, sizeof(text) - used, "try port mlx5_ib0 9\n");
	assert_int_equal(read_text(text), 8 + 2 * RI_MAX_HCA_PORTS);
	used = (size_t)snprintf(text, sizeof(text), STARTED "try list\nok 1000\n");
	for (size_t i = 0; i < RI_GPU_STATES; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"try gpu %zu\nok - -\n", i);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(probe.gpu_count, RI_GPU_STATES);
	snprintf(text + used, sizeof(text) - used, "try gpu 64\n");
	assert_int_equal(read_text(text), 8 + 2 * RI_GPU_STATES);
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
		cmocka_unit_test(test_all), cmocka_unit_test(test_memory_of_several),
		cmocka_unit_test(test_version), cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_against_the_rules), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
