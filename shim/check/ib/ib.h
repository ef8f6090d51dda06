/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of InfiniBand share. */
#ifndef RI_SHIM_CHECK_IB_IB_H
#define RI_SHIM_CHECK_IB_IB_H

#include "check/check.h"
#include "node/devices.h"

/*
 * The devices of the machine, read once in a process: asking for the state of
 * a port is a command to the adapter. None, with the error ENOMEM, where there is no memory.
 */
const struct ri_hcas *ri_ib_look(struct ri_checking *checking);

/* The same with their nodes, opened once in a process. */
const struct ri_hcas *ri_ib_open(struct ri_checking *checking);

/* Has one of them an InfiniBand port? */
bool ri_ib_has_infiniband(struct ri_checking *checking);

/* An RDMA device of any kind; one with an InfiniBand port. */
extern const struct ri_check_need ri_ib_needs_device, ri_ib_needs_infiniband;

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
