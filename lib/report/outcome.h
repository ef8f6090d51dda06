/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of the ranks, and the verdict for programs on that. The shim fills in an outcome as
 * it starts and reaps them, the verdict and the report read it; all of it is borrowed.
 */
#ifndef RI_REPORT_OUTCOME_H
#define RI_REPORT_OUTCOME_H

#include <string.h>
#include <sys/types.h>
#include <time.h>

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"
#include "model/json.h"
#include "model/topology.h"
#include "words/words.h"

/*
 * Which actor or task of Ray's a driver ended of, by the exception that it ended with. An actor
 * outlives what it raises, and so no end of a process tells of it. The spans point into the text
 * that was read.
 */
struct ri_actor {
	struct ri_span name;	/* its class, "Worker"; of a task its function; or empty */
	bool is_task;
	struct ri_span host;	/* where it ran, by its address; or empty */
	int64_t pid;
	int64_t rank;		/* that its repr() tells; -1: it does not */
	bool raised;		/* an exception; else it died */
	int exit_code;		/* that Ray knows; -1: it does not */
	bool out_of_memory;
	struct ri_span exception;	/* that the driver ended with: "Type: message" */
};

/* The last one that this exception names, which is the innermost. False: it names none. */
bool ri_actor_find(struct ri_span text, struct ri_actor *out);

struct ri_inner_word;
struct ri_reason;
struct ri_report_clock;
struct ri_report_found;

/* Why a job ended, in one word. */
enum ri_cause_word {
#define RI_CAUSE(symbol, word, retry, meaning, seen, example) RI_CAUSE_##symbol,
#include "report/causes.def"
#undef RI_CAUSE
	RI_CAUSE_COUNT
};

enum ri_retry {
	RI_RETRY_SAME,		/* also where nothing is known */
	RI_RETRY_NEVER,
	RI_RETRY_OTHER_NODE,
	RI_RETRY_COUNT
};

/* Both are decided together: the table has the retry of a cause, and the rule of the others. */
struct ri_why {
	enum ri_cause_word cause;
	enum ri_retry retry;
};

/* What an end is evidence of, from the least to the most: culprit.h. */
enum ri_class {
	RI_CLASS_NONE,		/* it did not fail */
	RI_CLASS_STOPPED,
	RI_CLASS_LOSS,
	RI_CLASS_UNKNOWN,
	RI_CLASS_OWN,
};

enum { RI_VERDICT_HOST = 65 };	/* bytes of a host's name, '\0' included */

/* The greatest mark, of 63 bits, as JSON's numbers are. */
#define RI_VERDICT_MARK INT64_MAX

/*
 * Why a job ended, or the ranks of a node, and which rank failed first. The judge finds it
 * (verdict.h), the link tells it to the other nodes, a restart carries it to the next attempt, an
 * inner rankinit leaves it for an outer one, and the report and its last line have it.
 * verdict_lines.c says it to people.
 */
struct ri_verdict {
	struct ri_why why;
	enum ri_class class;
	int status;		/* of this rankinit, before --exit-map */
	int64_t rank, node;	/* that failed first; -1: not known */
	uint64_t retries;	/* how often the ranks had been started again */
	uint64_t mark;		/* the same of the same failure; 0: not known */
	/* of a stop from outside: had a rank failed before, without having ended? */
	bool failed_before;
	bool restarted;		/* of a last line: --restarts has gone on after it */
	char host[RI_VERDICT_HOST];	/* of that node; "": not known */
};

/* Is each member in its range? Another process may have written it. */
static inline bool ri_verdict_is_sound(const struct ri_verdict *verdict)
{
	return (unsigned)verdict->why.cause < RI_CAUSE_COUNT &&
		(unsigned)verdict->why.retry < RI_RETRY_COUNT &&
		(unsigned)verdict->class <= RI_CLASS_OWN &&
		verdict->status >= 0 && verdict->status <= 255 &&
		verdict->rank >= -1 && verdict->node >= -1 && verdict->mark <= RI_VERDICT_MARK &&
		*(const unsigned char *)&verdict->failed_before <= 1 &&
		*(const unsigned char *)&verdict->restarted <= 1 &&
		memchr(verdict->host, '\0', sizeof(verdict->host)) != NULL;
}

