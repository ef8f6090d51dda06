/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit-probe: loads the image's own libibverbs, libmpi or libnvidia-ml, as
 * NCCL and the trainer will, and tries it. It is a program of its own, linked to
 * the C library of the image, since rankinit itself loads nothing.
 *
 * usage: rankinit-probe verbs|mpi|nvml [LIBRARY [BYTES]]
 *
 * What it tells rankinit is in lib/node/probe_answer.h; by hand it prints "try STEP ..." before
 * each step, and "ok ..." or "error NUMBER ..." after it. What the library itself prints goes
 * to stderr. BYTES are registered with one of the devices, after a page with each of them; without
 * BYTES the pages alone.
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
	LINE = 1024,
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

static struct ri_probe by_hand;
struct ri_probe *ri_answers = &by_hand;
static struct ri_probe_answer *kept;	/* to the last step */

/* Printable ASCII alone, whatever a library gave for it, and no blanks at the end. */
static void make_plain(char *text)
{
	size_t length = strlen(text);

	for (char *at = text; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = *at == '\t' || *at == '\n' ? ' ' : '?';
	while (length > 0 && text[length - 1] == ' ')
		text[--length] = '\0';
}

/* A line for people. */
__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
	char line[LINE];
	va_list args;

	if (ri_answers != &by_hand)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	make_plain(line);
	strcat(line, "\n");
	if (write(OUTPUT, line, strlen(line)) < 0)
		_exit(1);
}

void ri_probe_try(struct ri_probe_answer *answer, enum ri_probe_step step, const char *format, ...)
{
	char words[LINE];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	say("try %s", words);
	make_plain(words);
	snprintf(ri_answers->subject, sizeof(ri_answers->subject), "%.*s", RI_PROBE_NAME - 1,
		strchr(words, ' ') == NULL ? "" : strchr(words, ' ') + 1);
	kept = answer;
	ri_answers->at = step;
	*kept = ri_answers->answer = (struct ri_probe_answer){ .given = 0 };
}

static bool end(bool ok, int error, const char *text)
{
	kept->given = 1;
	kept->ok = ok;
	kept->error = (uint32_t)error;
	ri_answers->answer = *kept;
	if (ok)
		say("ok %s", text);
	else
		say("error %d %s", error, text);
	return ok;
}

bool ri_probe_end(int error, const char *format, ...)
{
	char text[LINE] = "";
	va_list args;

	va_start(args, format);
	if (format != NULL)
		vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return end(error == 0, error, text);
}

/* It has failed with an errno. */
static bool fail(int error)
{
	return ri_probe_end(error > 0 ? error : EIO, "%s", strerror(error > 0 ? error : EIO));
}

static const char *text_of(const char *text)
{
	return text == NULL ? "" : text + strspn(text, " \t\n");
}

static void keep_text(const char *text)
{
	snprintf(ri_answers->text, sizeof(ri_answers->text), "%s", text_of(text));
	make_plain(ri_answers->text);
}

/* It is no library that could be tried. */
static void end_unloaded(const char *text)
{
	keep_text(text);
	end(false, 0, ri_answers->text);
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
	char text[LINE];
	bool found = ri_probe_find(library, name, function);

	snprintf(text, sizeof(text), "%s is not in it", name);
	if (!found)
		end_unloaded(text);
	return found;
}

void *ri_probe_load(const char *path)
{
	void *library;

	ri_probe_try(&ri_answers->load, RI_PROBE_LOAD, "load %s", path);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		end_unloaded(dlerror());
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
	for (size_t i = 0; i < RI_ARRAY_SIZE(functions); i++)
		if (!need(library, functions[i].name, functions[i].function))
			return false;
	return ri_probe_end(0, NULL);
}

/*
 * The largest that is given is kept, and the first that is not. Locked memory is what may fail
 * here, with ENOMEM (ibv_reg_mr(3), getrlimit(2)).
 */
static bool try_memory(const struct verbs *verbs, struct ibv_context *context, const char *name,
	size_t size)
{
	struct ri_probe_memory asked = { .size = size };
	struct ibv_mr *region = NULL;
	struct ibv_pd *pd = NULL;
	void *memory;
	int error;

	snprintf(asked.device, sizeof(asked.device), "%s", name);
	ri_probe_try(&asked.answer, RI_PROBE_MEMORY, "memory %s %zu", name, size);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED) {
		errno = EIO;
		pd = verbs->alloc_pd(context);
	}
	if (pd != NULL)
		region = verbs->reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	error = region == NULL ? errno : 0;
	if (region != NULL)
		verbs->dereg_mr(region);
	if (pd != NULL)
		verbs->dealloc_pd(pd);
	if (memory != MAP_FAILED)
		munmap(memory, size);
	if (error != 0) {
		fail(error);
		if (ri_answers->refused.size == 0)
			ri_answers->refused = asked;
		return false;
	}
	ri_probe_end(0, NULL);
	if (size > ri_answers->registered.size)
		ri_answers->registered = asked;
	return true;
}

static void try_port(const struct verbs *verbs, struct ibv_context *context,
	struct ri_probe_device *device, uint8_t number)
{
	struct ri_probe_port *port = &device->ports[device->port_count++];
	/* a library of another release may know a longer one */
	union {
		struct ibv_port_attr port;
		char bytes[256];
	} found;
	int error;

