/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libibverbs of the tests' own, whose adapters are nowhere but here. Macros
 * say what goes wrong with it; memory is locked for real.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

#ifndef COUNT
#define COUNT 2
#endif
#ifndef STATE
#define STATE IBV_PORT_ACTIVE
#endif
#ifndef IN_LOAD
#define IN_LOAD
#endif
#ifndef IN_LIST
#define IN_LIST
#endif
#ifndef IN_OPEN
#define IN_OPEN
#endif
#ifndef IN_PORT
#define IN_PORT
#endif
#ifndef IN_REGISTER
#define IN_REGISTER
#endif
#ifndef IN_CLOSE
#define IN_CLOSE
#endif
#ifndef FIRMWARE
#define FIRMWARE "20.31.1014"
#endif

#define CRASH abort()
#define HANG for (;;) pause()

static struct ibv_device devices[COUNT + 1];
static struct ibv_device *list[COUNT + 1];
static struct ibv_context contexts[COUNT + 1];
static struct ibv_pd protection;
static struct ibv_mr region;

__attribute__((constructor)) static void load(void)
{
	IN_LOAD;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	IN_LIST;
	for (int i = 0; i < COUNT; i++) {
		snprintf(devices[i].name, sizeof(devices[i].name), "fake%d", i);
		list[i] = &devices[i];
	}
	*count = COUNT;
	return list;
}

void ibv_free_device_list(struct ibv_device **all)
{
	(void)all;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	IN_OPEN;
	contexts[device - devices].device = device;
	return &contexts[device - devices];
}

int ibv_close_device(struct ibv_context *context)
{
	(void)context;
	IN_CLOSE;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *out)
{
	(void)context;
	out->phys_port_cnt = 1;
	snprintf(out->fw_ver, sizeof(out->fw_ver), "%s", FIRMWARE);
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *port = (struct ibv_port_attr *)out;

	(void)context;
	(void)number;
	IN_PORT;
	port->state = STATE;
	port->phys_state = 5;
	port->lid = 291;
	port->sm_lid = 1;
	port->active_width = 2;
	port->active_speed = 64;
	port->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	protection.context = context;
	return &protection;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	(void)access;
	IN_REGISTER;
	region.pd = pd;
	return mlock(address, length) == 0 ? &region : NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}
