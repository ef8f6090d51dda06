/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank or its launcher wrote last: which lines of it are a loss, an exception, an end. */
#ifndef RI_WORDS_WORDS_H
#define RI_WORDS_WORDS_H

#include "base/text.h"

/*
 * One line of a rank's stderr: what it says without what others put around it, which shape of a
 * table it has, and of which kind it is by words.def.
 */

/* From RI_LINE_WORD on it tells why a process ended, the more the later; the others do not. */
enum ri_line_kind {
	RI_LINE_PLAIN,
	RI_LINE_NOTE,		/* a note, a warning or advice in a library's log; a blank line */
	RI_LINE_STACK,		/* a frame of C++ or of another thread */
	RI_LINE_PROGRESS,	/* a bar */
	RI_LINE_WORD,		/* it names an error */
	RI_LINE_LOG,		/* an error in a library's log */
	RI_LINE_LAST,		/* no part of the process runs on after it */
};

/* A line that was written over with '\r', as it was at last. */
struct ri_span ri_line_last_state(struct ri_span line);

/* What stands behind tqdm's bar, as the line was at last; empty where there is none, or no bar. */
struct ri_span ri_line_past_bar(struct ri_span line);

/*
 * What a line says at last, without torch's "[rank3]: ", the bar of progress in
 * front of it and blanks around it.
 */
struct ri_span ri_line_trim(struct ri_span line);

/*
 * Does the whole line fit? '*' stands for any bytes up to the first place of what follows, and '~'
 * for a digit. Returns where the first words of the shape stand, and NULL where it does not fit.
 */
const char *ri_shape_fits(struct ri_span line, const char *shape);

/* Takes the field "%what" off *rest into what out points to. Returns false where it is none. */
typedef bool ri_field_take(char what, struct ri_span *rest, void *out);

/* The same of a shape with fields. Those in front of what does not fit have been taken, too. */
bool ri_shape_read(struct ri_span line, const char *shape, ri_field_take *take, void *out);

/* Of which kind is what it says? */
enum ri_line_kind ri_line_kind(struct ri_span line);

/* Is it noise: one to leave out where something else was said? */
bool ri_noise_hides(struct ri_span line);

/*
 * Does a line say nothing new behind a traceback or a loss: one to leave out, a
 * frame, an error in a library's log, or what a runtime says of a death?
 */
bool ri_noise_is(struct ri_span line);

/* Lines that say something; a bar that moved on counts as often as it did. */
size_t ri_noise_count(struct ri_span text);

/*
 * Messages by which a rank says that it did not fail itself: a peer, the store
 * or the clock ended it. words.def has the words.
 */

enum { RI_LOSS_ADDRESS = 64 };	/* bytes of an address, and its end */

enum ri_loss_kind {
	RI_LOSS_OWN,		/* in the table only: what looks like a loss, and is none */
	RI_LOSS_PEER,
	RI_LOSS_STORE,
	RI_LOSS_CLOCK,
	RI_LOSS_MISMATCH,
};

/* Which log of a rank tells more than the message. */
enum ri_loss_log {
	RI_LOSS_LOG_NONE,
	RI_LOSS_LOG_NCCL,
	RI_LOSS_LOG_SOCKET,
	RI_LOSS_LOG_ACTOR,
	RI_LOSS_LOG_RANK,	/* none: the message does, where it names this very rank */
};

struct ri_loss {
	enum ri_loss_kind kind;
	enum ri_loss_log log;
	const char *shape;
};

/* NULL for RI_LOSS_OWN. */
extern const char *const ri_loss_words[];

/*
 * The row of the table that an exception, "package.Type: message", fits, or NULL where it tells of
 * no loss. One of a type that frameworks do not raise for a loss tells of none, whatever it quotes.
 */
const struct ri_loss *ri_loss_of_exception(struct ri_span exception);

/* The loss that the last of the lines with something to say tells of, or NULL. */
const struct ri_loss *ri_loss_of_lines(struct ri_span text);

/* The row that a message fits, one of RI_LOSS_OWN as well, or NULL. */
const struct ri_loss *ri_loss_row(struct ri_span message);

/* The peer's address in the last message of this loss, without its port. False: it has none. */
bool ri_loss_peer(struct ri_span text, const struct ri_loss *loss, struct ri_span *out);

