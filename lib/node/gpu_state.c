/* SPDX-License-Identifier: Apache-2.0 */
#include "node/gpu_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *ri_gpu_asked_word(enum ri_gpu_asked asked)
{
	static const char *const words[] = {
#define RI_ASKED(symbol, word, numbers, what) word,
		RI_ASKED_ALL
#undef RI_ASKED
	};

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

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
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

/* Of those that are seen how many NVML does not list by name, and the first one. */
static size_t count_missing(const struct ri_gpu_state *gpus, size_t count,
	const struct ri_gpus *seen, const struct ri_gpu **first)
{
	size_t missing = 0;

	for (size_t i = 0; i < seen->count; i++) {
		size_t at = 0;

		while (at < count && !is_same(&seen->list[i], &gpus[at]))
			at++;
		if (at == count && missing++ == 0)
			*first = &seen->list[i];
	}
	return missing;
}

size_t ri_gpu_states_seen(bool *out, struct ri_gpu_state *gpus, size_t count,
	const struct ri_gpus *seen)
{
	const struct ri_gpu *first = NULL;
	size_t missing, nameless = 0;
	bool known = seen != NULL && seen->count > 0;

	for (size_t i = 0; known && i < seen->count; i++)
		known = seen->list[i].address != NULL;
	missing = known ? count_missing(gpus, count, seen, &first) : 0;
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
