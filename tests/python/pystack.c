/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack PID [IMAGE]: the Python stacks of a process as lib/python reads them, by
 * process_vm_readv, for tests. With IMAGE, all bytes that were read are written there too, so
 * that a test can read them again without the process (tests/python/image.py).
 *
 * pystack --lines MINOR: the lines of tables that come from stdin, as "LINE SIZE CODE\n" (the
 * first line, and how many bytes of table and code) and the table. For each the line of every
 * instruction comes back: "LINE LINE ...", 0 for none, "?" where the table has ended.
 *
 *     answer ANSWER release RELEASE reads COUNT
 *     thread TID depth DEPTH hash HASH answer ANSWER reads COUNT
 *     FILE<tab>LINE<tab>FUNCTION<tab>INSTRUCTION
 *     raised ANSWER leaves 0 by FUNCTION<tab>FILE:LINE FUNCTION<tab>TYPE<tab>MESSAGE
 *
 *     left ANSWER<tab>FILE:LINE FUNCTION<tab>TYPE<tab>MESSAGE
 *
 * "raised" where the thread handles an exception: does it leave the program, which function
 * handles it, and what raised it? "left", behind all threads, where an exception has left it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "python/python.h"

static const char *const answers[] = { "ok", "none", "unknown", "unreadable", "changed" };

static struct ri_python python;
static struct ri_python_maps maps;
static struct ri_python_threads threads;
static struct ri_python_frame frames[64];
static int32_t ids[1024];

struct target {
	pid_t pid;
	FILE *image;
	unsigned long reads;
};

/* An image is "ADDRESS SIZE\n", the bytes and '\n', again and again. */
static bool read_target(void *context, uint64_t address, void *out, size_t size)
{
	struct target *target = context;
	struct iovec here = { out, size }, there = { (void *)(uintptr_t)address, size };

	target->reads++;
	if (process_vm_readv(target->pid, &here, 1, &there, 1, 0) != (ssize_t)size)
		return false;
	if (target->image != NULL) {
		fprintf(target->image, "%" PRIx64 " %zu\n", address, size);
		fwrite(out, size, 1, target->image);
		fputc('\n', target->image);
	}
	return true;
}

static bool read_maps(pid_t pid)
{
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	memset(&maps, 0, sizeof(maps));
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		ri_python_maps_add(&maps, line);
	}
	free(line);
	return fclose(file) == 0;
}

static size_t read_tasks(pid_t pid)
{
	struct dirent *entry;
	size_t count = 0;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder != NULL && count < 1024 && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			ids[count++] = atoi(entry->d_name);
	if (folder != NULL)
		closedir(folder);
	return count;
}

static void print_raised(
	const struct ri_python_thread *thread, const struct ri_python_stack *stack)
{
	static struct ri_python_raised raised;
	enum ri_python_answer answer = ri_python_raised(&python, thread, &raised);
	const char *by = "?";

	if (answer == RI_PYTHON_OK && raised.exception == 0)
		return;
	for (size_t i = 0; i < stack->count; i++)
		if (stack->frames[i].address == raised.handler)
			by = stack->frames[i].function;
	printf("raised %s leaves %d by %s\t%s:%u %s\t%s\t%.*s\n", answers[answer],
		ri_python_leaves(&python, stack, &raised), by, raised.at.file, raised.at.line,
		raised.at.function, raised.type, (int)strcspn(raised.message, "\n"),
		raised.message);
}

static void print_left(void)
{
	static struct ri_python_raised left;
	enum ri_python_answer answer = ri_python_left(&python, &left);

	if (answer == RI_PYTHON_OK && left.exception == 0)
		return;
	printf("left %s\t%s:%u %s\t%s\t%.*s\n", answers[answer], left.at.file, left.at.line,
		left.at.function, left.type, (int)strcspn(left.message, "\n"), left.message);
}