/*
 * The Python traceback that tells why a process ended, found in what it wrote
 * to stderr. The form is that of CPython's Lib/traceback.py, 3.6 to 3.14:
 * chained exceptions, marker lines, exception groups, the SyntaxError without
 * a header. Torch writes "[rank0]: " before each line (torch/distributed/
 * distributed_c10d.py, the exception hook of init_process_group). The message
 * of an exception from a worker holds the worker's own traceback
 * (torch/_utils.py, ExceptionWrapper; torch/multiprocessing/spawn.py;
 * torch/distributed/checkpoint/api.py, CheckpointException; CPython's
 * Lib/multiprocessing/pool.py, which joblib and concurrent.futures
 * follow; Ray's python/ray/exceptions.py, RayTaskError, without a header;
 * a callback's in jaxlib's JaxRuntimeError). TensorFlow's message tells where a
 * graph was made before it tells what failed (tensorflow/python/eager/
 * execute.py with tensorflow/core/framework/graph_debug_info, 2.8 to 2.21), Paddle's
 * a stack of C++ (paddle/phi/core/enforce.h, 2.0 to 3.0).
 */

/* All of it points into the text. */
struct ri_traceback {
	struct ri_span whole;	/* from the header of its chain to the end of the message */
	struct ri_span prefix;	/* what stands before each of its lines; mostly empty */
	struct ri_span last;	/* "Type: message", the first line of it; empty: it breaks off */
	struct ri_span more;	/* further lines of the message, or empty */
	struct ri_span member;	/* of an exception group: the first member's "Type: message" */
	struct ri_span cause;	/* of a chain: the first exception's "Type: message", or empty */
	struct ri_span cause_more;	/* further lines of its message, or empty */
	struct ri_span cause_at;	/* the frame of it: 'File "X", line N, in F', or empty */
	struct ri_span before;	/* of the one shortly before it, which is none of its chain: last */
	struct ri_span before_more;	/* and its more, */
	struct ri_span before_prefix;	/* its prefix */
	struct ri_span wrapper;	/* of a worker's: the line that says so, or empty */
	struct ri_span frames;	/* from the header of the last exception to the end of its frames */
	struct ri_span file;	/* of the innermost frame, of a group's first member's */
	struct ri_span line;	/* its number, as digits */
	struct ri_span function;	/* empty for a SyntaxError */
	struct ri_span at;	/* the innermost frame, 'File "X", line N, in F', or empty */
	struct ri_span own;	/* the innermost one that is in no library, or empty */
	bool aside;		/* it ended a thread only, or Python ignored it */
};

/*
 * The last one in the text. One that Python says it ignores, or that ended a
 * thread only, counts where there is no other, and so does one that breaks
 * off. Returns false, and leaves *out, where there is none.
 */
bool ri_traceback_find(struct ri_span text, struct ri_traceback *out);

/* Is it of torchrun's agent, which tells of the ends of its ranks in a table? */
bool ri_agent_is(const struct ri_traceback *traceback);

/* What a line of it says, without the prefix. */
struct ri_span ri_traceback_line(const struct ri_traceback *traceback, struct ri_span line);

/* The one shortly before it, of which the message alone is known, and what is before its lines. */
static inline struct ri_traceback ri_traceback_before(const struct ri_traceback *traceback)
{
	return (struct ri_traceback){
		.last = traceback->before, .more = traceback->before_more,
		.prefix = traceback->before_prefix,
	};
}

/*
 * In which collective a rank was: by the watchdog of torch's NCCL backend, and where torch compares
 * the collectives of ranks.
 */

enum {
	RI_WORK_OP = 32,	/* bytes of a name, and its end */
	RI_WORK_GROUP = 96,	/* the same of a group */
};

#define RI_WORK_DEFAULT "default_pg"	/* the group of all ranks of the job */

struct ri_work {
	/* "default_pg", "37(TENSOR_MODEL_PARALLEL_GROUP)", "3"; "" where no name tells it that is
	 * the same on all ranks */
	char group[RI_WORK_GROUP];
	/* in which it waited in vain, "ALLREDUCE"; "": it does not say */
	char op[RI_WORK_OP];
	bool has_sequence, has_size, has_status;
	uint64_t sequence;	/* of that one */
	uint64_t in, out;	/* its elements */
	int64_t enqueued, completed;	/* the last numbers in the group; -1: none */
};