enum ri_rank_end {
	RI_END_NOT_STARTED,
	RI_END_RUNNING,		/* still there: no signal could end it */
	RI_END_EXITED,
	RI_END_SIGNALED,
	RI_END_EXEC_FAILED,
};

/* What a rank was about when it was told to stop. */
enum ri_course {
	RI_COURSE_UNKNOWN,
	RI_COURSE_RUNNING,	/* its program: what it had printed had not ended it */
	RI_COURSE_LEFT,		/* an exception had left it */
};

/* What a rank left to read. */
struct ri_rank_wrote {
	const char *log;	/* path of its log, or NULL */
	struct ri_span tail;	/* the last bytes of its stderr; at NULL: they were not kept */
	size_t head;		/* of these, how a traceback began whose middle was not kept */
	bool cut;		/* there were more: the first line is half of one */
	/* of a stream of several ranks: */
	bool hooked;		/* the last traceback is of torch's hook, for what was not caught */
	size_t place;		/* where it begins, or a loss before it, from 1; 0: not known */
	/* where its tail may have said why it ended, and rankinit cannot read that */
	enum ri_unread { RI_UNREAD_NOT, RI_UNREAD_TERMINAL, RI_UNREAD_FILE } unread;
	struct ri_span torch_error;	/* its TORCHELASTIC_ERROR_FILE; at NULL: none */
};

/* What the end of a rank is evidence of: ri_class_find makes it of the rest. */
struct ri_evidence {
	struct ri_words words;	/* what the tail says, where the rank failed */
	/* by what it says of it; of neither, its lines may explain the end of one not stopped: */
	bool ended_of_traceback, ended_of_file;	/* of torch's */
	enum ri_telling telling;
	enum ri_class class;
	const struct ri_loss *loss;	/* whose words it ended with, or NULL */
	bool witnessed;		/* the traceback whose time is known is what it ended of */
	bool printed;		/* a traceback that it did not end of, as far as is known; */
	bool uncaught;		/* but no code caught that, by the hook that wrote it */
	bool killed_others;	/* it says so itself */
	bool complained;	/* lines that may explain its end have a word for an error */
};

/*
 * The file that a rank of torch leaves where TORCHELASTIC_ERROR_FILE says
 * (torch/distributed/elastic/multiprocessing/errors/error_handler.py: an
 * exception is {"message": {"message": "Type: text", "extraInfo":
 * {"py_callstack": ..., "timestamp": seconds as a string}}}, and other writers
 * put a plain string and a timestamp at the top). Only what went through
 * torch's @record writes one; a rank that a signal killed has none.
 */

struct ri_torch_error {
	char message[512];	/* "Type: text", cut to what fits */
	char callstack[16384];	/* the end of the traceback; "": none is there */
};

/*
 * Read the file's content, without its secrets. Returns false where it is not
 * understood.
 */
bool ri_torch_error_read(struct ri_span text, struct ri_torch_error *out);

/* Its time, in seconds since 1970. Returns false where it has none. */
bool ri_torch_error_time(struct ri_span text, uint64_t *seconds);

/*
 * All of it for a document of ours, without its secrets; null where it is not
 * understood, NULL when out of memory.
 */
json_t *ri_torch_error_json(struct ri_json *json, struct ri_span text);

