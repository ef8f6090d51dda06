// SPDX-License-Identifier: Apache-2.0
/*
 * python_actor: one rank of a failure that is played again; see README.md.
 *
 *   python_actor FOLDER FIRST
 *
 * It is rank RANK - FIRST of LOCAL_WORLD_SIZE ranks, has a connection to each
 * other one by a socket in FOLDER, waits until all have theirs, and plays the
 * steps of FOLDER/plan-RANK. A step is a line, and LENGTH bytes right behind it:
 *
 *   LIST WAIT PEER MICROSECONDS WHAT NUMBER LENGTH
 *
 * Before them stands how slowly it dies: see die_slowly().
 *
 * LIST is "play", or "term" for what is played from SIGTERM on. WAIT is "at", a
 * time after the start, "delay", one after the step before, or "after", one
 * after the connection to rank PEER ended. Whatever happens, it ends after 30 s.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 64, MAX_STEPS = 4096, SECONDS = 30, STARTS_MS = 20, LOWEST_SOCKET = 512 };

struct step {
	char wait[8];
	int peer;
	long us;
	char what[8];
	int number;
	char *text;
	size_t length;
};

struct list {
	struct step steps[MAX_STEPS + 1];	/* the last one is none */
	size_t count;
};

/*
 * To who looks at its memory it is a CPython 3.11 (lib/python/offsets.def has the places) whose
 * main thread runs one frame, that of the program. Once the program has ended it runs none, and
 * sys.last_value is an exception whose traceback has that frame, which is ended; its type and
 * its traceback are beside it.
 */
struct string {
	uint64_t head[2], length, hash;
	uint32_t state, unused[3];
	char characters[512];
};
#define COMPACT (1 << 6 | 1 << 5 | 1 << 2)
#define STRING(text) { .length = sizeof(text) - 1, .state = COMPACT, .characters = text }
static struct string module = STRING("<module>"), file = STRING("/job/train.py");
static struct string name_key = STRING("__name__"), name = STRING("__main__");
static struct string loader_key = STRING("__loader__"), last_value = STRING("last_value");
static struct string last_type = STRING("last_type"), last_traceback = STRING("last_traceback");
static struct string message = STRING("");

/* Three entries at most, each one a key and a value. */
struct dict {
	uint64_t object[6], keys[5], entries[3][2];
};
static struct dict sys, globals;
/* One entry for one instruction, on the first line (Objects/locations.md of 3.11). */
static struct { uint64_t head[2], size, hash; unsigned char bytes[8]; } lines = {
	.size = 2, .bytes = { 0x80 | 13 << 3, 0 },
};
static char type_name[256] = "Exception", loader_name[256] = "SourceFileLoader";
static uint64_t exception_type[32], string_type[32], loader_type[32], loader[2];
static uint64_t exception[8], arguments[4], traceback[8], object[8];
static uint64_t interpreter[128], thread[32], cframe[2], frame[16], code[32];
uint64_t _PyRuntime[16];
uint32_t Py_Version = 0x030b02f0;

/* All keys are str (byte 10), and the indices have 1 << 3 bytes (byte 9). */
static void begin_dict(struct dict *dict)
{
	dict->object[4] = (uintptr_t)dict->keys;
	dict->keys[1] = 1 << 16 | 3 << 8;
}

static void add_entry(struct dict *dict, struct string *key, void *value)
{
	uint64_t *entry = dict->entries[dict->keys[3]++];

	entry[0] = (uintptr_t)key;
	entry[1] = (uintptr_t)value;
}

static void begin_exception(void)
{
	exception_type[3] = (uintptr_t)type_name;
	exception_type[21] = 1 << 30;
	string_type[21] = 1 << 28;
	message.head[1] = (uintptr_t)string_type;
	exception[1] = (uintptr_t)exception_type;
	exception[3] = (uintptr_t)arguments;
	exception[5] = (uintptr_t)traceback;
	arguments[2] = 1;
	arguments[3] = (uintptr_t)&message;
	traceback[3] = (uintptr_t)object;
	object[3] = (uintptr_t)frame;
}