/*
 * The first work in the text that timed out, and what the watchdog says of its group; or, where
 * none did, what it said when another rank's did. Letters, digits and "_:.-()" alone get into it.
 * Returns false, and leaves *out, where it says nothing.
 */
bool ri_work_find(struct ri_span text, struct ri_work *out);

/* Does it wait in a collective, whose number it tells? */
bool ri_work_waits(const struct ri_work *work);

/* Are both waits for the same: operation, number, and as many elements where ranks must agree? */
bool ri_work_is_same(const struct ri_work *a, const struct ri_work *b);

/*
 * Which collectives two ranks ran, where torch says that they differ: with TORCH_DISTRIBUTED_DEBUG=
 * DETAIL each rank compares its own with those of all (torch/csrc/distributed/c10d/
 * ProcessGroupWrapper.cpp, CollectiveFingerPrint::verify, 1.10 to 2.13).
 */
enum {
	RI_FINGERPRINT_OP = 32,	/* bytes of a name, and its end */
	RI_FINGERPRINT_SHAPE = 48,	/* the same of a shape, which may be longer */
};

struct ri_fingerprint {
	uint64_t rank;
	char op[RI_FINGERPRINT_OP];	/* "ALLREDUCE"; only letters, digits and '_' */
	bool has_sequence;	/* since torch 2.0 */
	uint64_t sequence;
	/* "4, 16", or empty; only digits, commas and blanks */
	char shape[RI_FINGERPRINT_SHAPE];
};

/*
 * The two of the last message in the text that has both: that of who says it, and that of the first
 * rank that ran another. Returns false, and leaves them, where there is none.
 */
bool ri_fingerprints_find(struct ri_span text, struct ri_fingerprint out[2]);

/* What a process that ended without an exception of Python said of it. */

enum {
	RI_LAST_WORDS = 8,
	RI_LAST_LINES = 20,	/* kept of what a rank wrote last */
};

/* Which lines of a process, that are no exception of Python, explain how it ended. */
enum ri_telling {
	RI_TELLING_NONE,
	RI_TELLING_HANDLER,	/* those of a handler of the signal that it died of */
	RI_TELLING_LOG,		/* what a runtime said of it, or errors in a library's log */
	RI_TELLING_WORD,	/* the same, or what names an error */
};

struct ri_last_words {
	struct ri_span lines[RI_LAST_WORDS];	/* without what stands around them */
	size_t count;
	/* it is what the exception only tells of: the exception before that, these words */
	bool before_leads, lead;
	bool replace_more;	/* and the further lines of the exception, which are a table */
};

/*
 * The words of a death, as far as they may tell of it, of a process that died of this signal: what
 * a runtime said, the lines of a C++ exception's message, the first frames of faulthandler's
 * stack; or else the first of the last lines that names an error. With a traceback, which the
 * process ended of, or NULL: what stands before it and explains it, where its message speaks of
 * another that ended or of NCCL; the line of a log by which it lost no peer.
 */
void ri_last_words_find(struct ri_span text, const struct ri_traceback *traceback,
	enum ri_telling telling, int signal, struct ri_last_words *out);

/* The last lines that are no noise; where there is only noise: that. Returns their number. */
size_t ri_last_lines_find(struct ri_span text, struct ri_span out[RI_LAST_LINES]);

/* What a rank's stderr says of its end, read once: what is judged of the rank reads this. */

/* The spans point into the text that was read. */
struct ri_words {
	bool has_traceback;	/* false: all down to the empty line is zero */
	struct ri_traceback traceback;
	size_t message_lines;	/* below its first that say something, up to a loss */
	bool goes_on;		/* lines that say something stand behind it */
	const struct ri_loss *loss;	/* that the exception tells of, or NULL */
	/* where torchrun says that workers failed, and all of them tell of a loss; or NULL */
	const struct ri_loss *workers_loss;
	bool tells_of_stop;	/* the exception is what a stop makes of a program */
	bool tells_of_kill;	/* the program says that it killed the other ranks */
	bool interrupted;	/* the chain has a KeyboardInterrupt */
	bool lacks_rank;	/* the program asked the environment for a rank, and got none */
	bool asked_for_line;	/* the program asked stdin for a line, which had ended */

	const struct ri_loss *last_loss;	/* of the last lines, or NULL */
	bool aborted;		/* one of the last lines is RI_LINE_LAST */
	bool has_calls;		/* torch says which collectives were not the same: */
	struct ri_fingerprint calls[2];
	bool has_work;		/* NCCL's watchdog says in which collective it was: */
	struct ri_work work;
	bool complains;		/* the last lines have a word for an error */
	bool has_bus_error;
};

