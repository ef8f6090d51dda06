/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit-probe: loads the image's own libibverbs, libmpi or libnvidia-ml, as
 * NCCL and the trainer will, and tries it. It is a program of its own, linked to
 * the C library of the image, since rankinit itself loads nothing.
 *
 * usage: rankinit-probe verbs|mpi|nvml [LIBRARY [BYTES]]
 *
 * What it says is in lib/node/probe_answer.h. What the library itself prints goes to
 * stderr. BYTES are registered with one of the devices, after a page with
 * each of them; without BYTES the pages alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only for its promises, so it may be missing: every MPI has this function alike. */
#if __has_include(<mpi.h>)
#include <mpi.h>
#endif

#include "node/probe_answer.h"
#include "probe/program.h"

/*
 * The oldest symbols of glibc, so that what was built on a new distribution
 * runs in the image of an old one. Since 2.34 libc itself has dlopen and its
 * kin, and starts a program without its help; both under new versions, which
 * older ones lack. The Makefile has the linker wrap the start.
 */
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

#define START(name) \
	int name(int (*main)(int, char **, char **), int argc, char **argv, \
		void (*before)(void), void (*after)(void), void (*loader)(void), void *stack)

__asm__(".symver dlopen, dlopen@" OLDEST);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver dlerror, dlerror@" OLDEST);
__asm__(".symver start_main, __libc_start_main@" OLDEST);

START(start_main);
START(__wrap___libc_start_main);

START(__wrap___libc_start_main)
{
	return start_main(main, argc, argv, before, after, loader, stack);
}
#endif

enum {
	OUTPUT = 9,		/* the descriptor of our lines, out of a library's way */
	PAGE = 4096,
	VERSION_SIZE = 32768,	/* what a library may write there; MPICH's promise is 8192 */
};

#ifdef MPI_MAX_LIBRARY_VERSION_STRING
_Static_assert(VERSION_SIZE > MPI_MAX_LIBRARY_VERSION_STRING, "room for the answer");
_Static_assert(__builtin_types_compatible_p(__typeof__(MPI_Get_library_version),
	int(char *, int *)), "the function as it is called here");
#endif

/* The functions that are tried. */
struct verbs {
	struct ibv_device **(*list)(int *count);
	void (*free_list)(struct ibv_device **list);
	const char *(*name)(struct ibv_device *device);
	struct ibv_context *(*open)(struct ibv_device *device);
	int (*close)(struct ibv_context *context);
	int (*query)(struct ibv_context *context, struct ibv_device_attr *out);
	/* that of the library fills the beginning of the struct alone */
	int (*query_port)(struct ibv_context *context, uint8_t number, struct ibv_port_attr *out);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, int access);
	int (*dereg_mr)(struct ibv_mr *region);
	size_t bytes;		/* still to be registered once; 0: no more */
};

void ri_probe_say(const char *format, ...)
{
	char line[RI_PROBE_LINE];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (length < 0)
		length = 0;
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	for (int i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '~')
			line[i] = line[i] == '\t' || line[i] == '\n' ? ' ' : '?';
	while (length > 0 && line[length - 1] == ' ')
		length--;
	line[length] = '\n';
	if (write(OUTPUT, line, (size_t)length + 1) < 0)
		_exit(1);
}

static void say_error(int error)
{
	ri_probe_say("error %d %s", error > 0 ? error : EIO, strerror(error > 0 ? error : EIO));
}

static const char *text_of(const char *text)
{
	return text == NULL ? "" : text + strspn(text, " \t\n");
}

const char *ri_probe_word(char out[RI_PROBE_NAME], const char *text)
{
	snprintf(out, RI_PROBE_NAME, "%s", text_of(text));
	for (char *at = out; *at != '\0'; at++)
		if (*at <= ' ' || *at > '~')
			*at = '?';
	return out[0] == '\0' ? "-" : out;
}