static void begin_program(void)
{
	begin_dict(&sys);
	begin_dict(&globals);
	add_entry(&globals, &name_key, &name);
	add_entry(&globals, &loader_key, loader);
	loader_type[3] = (uintptr_t)loader_name;
	loader[1] = (uintptr_t)loader_type;
	begin_exception();
	code[9] = 1;
	code[14] = (uintptr_t)&file;
	code[16] = (uintptr_t)&module;
	code[17] = (uintptr_t)&lines;
	frame[1] = (uintptr_t)&globals;
	frame[4] = (uintptr_t)code;
	frame[7] = (uintptr_t)code + 184;
	cframe[1] = (uintptr_t)frame;
	thread[7] = (uintptr_t)cframe;
	thread[20] = (uint64_t)getpid();
	thread[30] = 1;
	interpreter[2] = (uintptr_t)thread;
	interpreter[113] = (uintptr_t)&sys;
	_PyRuntime[5] = (uintptr_t)interpreter;
}

/* "torch.distributed.DistBackendError: NCCL error": the type's name follows the last dot. */
static void name_exception(const char *line)
{
	size_t length = strcspn(line, ":\n");
	const char *said = line[length] == ':' ? line + length + 1 : "";

	for (const char *dot; (dot = memchr(line, '.', length)) != NULL; line = dot + 1)
		length -= (size_t)(dot + 1 - line);
	snprintf(type_name, sizeof(type_name), "%.*s", (int)length, line);
	said += *said == ' ';
	message.length = (uint64_t)snprintf(message.characters, sizeof(message.characters), "%.*s",
		(int)strcspn(said, "\n"), said);
	if (message.length >= sizeof(message.characters))
		message.length = sizeof(message.characters) - 1;
}

/* What the last traceback of a text ends in, whose lines may have a label; NULL: there is none. */
static const char *find_exception(const char *text)
{
	static const char header[] = "Traceback (most recent call last)";
	const char *at = NULL, *line;
	size_t label = 0;

	for (const char *next = text; next != NULL && (next = strstr(next, header)) != NULL; next++)
		at = next;
	for (line = at; line != NULL && line > text && line[-1] != '\n'; line--)
		label++;
	/* rich draws a box around it, and the exception stands below that */
	if (line != NULL && strncmp(line, "\u256d", 3) == 0) {
		at = strstr(line, "\n\u2570");
		at = at == NULL ? NULL : strchr(at + 1, '\n');
		return at == NULL ? NULL : at + 1;
	}
	while (at != NULL && (at = strchr(at, '\n')) != NULL) {
		at++;
		if (strnlen(at, label + 1) <= label)
			return NULL;
		if (at[label] != ' ')
			return at + label;
	}
	return NULL;
}

/* text is what it says next; NULL: nothing. */
static void end_program(const char *text)
{
	const char *line = find_exception(text);

	if (line != NULL)
		name_exception(line);
	/* owned by its object: no thread runs it (byte 69) */
	((unsigned char *)frame)[69] = 2;
	cframe[1] = 0;
	add_entry(&sys, &last_value, exception);
	add_entry(&sys, &last_type, exception_type);
	add_entry(&sys, &last_traceback, traceback);
}

static struct list play, term;
static int slowness;
static int rank, ranks;
static int peers[MAX_RANKS];
static int64_t begin;
static volatile sig_atomic_t told;
static sigset_t usual;	/* SIGTERM is open in these, and closed while nothing waits */

