/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the read function of a source works with: it looks variables up and
 * claims facts. Running out of memory is kept in err; the caller looks there
 * when the source is done, so no source has to.
 */
#ifndef RI_FROM_READING_H
#define RI_FROM_READING_H

#include "base/error.h"
#include "base/text.h"
#include "from/sources.h"
#include "model/context.h"

/*
 * "host", "host:port", "[address]", "[address]:port" and a bare IPv6 address,
 * as schedulers write them.
 */
struct ri_endpoint {
	struct ri_span host;	/* without brackets; at most RI_MAX_NAME bytes */
	unsigned port;		/* 0 where there is none */
};

/*
 * Read the text, blanks around it allowed. Two colons or more without
 * brackets are an IPv6 address that has no port. Returns false, and leaves
 * *out, where it is none of these, the host is no host, or the port no port.
 */
bool ri_endpoint_read(struct ri_span text, struct ri_endpoint *out);

/*
 * Of a text that is no endpoint: where it goes wrong, at the first byte that no host has, else at
 * the port, else where the text starts; and what was expected instead, the port alone where the
 * host before the colon is one.
 */
size_t ri_host_fault(const char *text, size_t length);
const char *ri_endpoint_expect(const char *text, size_t length);

/*
 * Is this an IPv4 or IPv6 address (a zone after '%' allowed, and needed by fe80::), or something
 * that may be a name: letters, digits, '.', '-', '_', the first of them a
 * letter, a digit or '_'? Digits and dots alone must be an address.
 */
bool ri_is_host(struct ri_span text);

/* The steps of from.h hand it on to each other, and each source. */
struct ri_reading {
	const struct ri_context *context;
	const struct ri_source *source;		/* whose turn it is */
	const struct ri_source *identity;	/* whose tuple counts so far, or NULL */
	const struct ri_source *launcher;	/* the innermost whose tuple is signed, or NULL */
	struct ri_fact *claims[RI_FACT_COUNT];	/* by all sources so far, in their order */
	size_t claim_count;			/* of all of them */
	const char *raw, *masked;	/* the last value, and as it may be shown */
	bool adopts;	/* the identity is that of the node, where ranks are started here */
	unsigned reported;	/* RI_FROM(id): what is broken of these was said */
	const struct ri_fact *gave_way;		/* a master that each node is itself, or NULL */
	struct ri_error *err;
};

/*
 * The value of a variable; NULL where it does not exist, and where it is the
 * link to a Kubernetes service that happens to have its name. A name that
 * starts with '-' is an option of the user's.
 */
const char *ri_reading_get(const struct ri_reading *reading, const char *variable);

/* Does the variable hold a number that the fact may have? Nothing is claimed. */
bool ri_reading_number(const struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, uint64_t *out);

/* The text of a file of the context's machine, of less than most bytes; or NULL. */
char *ri_reading_file(struct ri_reading *reading, const char *path, size_t most);

/*
 * Zeroed memory that lives as long as the topology, or NULL; a copy there, ended by '\0'; and a
 * string made by a format.
 */
void *ri_reading_allocate(struct ri_reading *reading, size_t count, size_t size);
char *ri_reading_copy(struct ri_reading *reading, const char *text, size_t length);
#define ri_reading_format(reading, ...) \
	ri_reading_need(reading, ri_arena_format((reading)->context->arena, __VA_ARGS__))

/* What the arena gave; where that is NULL there is no memory left. */
void *ri_reading_need(struct ri_reading *reading, void *given);

/*
 * Claim a fact that this variable says: known, and without a value yet. NULL
 * when out of memory, and where the variable is not there: nothing is claimed
 * without a text that said it, so a claim always has raw text.
 */