struct ri_rank_outcome {
	uint64_t rank;		/* in the job; without meaning for a plain init */
	uint64_t local_rank;
	pid_t pid;		/* 0: not started */
	pid_t below;		/* the process that its launcher knows in its place; 0: none */
	enum ri_rank_end end;
	int exit_code;
	int signal;
	bool core;
	bool oom;		/* the cgroup counted an out-of-memory kill meanwhile */
	bool told_to_stop;	/* by us, before it ended */
	bool spoke;		/* and it had written something in the minute before that */
	/* it lives, has raised an exception, and is silent since; or its launcher ended of that */
	bool leaving;
	unsigned lingered_s;	/* so long after its exception we stopped it; 0: we did not */
	const char *held;	/* by what it was kept from its end, "it waits in ..."; or NULL */
	/* when it was told it had one in hand that leaves it for certain, as wrote.tail has it */
	bool handled;
	enum ri_course course;	/* of one that was told, after its last traceback began */
	unsigned order;		/* 1: reaped first; 0: unknown, its end is compared */
	/* the launcher that tells of the end, or that it failed; NULL: the kernel does */
	const char *word_of;
	const struct ri_actor *actor;	/* of Ray, which is no rank that was seen; or NULL */
	bool first_said;	/* and that it was the first */
	struct timespec started;	/* CLOCK_REALTIME, as all of these */
	struct timespec ended;
	struct timespec gone_at;	/* when it was first seen to be dying; 0: it was not */
	struct timespec traceback_at;	/* when one appeared on its stderr; 0: none did */
	struct ri_rank_wrote wrote;
	struct ri_evidence evidence;
};

/* Which rank is named for the failure. */
enum ri_culprit {
	RI_CULPRIT_FIRST,		/* the first failure failed first */
	RI_CULPRIT_LEFT,		/* another ended with 0, and this one then lost it */
	/* another did not come, or it ran another collective, and the first failure waited */
	RI_CULPRIT_HELD,
	RI_CULPRIT_UNKNOWN,	/* losses alone: what they lost cannot be told */
	RI_CULPRIT_ELSEWHERE,	/* losses alone, and there are other nodes */
};

/* What explains an end, as a check of the node or an error says it. */
struct ri_cause {
	enum ri_code code;
	const char *subject;	/* "/dev/shm" */
	const char *text;
	const char *hint;	/* may be empty where the end is a failed exec */
	bool shown;		/* the line about the end says it already */
};

enum {
	RI_RESTARTS = 16,	/* that are listed */
	RI_RESTART_WORDS = 512,
};

/*
 * The ranks were started again after one of them had failed, by their launcher or, by --restarts,
 * by rankinit: no failure of the job.
 */
struct ri_restarts {
	const char *launcher;	/* its name, "accelerate"; NULL: not known */
	struct ri_restart {
		uint64_t number, most;	/* of so many that it may make; most 0: not known */
		struct timespec at;	/* when the first of the new ranks began */
		bool known;		/* which rank had failed: */
		struct ri_rank_outcome first;	/* without its words */
		bool alone;		/* which is no rank: the command */
		/* all nodes start theirs again: what they heard, and no rank is known above */
		bool of_job;
		struct ri_verdict verdict;
		/* its exception, without secrets, or ""; of_job: the verdict's first line */
		char words[RI_RESTART_WORDS];
	} items[RI_RESTARTS];
	size_t count;
	uint64_t all;		/* with those that are not listed */
};

/* A signal from outside that asks the job to end, as siginfo_t told of it. */
struct ri_stop {
	int signal;		/* 0: none came */
	int passed_on;		/* of an interrupt: what the ranks got for it */
	pid_t sender;		/* 0: the terminal, or outside of our PID namespace */
	uid_t sender_uid;
	bool by_terminal;
	int64_t at_ms;		/* CLOCK_MONOTONIC */
	struct timespec at;
};

/* What the other nodes of the job say, by the link. */
struct ri_link_outcome {
	bool on;		/* they were told of this node */
	const struct ri_verdict *verdict;	/* on the whole job, or NULL: */
	const char *text;	/* the same as lines */
	bool is_here;		/* it names this node, and the rank that failed first here */
	const char *roll_call;	/* what the last one said, or NULL */
	const char *unproved;	/* the same, by nodes without a key */
	const struct ri_report_clock *clock;	/* how far this one is before node 0; or NULL */
	const struct ri_report_found *found;	/* what all nodes saw together, or NULL */
};

/* What the processes did that did not end, or NULL where it was not looked at. */
struct ri_hang_outcome {
	const char *autopsy;	/* of all, at last, as JSON */
	const char *seen;	/* of those that outlived the first loss, as lines */
};

/* What a node has, by which it may differ from others: "kernel", "6.1.0"; without secrets. */
struct ri_node_fact {
	const char *name, *value;
};

