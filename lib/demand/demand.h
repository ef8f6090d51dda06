/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of this node, and who asks: the user by --require and
 * --expect, the table of Azure's VM sizes, the orchestrator by the kind of its
 * job. A check compares what it finds with that; without a demand it lacks nothing.
 */
#ifndef RI_DEMAND_DEMAND_H
#define RI_DEMAND_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum ri_topic {
	RI_TOPIC_MPI,		/* "mpi" */
	RI_TOPIC_OFED,		/* "ofed": RDMA that a program can use */
	RI_TOPIC_GPU,		/* "gpu", "gpu=8" */
	RI_TOPIC_IB,		/* "ib", "ib=8", "ib=8@400" */
	RI_TOPIC_SHM,		/* "shm=16G" */
	RI_TOPIC_COUNT,
};

/* One bit for each topic. */
#define RI_ABOUT(topic) (1u << RI_TOPIC_##topic)

/* Who asks; the later the firmer. */
enum ri_asker {
	RI_ASKER_SOURCE,	/* such a job cannot do without */
	RI_ASKER_SIZE,		/* --azure-size: this VM should have it */
	RI_ASKER_EXPECT,	/* --expect */
	RI_ASKER_LEVEL,		/* --check-level, of a check by its id: unfit without */
	RI_ASKER_REQUIRE,	/* --require: unfit without */
	RI_ASKER_COUNT,
};

struct ri_demand {
	const char *subject;	/* "--require", "an MPI job"; NULL: not asked for */
	enum ri_asker asker;
	uint64_t count;		/* of GPUs, of InfiniBand ports; 0: any */
	uint64_t rate;		/* Gb/s of each port; 0: any */
	uint64_t size;		/* bytes; 0: any */
};

enum { RI_MAX_CHECKS = 128 };

/* All zero: no demand. */
struct ri_demands {
	struct ri_demand topics[RI_ASKER_COUNT][RI_TOPIC_COUNT];
	struct ri_demand checks[RI_ASKER_COUNT];	/* by their ids; only subject and asker */
	uint64_t by_id[RI_ASKER_COUNT][RI_MAX_CHECKS / 64];	/* bit n: check n */
};

/* Which number of a demand. */
enum ri_demand_number { RI_DEMAND_COUNT, RI_DEMAND_RATE, RI_DEMAND_SIZE };

/* Who asks, by which name, and the ids of checks that may be asked for. */
struct ri_demand_list {
	const char *text;		/* "mpi,gpu=8,ib=8@400,shm=16G,ib.libs" */
	const char *subject;		/* "--require"; must last as long as the demands */
	enum ri_asker asker;
	const char *const *ids;		/* ids[n] is that of check n; ends with NULL */
	/* The fact that a check of this id has become, or NULL. */
	const char *(*fact_of_check)(const char *id);
};

/* What to say of such an id, with the name of the fact. */
#define RI_DEMAND_FACT "it is no check any more, but the fact %s, which rankinit --check shows"

/* Read a list into *demands. Returns 0, or -1 with RI_CODE_OPTION_VALUE. */
int ri_demands_read(struct ri_demands *demands, const struct ri_demand_list *list,
	struct ri_error *err);

/*
 * Does the list begin with the word "none"? Returns what follows it, the list itself
 * where it does not, NULL where nothing follows.
 */
const char *ri_demands_skip_none(const char *list, bool *none);

/*
 * One list of two: all of the second, and before it what of the first it does not
 * name. NULL when out of memory.
 */
const char *ri_demands_join(const char *first, const char *second, struct ri_arena *arena);

/* Ask for one topic; what the demand does not state is 0. */
void ri_demands_add(struct ri_demands *demands, enum ri_topic topic, struct ri_demand demand);

/* "mpi", as lists have it. */
const char *ri_topic_name(enum ri_topic topic);

/* Ask for check n by its id; only subject and asker of the demand count. */
void ri_demands_add_check(struct ri_demands *demands, size_t n, struct ri_demand demand);

/* Is what lacks it unfit? Never without a demand, for NULL. */
bool ri_demand_is_firm(const struct ri_demand *demand);

/* The firmest demand of the topic, or NULL. */
const struct ri_demand *ri_demands_find(const struct ri_demands *demands, enum ri_topic topic);

/* The firmest demand of the topic that asks for more than what was found, or NULL. */
const struct ri_demand *ri_demands_unmet(const struct ri_demands *demands, enum ri_topic topic,
	enum ri_demand_number number, uint64_t found);

/* The firmest demand of check n by its id, or NULL. */
const struct ri_demand *ri_demands_check(const struct ri_demands *demands, size_t n);

/* Read "16G", "512m", "2Gi" or "65536" as bytes; the units are powers of 1024. */
bool ri_size_read(const char *text, size_t length, uint64_t *out);

enum { RI_SIZE_TEXT = 24 };

/* "64 MiB", "1.5 GiB", "unlimited" for UINT64_MAX. Returns out. */
const char *ri_size_show(char out[RI_SIZE_TEXT], uint64_t bytes);

#endif