static void fail(const char *what)
{
	/* no wording that anybody could take for a rank's */
	fprintf(stderr, "actor: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void read_step(FILE *file, struct step *step)
{
	if (fscanf(file, "%7s %d %ld %7s %d %zu", step->wait, &step->peer, &step->us, step->what,
		&step->number, &step->length) != 6 || fgetc(file) != '\n' ||
		step->peer < 0 || step->peer >= ranks)
		fail("plan");
	step->text = malloc(step->length + 1);
	if (step->text == NULL || fread(step->text, 1, step->length, file) != step->length)
		fail("plan");
	step->text[step->length] = '\0';
}

static void read_plan(void)
{
	char path[32], name[8];
	FILE *file;

	snprintf(path, sizeof(path), "plan-%d", rank);
	file = fopen(path, "r");
	if (file == NULL)
		fail(path);
	if (fscanf(file, "%d", &slowness) != 1)
		fail("plan");
	while (fscanf(file, "%7s", name) == 1) {
		struct list *list = strcmp(name, "term") == 0 ? &term : &play;

		if (list->count == MAX_STEPS)
			fail("plan");
		read_step(file, &list->steps[list->count++]);
	}
	fclose(file);
}

/* In the folder that we are in: the whole path may be longer than an address. */
static struct sockaddr_un address_of(int index)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "rank-%d", index);
	return address;
}

/*
 * A process with a GPU has closed its sockets long before it can be reaped, since
 * its driver takes a while to close. So does an inotify instance: some 10 ms and
 * more, as fsnotify_destroy_group() waits for all who may read its marks
 * (fs/notify/group.c). Those of the highest numbers, as sockets here are given,
 * are closed first. A user may have 128 of them: without one it dies fast.
 */
static void die_slowly(void)
{
	for (int i = 0; i < slowness; i++) {
		int fd = inotify_init1(IN_CLOEXEC);

		if (fd >= 0)
			inotify_add_watch(fd, "/", IN_CREATE);
	}
}

static int on_top(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_SOCKET);

	if (high < 0)
		fail("connection");
	close(fd);
	return high;
}

/* To one that began sooner or later; alarm() ends the attempts. */
static int call(int peer)
{
	struct sockaddr_un address = address_of(peer);
	unsigned char self = (unsigned char)rank;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		usleep(2000);
	if (write(fd, &self, 1) != 1)
		fail("connection");
	return fd;
}

static void answer(int listener)
{
	unsigned char who;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || read(fd, &who, 1) != 1 || who >= ranks)
		fail("connection");
	peers[who] = on_top(fd);
}

/* Those below are called, those above call. */
static void connect_all(void)
{
	struct sockaddr_un address = address_of(rank);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(listener, MAX_RANKS) < 0)
		fail(address.sun_path);
	for (int i = 0; i < rank; i++)
		peers[i] = on_top(call(i));
	for (int i = rank + 1; i < ranks; i++)
		answer(listener);
	close(listener);
}

/* Rank 0 hears that all are there, and says when all begin. */
static void meet(void)
{
	char there = 0;

	if (rank > 0) {
		if (write(peers[0], &there, 1) != 1 ||
			read(peers[0], &begin, sizeof(begin)) != sizeof(begin))
			fail("start");
		return;
	}
	for (int i = 1; i < ranks; i++)
		if (read(peers[i], &there, 1) != 1)
			fail("start");
	begin = now_us() + STARTS_MS * 1000;
	for (int i = 1; i < ranks; i++)
		if (write(peers[i], &begin, sizeof(begin)) != sizeof(begin))
			fail("start");
}

static void on_term(int number)
{
	(void)number;
	told = 1;
}

/* Only in here SIGTERM is heard. 0: the time is over; -1: it came. */
static int wait_until(int64_t when)
{
	for (;;) {
		int64_t left = when - now_us();
		struct timespec limit = { left / 1000000, left % 1000000 * 1000 };

		if (left <= 0 && !told)
			return 0;
		if (told || (ppoll(NULL, 0, &limit, &usual) < 0 && told))
			return -1;
	}
}

/* Its end is the kernel's word, before anybody can reap it. */
static int wait_for_end(int peer)
{
	struct pollfd end = { .fd = peers[peer], .events = POLLIN };

	while (!told)
		if (end.fd < 0 || ppoll(&end, 1, NULL, &usual) > 0)
			return 0;
	return -1;
}

static void say(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t done = write(fd, text, length);

		if (done <= 0)
			return;
		text += done;
		length -= (size_t)done;
	}
}

