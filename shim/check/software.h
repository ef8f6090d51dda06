/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several checks ask of the image, looked up once for all of them in the
 * child that runs them.
 */
#ifndef RI_SHIM_CHECK_SOFTWARE_H
#define RI_SHIM_CHECK_SOFTWARE_H

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

/* A device file of that driver. */
extern const struct ri_check_need ri_check_needs_nvidia;

/*
 * Why the loader would not load it, as the end of a sentence: "ends early or
 * is damaged", "is for aarch64". NULL: it would.
 */
const char *ri_check_library_fault(const struct ri_library *library);

#endif
