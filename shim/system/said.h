/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said once in a container, and not by each rankinit there that starts a
 * service: an empty file in /dev/shm, which a container has even where its root is
 * read-only, keeps it in mind.
 */
#ifndef RI_SHIM_SYSTEM_SAID_H
#define RI_SHIM_SYSTEM_SAID_H

#include <stdbool.h>

/*
 * Was this word said before in this PID namespace? It counts as said from here on.
 * In doubt it was not.
 */
bool ri_was_said(const char *word);

/* Process 1 ends, and its namespace: no other process would take the file away. */
void ri_said_forget(void);

#endif
