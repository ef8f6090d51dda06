/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit-probe nvml: how each GPU is, by NVIDIA's libnvidia-ml.
 *
 * No header of NVIDIA's is needed: what is used of it is declared here, as the
 * NVML API Reference Guide has it. NVML keeps every function and struct that it
 * ever had, and adds new ones under new names or versions; a function that the
 * library lacks makes its question unanswered, with NVML's own error for that.
 * Nothing is set, reset or cleared.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "probe/program.h"

typedef void *device;	/* nvmlDevice_t */

enum {
	ADDRESS_AT = 36,	/* of busId in nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it */
	UNCORRECTED = 1,	/* NVML_MEMORY_ERROR_TYPE_UNCORRECTED */
	VOLATILE = 0,		/* NVML_VOLATILE_ECC */
};

/* nvmlMemory_v2_t; in all versions of a driver: total = reserved + used + free. */
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct memory {
	unsigned long long total, free, used;
};

/* nvmlEccSramErrorStatus_v1_t */
struct sram {
	unsigned version;
	unsigned long long counters[11];
	unsigned exceeded;	/* bThresholdExceeded */
};

/* nvmlFieldValue_t */
struct field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, error;	/* nvmlValueType_t, nvmlReturn_t */
	union {
		double floating;
		unsigned long long wide;
		unsigned narrow;
		unsigned short small;
	} value;
};

enum { FIELD_RECOVERY_ACTION = 230 };	/* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */

#define STRUCT_VERSION(type, version) ((unsigned)sizeof(type) | (version) << 24)

static struct {
	int (*init)(void);
	int (*count)(unsigned *count);
	int (*handle)(unsigned index, device *out);
	int (*address)(device gpu, void *pci);
	int (*uuid)(device gpu, char *text, unsigned size);
	int (*memory_v2)(device gpu, struct memory_v2 *out);
	int (*memory)(device gpu, struct memory *out);
	int (*processes)(device gpu, unsigned *count, void *list);
	int (*ecc)(device gpu, int kind, int counter, unsigned long long *count);
	int (*sram)(device gpu, struct sram *out);
	int (*remapped)(device gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
		unsigned *failed);
	int (*fields)(device gpu, int count, struct field *values);
	int (*mig)(device gpu, unsigned *current, unsigned *pending);
} nvml;

