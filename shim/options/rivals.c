/* SPDX-License-Identifier: Apache-2.0 */
/* Which twins the command line sets aside, though it does not give their option. */
#include <string.h>

#include "command/command.h"
#include "options/table.h"

struct rival {
	int stated;			/* what stands on the command line */
	bool (*means)(const struct ri_options *options);	/* ... in this way; NULL: any */
	int twin;			/* what gives way to it */
	bool (*says)(const char *value);	/* ... with such a value; NULL: any */
};

static bool means_never(const struct ri_options *options)
{
	return options->supervise == RI_NO;
}

/* A launcher starts its ranks itself: then how many is no more than told to it. */
static bool means_ranks(const struct ri_options *options)
{
	struct ri_command command;

	ri_command_read(&command, options->command, options->launch);
	return command.mode == RI_MODE_PROCESS;
}

/* "gpu" and the like may be several; we may become a single one. */
static bool means_several(const struct ri_options *options)
{
	return (options->nproc != RI_NPROC_STATED || options->wishes.nproc_count > 1) &&
		means_ranks(options);
}

static bool means_no_source(const struct ri_options *options)
{
	return ri_wishes_refuse_all(&options->wishes) && means_ranks(options);
}

static bool means_no_tensorflow(const struct ri_options *options)
{
	return !ri_wishes_allow_framework(&options->wishes, "tensorflow");
}

static bool means_absolute_file(const struct ri_options *options)
{
	return options->given.log_file.value[0] == '/';
}

static bool means_prefix(const struct ri_options *options)
{
	return options->log_prefix;
}

static bool means_chief(const struct ri_options *options)
{
	return options->wishes.tf_chief.value != NULL;
}

static bool means_quiet(const struct ri_options *options)
{
	return options->quiet;
}

static bool means_verbose(const struct ri_options *options)
{
	return options->verbose;
}

static bool says_never(const char *value)
{
	return strcmp(value, "never") == 0;
}

static bool says_none(const char *value)
{
	return strcmp(value, "none") == 0;
}

static bool says_absolute(const char *value)
{
	return value[0] == '/';
}

static bool says_no_tensorflow(const char *value)
{
	const struct ri_wishes wishes = { .frameworks = value };

	return strcmp(value, "auto") != 0 && !ri_wishes_name_framework(&wishes, "tensorflow");
}

#define ROW(stated_, means_, twin_, says_) \
	{ .stated = RI_OPTION_##stated_, .means = means_, .twin = RI_OPTION_##twin_, \
	  .says = says_ }

static const struct rival rivals[] = {
	ROW(hosts, NULL, hostfile, NULL),
	ROW(hostfile, NULL, hosts, NULL),
	/* nobody starts ranks that are told nothing */
	ROW(source, means_no_source, nproc_per_node, NULL),
	ROW(nproc_per_node, means_ranks, source, says_none),
	/* nobody is left to do these; how many ranks there shall be is no such thing */
	ROW(supervise, means_never, log_prefix, NULL),
	ROW(supervise, means_never, log_dir, NULL),
	ROW(supervise, means_never, log_file, NULL),
	ROW(supervise, means_never, log_mode, NULL),
	ROW(supervise, means_never, report, NULL),
	ROW(supervise, means_never, state, NULL),
	ROW(nproc_per_node, means_several, supervise, says_never),
	ROW(log_prefix, means_prefix, supervise, says_never),
	ROW(log_dir, NULL, supervise, says_never),
	ROW(log_file, NULL, supervise, says_never),
	ROW(report, NULL, supervise, says_never),
	ROW(state, NULL, supervise, says_never),
	ROW(log_file, means_absolute_file, log_dir, NULL),
	ROW(log_dir, NULL, log_file, says_absolute),
	ROW(frameworks, means_no_tensorflow, tf_ps, NULL),
	ROW(frameworks, means_no_tensorflow, tf_chief, NULL),
	ROW(frameworks, means_no_tensorflow, tf_port, NULL),
	ROW(tf_ps, NULL, frameworks, says_no_tensorflow),
	ROW(tf_chief, means_chief, frameworks, says_no_tensorflow),
	ROW(tf_port, NULL, frameworks, says_no_tensorflow),
	ROW(quiet, means_quiet, verbose, NULL),
	ROW(verbose, means_verbose, quiet, NULL),
};

const struct ri_option *ri_option_rival(const struct ri_options *options, size_t twin,
	const char *value)
{
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
		const struct rival *row = &rivals[i];
		const struct ri_given *stated = &options->given.at[row->stated];

		if (row->twin != (int)twin || stated->subject == NULL || stated->twin)
			continue;
		if ((row->means == NULL || row->means(options)) &&
			(row->says == NULL || row->says(value)))
			return &ri_option_table[row->stated];
	}
	return NULL;
}