bool ri_probe_find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	/* a function pointer out of an object pointer, as POSIX has it (dlsym(3p)) */
	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static bool need(void *library, const char *name, void *function)
{
	bool found = ri_probe_find(library, name, function);

	if (!found)
		ri_probe_say("error 0 %s is not in it", name);
	return found;
}

void *ri_probe_load(const char *path)
{
	void *library;

	ri_probe_say("try load %s", path);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		ri_probe_say("error 0 %s", text_of(dlerror()));
	return library;
}

static bool load_verbs(struct verbs *verbs, const char *path)
{
	void *library = ri_probe_load(path);
	const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "ibv_get_device_list", &verbs->list },
		{ "ibv_free_device_list", &verbs->free_list },
		{ "ibv_get_device_name", &verbs->name },
		{ "ibv_open_device", &verbs->open },
		{ "ibv_close_device", &verbs->close },
		{ "ibv_query_device", &verbs->query },
		{ "ibv_query_port", &verbs->query_port },
		{ "ibv_alloc_pd", &verbs->alloc_pd },
		{ "ibv_dealloc_pd", &verbs->dealloc_pd },
		{ "ibv_reg_mr", &verbs->reg_mr },
		{ "ibv_dereg_mr", &verbs->dereg_mr },
	};

	if (library == NULL)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!need(library, functions[i].name, functions[i].function))
			return false;
	ri_probe_say("ok");
	return true;
}

/* Locked memory is what may fail here, with ENOMEM (ibv_reg_mr(3), getrlimit(2)). */
static int register_memory(const struct verbs *verbs, struct ibv_context *context, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *region = NULL;
	struct ibv_pd *pd;
	int error;

	if (memory == MAP_FAILED)
		return errno;
	errno = EIO;
	pd = verbs->alloc_pd(context);
	if (pd != NULL)
		region = verbs->reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	error = region == NULL ? errno : 0;
	if (region != NULL)
		verbs->dereg_mr(region);
	if (pd != NULL)
		verbs->dealloc_pd(pd);
	munmap(memory, size);
	return error;
}

static bool try_memory(const struct verbs *verbs, struct ibv_context *context, const char *name,
	size_t size)
{
	int error;

	ri_probe_say("try memory %s %zu", name, size);
	error = register_memory(verbs, context, size);
	if (error == 0)
		ri_probe_say("ok");
	else
		say_error(error);
	return error == 0;
}

static void try_port(const struct verbs *verbs, struct ibv_context *context, const char *name,
	uint8_t number)
{
	/* a library of another release may know a longer one */
	union {
		struct ibv_port_attr port;
		char bytes[256];
	} found;
	int error;

	memset(&found, 0, sizeof(found));
	ri_probe_say("try port %s %u", name, number);
	error = verbs->query_port(context, number, &found.port);
	if (error == 0)
		ri_probe_say("ok %u %u %u %u %u %u %u", (uint8_t)found.port.state,
			found.port.phys_state, found.port.link_layer, found.port.active_width,
			found.port.active_speed, found.port.lid, found.port.sm_lid);
	else
		say_error(error);
}

/* Returns the number of its ports; 0 where it is not open. */
static unsigned open_device(const struct verbs *verbs, struct ibv_device *device, const char *name,
	struct ibv_context **context)
{
	char firmware[RI_PROBE_NAME];
	union {
		struct ibv_device_attr device;
		char bytes[1024];
	} found;
	int error;

	memset(&found, 0, sizeof(found));
	ri_probe_say("try open %s", name);
	errno = EIO;
	*context = verbs->open(device);
	error = *context == NULL ? errno : verbs->query(*context, &found.device);
	if (error != 0) {
		if (*context != NULL)
			verbs->close(*context);
		say_error(error);
		return 0;
	}
	found.device.fw_ver[sizeof(found.device.fw_ver) - 1] = '\0';
	ri_probe_say("ok %u %s", found.device.phys_port_cnt,
		ri_probe_word(firmware, found.device.fw_ver));
	return found.device.phys_port_cnt == 0 ? 1 : found.device.phys_port_cnt;
}

