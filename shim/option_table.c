/* SPDX-License-Identifier: Apache-2.0 */
#include "option_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "from/from.h"
#include "output/pattern.h"
#include "to/to.h"

enum { MAX_NAMES = 64 };	/* sources or frameworks, and one more */

const char *ri_option_long_name(const struct ri_option *option, char out[RI_OPTION_NAME])
{
	snprintf(out, RI_OPTION_NAME, "--%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

const char *ri_option_twin_name(const struct ri_option *option, char out[RI_OPTION_NAME])
{
	snprintf(out, RI_OPTION_NAME, "RANKINIT_%s", option->symbol);
	for (char *p = out; *p != '\0'; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return out;
}

int ri_option_bad_value(struct ri_given given, const char *expected, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];

	return ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s: expected %s",
		ri_quote(quoted, sizeof(quoted), given.value), expected);
}

static int read_flag(bool *out, struct ri_given given, struct ri_error *err)
{
	*out = true;
	if (given.value == NULL || ri_bool_read(given.value, out))
		return 0;
	return ri_option_bad_value(given, "yes or no", err);
}

/* One of three words, in the order of enum ri_switch. */
static int read_switch(enum ri_switch *out, const char *const words[3], struct ri_given given,
	struct ri_error *err)
{
	char expected[64];

	for (int i = 0; i < 3; i++) {
		if (strcmp(given.value, words[i]) == 0) {
			*out = (enum ri_switch)i;
			return 0;
		}
	}
	snprintf(expected, sizeof(expected), "%s, %s or %s", words[0], words[1], words[2]);
	return ri_option_bad_value(given, expected, err);
}

/* The name in given is a buffer of the caller's: keep one that lasts. */
static int keep_word(struct ri_word *word, struct ri_given given, int option)
{
	static char names[RI_OPTION_COUNT][RI_OPTION_NAME];

	if (given.subject[0] == '-')
		ri_option_long_name(&ri_option_table[option], names[option]);
	else
		ri_option_twin_name(&ri_option_table[option], names[option]);
	*word = (struct ri_word){ .text = given.value, .subject = names[option] };
	return 0;
}

/* One of the words, NULL at their end, as its place among them. */
static int read_choice(unsigned *out, const char *const words[], struct ri_given given,
	struct ri_error *err)
{
	char bytes[64];
	struct ri_text expected;

	ri_text_init(&expected, bytes, sizeof(bytes));
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (strcmp(given.value, words[i]) == 0) {
			*out = i;
			return 0;
		}
		ri_text_addf(&expected, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ",
			words[i]);
	}
	return ri_option_bad_value(given, bytes, err);
}

static int set_action(struct ri_options *options, enum ri_action action, const char *value)
{
	/* The first action wins: `--help --version` is help. */
	if (options->action == RI_ACTION_LAUNCH) {
		options->action = action;
		options->action_value = value;
	}
	return 0;
}

int ri_read_help(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return set_action(options, RI_ACTION_HELP, given.value);
}

int ri_read_version(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return set_action(options, RI_ACTION_VERSION, given.value);
}

int ri_read_list(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return set_action(options, RI_ACTION_LIST, given.value);
}

int ri_read_explain(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && strcmp(given.value, "text") != 0 &&
		strcmp(given.value, "json") != 0)
		return ri_option_bad_value(given, "text or json", err);
	return set_action(options, RI_ACTION_EXPLAIN, given.value);
}

int ri_read_dry_run(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_read_explain(options, given, err);
}

int ri_read_check(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && strcmp(given.value, "text") != 0 &&
		strcmp(given.value, "json") != 0)
		return ri_option_bad_value(given, "text or json", err);
	return set_action(options, RI_ACTION_CHECK, given.value);
}

int ri_read_print_env(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return set_action(options, RI_ACTION_PRINT_ENV, given.value);
}

