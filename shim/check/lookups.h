/* SPDX-License-Identifier: Apache-2.0 */
/* What several checks ask of the node and its image, looked up once in the child that runs them. */
#ifndef RI_SHIM_CHECK_LOOKUPS_H
#define RI_SHIM_CHECK_LOOKUPS_H

#include "check/check.h"
#include "image/image.h"
#include "node/devices.h"

const struct ri_loader *ri_check_loader(const struct ri_checking *checking);
/* All of it; only what the loader finds, which is all that some launches may wait for. */
const struct ri_mpi *ri_check_mpi(const struct ri_checking *checking);
const struct ri_mpi *ri_check_mpi_loaded(const struct ri_checking *checking);
const struct ri_rdma_core *ri_check_rdma_core(const struct ri_checking *checking);
/* The driver that the kernel runs, and what programs get of it. */
const struct ri_nvidia *ri_check_nvidia(const struct ri_checking *checking);
const struct ri_cuda *ri_check_cuda(const struct ri_checking *checking);
/* The GPUs that a program would see; NULL: their list in the environment cannot be used. */
const struct ri_gpus *ri_check_gpus(const struct ri_checking *checking);

/*
 * The RDMA devices: asking for the state of a port is a command to the adapter. The second has
 * their nodes, opened.
 */
const struct ri_hcas *ri_ib_look(struct ri_checking *checking);
const struct ri_hcas *ri_ib_open(struct ri_checking *checking);

/* A device file of NVIDIA's driver; an RDMA device of any kind; one with an InfiniBand port. */
extern const struct ri_check_need ri_check_needs_nvidia, ri_ib_needs_device,
	ri_ib_needs_infiniband;

/*
 * Why the loader would not load it, as the end of a sentence: "is truncated or damaged". NULL: it
 * would.
 */
const char *ri_check_library_fault(const struct ri_library *library);

/* Is the variable 1? */
bool ri_check_is_one(const struct ri_checking *checking, const char *name);

bool ri_ib_has_infiniband(struct ri_checking *checking);

/* Would ranks use one: InfiniBand, or another one whose node is here? */
bool ri_ib_is_usable(struct ri_checking *checking);

/* Does a job of several nodes crawl without it? */
bool ri_ib_matters(struct ri_checking *checking);

/* What is wrong with it, as ri_check_problem: it warns where a job crawls for that. */
#define ri_ib_say_bad(checking, ...) \
	ri_check_problem(checking, ri_ib_matters(checking), __VA_ARGS__)

/* Devices with a port of this kind. */
size_t ri_ib_count(const struct ri_hcas *all, enum ri_link link);

/* InfiniBand ports that are active. */
size_t ri_ib_active(const struct ri_hcas *all);

/*
 * So many of what is asked for as "ib=N" can be used: hold the last result
 * against that, and against "ofed" where there are none.
 */
void ri_ib_asked(struct ri_checking *checking, size_t usable);

/* The firmest demand for RDMA of either kind, or NULL. */
const struct ri_demand *ri_ib_demand(const struct ri_checking *checking);

/* host/limits.c: how to have more memory locked. */
extern const char ri_memlock_hint[];

#endif
