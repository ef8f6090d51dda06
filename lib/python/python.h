/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of another process run in CPython, read from its memory alone: this stops no
 * process, attaches to none, and opens no file. The caller brings a function that reads the memory
 * (process_vm_readv, a recorded image) and the text of /proc/PID/maps. All that is read is hostile:
 * every list is bounded, a circle ends as a broken one, a string is cut. Memory is the caller's. A
 * process that runs changes while it is read: the functions mostly notice that (RI_PYTHON_CHANGED),
 * but a caller that wants to be sure takes two stacks of a thread and compares their hashes.
 */
#ifndef RI_PYTHON_PYTHON_H
#define RI_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An offset that this minor does not have. */
#define RI_PYTHON_NO UINT32_MAX

enum {
	RI_PYTHON_OLDEST = 9,		/* minors of Python 3 that offsets.def has */
	RI_PYTHON_NEWEST = 14,
	RI_PYTHON_SELF_TOLD = 13,	/* the first that brings its offsets */
	RI_PYTHON_DEBUG_SIZE = 648,	/* bytes of struct _Py_DebugOffsets that are needed */
};

/* Where the CPython of a process keeps what a stack is made of: offsets.def, settled. */
struct ri_python_layout {
#define RI_PYTHON_OFFSET(name, ...) uint32_t name;
#define RI_PYTHON_CONSTANT(name, ...) uint32_t name;
#include "python/offsets.def"
};

/*
 * The layout of a minor from OLDEST to NEWEST. debug is the beginning of _PyRuntime, of
 * RI_PYTHON_DEBUG_SIZE bytes, and not used before SELF_TOLD. False: an offset in it is none.
 */
bool ri_python_layout_read(
	struct ri_python_layout *layout, unsigned minor, const unsigned char *debug);

enum {
	RI_PYTHON_OBJECTS = 8,		/* mapped files that are looked at; real processes have 3 */
	RI_PYTHON_NAME = 256,		/* bytes of a file's or function's name, '\0' included */
	RI_PYTHON_INTERPRETERS = 64,	/* walked at most; nearly all processes have 1 */
	RI_PYTHON_PATH = 8,		/* of a traceback's frames */
	RI_PYTHON_THREADS = 256,	/* of all interpreters of a process, that are listed */
	RI_PYTHON_CROWD = 65536,	/* ... that are walked: the main thread stands behind all */
	RI_PYTHON_WALK = 4096,		/* frames of one thread, walked at most */
	RI_PYTHON_READS = 262144,	/* of one look; 256 threads of 64 frames take 90,000 */
};

/* Exactly so many bytes at an address; false where one of them cannot be read. */
struct ri_python_memory {
	bool (*read)(void *context, uint64_t address, void *out, size_t size);
	void *context;
};

enum ri_python_answer {
	RI_PYTHON_OK,
	RI_PYTHON_NONE,		/* no CPython, or it has not started yet, or has ended */
	RI_PYTHON_UNKNOWN,	/* a CPython, but not one of 3.9 to 3.14: python.release names it */
	RI_PYTHON_UNREADABLE,	/* not even the first bytes: the reader's errno says why */
	RI_PYTHON_CHANGED,	/* it led nowhere, or in a circle: what is there is a part */
};

/*
 * Of /proc/PID/maps (proc(5)): the readable beginnings of the file that is mapped first, which is
 * the program, and of files named python... or libpython... Begin with zeroes.
 */
struct ri_python_object {
	uint64_t base;			/* where the first byte of the file is mapped */
	char name[64];			/* its last component, cut; for people only */
};

struct ri_python_maps {
	struct ri_python_object objects[RI_PYTHON_OBJECTS];
	size_t count;
	bool seen;			/* a file was, so the next one is not the program */
};

/* Add the next line, without its end. */
void ri_python_maps_add(struct ri_python_maps *maps, const char *line);

struct ri_python {
	struct ri_python_memory memory;
	/* calls of memory.read; past RI_PYTHON_READS they fail. ri_python_threads begins at 0. */
	unsigned long reads;
	uint64_t runtime;		/* address of _PyRuntime */
	bool over;			/* it has no interpreter: not yet, or not any more */
	bool lost;			/* of left.c: something could not be read */
	unsigned minor;			/* 11 for 3.11 */
	char release[32];		/* "3.11.2", "3.13.0rc1 (free-threaded)", "3.9" */
	struct ri_python_layout layout;
};

/* The first object with a CPython that has started. Of RI_PYTHON_UNKNOWN only .release counts. */
enum ri_python_answer ri_python_find(struct ri_python *python,
	const struct ri_python_memory *memory, const struct ri_python_maps *maps);

/*
 * Thread ids of the process, from /proc/PID/task, in the numbers of the process's own PID
 * namespace. Before 3.11 CPython keeps only a pthread_t; the C library keeps the kernel's id in
 * what that points to, and what is found there counts if it is one of these. None given, or not
 * found: .tid is 0. From 3.11 on this is not used.
 */