int ri_read_status(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	if (given.value != NULL && given.value[0] == '\0')
		return ri_option_bad_value(given, "the name of a file, or no =", err);
	return set_action(options, RI_ACTION_STATUS, given.value);
}

/* A copy of the option's name that lasts: given.subject does not. */
static struct ri_stated state(struct ri_given given, const char *option, const char *twin)
{
	return (struct ri_stated){
		.subject = given.subject[0] == '-' ? option : twin,
		.value = given.value,
	};
}

#define READ_FACT(symbol, FACT, option) \
	int ri_read_##symbol( \
		struct ri_options *options, struct ri_given given, struct ri_error *err) \
	{ \
		(void)err; \
		options->wishes.facts[RI_FACT_##FACT] = state(given, option, "RANKINIT_" #FACT); \
		return 0; \
	}

READ_FACT(rank, RANK, "--rank")
READ_FACT(world_size, WORLD_SIZE, "--world-size")
READ_FACT(local_rank, LOCAL_RANK, "--local-rank")
READ_FACT(local_world_size, LOCAL_WORLD_SIZE, "--local-world-size")
READ_FACT(node_rank, NODE_RANK, "--node-rank")
READ_FACT(nnodes, NNODES, "--nnodes")
READ_FACT(master_addr, MASTER_ADDR, "--master-addr")
READ_FACT(master_port, MASTER_PORT, "--master-port")
READ_FACT(hosts, HOSTS, "--hosts")

int ri_read_hostfile(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	options->wishes.hostfile = state(given, "--hostfile", "RANKINIT_HOSTFILE");
	return 0;
}

/* An RI_CODE_OPTION_VALUE about a name, and the one that was perhaps meant. */
static int unknown_name(struct ri_given given, const char *word, const char *const names[],
	const char *table, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];
	const char *nearest;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	nearest = ri_text_nearest(word, names, count);
	ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s is none of rankinit's %s",
		ri_quote(quoted, sizeof(quoted), word), table);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=%s", table);
}

static bool is_in(const char *word, const char *const names[])
{
	for (; *names != NULL; names++)
		if (strcmp(*names, word) == 0)
			return true;
	return false;
}

int ri_read_source(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { "none" };
	const struct ri_source *source;

	for (size_t i = 0; i < MAX_NAMES - 2 && (source = ri_source_at(i)) != NULL; i++)
		names[i + 1] = source->name;
	if (!is_in(given.value, names))
		return unknown_name(given, given.value, names, "sources", err);
	options->wishes.source = state(given, "--source", "RANKINIT_SOURCE");
	return 0;
}

int ri_read_frameworks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { NULL };
	const struct ri_framework *framework;
	char word[RI_OPTION_NAME];
	size_t length;

	options->wishes.frameworks = NULL;
	if (strcmp(given.value, "auto") == 0)
		return 0;
	options->wishes.frameworks = given.value;
	if (strcmp(given.value, "none") == 0)
		return 0;
	for (size_t i = 0; i < MAX_NAMES - 1 && (framework = ri_framework_at(i)) != NULL; i++)
		names[i] = framework->name;
	for (const char *item = given.value;; item += length + 1) {
		length = strcspn(item, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, item);
		if (!is_in(word, names))
			return unknown_name(given, word, names, "frameworks", err);
		if (item[length] == '\0')
			return 0;
	}
}

/* A number for TF_CONFIG, and that it was stated. */
static int read_number(uint64_t *out, struct ri_range range, struct ri_given given,
	struct ri_error *err)
{
	char expected[64];

	if (ri_number_read(given.value, range, out, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a whole number from %" PRIu64 " to %" PRIu64,
		range.min, range.max);
	return ri_option_bad_value(given, expected, err);
}

int ri_read_tf_ps(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };

	options->wishes.tf_ps = state(given, "--tf-ps", "RANKINIT_TF_PS");
	return read_number(&options->wishes.tf_ps_count, range, given, err);
}

