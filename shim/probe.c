/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit-probe: loads the image's own libibverbs and libmpi, as NCCL and the
 * trainer will, and tries them. It is a program of its own, linked to the C
 * library of the image, since rankinit itself loads nothing.
 *
 * It says one line for each thing that it tried, "WHAT SUBJECT RESULT", RESULT
 * being "ok" or a reason, before it goes on to the next: one that hangs or
 * crashes is the one behind the last line. Arguments choose "verbs", "mpi"
 * or, when there are none, both. It always ends with 0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory that a device is asked to register: more than the 64 KiB of a bad limit. */
enum { REGISTERED = 1 << 20, LINE = 512 };

/* Whole lines, in which nothing foreign can break into a second one. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	char line[LINE];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (length < 0)
		return;
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	for (int i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	line[length] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)length + 1) < 0)
		_exit(0);
}

static const char *reason(void)
{
	return errno == 0 ? "failed" : strerror(errno);
}

/* The functions of libibverbs that are tried; all or none of them are there. */
struct verbs {
	struct ibv_device **(*list)(int *count);
	const char *(*name)(struct ibv_device *device);
	struct ibv_context *(*open)(struct ibv_device *device);
	int (*close)(struct ibv_context *context);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, int access);
	int (*dereg_mr)(struct ibv_mr *region);
};

/* A function pointer out of an object pointer, as POSIX has it (dlsym(3p)). */
static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	if (found == NULL)
		say("symbol %s is not in the library", name);
	return found != NULL;
}

static bool load(void *library, struct verbs *verbs)
{
	return find(library, "ibv_get_device_list", &verbs->list) &&
		find(library, "ibv_get_device_name", &verbs->name) &&
		find(library, "ibv_open_device", &verbs->open) &&
		find(library, "ibv_close_device", &verbs->close) &&
		find(library, "ibv_alloc_pd", &verbs->alloc_pd) &&
		find(library, "ibv_dealloc_pd", &verbs->dealloc_pd) &&
		find(library, "ibv_reg_mr", &verbs->reg_mr) &&
		find(library, "ibv_dereg_mr", &verbs->dereg_mr);
}

/* Locked memory is what fails here, with ENOMEM, where the limit is small. */
static void try_memory(const struct verbs *verbs, struct ibv_pd *pd, const char *name)
{
	void *memory = mmap(NULL, REGISTERED, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *region;

	if (memory == MAP_FAILED) {
		say("register %s %s", name, reason());
		return;
	}
	errno = 0;
	region = verbs->reg_mr(pd, memory, REGISTERED, IBV_ACCESS_LOCAL_WRITE);
	say("register %s %s", name, region == NULL ? reason() : "ok");
	if (region != NULL)
		verbs->dereg_mr(region);
	munmap(memory, REGISTERED);
}

static void try_device(const struct verbs *verbs, struct ibv_device *device)
{
	const char *name = verbs->name(device);
	struct ibv_context *context;
	struct ibv_pd *pd;

	errno = 0;
	context = verbs->open(device);
	say("open %s %s", name, context == NULL ? reason() : "ok");
	if (context == NULL)
		return;
	errno = 0;
	pd = verbs->alloc_pd(context);
	if (pd == NULL) {
		say("register %s %s", name, reason());
	} else {
		try_memory(verbs, pd, name);
		verbs->dealloc_pd(pd);
	}
	verbs->close(context);
}

static void try_verbs(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW);
	struct ibv_device **list;
	struct verbs verbs;
	int count = 0;

	say("verbs libibverbs.so.1 %s", library == NULL ? dlerror() : "ok");
	if (library == NULL || !load(library, &verbs))
		return;
	errno = 0;
	list = verbs.list(&count);
	if (list == NULL)
		say("devices 0 %s", reason());
	else
		say("devices %d ok", count);
	for (int i = 0; list != NULL && i < count; i++)
		try_device(&verbs, list[i]);
}

/* May be called before MPI_Init (MPI 3.1, 8.1.1), and all have it alike. */
static void try_mpi(const char *name)
{
	/* twice as much as MPI_MAX_LIBRARY_VERSION_STRING of any of them */
	static char version[16384];
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	int (*ask)(char *text, int *length);
	int length = 0;

	if (library == NULL) {
		say("mpi %s %s", name, dlerror());
		return;
	}
	say("mpi %s ok", name);
	if (!find(library, "MPI_Get_library_version", &ask))
		return;
	ask(version, &length);
	say("version %s %.200s", name, version);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "libmpi.so.40", "libmpi.so.12", "libmpich.so.12" };
	bool verbs = argc < 2, mpi = argc < 2;

	for (int i = 1; i < argc; i++) {
		verbs |= strcmp(argv[i], "verbs") == 0;
		mpi |= strcmp(argv[i], "mpi") == 0;
	}
	if (verbs)
		try_verbs();
	for (size_t i = 0; mpi && i < sizeof(names) / sizeof(names[0]); i++)
		try_mpi(names[i]);
	/* without the destructors of what was loaded */
	_exit(0);
}
