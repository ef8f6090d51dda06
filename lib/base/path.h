/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files: the parts of a path, and the way along it. */
#ifndef RI_BASE_PATH_H
#define RI_BASE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { RI_PATH_SIZE = 1024 };

/* A path whose names are taken one by one, while links on the way are replaced. */
struct ri_way {
	char rest[PATH_MAX];	/* the names that are not yet taken */
	int links;		/* that were replaced */
	bool slash;		/* the path ends in '/': only a folder will do */
};

/* -1 and errno where the path is empty or too long. */
int ri_way_begin(struct ri_way *way, const char *path);

/*
 * Take the next name, which *last says is the last one so far. A name of more than
 * NAME_MAX bytes is cut to one more, which no file has. False: none is left.
 */
bool ri_way_next(struct ri_way *way, char name[NAME_MAX + 2], bool *last);

/* Put what a link says before what is left. -1 and errno: ELOOP or ENAMETOOLONG. */
int ri_way_follow(struct ri_way *way, const char *target);

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
