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

/*
 * The rows that such a source has in its table of what it reads. RI_SEEN is the sign of the first
 * three alone, RI_ONE_SEEN that of MASTER_ADDR and MASTER_PORT as well.
 */
#define RI_QUARTET_READS(sign) \
	{ "RANK", "rank", RI_QUARTET_RENDEZVOUS, sign, .value = "<rank>" }, \
	{ "WORLD_SIZE", "world size", RI_QUARTET_RENDEZVOUS, sign, .value = "<world_size>" }, \
	{ "LOCAL_RANK", "local rank", RI_QUARTET_ELASTIC, sign, .value = "<local_rank>" }, \
	{ "LOCAL_WORLD_SIZE", "processes on this node", RI_QUARTET_ELASTIC, \
	  .value = "<ranks>" }, \
	{ "MASTER_ADDR", "host on which rank 0 listens", RI_QUARTET_RENDEZVOUS, \
	  (sign) & RI_ONE_SEEN, .value = "<master>" }, \
	{ "MASTER_PORT", "port on which rank 0 listens", RI_QUARTET_RENDEZVOUS, \
	  (sign) & RI_ONE_SEEN, .value = "<master_port>" }

/* Are RANK, WORLD_SIZE and LOCAL_RANK all there, in whatever state? */
bool ri_quartet_sees(const struct ri_env *env);

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