static void try_device(struct verbs *verbs, struct ibv_device *device)
{
	char word[RI_PROBE_NAME];
	const char *name = ri_probe_word(word, verbs->name(device));
	struct ibv_context *context;
	unsigned ports = open_device(verbs, device, name, &context);

	if (ports == 0)
		return;
	for (unsigned i = 1; i <= ports && i <= RI_MAX_HCA_PORTS; i++)
		try_port(verbs, context, name, (uint8_t)i);
	if (try_memory(verbs, context, name, PAGE) && verbs->bytes > 0) {
		try_memory(verbs, context, name, verbs->bytes);
		verbs->bytes = 0;
	}
	ri_probe_say("try close %s", name);
	errno = 0;
	if (verbs->close(context) == 0)
		ri_probe_say("ok");
	else
		say_error(errno);
}

static void try_verbs(const char *path, size_t bytes)
{
	struct verbs verbs = { .bytes = bytes };
	struct ibv_device **list;
	int count = 0;

	if (!load_verbs(&verbs, path))
		return;
	ri_probe_say("try list");
	errno = EIO;
	list = verbs.list(&count);
	if (list == NULL || count < 0) {
		say_error(errno);
		return;
	}
	ri_probe_say("ok %d", count);
	for (int i = 0; i < count && i < RI_MAX_HCAS; i++)
		try_device(&verbs, list[i]);
}

/* May be called before MPI_Init (MPI 3.1, 8.1.1). */
static void try_mpi(const char *path)
{
	static char version[VERSION_SIZE + 1];
	int (*ask)(char *text, int *length);
	void *library = ri_probe_load(path);
	int length = 0, error;

	if (library == NULL || !need(library, "MPI_Get_library_version", &ask))
		return;
	ri_probe_say("ok");
	ri_probe_say("try version");
	error = ask(version, &length);
	version[VERSION_SIZE] = '\0';
	if (error == 0)
		ri_probe_say("ok %.*s", RI_PROBE_TEXT - 1, text_of(version));
	else
		ri_probe_say("error %u", (unsigned)error % UINT16_MAX);
}

/* What may be tried, and the library that is tried where none is named. */
static const struct {
	const char *what;
	const char *library;
} known[] = {
	{ "verbs", "libibverbs.so.1" }, { "mpi", "libmpi.so.40" }, { "nvml", "libnvidia-ml.so.1" },
};

enum { VERBS, MPI, NVML, KNOWN };

static size_t read_bytes(const char *text)
{
	size_t number = 0;

	for (; *text >= '0' && *text <= '9' && number < SIZE_MAX / 100; text++)
		number = number * 10 + (size_t)(*text - '0');
	return number;
}

int main(int argc, char **argv)
{
	const char *path;
	unsigned what = 0;

	while (argc > 1 && what < KNOWN && strcmp(argv[1], known[what].what) != 0)
		what++;
	if (argc < 2 || argc > 4 || what == KNOWN) {
		dprintf(STDERR_FILENO, "usage: rankinit-probe verbs|mpi|nvml [LIBRARY [BYTES]]\n");
		return 2;
	}
	if (dup3(STDOUT_FILENO, OUTPUT, O_CLOEXEC) < 0)
		return 1;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	path = argc > 2 ? argv[2] : known[what].library;
	ri_probe_say("rankinit-probe %d", RI_PROBE_RULES);
	if (what == VERBS)
		try_verbs(path, argc > 3 ? read_bytes(argv[3]) : 0);
	else if (what == MPI)
		try_mpi(path);
	else
		ri_probe_nvml(path);
	ri_probe_say("end");
	/* without the destructors of what was loaded */
	_exit(0);
}
