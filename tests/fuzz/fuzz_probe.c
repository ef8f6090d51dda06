/* SPDX-License-Identifier: Apache-2.0 */
/* Input: what a process said in place of rankinit-probe. All that is kept is text and bounded. */
#include "fuzz.h"
#include "base/arena.h"
#include "image/mpi.h"
#include "node/probe_answer.h"

static struct ri_probe probe;

static void check_text(const char *text, size_t size)
{
	CHECK(strnlen(text, size) < size && fuzz_is_printable(text));
}

static void check_answer(const struct ri_probe_answer *answer)
{
	CHECK(answer->tried || !answer->given);
	CHECK(answer->given || !answer->ok);
	CHECK(answer->error <= UINT16_MAX && !(answer->ok && answer->error != 0));
}

static void check_device(const struct ri_probe_device *device)
{
	check_text(device->name, sizeof(device->name));
	check_text(device->firmware, sizeof(device->firmware));
	check_answer(&device->answer);
	CHECK(device->port_count <= RI_MAX_HCA_PORTS);
	for (size_t i = 0; i < device->port_count; i++) {
		check_answer(&device->ports[i].answer);
		CHECK(device->ports[i].port.rate <= 12 * 100000);
		CHECK(device->ports[i].port.link <= RI_LINK_ETHERNET);
	}
}

static void check_gpu(const struct ri_gpu_state *gpu)
{
	check_text(gpu->address, sizeof(gpu->address));
	check_text(gpu->uuid, sizeof(gpu->uuid));
	check_answer(&gpu->answer);
	for (unsigned i = 0; i < RI_GPU_ASKED_COUNT; i++) {
		check_answer(&gpu->asked[i].answer);
		CHECK(gpu->answer.ok || !gpu->asked[i].answer.tried);
		CHECK((ri_gpu_numbers(gpu, (enum ri_gpu_asked)i) != NULL) ==
			gpu->asked[i].answer.ok);
	}
}

/* By what they say of themselves, the first two are seen. */
static void check_seen(void)
{
	static bool seen[RI_GPU_STATES];
	static char names[2][RI_GPU_WORD];
	struct ri_gpu list[2] = { { .name = "0" }, { .name = names[1] } };
	const struct ri_gpus gpus = { .list = list, .count = 2 };
	char text[96];
	size_t count = probe.gpu_count < 2 ? probe.gpu_count : 2;

	ri_gpu_states_seen(seen, probe.gpus, probe.gpu_count, NULL);
	for (size_t i = 0; i < probe.gpu_count; i++) {
		CHECK(seen[i]);
		ri_nvml_error_show(text, sizeof(text), probe.gpus[i].answer.error);
		CHECK(ri_nvml_is_quiet(probe.gpus[i].answer.error) || text[0] != '\0');
	}
	for (size_t i = 0; i < count; i++) {
		memcpy(names[i], probe.gpus[i].address, RI_GPU_WORD);
		list[i].address = names[i];
	}
	ri_gpu_states_seen(seen, probe.gpus, probe.gpu_count, &gpus);
	for (size_t i = 0; i < count; i++)
		CHECK(seen[i] || list[1].address == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), version[RI_MPI_VERSION];
	size_t line = ri_probe_read(&probe, text, size), lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	CHECK(line <= lines);
	CHECK(!probe.ended || probe.began);
	CHECK(probe.exec_error == 0 || !probe.began);
	CHECK(probe.at < RI_PROBE_STEPS);
	check_text(probe.subject, sizeof(probe.subject));
	check_text(probe.text, sizeof(probe.text));
	check_text(probe.registered.device, RI_PROBE_NAME);
	check_text(probe.refused.device, RI_PROBE_NAME);
	check_answer(&probe.answer);
	check_answer(&probe.load);
	check_answer(&probe.list);
	check_answer(&probe.version);
	CHECK(probe.device_count <= RI_MAX_HCAS);
	for (size_t i = 0; i < probe.device_count; i++)
		check_device(&probe.devices[i]);
	check_answer(&probe.init);
	CHECK(probe.gpu_count <= RI_GPU_STATES);
	for (size_t i = 0; i < probe.gpu_count; i++)
		check_gpu(&probe.gpus[i]);
	check_seen();
	ri_mpi_read_answer(text, version);
	check_text(version, sizeof(version));
	free(text);
	return 0;
}
