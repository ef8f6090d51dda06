/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of this node, and who asks: the user by --require and
 * --expect, by its own words or by the name of a VM size, and the orchestrator by the
 * kind of its job. A check compares what it finds with that; without a demand it lacks nothing.
 */
#ifndef RI_DEMAND_DEMAND_H
#define RI_DEMAND_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a VM size of Azure should have, as a table: azure_sizes.def. A size
 * that is not in it promises nothing.
 */
enum ri_azure_network {
	RI_AZURE_ETHERNET,	/* none for RDMA, at most an Ethernet function of mlx5 */
	RI_AZURE_INFINIBAND,
	/*
	 * RDMA without SR-IOV: no adapter is ever seen in the guest, and only
	 * the old Intel MPI over DAPL comes through.
	 */
	RI_AZURE_NETWORK_DIRECT,
};

struct ri_azure_size {
	const char *word;	/* "azure=nd96isr_h100_v5", as lists have it */
	const char *name;	/* without "Standard_", in small letters, of all cores */
	uint64_t gpus;
	uint64_t ports;		/* of InfiniBand */
	uint64_t rate;		/* Gb/s of each */
	enum ri_azure_network network;
};

/*
 * "Standard_ND96isr_H100_v5", with or without "Standard_", in any case; of a
 * size with fewer cores ("HB120-16rs_v3") the one with all of them. NULL: not
 * in the table.
 */
const struct ri_azure_size *ri_azure_size_find(const char *name);

/* The name in the table that is nearest to what was meant, or NULL. */
const char *ri_azure_size_nearest(const char *name);

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
	RI_ASKER_EXPECT,	/* --expect */
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

/* One bit for each check, by its number, which is its place in checks.def. */
struct ri_check_set {
	uint64_t words[RI_MAX_CHECKS / 64];
};

/* What one of them asks for. All zero: nothing. */
struct ri_asked {
	struct ri_demand topics[RI_TOPIC_COUNT];
	struct ri_demand checks;	/* of all checks below; only subject and asker */
	struct ri_check_set by_id;
	struct ri_check_set by_family;	/* these need not have anything to look at */
	const struct ri_azure_size *size;	/* NULL: none */
	bool deep;			/* what runs a program may do so */
};

struct ri_demands {
	struct ri_asked of[RI_ASKER_COUNT];
};

/* Which number of a demand. */
enum ri_demand_number { RI_DEMAND_COUNT, RI_DEMAND_RATE, RI_DEMAND_SIZE };

/*
 * Read what stands behind a topic, "8" or "8@400" or "16G", or NULL. Returns NULL, or
 * what is expected there.
 */
const char *ri_demand_read(struct ri_demand *out, enum ri_topic topic, char *value);

/* Ask for what the size has, but for topics that were asked for by themselves. */
void ri_demands_add_size(struct ri_asked *asked, enum ri_asker asker);

/* "mpi", as lists have it. */
const char *ri_topic_name(enum ri_topic topic);

/* Is what lacks it unfit? Never without a demand, for NULL. */
bool ri_demand_is_firm(const struct ri_demand *demand);

/* The firmest demand of the topic; of those that ask for more than was found; or NULL. */
const struct ri_demand *ri_demands_find(const struct ri_demands *demands, enum ri_topic topic);
const struct ri_demand *ri_demands_unmet(const struct ri_demands *demands, enum ri_topic topic,
	enum ri_demand_number number, uint64_t found);

/* The firmest demand of check n by its id, or by its family, or NULL. */
const struct ri_demand *ri_demands_check(const struct ri_demands *demands, size_t n, bool family);

void ri_check_set_add(struct ri_check_set *set, size_t n);
bool ri_check_set_has(const struct ri_check_set *set, size_t n);

/* Read "16G", "512m", "2Gi" or "65536" as bytes; the units are powers of 1024. */
bool ri_size_read(const char *text, size_t length, uint64_t *out);

enum { RI_SIZE_TEXT = 24 };

/* "64 MiB", "1.5 GiB", "unlimited" for UINT64_MAX. Returns out. */
const char *ri_size_show(char out[RI_SIZE_TEXT], uint64_t bytes);

/* The same, and it lasts as long as the block that it stands in. */
#define RI_SIZE_SHOWN(bytes) ri_size_show((char[RI_SIZE_TEXT]){ "" }, bytes)

#endif