struct ri_python_tasks {
	const int32_t *ids;
	size_t count;
};

struct ri_python_thread {
	uint64_t state;			/* address of its PyThreadState */
	uint64_t pthread;		/* pthread_self(); 0 where it has not been set yet */
	int32_t tid;			/* as gettid() in the process says; 0: not known */
	uint64_t interpreter;		/* its address */
};

struct ri_python_threads {
	struct ri_python_thread list[RI_PYTHON_THREADS];
	size_t count;
	size_t all;			/* seen; of more than fit the oldest is there */
};

/*
 * The threads of all interpreters, the newest first as CPython keeps them: the main thread is the
 * last one. A thread has an entry in each interpreter that it has run. RI_PYTHON_OK, or _CHANGED
 * with those found before, of which the last one may be any.
 */
enum ri_python_answer ri_python_threads(struct ri_python *python,
	const struct ri_python_tasks *tasks, struct ri_python_threads *out);

struct ri_python_frame {
	uint64_t address;		/* of the frame itself; 0: not known */
	uint64_t code;			/* address of the code object */
	uint32_t instruction;		/* bytes from its first instruction */
	uint32_t line;			/* 0: not known, or an instruction without one */
	bool entered;			/* from 3.11 on: C code has called it, and may take what
					   it raises */
	char file[RI_PYTHON_NAME];	/* UTF-8, as code.co_filename; "" where it was unreadable */
	char function[RI_PYTHON_NAME];	/* qualname from 3.11 on ("Trainer.step"), name before */
};

struct ri_python_stack {
	struct ri_python_frame *frames;	/* in so much room of the caller's, the innermost first */
	size_t room, count;
	size_t depth;			/* of the stack; more than count: outer ones are left out */
	uint64_t hash;			/* of code and instruction of all frames of the depth */
	uint64_t outermost;		/* code object of the outermost frame; 0: there is none */
	uint64_t interpreter;		/* the thread's */
	bool cut;			/* there are more than RI_PYTHON_WALK */
};

/*
 * The stack of a thread as it is now. RI_PYTHON_OK with a depth of 0: it runs no Python.
 * RI_PYTHON_CHANGED: the frames that were found may be of different moments, or lack a name or a
 * line, and the hash is that of a part. Long names are cut at a character: files lose their
 * beginning (".../end/of/path.py"), functions their end. They may hold any byte: quote them.
 */
enum ri_python_answer ri_python_stack(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_stack *stack);

/* The exception that a thread handles: an except, a finally or the end of a with runs for it. */
struct ri_python_raised {
	uint64_t exception;		/* its address; 0: the thread handles none */
	char type[RI_PYTHON_NAME];	/* "ValueError", without its module where Python has that */
	char message[RI_PYTHON_NAME];	/* of its first two arguments the first str, cut; or "" */
	struct ri_python_frame at;	/* that raised it; .code 0: not known */
	/* the frames that lead there, the outermost first, .at the last; of many the inner ones */
	struct ri_python_frame path[RI_PYTHON_PATH];
	size_t path_count;
	uint64_t handler;		/* .address of the frame that handles it; 0: not known */
};

/* RI_PYTHON_OK, also where there is none; _CHANGED: what .exception leads to could not be read. */
enum ri_python_answer ri_python_raised(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_raised *out);

/*
 * Does the exception leave the program for certain as soon as what handles it is done, unless that
 * ends the program itself (os._exit, exec, sys.exit)? So it is where that is a finally, or an
 * except without a way out but raise, and where the same holds for all that stands around the calls
 * of the outer frames: by the exception tables, which Python has from 3.11 on. C code, which may
 * take the exception, must have entered none of these frames; the outermost one must be the
 * program's, not that of another thread or a greenlet; and no person may type at a prompt. A with
 * around them may swallow it. The stack must have all frames of its depth.
 */
bool ri_python_leaves(struct ri_python *python, const struct ri_python_stack *stack,
	const struct ri_python_raised *raised);

/*
 * Has an uncaught exception left the program for good? RI_PYTHON_OK: *out says which one, or
 * .exception is 0: it has not, for all that is known. RI_PYTHON_CHANGED: several attempts could not
 * read it. left.c says how it tells. The caller makes sure of two things: that the program is
 * python itself, since one that embeds it may go on; and that a second later the same exception has
 * left, since `python -i` has no prompt for a moment.
 */
enum ri_python_answer ri_python_left(struct ri_python *python, struct ri_python_raised *out);

/*
 * Does the main thread still run the program? It has left it for good where the outermost frame
 * is not the program's: then the interpreter prints the uncaught exception (Python/pythonrun.c,
 * PyErr_Print), waits for threads, calls what atexit knows, or has ended (Python/pylifecycle.c,
 * Py_FinalizeEx). Only for a process whose program is python itself: a program that embeds it has
 * times without a frame. RI_PYTHON_CHANGED: no reading was whole.
 */