struct ri_fact *ri_claim(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* The same for what was read in another place, a file or a part of a variable. */
struct ri_fact *ri_claim_read(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *raw) __attribute__((nonnull(1, 4)));

/* ri_claim with a number that follows from what the variable says. */
struct ri_fact *ri_claim_value(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, uint64_t number);

/* The same with a text, which has to live as long as the topology. */
struct ri_fact *ri_claim_word(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *text, enum ri_strength strength);

/* The same with so many hosts, in order. */
struct ri_fact *ri_claim_list_of(struct ri_reading *reading, const char *variable,
	const char *const *hosts, size_t count);

/* ri_claim with a text, which is copied unless it is the variable's value. */
struct ri_fact *ri_claim_text(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, struct ri_span text);

/*
 * Claim a number, if the variable exists: known, or broken where it is not a
 * number in the fact's range. Returns the claim or NULL, as all of these do.
 */
struct ri_fact *ri_claim_number(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* The same for a variable that counts as absent where it is blank. */
struct ri_fact *ri_claim_filled(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* As many processes for each node as it has GPUs; a blank or 0 claims nothing. */
struct ri_fact *ri_claim_gpus(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* A text as it stands, unless the variable is blank. */
struct ri_fact *ri_claim_label(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* A host, perhaps with a port, which is not claimed. An empty variable claims nothing. */
struct ri_fact *ri_claim_host(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable);

/* The same, and the port beside the host; 0 where there is none. */
struct ri_fact *ri_claim_endpoint(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, unsigned *port);

/* Hosts in order from a list with that separator. */
struct ri_fact *ri_claim_hosts(struct ri_reading *reading, const char *variable, char separator);

/* What the rows that have a take say, in their order; and whatever this source says. */
void ri_claim_rows(struct ri_reading *reading, const struct ri_source_row *rows);
void ri_source_read(const struct ri_source *source, struct ri_reading *reading);

/* Claim that the variable is broken, or leaves the fact open: what was expected, or why. */
struct ri_fact *ri_claim_broken(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *reason);
struct ri_fact *ri_claim_open(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *reason);

/* Make a claim one that cannot be used, broken or open, for this reason; NULL stays. */
struct ri_fact *ri_claim_spoil(struct ri_fact *claim, enum ri_fact_state state,
	const char *reason);

/* Give the claim this strength; NULL stays. Returns it. */
struct ri_fact *ri_claim_weigh(struct ri_fact *claim, enum ri_strength strength);

/* The first claim that the source of that name made, or NULL. */
struct ri_fact *ri_claim_of(
	const struct ri_reading *reading, enum ri_fact_id id, const char *source);

/* Its first known one, or with NULL that of any source; the number of it; and of our own. */
struct ri_fact *ri_claim_known(
	const struct ri_reading *reading, enum ri_fact_id id, const char *source);
bool ri_claim_number_of(const struct ri_reading *reading, enum ri_fact_id id, const char *source,
	uint64_t *out);
bool ri_claim_get(const struct ri_reading *reading, enum ri_fact_id id, uint64_t *out);

/*
 * Claim the first of these hosts as the master; of a broken list, a broken one; of NULL, none. Or,
 * where this source names no master, the first of its own until another source says better:
 * "localhost" is open then, as it serves one node.
 */
struct ri_fact *ri_claim_master(struct ri_reading *reading, const struct ri_fact *hosts,
	enum ri_strength strength);
void ri_claim_first_host(struct ri_reading *reading);

/*
 * Does no launcher stand between a scheduler and this process? One may use fewer of the machines
 * that the job was given, in another order: its ranks learn of them only what fits them.
 */
bool ri_reading_is_direct(const struct ri_reading *reading);

/* Has a source said where rank 0 runs, or has the user, whom source "env" reads later? */
bool ri_reading_has_master(const struct ri_reading *reading);

/* Are all ranks of the job here, by the identity's own account? There must be one. */
bool ri_identity_is_on_one_node(const struct ri_reading *reading);

/*
 * The names that torch.distributed itself reads, as launchers set them for
 * each process: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, and the
 * rendezvous. Several sources share them; what else is there tells which.
 *
 * Without LOCAL_RANK the others may count nodes (Kubeflow's PyTorchJob,
 * Volcano and Alibaba PAI do so), hence they are no identity then.
 */

#define RI_QUARTET_RENDEZVOUS "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler"
#define RI_QUARTET_ELASTIC "PyTorch torch/distributed/run.py, Environment Variables"

/*
 * The rows that such a source has in its table of what it reads. RI_SEEN is the sign of the first
 * three alone, RI_ONE_SEEN that of MASTER_ADDR and MASTER_PORT as well. A blank LOCAL_WORLD_SIZE
 * is absent; of the others of the four a blank one is broken.
 */
#define RI_QUARTET_READS(sign) \
	{ "RANK", "rank", sign, RI_NUMBER(RANK), .cite = RI_QUARTET_RENDEZVOUS }, \
	{ "WORLD_SIZE", "world size", sign, RI_NUMBER(WORLD_SIZE), \
	  .cite = RI_QUARTET_RENDEZVOUS }, \
	{ "LOCAL_RANK", "local rank", sign, RI_NUMBER(LOCAL_RANK), .cite = RI_QUARTET_ELASTIC }, \
	{ "LOCAL_WORLD_SIZE", "processes on this node", 0, RI_FILLED(LOCAL_WORLD_SIZE), \
	  .cite = RI_QUARTET_ELASTIC }, \
	{ "MASTER_ADDR", "host on which rank 0 listens", (sign) & RI_ONE_SEEN, RI_MASTER, \
	  .stated = true, .cite = RI_QUARTET_RENDEZVOUS }, \
	/* PyTorch takes an empty variable for one that does not exist. */ \
	{ "MASTER_PORT", "port on which rank 0 listens", (sign) & RI_ONE_SEEN, \
	  RI_FILLED(MASTER_PORT), .stated = true, .cite = RI_QUARTET_RENDEZVOUS }

/* Are RANK, WORLD_SIZE and LOCAL_RANK all there, in whatever state? */
bool ri_quartet_sees(const struct ri_env *env);

#endif
