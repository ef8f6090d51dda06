/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rankinit-probe tells rankinit. It loads one library of the image and tries it, and a
 * library may end the process that it is loaded into, or never return. So the probe writes into
 * memory that both share: before each step what is tried now, after it the answer. Both programs
 * come from one build; RI_PROBE_MAGIC and the size of the struct tell those that do not.
 */
#ifndef RI_NODE_PROBE_ANSWER_H
#define RI_NODE_PROBE_ANSWER_H

#include "node/devices.h"

enum {
	RI_PROBE_RULES = 2,		/* of the lines that the probe prints by hand */
	RI_PROBE_MAGIC = 0x72695004,	/* another number for each change of the struct */
	RI_PROBE_NAME = 64,		/* of a device (IB_DEVICE_NAME_MAX) or its firmware */
	RI_PROBE_TEXT = 512,		/* of an answer */
};

enum ri_probe_step {
	RI_PROBE_NOTHING,	/* nothing was tried yet */
	RI_PROBE_LOAD,
	RI_PROBE_LIST,
	RI_PROBE_OPEN,
	RI_PROBE_PORT,
	RI_PROBE_MEMORY,
	RI_PROBE_CLOSE,
	RI_PROBE_VERSION,
	RI_PROBE_INIT,
	RI_PROBE_GPU,
	RI_PROBE_ASK,
	RI_PROBE_STEPS,
};

/*
 * TABLE: what a GPU is asked: one question, one answer, since each of them may be refused, be
 * unknown to an older library, or never come back. RI_ASKED(symbol, word, numbers, what they are).
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

/* By the numbers of struct ibv_port_attr (ibv_query_port(3)). */
struct ri_probe_port {
	struct ri_probe_answer answer;
	uint32_t number, state, layer, width, speed;
	uint32_t lid;		/* 0 over Ethernet */
};

struct ri_probe_device {
	char name[RI_PROBE_NAME];
	char firmware[RI_PROBE_NAME];	/* "" where it does not tell */
	struct ri_probe_answer answer;	/* of opening it */
	struct ri_probe_port ports[RI_MAX_HCA_PORTS];
	uint32_t port_count;
};

struct ri_probe_memory {
	char device[RI_PROBE_NAME];
	uint64_t size;
	struct ri_probe_answer answer;
};

/* All zero until the probe begins. No member has a value that cannot be read: see below. */
struct ri_probe {
	uint32_t magic, size;
	uint32_t exec_error;		/* it was not executed: errno. Written by rankinit */
	uint32_t ended : 1;		/* all was done */
	uint32_t at;			/* enum ri_probe_step: the last one */
	struct ri_probe_answer answer;	/* of that one */
	char subject[RI_PROBE_NAME];	/* and what it was about, a device say; "" for nothing */
	struct ri_probe_answer load, list, version, init;
	char text[RI_PROBE_TEXT];	/* the version, or why the library was not loaded */
	struct ri_probe_device devices[RI_MAX_HCAS];
	uint32_t device_count;		/* that were opened, or should have been */
	uint32_t listed;		/* how many the library sees */
	struct ri_gpu_state gpus[RI_GPU_STATES];
	uint32_t gpu_count;
	uint32_t question;		/* enum ri_gpu_asked: the last one */
	struct ri_probe_memory registered;	/* the largest that was given */
	struct ri_probe_memory refused;		/* the first that was not */
};

/*
 * Is this copy of the shared memory what a probe of this build writes: counts, steps and questions
 * in their ranges, printable text that ends? What the library that it loaded may have scribbled
 * there is believed no further. Addresses become those of sysfs.
 */
bool ri_probe_check(struct ri_probe *probe);

/* Mb/s of a link by the numbers of struct ibv_port_attr (ibv_query_port(3)); 0: unknown. */
uint64_t ri_link_rate(uint64_t width, uint64_t speed);

const char *ri_gpu_asked_word(enum ri_gpu_asked asked);	/* "remap" */

/* The numbers of an answer; NULL where there are none. */
const uint64_t *ri_gpu_numbers(const struct ri_gpu_state *gpu, enum ri_gpu_asked asked);

/* Is there nothing to know: the GPU, the driver or the library has no such thing, or hides it? */
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