static void print_thread(const struct ri_python_thread *thread)
{
	struct ri_python_stack stack = { .frames = frames, .room = 64 };
	unsigned long before = python.reads;
	enum ri_python_answer answer = ri_python_stack(&python, thread, &stack);

	printf("thread %d depth %zu hash %016" PRIx64 " answer %s reads %lu\n", (int)thread->tid,
		stack.depth, stack.hash, answers[answer], python.reads - before);
	for (size_t i = 0; i < stack.count; i++)
		printf("%s\t%u\t%s\t%u\n", frames[i].file, frames[i].line, frames[i].function,
			frames[i].instruction);
	print_raised(thread, &stack);
}

static void print_stacks(pid_t pid)
{
	const struct ri_python_tasks tasks = { .ids = ids, .count = read_tasks(pid) };
	enum ri_python_answer answer = ri_python_threads(&python, &tasks, &threads);

	if (answer != RI_PYTHON_OK)
		printf("threads %s\n", answers[answer]);
	for (size_t i = 0; i < threads.count; i++)
		print_thread(&threads.list[i]);
	print_left();
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A bytes object at an address that is not used for anything else. */
static struct {
	unsigned char object[32];	/* its header, the size of the bytes at 16 */
	unsigned char bytes[1 << 20];
} table;
enum { TABLE_ADDRESS = 0x10000 };

static bool read_table(void *context, uint64_t address, void *out, size_t size)
{
	size_t offset = (size_t)(address - TABLE_ADDRESS);

	(void)context;
	if (address < TABLE_ADDRESS || offset > sizeof(table) || size > sizeof(table) - offset)
		return false;
	memcpy(out, (const unsigned char *)&table + offset, size);
	return true;
}

static int print_lines(unsigned minor)
{
	unsigned long first, size, code;
	uint32_t line;

	python.memory = (struct ri_python_memory){ read_table, NULL };
	python.minor = minor;
	/* from 3.13 on only a process tells its offsets; these have not changed */
	ri_python_layout_read(&python.layout, minor < 13 ? minor : 12, NULL);
	while (scanf("%lu %lu %lu", &first, &size, &code) == 3) {
		if (getchar() != '\n' || size > sizeof(table.bytes) ||
			fread(table.bytes, 1, size, stdin) != size)
			return 2;
		memcpy(table.object + 16, &size, sizeof(size));
		for (unsigned long at = 0; at < code; at += 2) {
			python.reads = 0;
			if (ri_python_line(&python, TABLE_ADDRESS, (uint32_t)first, (int64_t)at,
				&line))
				printf("%u ", line);
			else
				printf("? ");
		}
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct target target = { .pid = argc > 1 ? atoi(argv[1]) : 0 };
	const struct ri_python_memory memory = { read_target, &target };
	enum ri_python_answer answer;
	uint64_t begin = now_us();

	if (argc == 3 && strcmp(argv[1], "--lines") == 0)
		return print_lines((unsigned)atoi(argv[2]));
	if (argc > 2)
		target.image = fopen(argv[2], "we");
	if (argc < 2 || (argc > 2 && target.image == NULL) || !read_maps(target.pid)) {
		fprintf(stderr, "%s: %s\n", argv[argc > 1], strerror(errno));
		return 2;
	}
	for (size_t i = 0; target.image != NULL && i < maps.count; i++)
		fprintf(target.image, "%" PRIx64 "-0 r--p 0 0:0 0 /%s\n", maps.objects[i].base,
			maps.objects[i].name);
	if (target.image != NULL)
		fputs("%%\n", target.image);
	answer = ri_python_find(&python, &memory, &maps);
	printf("answer %s release %s reads %lu\n", answers[answer], python.release, python.reads);
	if (answer == RI_PYTHON_OK)
		print_stacks(target.pid);
	fprintf(stderr, "%lu reads, %" PRIu64 " us\n", target.reads, now_us() - begin);
	return 0;
}
