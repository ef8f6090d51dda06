/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run, and again with each variable removed, emptied and replaced, and
 * beside what other launchers, images and shells leave behind: no source may rest
 * on a variable that only goes with its own. Input: the words of a command line, one
 * a line, and after a line "%%" a machine as fuzz_tree.h has it.
 */
#include <signal.h>

#include "fuzz_tree.h"
#include "fuzz_whole.h"

/* What a variable becomes. NULL: it is removed. */
static const char *const spoiled[] = {
	NULL, "", "-1", "99999999999999999999", "localhost", "tcp://10.0.0.1:80",
	"a,b;c[1-3]:4 [", "\xff\x1b[31m\"",
};

/* What may stand beside: complete enough to be believed, and alone. */
static const char *const strangers[] = {
	"MASTER_ADDR=a", "MASTER_PORT=1", "RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=0",
	"NODE_RANK=1", "NNODES=3", "OMPI_COMM_WORLD_RANK=1", "SLURM_PROCID=1",
	"SLURM_JOB_ID=7", "PET_NNODES=1:4", "JOB_COMPLETION_INDEX=1", "RANKINIT=1:process",
	"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5",
	"TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},"
	"\"task\":{\"type\":\"worker\",\"index\":1}}",
};

enum { STRANGERS = sizeof(strangers) / sizeof(strangers[0]) };

static char trial[256];		/* what is different in the run that goes on */
static struct fuzz_kinds kinds;
static unsigned long runs;

/* Asked by the sanitizers: whatever they find ends in SIGABRT, as a CHECK does. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1";
}

static void say_trial(int number)
{
	(void)!write(STDERR_FILENO, trial, strlen(trial));
	signal(number, SIG_DFL);
	raise(number);
}

static void say_runs(void)
{
	printf("%lu runs, %zu kinds of answers\n", runs, kinds.count);
}

static void prepare(struct fuzz_tree *tree)
{
	if (tree->root != 0)
		return;
	tree->root = fuzz_folder_make();
	signal(SIGABRT, say_trial);
	atexit(say_runs);
}

/* A case: its command line, its machine; strings has room for one more. */
struct job {
	char *words[FUZZ_WORDS + 1];
	char *strings[FUZZ_STRINGS + 2];
	size_t count;
	struct ri_host host;
	char name[64];
};

/* With the variable at become value, and beside this stranger; NULL: beside none. */
static void try(const struct job *job, size_t at, const char *value, const char *stranger)
{
	const char *string = at < job->count ? job->strings[at] : "";
	char *strings[FUZZ_STRINGS + 2], *words[FUZZ_WORDS + 1], changed[256];
	struct ri_host host = job->host;
	size_t count = 0;

	snprintf(changed, sizeof(changed), "%.*s=%s", (int)strcspn(string, "="), string,
		value == NULL ? "" : value);
	snprintf(trial, sizeof(trial), "%s %.100s beside %.60s\n",
		value == NULL ? "without" : "with", changed,
		stranger == NULL ? "nothing" : stranger);
	for (size_t i = 0; i < job->count; i++)
		if (i != at)
			strings[count++] = job->strings[i];
		else if (value != NULL)
			strings[count++] = changed;
	if (stranger != NULL)
		strings[count++] = (char *)(uintptr_t)stranger;
	strings[count] = NULL;
	memcpy(words, job->words, sizeof(words));
	fuzz_run(words, strings, "", &host, job->name, &kinds);
	runs++;
}

/* Is this the first case that has just these variables? */
static bool is_first(const struct job *job)
{
	static struct fuzz_kinds sets;
	uint64_t hash = 0;

	for (size_t i = 0; i < job->count; i++)
		hash = fuzz_mix(hash, job->strings[i], strcspn(job->strings[i], "="), 0);
	return fuzz_is_new(&sets, hash | 1);
}

static void try_all(const struct job *job)
{
	bool first = is_first(job);

	for (size_t at = 0; at < job->count; at++) {
		for (size_t i = 0; i < sizeof(spoiled) / sizeof(spoiled[0]); i++)
			try(job, at, spoiled[i], NULL);
		for (size_t i = 0; i < STRANGERS && first; i++)
			try(job, at, NULL, strangers[i]);
	}
	/* beside a whole environment as well */
	for (size_t i = 0; i < STRANGERS; i++)
		try(job, job->count, NULL, strangers[i]);
}

static void name_machine(struct job *job)
{
	if (ri_host_read(&job->host, "/etc/hostname", job->name, sizeof(job->name)) <= 0)
		strcpy(job->name, "node1");
	job->name[strcspn(job->name, "\n")] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_tree tree;
	char name[] = "rankinit", *text = fuzz_string(data, size), *rest = fuzz_cut_part(text);
	struct job job = { .words = { name } };

	prepare(&tree);
	fuzz_grow(&tree, data + (rest - text), size - (size_t)(rest - text));
	fuzz_split(text, job.words, 1, FUZZ_WORDS);
	while (tree.strings[job.count] != NULL) {
		job.strings[job.count] = tree.strings[job.count];
		job.count++;
	}
	job.host.root = tree.root;
	name_machine(&job);
	try_all(&job);
	fuzz_fell(&tree);
	free(text);
	return 0;
}