/*
 * The loss that the exception tells of, or where traceback is NULL the last lines that have
 * something to say; NULL where they tell of none. Libraries have one message for a lost peer and
 * for trouble of this process's own: where their log, near the message, says that it was that, *own
 * is this line, and the result NULL; else *own is empty. In a chain the first exception counts,
 * unless it only ended a loop: what is raised in a "finally" does not hide it.
 */
const struct ri_loss *ri_words_loss(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_span *own);

/* Read the last bytes of a process's stderr. Fills in all of *out. */
void ri_words_read(struct ri_span text, struct ri_words *out);

/*
 * What launchers say of the ends of their ranks (launcher_words.def), and the lines of one rank
 * among those of all. Any process can write the same words to the stream: they are hints, for
 * where the kernel does not tell, and no line that bears a rank's label is a launcher's.
 */

/* What is told of one rank. The spans point into the text. */
struct ri_rank_said {
	const char *launcher;	/* "torchrun": by whose word */
	int64_t rank, local_rank;	/* -1: not said */
	int64_t pid;	/* 0: not said */
	int exit_code, signal;	/* -1: not said; at most one of them is */
	bool first;	/* the launcher saw this one end first */
	bool out_of_memory;	/* by name; without a rank: one of them */
	bool raised;	/* an exception, which its process outlived */
	bool owned;	/* the line bears the label of another launcher: it may be a rank's, too */
	struct ri_span host;	/* or empty, as those below */
	struct ri_span error_file;	/* torch's */
	/* of Ray: "Worker"; where it raised "Worker.train", and of a task "train" */
	struct ri_span actor;
	/* of the error file, in torchrun's table: lines after the first are indented by two; of an
	 * actor of Ray: its repr(), and what follows in that line */
	struct ri_span message;
	struct ri_span ranks;	/* "0-2,5", while it is read */
};

/*
 * Whose line is it, where a launcher writes the stderr of several ranks into one stream? What
 * stands in front of a line tells: "[rank3]: " of torch's exception hook, "[default3]:" of
 * torchrun --tee, "[1,3]<stderr>:" of Open MPI, "(WorkerDict pid=417) " of Ray, "3: " of srun -l,
 * "[3] " of Hydra -l.
 */
struct ri_owner {
	int64_t rank, local_rank;	/* -1: not said */
	int64_t outer;	/* the number in srun's or mpirun's own label; -1: it has none */
	int64_t pid;	/* 0: not said */
	struct ri_span host;	/* where the pid is on another node, by its address; or empty */
	struct ri_span rest;	/* of the line; a bar of progress in front of a label is left out */
	/* the last label is the rank's own or its launcher's for it: a launcher has none */
	bool is_rank;
	bool of_program;	/* it is the rank's own */
};

/* Numbers alone count where three in four lines that are no launcher's bear them. */
enum ri_labels {
	RI_LABELS_NAMED,
	RI_LABELS_SRUN,		/* "3: " as well */
	RI_LABELS_HYDRA,	/* "[3] " as well */
};

/*
 * Several labels may stand before a line, as where srun starts torchrun; the last one that tells a
 * number counts. One of srun's may be a node's: the functions below know where. Returns false, and
 * all of *out but the rest zero or -1, where a line has no label.
 */
bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out);

/*
 * What the last bytes of a launcher's stderr, whose first line may be half a one, tell of ends, in
 * the order of the text. Several lines about one rank are one record. Returns how many; where they
 * are more than room, the last one, which says most, is among them.
 */
size_t ri_launcher_words_read(struct ri_span text, struct ri_rank_said *out, size_t room);

/* Where words of a rank stand in such a text, counted from 1; 0: it has none. */
struct ri_words_place {
	size_t traceback;	/* the header of the last one */
	bool hooked;		/* torch's exception hook wrote that header */
	size_t loss;		/* the first line that tells of a loss */
};

/*
 * Copy the lines of a rank, without their labels, or with NULL those that bear none and are no
 * launcher's, with '\n' behind each, up to size bytes. Returns how many bytes. *place is of all;
 * NULL: it is not asked for.
 */
size_t ri_lines_of(struct ri_span text, const struct ri_owner *rank, char *room, size_t size,
	struct ri_words_place *place);

#endif
