/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL and Open MPI are told to use, by variables and by files of the image. */
#ifndef RI_IMAGE_SETTINGS_H
#define RI_IMAGE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "image/program.h"

/*
 * NCCL's settings: variables, and files that set those which are not there
 * (NCCL src/misc/param.cc; NCCL documentation, "Environment Variables").
 */
enum { RI_NCCL_VALUE = 1024, RI_NCCL_FILE = 65536 };

/*
 * What a name is set to by its variable, the user's file, or /etc/nccl.conf: value has
 * RI_NCCL_VALUE bytes. A file that is absent, cannot be read or is longer than RI_NCCL_FILE sets
 * nothing. Returns which of them says so, the variable or the file; NULL, and value "", where
 * none does or it does not fit.
 */
const char *ri_nccl_conf_get(const struct ri_image *image, const char *name, char *value);

/* The same of the text of one file: the first line that sets the name counts. */
bool ri_nccl_conf_find(const char *text, const char *name, char *value);

/*
 * MCA parameters, by which Open MPI is told what to use (Open MPI
 * opal/mca/base/mca_base_var.c, opal/util/keyval/keyval_lex.l).
 */

/* A line that sets something. The strings lie in the text that was read. */
struct ri_mca_line {
	const char *name;
	const char *value;
	size_t number;		/* of the line, from 1 on */
};

/* How far a text is read; comments may go over several lines. */
struct ri_mca_text {
	char *rest;
	char *line;		/* what is left of one with several; NULL: nothing */
	size_t number;		/* of the line last taken */
	bool comment;
};

/*
 * Take the next line "NAME = VALUE", or "-mca NAME VALUE" of which a line may
 * have several, off the text, which is cut into strings. Comments, and lines
 * that are neither, are passed over. False when there is no more.
 */
bool ri_mca_next(struct ri_mca_text *text, struct ri_mca_line *out);

enum { RI_MCA_FILES = 8 };

struct ri_mca_file {
	const char *path;
	const char *text;
};

struct ri_mca {
	const struct ri_image *image;
	struct ri_mca_file override;	/* stands above the environment; path NULL: none */
	struct ri_mca_file files[RI_MCA_FILES];	/* the first that sets a name wins */
	size_t count;
};

/*
 * Read the files of an installation below prefix ("/usr/local"): those that
 * OMPI_MCA_mca_base_param_files names, else the one below HOME and the
 * installation's own. OPAL_PREFIX stands for prefix where it is set. What is
 * below /usr but not /usr/local is a distribution's, whose files are in /etc.
 */
void ri_mca_init(struct ri_mca *mca, const struct ri_image *image, const char *prefix);

struct ri_mca_value {
	const char *value;
	const char *origin;	/* the variable, or the file */
	size_t line;		/* of the file; 0: a variable */
};

/* What a parameter is set to. False where no source sets it. */
bool ri_mca_get(const struct ri_mca *mca, const char *name, struct ri_mca_value *out);

/* Would a list "ucx,ob1" or "^ucx" have this component taken? An empty one takes all. */
bool ri_mca_takes(const char *list, const char *component);

#endif