struct ri_outcome {
	const struct ri_topology *topology;
	const char *launch;	/* "process", "node", "none" */
	const char *host;	/* name of this node, or NULL */
	const char *command;	/* argv[0], or NULL */
	struct ri_rank_outcome *ranks;
	size_t count;		/* at least 1 */
	bool single;		/* one rank, of a job whose others are watched elsewhere */
	bool of_hydra;		/* and its launcher stops no others of one without MPI */
	bool as_ranks;		/* of a job with several, here or elsewhere, which started here */
	bool launched;		/* the command is a launcher, and the ranks are its own children */
	bool launches;		/* the command may start ranks, whether any is told of or not */
	int exit_status;
	bool goes_on;		/* the ranks start again, and nothing ends with that status */
	struct timespec started;
	struct timespec ended;
	ssize_t first;		/* index of the first failure, -1: none */
	enum ri_culprit culprit;
	size_t named;		/* index of the other one, of RI_CULPRIT_LEFT and _HELD */
	const struct ri_reason *reason;	/* in its own words; NULL where there is no first one */
	const struct ri_verdict *verdict;	/* for programs; NULL: nothing failed */
	const char *last_line;	/* the same, where it is printed; or NULL */
	const struct ri_inner_word *inner;	/* that an inner rankinit left, or NULL */
	bool silent;		/* another rankinit tells people of it */
	const struct ri_cause *cause;	/* what explains it, or NULL */
	const char *printed;	/* lines of ri_verdict_add_printed, or NULL */
	const struct ri_restarts *restarts;	/* NULL: none were seen */
	struct ri_stop stop;
	/*
	 * SIGINT, SIGQUIT or SIGHUP, the last before the first failure: a user who presses Ctrl-C
	 * wants the job to end. A rank may also take such a signal and go on, so it is a stop only
	 * where a rank ended of it.
	 */
	struct ri_stop interrupt;
	struct ri_link_outcome link;
	struct ri_hang_outcome hang;
	struct {
		const struct ri_node_fact *items;
		size_t count;
	} facts;
};

/* It has ended, as wait4(2) says: sets its end, and the status or the signal. */
void ri_rank_take_status(struct ri_rank_outcome *rank, int wait_status);

/* Did it end otherwise than by exit(0), or is about to? One that was not started did not. */
bool ri_rank_failed(const struct ri_rank_outcome *rank);

/* Is what it tells of one command that has no rank? */
bool ri_outcome_is_alone(const struct ri_outcome *outcome);

/* Did a launcher fail, and is it known that its stderr was empty? Nothing else tells of that. */
bool ri_outcome_is_silent(const struct ri_outcome *outcome);

/* Are they ranks? A launcher or a plain command is none. */
bool ri_outcome_has_ranks(const struct ri_outcome *outcome);

/* The index of the one that is named for the failure, -1: none is. */
ssize_t ri_outcome_named(const struct ri_outcome *outcome);

/* Append "exit status 1", "killed by SIGKILL (9)", and by whose word. */
void ri_rank_add_end(struct ri_text *out, const struct ri_rank_outcome *rank);

/* Append whose signal it was: "the terminal", "outside this container", "pid 17". */
void ri_stop_add_sender(struct ri_text *out, const struct ri_stop *stop);

/* What a rank did that has this loss, "lost a peer"; "failed" where it is NULL. */
const char *ri_outcome_deed(const struct ri_loss *loss);

/* How many seconds the second time is after the first. */
static inline double ri_seconds_between(struct timespec first, struct timespec second)
{
	return (double)(second.tv_sec - first.tv_sec) +
		(double)(second.tv_nsec - first.tv_nsec) / 1e9;
}

/* Append ", after 0.595 s", where the time of the end is known. */
void ri_rank_add_life(struct ri_text *out, const struct ri_rank_outcome *rank);

/* Append "/dev/shm was full: what to do [code]", unless it is shown elsewhere. */
void ri_cause_add(struct ri_text *out, const struct ri_cause *cause);

/* Append a time as ISO 8601 has it: 2026-01-31T12:00:00.123Z */
void ri_time_add(struct ri_text *out, struct timespec at);

/* The same for a document, whose the result is; null where the time is not known. */
json_t *ri_time_json(struct timespec at);

#endif