/* The newest name first; the arguments of both are the same, as they are used here. */
static const struct {
	void *function;
	const char *names[3];
} functions[] = {
	{ &nvml.init, { "nvmlInit_v2", "nvmlInit" } },
	{ &nvml.count, { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" } },
	{ &nvml.handle, { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" } },
	{ &nvml.address, { "nvmlDeviceGetPciInfo_v3" } },
	{ &nvml.uuid, { "nvmlDeviceGetUUID" } },
	{ &nvml.memory_v2, { "nvmlDeviceGetMemoryInfo_v2" } },
	{ &nvml.memory, { "nvmlDeviceGetMemoryInfo" } },
	{ &nvml.processes, { "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetComputeRunningProcesses_v2",
		"nvmlDeviceGetComputeRunningProcesses" } },
	{ &nvml.ecc, { "nvmlDeviceGetTotalEccErrors" } },
	{ &nvml.sram, { "nvmlDeviceGetSramEccErrorStatus" } },
	{ &nvml.remapped, { "nvmlDeviceGetRemappedRows" } },
	{ &nvml.fields, { "nvmlDeviceGetFieldValues" } },
	{ &nvml.mig, { "nvmlDeviceGetMigMode" } },
};

/* Call it, or say as NVML does that there is no such function. */
#define CALL(function, ...) \
	(nvml.function == NULL ? (int)RI_NVML_FUNCTION_NOT_FOUND : nvml.function(__VA_ARGS__))

/* --- the questions ---------------------------------------------------------- */

static uint64_t field_number(const struct field *field)
{
	switch (field->type) {	/* nvmlValueType_t */
	case 0:
		return field->value.floating > 0 ? (uint64_t)field->value.floating : 0;
	case 1:
	case 5:
		return field->value.narrow;
	case 6:
		return field->value.small;
	default:
		return field->value.wide;
	}
}

/* Fill the numbers of one question. Returns nvmlReturn_t. */
static int ask_for(enum ri_gpu_asked asked, device gpu, uint64_t *out)
{
	struct memory_v2 two = { .version = STRUCT_VERSION(struct memory_v2, 2u) };
	struct memory one = { .total = 0 };
	struct sram sram = { .version = STRUCT_VERSION(struct sram, 1u) };
	struct field field = { .id = FIELD_RECOVERY_ACTION };
	unsigned numbers[RI_GPU_NUMBERS] = { 0 };
	unsigned long long count = 0;
	int error = RI_NVML_FUNCTION_NOT_FOUND;

	switch (asked) {
	case RI_GPU_MEMORY:
		error = CALL(memory_v2, gpu, &two);
		out[0] = two.total;
		out[1] = two.free;
		out[2] = two.reserved;
		if (error == 0)
			return 0;
		error = CALL(memory, gpu, &one);
		out[0] = one.total;
		out[1] = one.free;
		out[2] = 0;
		return error;
	case RI_GPU_ECC:
		error = CALL(ecc, gpu, UNCORRECTED, VOLATILE, &count);
		out[0] = count;
		return error;
	case RI_GPU_SRAM:
		error = CALL(sram, gpu, &sram);
		out[0] = sram.exceeded;
		return error;
	case RI_GPU_RECOVERY:
		error = CALL(fields, gpu, 1, &field);
		out[0] = field_number(&field);
		return error == 0 ? field.error : error;
	case RI_GPU_PROCESSES:
		/* their number alone: what is known of each differs between versions */
		error = CALL(processes, gpu, &numbers[0], NULL);
		error = error == RI_NVML_INSUFFICIENT_SIZE ? 0 : error;
		break;
	case RI_GPU_REMAP:
		error = CALL(remapped, gpu, &numbers[0], &numbers[1], &numbers[2], &numbers[3]);
		break;
	case RI_GPU_MIG:
		error = CALL(mig, gpu, &numbers[0], &numbers[1]);
		numbers[1] = 0;		/* what it will be */
		break;
	case RI_GPU_ASKED_COUNT:
		break;
	}
	for (int i = 0; i < RI_GPU_NUMBERS; i++)
		out[i] = numbers[i];
	return error;
}

/* TABLE: the word of each question, and how many numbers answer it. */
static const struct {
	const char *word;
	int numbers;
} forms[] = {
#define RI_ASKED(symbol, word, numbers, what) { word, numbers },
	RI_ASKED_ALL
#undef RI_ASKED
};

/* --- the steps ------------------------------------------------------------- */

static bool end(int error)
{
	return ri_probe_end(error >= 0 && error < UINT16_MAX ? error : RI_NVML_UNKNOWN, NULL);
}

static void ask(device gpu, struct ri_gpu_state *out, enum ri_gpu_asked asked)
{
	uint64_t numbers[RI_GPU_NUMBERS] = { 0 };
	char fields[RI_GPU_NUMBERS * 21 + 1] = "";
	int used = 0, error;

	ri_answers->question = asked;
	ri_probe_try(&out->asked[asked].answer, RI_PROBE_ASK, "ask %u %s", (unsigned)out->index,
		forms[asked].word);
	error = ask_for(asked, gpu, numbers);
	if (error != 0) {
		end(error);
		return;
	}
	memcpy(out->asked[asked].numbers, numbers, sizeof(numbers));
	for (int i = 0; i < forms[asked].numbers; i++)
		used += snprintf(fields + used, sizeof(fields) - (size_t)used, "%s%llu",
			i == 0 ? "" : " ", (unsigned long long)numbers[i]);
	ri_probe_end(0, "%s", fields);
}

static void try_gpu(unsigned index)
{
	char pci[256] = { 0 }, uuid[RI_GPU_WORD * 2] = { 0 };
	struct ri_gpu_state *out = &ri_answers->gpus[ri_answers->gpu_count++];
	const char *words[2];
	device gpu = NULL;
	int error;

	out->index = index;
	ri_probe_try(&out->answer, RI_PROBE_GPU, "gpu %u", index);
	error = CALL(handle, index, &gpu);
	if (error != 0) {
		end(error);
		return;
	}
	if (CALL(address, gpu, pci) != 0)
		pci[ADDRESS_AT] = '\0';
	if (CALL(uuid, gpu, uuid, sizeof(uuid) - 1) != 0)
		uuid[0] = '\0';
	pci[sizeof(pci) - 1] = uuid[sizeof(uuid) - 1] = '\0';
	words[0] = ri_probe_word(out->address, pci + ADDRESS_AT);
	words[1] = ri_probe_word(out->uuid, uuid);
	ri_probe_end(0, "%s %s", words[0], words[1]);
	for (unsigned asked = 0; asked < RI_GPU_ASKED_COUNT; asked++)
		ask(gpu, out, (enum ri_gpu_asked)asked);
}

void ri_probe_nvml(const char *path)
{
	void *library = ri_probe_load(path);
	unsigned count = 0;
	int error;

	if (library == NULL)
		return;
	ri_probe_end(0, NULL);
	for (size_t i = 0; i < RI_ARRAY_SIZE(functions); i++)
		for (int name = 0; name < 3 && functions[i].names[name] != NULL; name++)
			if (ri_probe_find(library, functions[i].names[name], functions[i].function))
				break;
	ri_probe_try(&ri_answers->init, RI_PROBE_INIT, "init");
	if (!end(CALL(init)))
		return;
	ri_probe_try(&ri_answers->list, RI_PROBE_LIST, "list");
	error = CALL(count, &count);
	if (error != 0) {
		end(error);
		return;
	}
	ri_answers->listed = count;
	ri_probe_end(0, "%u", count);
	for (unsigned i = 0; i < count && i < RI_GPU_STATES; i++)
		try_gpu(i);
}