	memset(&found, 0, sizeof(found));
	port->number = number;
	ri_probe_try(&port->answer, RI_PROBE_PORT, "port %s %u", device->name, number);
	error = verbs->query_port(context, number, &found.port);
	if (error != 0) {
		fail(error);
		return;
	}
	port->state = (uint8_t)found.port.state;
	port->layer = found.port.link_layer;
	port->width = found.port.active_width;
	port->speed = found.port.active_speed;
	port->lid = found.port.lid;
	ri_probe_end(0, "%u %u %u %u %u %u %u", port->state, found.port.phys_state, port->layer,
		port->width, port->speed, port->lid, found.port.sm_lid);
}

static void try_device(struct verbs *verbs, struct ibv_device *device)
{
	struct ri_probe_device *out = &ri_answers->devices[ri_answers->device_count++];
	struct ibv_context *context;
	union {
		struct ibv_device_attr device;
		char bytes[1024];
	} found;
	int error;

	memset(&found, 0, sizeof(found));
	ri_probe_try(&out->answer, RI_PROBE_OPEN, "open %s",
		ri_probe_word(out->name, verbs->name(device)));
	errno = EIO;
	context = verbs->open(device);
	error = context == NULL ? errno : verbs->query(context, &found.device);
	if (error != 0) {
		if (context != NULL)
			verbs->close(context);
		fail(error);
		return;
	}
	found.device.fw_ver[sizeof(found.device.fw_ver) - 1] = '\0';
	ri_probe_end(0, "%u %s", found.device.phys_port_cnt,
		ri_probe_word(out->firmware, found.device.fw_ver));
	/* one that tells of no port has one */
	for (unsigned i = 1; i <= RI_MAX_HCA_PORTS && (i == 1 || i <= found.device.phys_port_cnt);
		i++)
		try_port(verbs, context, out, (uint8_t)i);
	if (try_memory(verbs, context, out->name, PAGE) && verbs->bytes > 0) {
		try_memory(verbs, context, out->name, verbs->bytes);
		verbs->bytes = 0;
	}
	ri_probe_try(&ri_answers->answer, RI_PROBE_CLOSE, "close %s", out->name);
	errno = EIO;
	if (verbs->close(context) == 0)
		ri_probe_end(0, NULL);
	else
		fail(errno);
}

static void try_verbs(const char *path, size_t bytes)
{
	struct verbs verbs = { .bytes = bytes };
	struct ibv_device **list;
	int count = 0;

	if (!load_verbs(&verbs, path))
		return;
	ri_probe_try(&ri_answers->list, RI_PROBE_LIST, "list");
	errno = EIO;
	list = verbs.list(&count);
	if (list == NULL || count < 0) {
		fail(errno);
		return;
	}
	ri_answers->listed = (uint32_t)count;
	ri_probe_end(0, "%d", count);
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
	ri_probe_end(0, NULL);
	ri_probe_try(&ri_answers->version, RI_PROBE_VERSION, "version");
	error = ask(version, &length);
	version[VERSION_SIZE] = '\0';
	keep_text(error == 0 ? version : "");
	ri_probe_end(error & UINT16_MAX, "%s", ri_answers->text);
}

/* What may be tried, and the library that is tried where none is named. */
static const struct {
	const char *what;
	const char *library;
} known[] = {
	{ "verbs", "libibverbs.so.1" }, { "mpi", "libmpi.so.40" }, { "nvml", "libnvidia-ml.so.1" },
};

enum { VERBS, MPI, NVML, KNOWN };

int main(int argc, char **argv)
{
	void *memory = MAP_FAILED;
	size_t bytes = 0;
	const char *path;
	unsigned what = 0;

	while (argc > 1 && what < KNOWN && strcmp(argv[1], known[what].what) != 0)
		what++;
	if (argc < 2 || argc > 4 || what == KNOWN) {
		dprintf(STDERR_FILENO, "usage: rankinit-probe verbs|mpi|nvml [LIBRARY [BYTES]]\n");
		return 2;
	}
	/* as stdout rankinit gives a file in memory, of just this size; fstat(2) is new in glibc */
	if (lseek(STDOUT_FILENO, 0, SEEK_END) == (off_t)sizeof(*ri_answers))
		memory = mmap(NULL, sizeof(*ri_answers), PROT_READ | PROT_WRITE, MAP_SHARED,
			STDOUT_FILENO, 0);
	if (memory != MAP_FAILED) {
		ri_answers = memory;
		ri_answers->size = sizeof(*ri_answers);
		ri_answers->magic = RI_PROBE_MAGIC;
	} else if (dup3(STDOUT_FILENO, OUTPUT, O_CLOEXEC) < 0) {
		return 1;
	}
	dup2(STDERR_FILENO, STDOUT_FILENO);
	path = argc > 2 ? argv[2] : known[what].library;
	say("rankinit-probe %d", RI_PROBE_RULES);
	for (const char *digit = argc > 3 ? argv[3] : ""; *digit >= '0' && *digit <= '9' &&
		bytes < SIZE_MAX / 100; digit++)
		bytes = bytes * 10 + (size_t)(*digit - '0');
	if (what == VERBS)
		try_verbs(path, bytes);
	else if (what == MPI)
		try_mpi(path);
	else
		ri_probe_nvml(path);
	ri_answers->ended = 1;
	say("end");
	/* without the destructors of what was loaded */
	_exit(0);
}
