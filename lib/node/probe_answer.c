/* SPDX-License-Identifier: Apache-2.0 */
#include "node/probe_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool is_text(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] >= ' ' && text[length] <= '~')
		length++;
	return length < size && text[length] == '\0';
}

#define IS_TEXT(array) is_text(array, sizeof(array))

bool ri_probe_check(struct ri_probe *probe)
{
	bool good = probe->magic == RI_PROBE_MAGIC && probe->size == sizeof(*probe) &&
		probe->at < RI_PROBE_STEPS && probe->question < RI_GPU_ASKED_COUNT &&
		probe->device_count <= RI_MAX_HCAS && probe->gpu_count <= RI_GPU_STATES &&
		IS_TEXT(probe->subject) && IS_TEXT(probe->text) &&
		IS_TEXT(probe->registered.device) && IS_TEXT(probe->refused.device);

	for (size_t i = 0; good && i < probe->device_count; i++)
		good = IS_TEXT(probe->devices[i].name) && IS_TEXT(probe->devices[i].firmware) &&
			probe->devices[i].port_count <= RI_MAX_HCA_PORTS;
	for (size_t i = 0; good && i < probe->gpu_count; i++) {
		good = IS_TEXT(probe->gpus[i].address) && IS_TEXT(probe->gpus[i].uuid);
		if (good)
			ri_gpu_address_normalise(probe->gpus[i].address);
	}
	return good;
}

uint64_t ri_link_rate(uint64_t width, uint64_t speed)
{
	/* enum ib_port_width and ib_port_speed, Linux include/rdma/ib_verbs.h; Mb/s a lane */
	static const struct {
		uint64_t code, value;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } },
	  speeds[] = { { 1, 2500 }, { 2, 5000 }, { 4, 10000 }, { 8, 10000 }, { 16, 14000 },
		  { 32, 25000 }, { 64, 50000 }, { 128, 100000 } };
	uint64_t lanes = 0, lane = 0;

	for (size_t i = 0; i < RI_ARRAY_SIZE(widths); i++)
		lanes += widths[i].code == width ? widths[i].value : 0;
	for (size_t i = 0; i < RI_ARRAY_SIZE(speeds); i++)
		lane += speeds[i].code == speed ? speeds[i].value : 0;
	return lanes * lane;
}

const char *ri_gpu_asked_word(enum ri_gpu_asked asked)
{
#define RI_ASKED(symbol, word, numbers, what) word,
	static const char *const words[] = { RI_ASKED_ALL };
#undef RI_ASKED

	return words[asked];
}

const uint64_t *ri_gpu_numbers(const struct ri_gpu_state *gpu, enum ri_gpu_asked asked)
{
	return gpu->asked[asked].answer.ok ? gpu->asked[asked].numbers : NULL;
}

bool ri_nvml_is_quiet(uint64_t error)
{
	return error == RI_NVML_NOT_SUPPORTED || error == RI_NVML_FUNCTION_NOT_FOUND ||
		error == RI_NVML_INVALID_ARGUMENT || error == RI_NVML_NO_DATA ||
		error == RI_NVML_VGPU_ECC || error == RI_NVML_VERSION_MISMATCH ||
		error == RI_NVML_DEPRECATED;
}

const char *ri_nvml_error_show(char *out, size_t size, uint64_t error)
{
	/* NVML API Reference Guide, "Device Enums": nvmlReturn_t */
	static const struct {
		uint64_t error;
		const char *text;
	} texts[] = {
		{ 3, "not supported" }, { RI_NVML_NO_PERMISSION, "no permission" },
		{ 8, "its power cables are not attached properly" },
		{ RI_NVML_DRIVER_NOT_LOADED, "the driver is not loaded" }, { 10, "it timed out" },
		{ 11, "the kernel has trouble with its interrupts" },
		{ RI_NVML_LIBRARY_NOT_FOUND, "a library of the driver is missing" },
		{ RI_NVML_FUNCTION_NOT_FOUND, "the library is too old" },
		{ 14, "its infoROM is corrupted" },
		{ RI_NVML_LOST, "it has fallen off the bus" },
		{ RI_NVML_RESET_REQUIRED, "it needs a reset" },
		{ RI_NVML_OPERATING_SYSTEM, "the device cgroup denies it" },
		{ 18, "the library is not of the kernel's driver" }, { 19, "it is in use" },
		{ 20, "no memory left" }, { RI_NVML_UNKNOWN, "an internal error of the driver" },
	};
	const char *text = "an error";

	for (size_t i = 0; i < RI_ARRAY_SIZE(texts); i++)
		if (texts[i].error == error)
			text = texts[i].text;
	snprintf(out, size, "%s (NVML error %" PRIu64 ")", text, error);
	return out;
}

void ri_gpu_address_normalise(char *address)
{
	size_t domain = strcspn(address, ":");

	for (char *at = address; *at != '\0'; at++)
		if (*at >= 'A' && *at <= 'F')
			*at = (char)(*at | 0x20);
	if (domain == 8 && strncmp(address, "0000", 4) == 0)
		memmove(address, address + 4, strlen(address + 4) + 1);
}

/* Is the GPU this one of those that are seen? The beginning of a UUID is enough: see gpus.c. */
static bool is_same(const struct ri_gpu *one, const struct ri_gpu_state *gpu)
{
	if (one->address != NULL && strcmp(one->address, gpu->address) == 0)
		return true;
	return strncmp(one->name, "GPU-", 4) == 0 &&
		strncmp(gpu->uuid, one->name, strlen(one->name)) == 0;
}

size_t ri_gpu_states_seen(bool *out, struct ri_gpu_state *gpus, size_t count,
	const struct ri_gpus *seen)
{
	const struct ri_gpu *first = NULL;
	size_t missing = 0, nameless = 0;
	bool known = seen != NULL && seen->count > 0;

	for (size_t i = 0; known && i < seen->count; i++)
		known = seen->list[i].address != NULL;
	/* of those that are seen how many NVML does not list by name, and the first one */
	for (size_t i = 0; known && i < seen->count; i++) {
		size_t at = 0;

		while (at < count && !is_same(&seen->list[i], &gpus[at]))
			at++;
		if (at == count && missing++ == 0)
			first = &seen->list[i];
	}
	for (size_t i = 0; i < count; i++) {
		out[i] = !known || (missing > 0 && gpus[i].address[0] == '\0');
		nameless += gpus[i].address[0] == '\0';
		for (size_t j = 0; known && j < seen->count; j++)
			out[i] |= is_same(&seen->list[j], &gpus[i]);
	}
	for (size_t i = 0; missing == 1 && nameless == 1 && i < count; i++)
		if (gpus[i].address[0] == '\0')
			ri_text_copy(gpus[i].address, sizeof(gpus[i].address), first->address);
	return missing > nameless ? missing - nameless : 0;
}
