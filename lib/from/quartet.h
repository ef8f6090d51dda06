/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that torch.distributed itself reads, as launchers set them for
 * each process: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, and the
 * rendezvous. Several sources share them; what else is there tells which.
 *
 * Without LOCAL_RANK the others may count nodes (Kubeflow's PyTorchJob,
 * Volcano and Alibaba PAI do so), hence they are no identity then.
 */
#ifndef RI_FROM_QUARTET_H
#define RI_FROM_QUARTET_H

#include "from/reading.h"

#define RI_QUARTET_RENDEZVOUS "PyTorch torch/distributed/rendezvous.py, _env_rendezvous_handler"
#define RI_QUARTET_ELASTIC "PyTorch torch/distributed/run.py, Environment Variables"

/* The rows that such a source has in its table of what it reads. */
#define RI_QUARTET_READS \
	{ .name = "RANK", .meaning = "rank", .cite = RI_QUARTET_RENDEZVOUS }, \
	{ .name = "WORLD_SIZE", .meaning = "world size", .cite = RI_QUARTET_RENDEZVOUS }, \
	{ .name = "LOCAL_RANK", .meaning = "local rank", .cite = RI_QUARTET_ELASTIC }, \
	{ .name = "LOCAL_WORLD_SIZE", .meaning = "processes on this node", \
	  .cite = RI_QUARTET_ELASTIC }, \
	{ .name = "MASTER_ADDR", .meaning = "host on which rank 0 listens", \
	  .cite = RI_QUARTET_RENDEZVOUS }, \
	{ .name = "MASTER_PORT", .meaning = "port on which rank 0 listens", \
	  .cite = RI_QUARTET_RENDEZVOUS }

/* Are RANK, WORLD_SIZE and LOCAL_RANK all there, in whatever state? */
bool ri_quartet_sees(const struct ri_env *env);

/*
 * Did an outer rankinit write them for a process? A launcher between may have
 * written them again.
 */
bool ri_quartet_is_marked(const struct ri_env *env);

/*
 * Claim those of the four that are there. A blank LOCAL_WORLD_SIZE is absent;
 * of the others a blank one is broken.
 */
void ri_quartet_claim(struct ri_reading *reading);

/*
 * Claim MASTER_ADDR and MASTER_PORT, where they are there and not blank, as
 * stated: the user who set these names wants them.
 */
void ri_quartet_claim_rendezvous(struct ri_reading *reading);

#endif
