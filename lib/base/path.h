/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files: the parts of a path. */
#ifndef RI_BASE_PATH_H
#define RI_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum { RI_PATH_SIZE = 1024 };

/* What follows the last '/'. */
const char *ri_path_name(const char *path);

/*
 * The folder of a path without its last name into a buffer of RI_PATH_SIZE
 * bytes; called twice, that of "/opt/mpi/bin/mpirun" is "/opt/mpi". The root's
 * folder is "".
 */
void ri_path_folder(const char *path, char *folder);

/* FOLDER/NAME into a buffer of RI_PATH_SIZE bytes; false where it does not fit. */
bool ri_path_join(char *path, const char *folder, const char *name);

/* Is path inside of folder, or the folder itself? Both without links. */
bool ri_path_below(const char *path, const char *folder);

#endif
