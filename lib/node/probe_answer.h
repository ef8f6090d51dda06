/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rankinit-probe tells rankinit. It loads one library of the image and tries it, and a
 * library may end the process that it is loaded into, or never return. So the probe writes into
 * memory that both share: before each step what is tried now, after it the answer. Both programs
 * come from one build; RI_PROBE_MAGIC and the size of the struct tell those that do not.
 */
#ifndef RI_NODE_PROBE_ANSWER_H
#define RI_NODE_PROBE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/gpu_state.h"
#include "node/rdma.h"

enum {
	RI_PROBE_RULES = 2,		/* of the lines that the probe prints by hand */
	RI_PROBE_MAGIC = 0x72695003,	/* another number for each change of the struct */
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

/* By the numbers of struct ibv_port_attr (ibv_query_port(3)). */
struct ri_probe_port {
	struct ri_probe_answer answer;
	uint32_t number, state, phys, layer, width, speed;
	uint32_t lid;		/* 0 over Ethernet */
	uint32_t manager;	/* the LID of the subnet manager */
};

struct ri_probe_device {
	char name[RI_PROBE_NAME];
	char firmware[RI_PROBE_NAME];	/* "" where it does not tell */
	struct ri_probe_answer answer;	/* of opening it */
	struct ri_probe_port ports[RI_MAX_HCA_PORTS];
	uint32_t port_count;
};

/* A registration of memory. */
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

#endif