enum ri_python_answer ri_python_runs(struct ri_python *python, bool *runs);

/* --- for the files of this folder and its tests --------------------------------- */

/* All of these bytes, or false. The first page is never asked for: no pointer leads there. */
bool ri_python_read(struct ri_python *python, uint64_t address, void *out, size_t size);

/*
 * At least so many bytes, and of size as many as lie in the same page, since a page is there as a
 * whole. Returns how many; 0: not even the least.
 */
size_t ri_python_read_some(
	struct ri_python *python, uint64_t address, void *out, size_t least, size_t size);

/* One word of a struct that lies at an address. */
struct ri_python_word {
	uint32_t offset;	/* RI_PYTHON_NO: it is 0 and not read */
	uint64_t value;
};

/* All of them, in one read where they lie together. False: one could not be read, and may be 0. */
bool ri_python_words(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count);

/* A walk along a list of the process's, which may lead in a circle (R. P. Brent, 1980). */
struct ri_python_walk {
	uint64_t mark;
	size_t steps, turn;
};

/* The walk has come to this address. False: it was there before, or goes on for too long. */
bool ri_python_walk_on(struct ri_python_walk *walk, uint64_t address, size_t most);

enum { RI_PYTHON_PIECE = 256 };	/* bytes that are read at once, those of a header included */

/* The bytes of a bytes object, one after the other, a MiB at most. */
struct ri_python_bytes {
	struct ri_python *python;
	uint64_t address;	/* of the next piece */
	uint64_t left;		/* bytes after those of the piece */
	size_t used, count;
	unsigned char piece[RI_PYTHON_PIECE];
};

/* Begin with the first byte of the object at an address. False: it could not be read. */
bool ri_python_open(struct ri_python_bytes *stream, struct ri_python *python, uint64_t object);

/* The next byte, which stays the next one, or is taken; -1: there is none, or it is unreadable. */
int ri_python_peek(struct ri_python_bytes *stream);
int ri_python_take(struct ri_python_bytes *stream);

/*
 * The str at an address, of RI_PYTHON_NAME bytes at most: of a longer one the beginning, or
 * where its end matters the end, with "..." for the rest. Bytes that Python could not decode
 * (PEP 383) are there as they were; '?' for what is no character. False, and an empty string:
 * it could not be read, or is none.
 */
bool ri_python_name(
	struct ri_python *python, uint64_t address, bool end_matters, char name[RI_PYTHON_NAME]);

/*
 * Does an exception that the frame handles (handles), or else one of its instruction, leave the
 * frame for certain, past any finally and except? From 3.11 on; before, it is not known.
 */
bool ri_python_leaves_frame(
	struct ri_python *python, const struct ri_python_frame *frame, bool handles);

/* A frame as the process has it. */
struct ri_python_place {
	uint64_t address, previous, code;
	int64_t instruction;	/* bytes from the first one; less than 0: it has not begun */
	unsigned char owner;	/* from 3.11 on */
	bool inner;		/* the interpreter's own: the step from C into Python */
	bool entered;		/* C code has called it; known in 3.11 alone */
};

/* False: it could not be read, or what is there is no frame. */
bool ri_python_place(struct ri_python *python, uint64_t address, struct ri_python_place *out);

/* The function, file and line of an instruction. False: a part was not read, and is empty or 0. */
bool ri_python_describe(struct ri_python *python, uint64_t code, int64_t instruction,
	struct ri_python_frame *out);

/*
 * The line of an instruction. table is the address of a code object's bytes: pairs of
 * differences in 3.9 (Objects/lnotab_notes.txt) and 3.10 (the same file, PEP 626), entries of
 * varying length from 3.11 on (Objects/locations.md, PEP 657). instruction counts bytes from the
 * first one; less than 0: the code has not begun. *line is 0 where the instruction belongs to none.
 * False: the table could not be read, or ends before the instruction.
 */
bool ri_python_line(struct ri_python *python, uint64_t table, uint32_t first_line,
	int64_t instruction, uint32_t *line);

/*
 * Where a library or program that a process has mapped keeps its symbols (System V gABI, "Program
 * Loading and Dynamic Linking"; GNU's hash table as binutils writes it), in the memory of the
 * process: the file may be replaced, or lie on a mount that does not answer.
 */
struct ri_python_symbols {
	uint64_t bias;		/* of the addresses in the file */
	uint64_t strings, symbols, gnu_hash, old_hash;	/* 0: there is none */
};

/* The file that is mapped at base. False: it is none, has no symbols, or could not be read. */
bool ri_python_symbols_open(
	struct ri_python *python, uint64_t base, struct ri_python_symbols *symbols);

/* The address of the symbol that it defines by that name; 0: it defines none. */
uint64_t ri_python_symbol(
	struct ri_python *python, const struct ri_python_symbols *symbols, const char *name);

#endif
