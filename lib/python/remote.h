/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the other process, for the files of this folder and its tests. */
#ifndef RI_PYTHON_REMOTE_H
#define RI_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/python.h"

/* All of these bytes, or false. The first page is never asked for: no pointer leads there. */
bool ri_python_read(struct ri_python *python, uint64_t address, void *out, size_t size);

/*
 * At least so many bytes, and as many of size as lie in the same page, since what is there is
 * there as a whole. Returns how many, 0: not even the least.
 */
size_t ri_python_read_some(
	struct ri_python *python, uint64_t address, void *out, size_t least, size_t size);

/* One word of a struct that lies at an address. */
struct ri_python_word {
	uint32_t offset;	/* RI_PYTHON_NO: it is 0 and not read */
	uint64_t value;
};

/* All of them, in one read where they lie together. */
bool ri_python_words(
	struct ri_python *python, uint64_t address, struct ri_python_word *words, size_t count);

/* The same of one. */
bool ri_python_word(struct ri_python *python, uint64_t address, uint32_t offset, uint64_t *value);

/* A walk along a list of the process's, which may lead in a circle (R. P. Brent, 1980). */
struct ri_python_walk {
	uint64_t mark;
	size_t steps, turn;
};

/* The walk has come to this address. False: it was there before, or goes on for too long. */
bool ri_python_walk_on(struct ri_python_walk *walk, uint64_t address, size_t most);

/* The bytes of a bytes object, one after the other, a MiB at most. */

enum { RI_PYTHON_PIECE = 256 };	/* bytes that are read at once, those of its header included */

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

/* code_name.c */

/*
 * The str at an address, of RI_PYTHON_NAME bytes at most: of a longer one the beginning, or
 * where its end matters the end, with "..." for the rest. Bytes that Python could not decode
 * (PEP 383) are there as they were; '?' for what is no character. False, and an empty string:
 * it could not be read, or is none.
 */
bool ri_python_name(
	struct ri_python *python, uint64_t address, bool end_matters, char name[RI_PYTHON_NAME]);

/* raised.c */

/* Is the object an exception? False: it could not be read. */
bool ri_python_exception(struct ri_python *python, uint64_t object, bool *is);

/* The name of an object's type. False: it could not be read, and is empty. */
bool ri_python_type(struct ri_python *python, uint64_t object, char name[RI_PYTHON_NAME]);

/* The address of the frame that a frame object stands for; 0: it could not be read. */
uint64_t ri_python_frame_of(struct ri_python *python, uint64_t object);

/* What is known of an exception. False: a part could not be read, and is empty or 0. */
bool ri_python_tell(struct ri_python *python, uint64_t exception, struct ri_python_raised *out);

/*
 * handlers.c: does an exception that the frame handles (handles), or else one of its instruction,
 * leave the frame for certain, past any finally and except? From 3.11 on; before, it is not known.
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

/* stack.c. False: it could not be read, or what is there is no frame. */
bool ri_python_place(struct ri_python *python, uint64_t address, struct ri_python_place *out);

/*
 * stack.c: the function, file and line of an instruction of a code object. False: a part could not
 * be read, and is empty or 0.
 */
bool ri_python_describe(struct ri_python *python, uint64_t code, int64_t instruction,
	struct ri_python_frame *out);

/*
 * stack.c: the line of an instruction. table is the address of a code object's bytes: pairs of
 * differences in 3.9 (Objects/lnotab_notes.txt) and 3.10 (the same file, PEP 626), entries of
 * varying length from 3.11 on (Objects/locations.md, PEP 657). instruction counts bytes from the
 * first one; less than 0: the code has not begun. *line is 0 where the instruction belongs to none.
 * False: the table could not be read, or ends before the instruction.
 */
bool ri_python_line(struct ri_python *python, uint64_t table, uint32_t first_line,
	int64_t instruction, uint32_t *line);

/*
 * interpreter.c: where a library or program that a process has mapped keeps a symbol (System V
 * gABI, "Program Loading and Dynamic Linking"; GNU's hash table as binutils writes it). It is read
 * from the memory of the process: the file may be replaced, or lie on a mount that does not answer.
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