int ri_read_tf_chief(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes;

	if (read_flag(&yes, given, err) < 0)
		return -1;
	options->wishes.tf_chief = state(given, "--tf-chief", "RANKINIT_TF_CHIEF");
	options->wishes.tf_chief.value = yes ? "yes" : NULL;
	return 0;
}

int ri_read_tf_port(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, 65535 };

	options->wishes.tf_port = state(given, "--tf-port", "RANKINIT_TF_PORT");
	return read_number(&options->wishes.tf_port_number, range, given, err);
}

int ri_read_override_env(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_flag(&options->wishes.override_env, given, err);
}

int ri_read_azure_batch_port(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_flag(&options->wishes.azure_batch_port, given, err);
}

int ri_read_root(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	options->root = state(given, "--root", "RANKINIT_ROOT");
	return 0;
}

int ri_read_launch(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_MODE_AUTO] = "auto", [RI_MODE_PROCESS] = "process", [RI_MODE_NODE] = "node",
		[RI_MODE_NONE] = "none", NULL,
	};
	unsigned mode;

	if (read_choice(&mode, words, given, err) < 0)
		return -1;
	options->launch = (enum ri_mode)mode;
	return 0;
}

int ri_read_nproc_per_node(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_NPROC_GPU] = "gpu", [RI_NPROC_CPU] = "cpu", [RI_NPROC_AUTO] = "auto",
	};
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	struct ri_wishes *wishes = &options->wishes;
	char expected[64];

	wishes->nproc = state(given, "--nproc-per-node", "RANKINIT_NPROC_PER_NODE");
	wishes->nproc_count = 0;
	for (options->nproc = RI_NPROC_GPU; options->nproc <= RI_NPROC_AUTO; options->nproc++)
		if (strcmp(words[options->nproc], given.value) == 0)
			return 0;
	options->nproc = RI_NPROC_STATED;
	if (ri_number_read(given.value, range, &wishes->nproc_count, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a number from 1 to %d, gpu, cpu or auto",
		RI_MAX_LOCAL);
	return ri_option_bad_value(given, expected, err);
}

int ri_read_expand(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_EXPAND_AUTO] = "auto", [RI_EXPAND_ALL] = "all", [RI_EXPAND_OFF] = "off", NULL,
	};
	unsigned how;

	if (read_choice(&how, words, given, err) < 0)
		return -1;
	options->expand = (enum ri_expand)how;
	return 0;
}

int ri_read_supervise(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "auto", "always", "never" };

	return read_switch(&options->supervise, words, given, err);
}

int ri_read_subreaper(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true;

	if (given.value != NULL && strcmp(given.value, "auto") == 0) {
		options->subreaper = RI_AUTO;
		return 0;
	}
	if (given.value != NULL && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "auto, yes or no", err);
	options->subreaper = yes ? RI_YES : RI_NO;
	return 0;
}

int ri_read_bind_to(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_BIND_NONE] = "none", [RI_BIND_NUMA] = "numa", [RI_BIND_CORE] = "core", NULL,
	};
	unsigned how;

	if (read_choice(&how, words, given, err) < 0)
		return -1;
	options->place.bind = (enum ri_bind)how;
	options->place.bind_subject = state(given, "--bind-to", "RANKINIT_BIND_TO").subject;
	return 0;
}

int ri_read_omp_threads(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	const struct ri_range range = { 1, RI_MAX_CPUS };
	struct ri_place_wish *place = &options->place;
	char expected[64];

	place->omp_subject = state(given, "--omp-threads", "RANKINIT_OMP_THREADS").subject;
	place->omp = RI_OMP_STATED;
	if (strcmp(given.value, "auto") == 0)
		place->omp = RI_OMP_AUTO;
	else if (strcmp(given.value, "keep") == 0)
		place->omp = RI_OMP_KEEP;
	else if (ri_number_read(given.value, range, &place->threads, NULL) != RI_NUMBER_OK) {
		snprintf(expected, sizeof(expected), "auto, keep or a number from 1 to %d",
			RI_MAX_CPUS);
		return ri_option_bad_value(given, expected, err);
	}
	return 0;
}

