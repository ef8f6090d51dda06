/* SPDX-License-Identifier: Apache-2.0 */
/* Input: what a process wrote in place of rankinit-probe. All that is kept is text and bounded. */
#include "fuzz.h"
#include "base/arena.h"
#include "image/image.h"
#include "node/probe_answer.h"

static struct ri_probe probe;

static void check_text(const char *text, size_t size)
{
	CHECK(strnlen(text, size) < size && fuzz_is_printable(text));
}

static void check_device(const struct ri_probe_device *device)
{
	check_text(device->name, sizeof(device->name));
	check_text(device->firmware, sizeof(device->firmware));
	CHECK(device->port_count <= RI_MAX_HCA_PORTS);
	for (size_t i = 0; i < device->port_count; i++)
		CHECK(ri_link_rate(device->ports[i].width, device->ports[i].speed) <= 12 * 100000);
}

static void check_gpu(const struct ri_gpu_state *gpu)
{
	check_text(gpu->address, sizeof(gpu->address));
	check_text(gpu->uuid, sizeof(gpu->uuid));
	for (unsigned i = 0; i < RI_GPU_ASKED_COUNT; i++)
		CHECK((ri_gpu_numbers(gpu, (enum ri_gpu_asked)i) != NULL) ==
			gpu->asked[i].answer.ok);
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

/* The input again and again, with numbers near their ranges. */
static void fill(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(probe); i++)
		((uint8_t *)&probe)[i] = size == 0 ? 0 : data[i % size];
	probe.magic = RI_PROBE_MAGIC;
	probe.size = sizeof(probe);
	probe.at %= RI_PROBE_STEPS + 1;
	probe.question %= RI_GPU_ASKED_COUNT + 1;
	probe.device_count %= RI_MAX_HCAS + 2;
	probe.gpu_count %= RI_GPU_STATES + 2;
	for (size_t i = 0; i < RI_MAX_HCAS; i++)
		probe.devices[i].port_count %= RI_MAX_HCA_PORTS + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), version[RI_MPI_VERSION];

	fill(data, size);
	if (ri_probe_check(&probe)) {
		CHECK(probe.at < RI_PROBE_STEPS && probe.question < RI_GPU_ASKED_COUNT);
		check_text(probe.subject, sizeof(probe.subject));
		check_text(probe.text, sizeof(probe.text));
		check_text(probe.registered.device, RI_PROBE_NAME);
		check_text(probe.refused.device, RI_PROBE_NAME);
		CHECK(probe.device_count <= RI_MAX_HCAS);
		for (size_t i = 0; i < probe.device_count; i++)
			check_device(&probe.devices[i]);
		CHECK(probe.gpu_count <= RI_GPU_STATES);
		for (size_t i = 0; i < probe.gpu_count; i++)
			check_gpu(&probe.gpus[i]);
		check_seen();
	}
	ri_mpi_read_answer(text, version);
	check_text(version, sizeof(version));
	free(text);
	return 0;
}
