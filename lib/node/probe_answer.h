/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rankinit-probe says. It loads one library of the image and tries it,
 * and a library may end the process that it is loaded into, or never return.
 * So a line goes out before each step:
 *
 *     rankinit-probe 2		first of all: the number of these rules
 *     try STEP [SUBJECT]	what is done now
 *     ok [FIELD]...		it worked, or
 *     error ERRNO [TEXT]	it did not; the answer to the last "try"
 *     end			all is done
 *
 *     STEP     SUBJECT         FIELDS
 *     load     PATH            -
 *     list     -               number of devices
 *     open     DEVICE          number of ports, firmware or "-"
 *     port     DEVICE NUMBER   state, physical state, layer, width, speed, LID, LID of manager
 *     memory   DEVICE BYTES    -
 *     close    DEVICE          -
 *     version  -               text
 *     init     -               -
 *     gpu      INDEX           address on the PCI bus, UUID, each or "-"
 *     ask      INDEX WHAT      numbers, see RI_ASKED_ALL in gpu_state.h
 *
 * The last three are of NVML, whose errors they are then; "list" too.
 *
 * "exec ERRNO" alone is what rankinit says where it could not execute the probe.
 */
#ifndef RI_NODE_PROBE_ANSWER_H
#define RI_NODE_PROBE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/gpu_state.h"
#include "node/rdma.h"

enum {
	RI_PROBE_RULES = 2,
	RI_PROBE_OUTPUT = 65536,	/* bytes that it says at most */
	RI_PROBE_LINE = 1024,		/* of one line, its end included */
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

struct ri_probe_port {
	struct ri_probe_answer answer;
	struct ri_port port;
	uint64_t lid;		/* 0 over Ethernet */
};

struct ri_probe_device {
	char name[RI_PROBE_NAME];
	char firmware[RI_PROBE_NAME];	/* "" where it does not tell */
	struct ri_probe_answer answer;	/* of opening it */
	struct ri_probe_port ports[RI_MAX_HCA_PORTS];
	size_t port_count;
};

/* A registration of memory. */
struct ri_probe_memory {
	char device[RI_PROBE_NAME];
	uint64_t size;
	struct ri_probe_answer answer;
};

struct ri_probe {
	uint64_t exec_error;		/* it was not executed: errno */
	bool began;			/* it was, and said so */
	bool ended;			/* all was done */
	enum ri_probe_step at;		/* the last step */
	struct ri_probe_answer answer;	/* of that one */
	char subject[RI_PROBE_TEXT];	/* and what it was about; "" for none */
	struct ri_probe_answer load;
	struct ri_probe_answer list;
	struct ri_probe_answer version;
	struct ri_probe_answer init;
	struct ri_probe_answer closed;	/* of the device that was closed last */
	char text[RI_PROBE_TEXT];	/* the version, or why the library was not loaded */
	struct ri_probe_device devices[RI_MAX_HCAS];
	size_t device_count;		/* that were opened, or should have been */
	uint64_t listed;		/* how many the library sees */
	struct ri_gpu_state gpus[RI_GPU_STATES];
	size_t gpu_count;
	enum ri_gpu_asked question;		/* the last one */
	struct ri_probe_memory asked;		/* the last one */
	struct ri_probe_memory registered;	/* the largest that was given */
	struct ri_probe_memory refused;		/* the first that was not */
};

/*
 * Read what it said until it ended, however it did: a last line without its
 * end does not count. Returns 0, or the number of the first line that is
 * against the rules; what stood before it is in *out.
 */
size_t ri_probe_read(struct ri_probe *out, const char *bytes, size_t size);

/* Mb/s of a link by the numbers of struct ibv_port_attr (ibv_query_port(3)); 0: unknown. */
uint64_t ri_link_rate(uint64_t width, uint64_t speed);

#endif