int ri_read_gpu_bind(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_GPU_BIND_NONE] = "none", [RI_GPU_BIND_SINGLE] = "single", NULL,
	};
	unsigned how;

	if (read_choice(&how, words, given, err) < 0)
		return -1;
	options->place.gpu_bind = (enum ri_gpu_bind)how;
	options->place.gpu_subject = state(given, "--gpu-bind", "RANKINIT_GPU_BIND").subject;
	return 0;
}

static int read_seconds(uint64_t *out_ms, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_GRACE_S };
	char expected[64];

	if (ri_seconds_read(given.value, range, out_ms, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "seconds from 0 to %d, like 25 or 2.5",
		RI_MAX_GRACE_S);
	return ri_option_bad_value(given, expected, err);
}

int ri_read_grace(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_seconds(&options->grace_ms, given, err);
}

int ri_read_signal_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	options->maps_signals = true;
	ri_signal_map_init(&options->signal_map);
	return ri_signal_map_read(&options->signal_map, given.value, given.subject, err);
}

int ri_read_signal_group(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	return read_flag(&options->signal_group, given, err);
}

int ri_read_exit_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	options->maps_exits = true;
	ri_exit_map_init(&options->exit_map);
	return ri_exit_map_read(&options->exit_map, given.value, given.subject, err);
}

int ri_read_user(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return keep_word(&options->user, given, RI_OPTION_user);
}

int ri_read_cap_drop(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return keep_word(&options->cap_drop, given, RI_OPTION_cap_drop);
}

int ri_read_cap_keep(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return keep_word(&options->cap_keep, given, RI_OPTION_cap_keep);
}

int ri_read_no_new_privs(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	return read_flag(&options->no_new_privs, given, err);
}

int ri_read_log_prefix(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_flag(&options->log_prefix, given, err);
}

static int keep_pattern(struct ri_word *word, struct ri_given given, int option,
	struct ri_error *err)
{
	struct ri_pattern_use use;

	if (!ri_pattern_read(given.value, &use))
		return ri_option_bad_value(given, "a name with %r, %l, %n, %h or %% only", err);
	return keep_word(word, given, option);
}

int ri_read_log_dir(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return keep_pattern(&options->log_dir, given, RI_OPTION_log_dir, err);
}

int ri_read_log_file(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return keep_pattern(&options->log_file, given, RI_OPTION_log_file, err);
}

int ri_read_log_mode(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "tee", "redirect", NULL };
	unsigned mode;

	if (read_choice(&mode, words, given, err) < 0)
		return -1;
	return keep_word(&options->log_mode, given, RI_OPTION_log_mode);
}

int ri_read_report(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return keep_word(&options->report, given, RI_OPTION_report);
}

int ri_read_state(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return keep_word(&options->state, given, RI_OPTION_state);
}

int ri_read_wait_master(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_seconds(&options->wait_master_ms, given, err);
}

int ri_read_quiet(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_flag(&options->quiet, given, err);
}

int ri_read_verbose(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return read_flag(&options->verbose, given, err);
}

int ri_read_color(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "auto", "always", "never" };

	return read_switch(&options->color, words, given, err);
}

const struct ri_option ri_option_table[RI_OPTION_COUNT] = {
#define RI_OPTION(symbol_, letter_, kind_, form_, meta_, fallback_, help_) \
	[RI_OPTION_##symbol_] = { .symbol = #symbol_, .letter = letter_, .kind = kind_, \
		.form = form_, .meta = meta_, .fallback = fallback_, .help = help_, \
		.read = ri_read_##symbol_ },
#include "options.def"
#undef RI_OPTION
};
