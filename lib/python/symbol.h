/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a library or program that a process has mapped keeps a symbol (System V gABI, "Program
 * Loading and Dynamic Linking"; GNU's hash table as binutils writes it), read from the memory of
 * the process: the file may be replaced, or lie on a mount that does not answer.
 */
#ifndef RI_PYTHON_SYMBOL_H
#define RI_PYTHON_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "python/python.h"

struct ri_python_symbols {
	uint64_t bias;		/* of the addresses in the file */
	uint64_t strings, symbols, gnu_hash, old_hash;	/* 0: there is none */
};

/* The file that is mapped at base. False: it is none, has no symbols, or could not be read. */
bool ri_python_symbols_open(
	struct ri_python *python, uint64_t base, struct ri_python_symbols *symbols);

/* The address of what it defines by that name; 0: nothing. */
uint64_t ri_python_symbol(
	struct ri_python *python, const struct ri_python_symbols *symbols, const char *name);

#endif
