/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a GPU is, as rankinit-probe has it from NVIDIA's libnvidia-ml: one
 * question, one answer, since each of them may be refused, be unknown to an
 * older library, or never come back. Judging them is left to the checks.
 */
#ifndef RI_NODE_GPU_STATE_H
#define RI_NODE_GPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/gpus.h"

/*
 * TABLE: what a GPU is asked. RI_ASKED(symbol, word, numbers, what they are).
 * The numbers are those of NVML's functions (NVML API Reference Guide); the
 * word is what people read.
 */
#define RI_ASKED_ALL \
	RI_ASKED(MEMORY, "memory", 3, "bytes in all, free, kept by the driver") \
	RI_ASKED(PROCESSES, "processes", 1, "that compute on it") \
	RI_ASKED(ECC, "ecc", 1, "uncorrected errors since the driver was loaded") \
	RI_ASKED(SRAM, "sram", 1, "1: more uncorrected errors than NVIDIA accepts") \
	RI_ASKED(REMAP, "remap", 4, "rows by corrected, by uncorrected errors; pending, failed") \
	RI_ASKED(RECOVERY, "recovery", 1, "NVML_GPU_RECOVERY_ACTION_...") \
	RI_ASKED(MIG, "mig", 1, "1: on")

enum ri_gpu_asked {
#define RI_ASKED(symbol, word, numbers, what) RI_GPU_##symbol,
	RI_ASKED_ALL
#undef RI_ASKED
	RI_GPU_ASKED_COUNT,
};

enum {
	RI_GPU_NUMBERS = 4,	/* of one answer, at most */
	RI_GPU_STATES = 64,	/* GPUs that are asked: no machine is known to have more than 32 */
	RI_GPU_WORD = 64,	/* of an address or a UUID ("GPU-" and 36 characters) */
};

/* nvmlReturn_t, as far as it matters here (NVML API Reference Guide, "Device Enums"). */
enum ri_nvml {
	RI_NVML_OK = 0,
	RI_NVML_INVALID_ARGUMENT = 2,
	RI_NVML_NOT_SUPPORTED = 3,
	RI_NVML_NO_PERMISSION = 4,
	RI_NVML_INSUFFICIENT_SIZE = 7,
	RI_NVML_DRIVER_NOT_LOADED = 9,
	RI_NVML_LIBRARY_NOT_FOUND = 12,	/* what the toolkit's stub says, too */
	RI_NVML_FUNCTION_NOT_FOUND = 13,
	RI_NVML_LOST = 15,
	RI_NVML_RESET_REQUIRED = 16,
	RI_NVML_OPERATING_SYSTEM = 17,
	RI_NVML_NO_DATA = 21,
	RI_NVML_VGPU_ECC = 22,
	RI_NVML_VERSION_MISMATCH = 25,
	RI_NVML_DEPRECATED = 26,	/* what the library no longer does */
	RI_NVML_UNKNOWN = 999,
};

/* How an attempt ended. Any bytes are one: another process writes them. */
struct ri_probe_answer {
	uint32_t tried : 1;
	uint32_t given : 1;	/* 0: it never came back */
	uint32_t ok : 1;
	uint32_t error;		/* errno, or nvmlReturn_t; 0 where there is none */
};

struct ri_gpu_answer {
	struct ri_probe_answer answer;
	uint64_t numbers[RI_GPU_NUMBERS];
};

struct ri_gpu_state {
	uint64_t index;			/* NVML's and nvidia-smi's */
	char address[RI_GPU_WORD];	/* "0000:1b:00.0", as sysfs has it; "": unknown */
	char uuid[RI_GPU_WORD];		/* "GPU-..."; "": unknown */
	struct ri_probe_answer answer;	/* to asking for the GPU at all */
	struct ri_gpu_answer asked[RI_GPU_ASKED_COUNT];
};

/* "remap" */
const char *ri_gpu_asked_word(enum ri_gpu_asked asked);

/* The numbers of an answer; NULL where there are none. */
const uint64_t *ri_gpu_numbers(const struct ri_gpu_state *gpu, enum ri_gpu_asked asked);

/*
 * Does the error mean that there is nothing to know: the GPU, the driver or
 * the library has no such thing, or keeps it from us?
 */
bool ri_nvml_is_quiet(uint64_t error);

/* "the GPU has fallen off the bus (15)", into out of at least 96 bytes. Returns out. */
const char *ri_nvml_error_show(char *out, size_t size, uint64_t error);

/* "00000000:1B:00.0", NVML's, as sysfs has it: "0000:1b:00.0". In place. */
void ri_gpu_address_normalise(char *address);

/*
 * Which of these GPUs does a program here see, by CUDA_VISIBLE_DEVICES? One
 * that NVML does not open has no address: it is seen if one that is seen is
 * not among the others, and gets the address where it is the only such one.
 * seen: NULL, or none whose address is known: all are. Returns how many are
 * seen that NVML does not list.
 */
size_t ri_gpu_states_seen(bool *out, struct ri_gpu_state *gpus, size_t count,
	const struct ri_gpus *seen);

#endif
