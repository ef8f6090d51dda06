/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml of the tests' own: eight healthy GPUs, but for what the file
 * "state" beside it says, one thing a line:
 *
 *     count 4		so many GPUs
 *     3.remap.2 1	GPU 3: the third number of what answers "remap" (lib/node/probe_answer.h)
 *     *.mig.error 3	every GPU: the function fails with this nvmlReturn_t
 *     3.ecc.hang 1	GPU 3: it never returns; "crash": it ends the process
 *     3.gpu.error 15	the GPU cannot be opened; also "init" and "list", and "load.crash"
 *     3.uuid 4		it has the UUID of GPU 4
 *
 * IN_LOAD, IN_INIT, IN_UUID: what is done in its constructor and by two functions.
 * OLD leaves out what came with driver 450 and later. Structs are checked as
 * the real one does: a version that it does not know is error 25.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GPUS = 64, INVALID = 2, TOO_SMALL = 7, MISMATCH = 25 };

typedef struct gpu { int index; } *device;

static struct gpu gpus[GPUS];
static char state[65536];

static long long find(int index, const char *what, const char *part, long long otherwise)
{
	char names[2][64];

	snprintf(names[0], 64, index < 0 ? "\n%.0d%s%s%s " : "\n%d.%s%s%s ", index < 0 ? 0 : index,
		what, part[0] == '\0' ? "" : ".", part);
	snprintf(names[1], 64, "\n*.%s%s%s ", what, part[0] == '\0' ? "" : ".", part);
	for (int i = 0; i < 2; i++) {
		const char *line = strstr(state, names[i]);

		if (line != NULL)
			return atoll(line + strlen(names[i]));
	}
	return otherwise;
}

/* As it goes: nvmlReturn_t, or not at all. */
static int go(int index, const char *what)
{
	if (find(index, what, "crash", 0) != 0)
		abort();
	while (find(index, what, "hang", 0) != 0)
		pause();
	return (int)find(index, what, "error", 0);
}

static unsigned long long number(device gpu, const char *what, int n, long long otherwise)
{
	char part[4];

	snprintf(part, sizeof(part), "%d", n);
	return (unsigned long long)find(gpu->index, what, part, otherwise);
}

__attribute__((constructor)) static void load(void)
{
	char path[4096];
	Dl_info info;
	FILE *file;
	size_t length;

	dladdr((void *)load, &info);
	snprintf(path, sizeof(path), "%.*s/state", (int)(strrchr(info.dli_fname, '/') -
		info.dli_fname), info.dli_fname);
	file = fopen(path, "r");
	state[0] = '\n';
	if (file != NULL) {
		length = fread(state + 1, 1, sizeof(state) - 2, file);
		state[1 + length] = '\0';
		fclose(file);
	}
	for (int i = 0; i < GPUS; i++)
		gpus[i].index = i;
#ifdef IN_LOAD
	IN_LOAD;
#endif
	go(-1, "load");
}

int nvmlInit_v2(void)
{
#ifdef IN_INIT
	IN_INIT;
#endif
	return go(-1, "init");
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = (unsigned)find(-1, "count", "", 8);
	return go(-1, "list");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out)
{
	int error = index < GPUS ? go((int)index, "gpu") : INVALID;

	if (error == 0)
		*out = &gpus[index];
	return error;
}

struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char address[32];
};

int nvmlDeviceGetPciInfo_v3(device gpu, struct pci *out)
{
	snprintf(out->address, sizeof(out->address), "00000000:%02X:00.0", 0x1b + gpu->index);
	return go(gpu->index, "address");
}

int nvmlDeviceGetUUID(device gpu, char *text, unsigned size)
{
	snprintf(text, size, "GPU-00000000-0000-0000-0000-%012lld",
		find(gpu->index, "uuid", "", gpu->index));
#ifdef IN_UUID
	IN_UUID;
#endif
	return go(gpu->index, "uuid");
}

struct memory {
	unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(device gpu, struct memory *out)
{
	out->total = number(gpu, "memory", 0, 85520809984);
	out->free = number(gpu, "memory", 1, 84891664384);
	out->used = out->total - out->free;
	return go(gpu->index, "memory");
}

#ifndef OLD
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(device gpu, struct memory_v2 *out)
{
	if (out->version != (sizeof(*out) | 2u << 24))
		return MISMATCH;
	out->total = number(gpu, "memory", 0, 85520809984);
	out->free = number(gpu, "memory", 1, 84891664384);
	out->reserved = number(gpu, "memory", 2, 629145600);
	out->used = out->total - out->free - out->reserved;
	return go(gpu->index, "memory");
}
#endif

#ifdef OLD
#define PROCESSES nvmlDeviceGetComputeRunningProcesses
#else
#define PROCESSES nvmlDeviceGetComputeRunningProcesses_v3
#endif

int PROCESSES(device gpu, unsigned *count, void *list)
{
	int error = go(gpu->index, "processes");

	(void)list;
	*count = (unsigned)number(gpu, "processes", 0, 0);
	return error != 0 ? error : *count > 0 ? TOO_SMALL : 0;
}

int nvmlDeviceGetTotalEccErrors(device gpu, int kind, int counter, unsigned long long *count)
{
	*count = number(gpu, "ecc", 0, 0);
	return kind != 1 || counter != 0 ? INVALID : go(gpu->index, "ecc");
}

#ifndef OLD
struct sram {
	unsigned version;
	unsigned long long counters[11];
	unsigned exceeded;
};

int nvmlDeviceGetSramEccErrorStatus(device gpu, struct sram *out)
{
	if (out->version != (sizeof(*out) | 1u << 24))
		return MISMATCH;
	out->exceeded = (unsigned)number(gpu, "sram", 0, 0);
	return go(gpu->index, "sram");
}

int nvmlDeviceGetRemappedRows(device gpu, unsigned *corrected, unsigned *uncorrected,
	unsigned *pending, unsigned *failed)
{
	*corrected = (unsigned)number(gpu, "remap", 0, 0);
	*uncorrected = (unsigned)number(gpu, "remap", 1, 0);
	*pending = (unsigned)number(gpu, "remap", 2, 0);
	*failed = (unsigned)number(gpu, "remap", 3, 0);
	return go(gpu->index, "remap");
}
#endif

struct field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, error;
	union {
		unsigned long long wide;
		unsigned narrow;
	} value;
};

static const struct {
	unsigned id;
	const char *what;
	int since;	/* the driver that brought it */
} fields[] = {
	{ 230, "recovery", 570 },
};

int nvmlDeviceGetFieldValues(device gpu, int count, struct field *values)
{
	for (int i = 0; i < count; i++) {
		values[i].error = INVALID;
		for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
			if (fields[f].id != values[i].id)
				continue;
#ifdef OLD
			if (fields[f].since > 418)
				continue;
#endif
			go(gpu->index, fields[f].what);
			values[i].type = 3;
			values[i].value.wide = number(gpu, fields[f].what, 0, 0);
			values[i].error = (int)find(gpu->index, fields[f].what, "error", 0);
		}
	}
	return 0;
}

#ifndef OLD
int nvmlDeviceGetMigMode(device gpu, unsigned *current, unsigned *pending)
{
	*current = (unsigned)number(gpu, "mig", 0, 0);
	*pending = (unsigned)number(gpu, "mig", 1, 0);
	return go(gpu->index, "mig");
}
#endif