/* As Python writes a traceback: line by line. */
static void say_lines(int fd, const char *text, size_t length)
{
	while (length > 0) {
		const char *end = memchr(text, '\n', length);
		size_t line = end == NULL ? length : (size_t)(end - text) + 1;

		say(fd, text, line);
		text += line;
		length -= line;
	}
}

/* What torch's @record leaves: all of it is in the plan but the time, which ends it. */
static void record(const char *text, size_t length)
{
	const char *path = getenv("TORCHELASTIC_ERROR_FILE");
	FILE *file = path == NULL ? NULL : fopen(path, "w");

	if (file == NULL)
		fail("TORCHELASTIC_ERROR_FILE");
	fwrite(text, 1, length, file);
	fprintf(file, "%lld\"}}}", (long long)time(NULL));
	if (fclose(file) != 0)
		fail(path);
}

static void die_of(int number)
{
	sigset_t only;

	signal(number, SIG_DFL);
	sigemptyset(&only);
	sigaddset(&only, number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	kill(getpid(), number);
	fail("signal");
}

static void hang(void)
{
	for (;;)	/* SIGTERM stays blocked */
		pause();
}

static void close_all(void)
{
	for (int i = 0; i < ranks; i++) {
		if (peers[i] >= 0)
			close(peers[i]);
		peers[i] = -1;
	}
}

static void do_step(const struct step *step)
{
	const char *what = step->what;

	if (strcmp(what, "text") == 0)
		say(step->number, step->text, step->length);
	else if (strcmp(what, "lines") == 0)
		say_lines(step->number, step->text, step->length);
	else if (strcmp(what, "record") == 0)
		record(step->text, step->length);
	else if (strcmp(what, "exit") == 0)
		_exit(step->number);
	else if (strcmp(what, "signal") == 0)
		die_of(step->number);
	else if (strcmp(what, "hang") == 0)
		hang();
	else if (strcmp(what, "close") == 0)
		close_all();
	else if (strcmp(what, "ending") == 0)
		end_program(step[1].text);
	else if (strcmp(what, "ignore") == 0)
		signal(SIGTERM, SIG_IGN);
	else
		fail(what);
}

static int wait_for(const struct step *step)
{
	if (strcmp(step->wait, "at") == 0)
		return wait_until(begin + step->us);
	if (strcmp(step->wait, "after") == 0 && wait_for_end(step->peer) < 0)
		return -1;
	return wait_until(now_us() + step->us);
}

/* -1: SIGTERM came in between, for which there are other steps. */
static int do_steps(const struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (wait_for(&list->steps[i]) < 0)
			return -1;
		do_step(&list->steps[i]);
	}
	return wait_until(INT64_MAX / 2);
}

static void limit_myself(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	alarm(SECONDS);
}

/* From now on SIGTERM is heard where something waits, and nowhere else. */
static void begin_to_listen(void)
{
	struct sigaction action = { .sa_handler = on_term };
	sigset_t closed;

	sigemptyset(&closed);
	sigaddset(&closed, SIGTERM);
	sigprocmask(SIG_BLOCK, &closed, &usual);
	sigdelset(&usual, SIGTERM);
	if (term.count > 0)
		sigaction(SIGTERM, &action, NULL);
}

static int number_of(const char *name)
{
	const char *value = getenv(name);

	if (value == NULL)
		fail(name);
	return atoi(value);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		fail("usage: actor FOLDER FIRST");
	limit_myself();
	begin_program();
	rank = number_of("RANK") - atoi(argv[2]);
	ranks = number_of("LOCAL_WORLD_SIZE");
	if (rank < 0 || rank >= ranks || ranks > MAX_RANKS)
		fail("RANK");
	memset(peers, -1, sizeof(peers));
	if (chdir(argv[1]) < 0)
		fail(argv[1]);
	read_plan();
	die_slowly();
	connect_all();
	meet();
	begin_to_listen();
	do_steps(&play);
	told = 0;
	signal(SIGTERM, SIG_IGN);
	do_steps(&term);
	return 98;
}
