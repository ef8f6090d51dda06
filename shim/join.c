/* SPDX-License-Identifier: Apache-2.0 */
/* This node as one of its job's: --link and what the others are told; --roll-call without it. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/signals.h"
#include "check/print.h"
#include "from/sources.h"
#include "link/secret.h"
#include "link/link.h"
#include "report/class.h"
#include "report/verdict.h"
#include "say/report_file.h"
#include "system/apart.h"
#include "system/clock.h"
#include "watch/first_failure.h"

enum {
	SECRET_MOST = 4096,
	FINISH_MS = 5000,	/* as long as the helper takes at most */
	ROLL_CALL_MS = 30000,	/* without a link */
};

struct secret {
	const char *path;
	char bytes[SECRET_MOST];
	size_t length;
};

static int read_secret(void *argument)
{
	struct secret *secret = argument;
	int fd = open(secret->path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, secret->bytes, sizeof(secret->bytes));
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	secret->length = got < 0 ? 0 : (size_t)got;
	return got < 0 ? -1 : 0;
}

/* Also where this node takes no part: the same secret is used on other nodes. */
static void forget_secret(const struct ri_run *run)
{
	const struct ri_given *given = &run->found.options.given.link_key;

	if (given->value != NULL && given->twin)
		ri_seal_wipe((void *)(uintptr_t)given->value, strlen(given->value));
}

/* Of a file; the options have looked at a variable. */
static int look_at_secret(struct ri_run *run, const struct secret *secret)
{
	const struct ri_given *given = &run->found.options.given.link_key;
	const char *flaw = ri_secret_flaw(secret->bytes, secret->length);

	if (secret->length < RI_SEAL_SECRET)
		ri_fail(&run->err, RI_CODE_LINK_KEY, given->subject, "the file has %zu bytes; "
			"expected %d or more", secret->length, RI_SEAL_SECRET);
	else if (flaw != NULL)
		ri_fail(&run->err, RI_CODE_LINK_KEY, given->subject, "what is in the file is no "
			"random secret: it %s", flaw);
	else
		return 0;
	return ri_fail_hint(&run->err, "make one, and give each node the same: head -c 32 "
		"/dev/urandom | base64 >%s", given->value);
}

/* What stands in the file, or in the variable, whose place in our own environment is wiped. */
static int find_secret(struct ri_run *run, struct secret *secret)
{
	const struct ri_given *given = &run->found.options.given.link_key;
	const struct ri_apart reading = {
		.work = read_secret, .argument = secret, .subject = given->subject,
		.path = given->value,
	};

	secret->path = given->value;
	if (given->value == NULL)
		return 0;
	if (given->twin) {
		secret->length = strnlen(given->value, sizeof(secret->bytes));
		memcpy(secret->bytes, given->value, secret->length);
		forget_secret(run);
		return 0;
	}
	if (ri_apart(&reading) < 0) {
		ri_fail(&run->err, RI_CODE_LINK_KEY, given->subject, "the file cannot be read: %s",
			strerror(errno));
		return ri_fail_hint(&run->err, "look whether rankinit's own user may read it: "
			"ls -l %s", given->value);
	}
	if (secret->length > 0 && secret->bytes[secret->length - 1] == '\n')
		secret->length--;
	if (secret->length > 0 && secret->bytes[secret->length - 1] == '\r')
		secret->length--;
	return look_at_secret(run, secret);
}

static const char *own_name(struct ri_run *run)
{
	static struct utsname names;

	if (run->found.host.name != NULL)
		return run->found.host.name;
	return uname(&names) == 0 ? names.nodename : NULL;
}

/* There is a secret, but the job's name may be another one's, too: no rank is stopped. */
static void say_if_mistaken(const struct ri_run *run)
{
	if (run->found.options.link != RI_LINK_MODE_STOP || !run->started.part.may_stop ||
		run->started.part.apart)
		return;
	ri_log(RI_LEVEL_WARNING, "--link: no rank of this job is stopped for another node's "
		"failure: another job whose node 0 is on the same host may have the same name; "
		"give each job a port of its own: --master-port=PORT [%s]",
		ri_code_name(RI_CODE_LINK_APART));
}

static void say_no_link(const struct ri_link_setup *setup, int error)
{
	if (error == EADDRINUSE)
		ri_log(RI_LEVEL_NOTE, "--link: another rankinit of this network is node %llu of "
			"this job, so this one takes no part",
			(unsigned long long)setup->part.node);
	else
		ri_log(RI_LEVEL_WARNING, "--link: the kernel refused its process or its socket: "
			"%s; the job goes on without it [%s]", strerror(error),
			ri_code_name(RI_CODE_LINK_REFUSED));
}

static bool find_rendezvous(struct ri_run *run, struct ri_rendezvous *out)
{
	return ri_rendezvous_find(out, &run->found.topology, &run->found.source.context,
		&run->started.part,
		ri_source_mpi(run->found.topology.identity) != RI_SOURCE_NO_MPI);
}

/* The helper lives in a copy of our memory: what it needs may lie on our stack. */
static int begin(struct ri_run *run)
{
	const struct ri_fact *hosts = &run->found.topology.facts[RI_FACT_HOSTS];
	struct ri_link_setup setup = {
		.part = run->started.part,
		.orders = run->found.options.link == RI_LINK_MODE_STOP && run->started.part.apart,
		.roll_ms = run->found.options.roll_call_ms, .host = own_name(run),
	};
	struct ri_rendezvous place;
	struct secret secret = { .length = 0 };
	int status = find_secret(run, &secret);

	if (hosts->state == RI_STATE_KNOWN) {
		setup.hosts = hosts->list;
		setup.host_count = hosts->number;
	}
	if (find_rendezvous(run, &place))
		setup.meeting = place.port;
	setup.keys.keyed = secret.length > 0;
	if (status == 0)
		ri_seal_job_key(setup.keys.job, run->started.part.job,
			setup.keys.keyed ? secret.bytes : NULL, secret.length);
	ri_seal_wipe(secret.bytes, sizeof(secret.bytes));
	if (status == 0 && ri_link_begin(&setup) < 0)
		say_no_link(&setup, errno);
	if (ri_link_is_on() && setup.keys.keyed)
		say_if_mistaken(run);
	ri_seal_wipe(&setup.keys, sizeof(setup.keys));
	return status;
}

/* The link never takes the port where the ranks meet, even where --link-port names it. */
static int begin_at_ports(struct ri_run *run)
{
	if (run->started.part.ports[0] != 0)
		return begin(run);
	ri_log(RI_LEVEL_WARNING, "--link-port: %u is the port where the ranks meet; choose another "
		"one; the job goes on without the link [%s]", run->found.options.link_port,
		ri_code_name(RI_CODE_LINK_PORT));
	return 0;
}

/* Returns as ri_run_join(). */
static int join(struct ri_run *run)
{
	const struct ri_options *options = &run->found.options;

	if (options->link == RI_LINK_MODE_NO)
		return 0;
	if (ri_link_part_find(&run->started.part, &run->found.topology, &run->found.source.context,
		    options->link_port) < 0)
		return ri_fail(&run->err, RI_CODE_MEMORY, "--link", "no memory left for it");
	if (options->supervise == RI_NO)
		run->started.part.why_not = "by --supervise=never rankinit does not stay";
	if (run->started.part.why_not == NULL)
		return begin_at_ports(run);
	ri_log(RI_LEVEL_NOTE, "--link: %s, so this node has no link", run->started.part.why_not);
	return 0;
}

int ri_run_join(struct ri_run *run)
{
	int status;

	/* a disabled rankinit leaves the environment of the command as it is */
	if (run->found.options.disabled)
		return 0;
	status = join(run);
	forget_secret(run);
	return status;
}

bool ri_run_calls_roll(struct ri_run *run, struct ri_roll_call *roll)
{
	const struct ri_fact *hosts = &run->found.topology.facts[RI_FACT_HOSTS];
	const struct ri_options *options = &run->found.options;
	const struct ri_context *context = &run->found.source.context;

	*roll = (struct ri_roll_call){
		.first_ms = (int64_t)options->roll_call_ms,
		.children = &run->started.children, .stopped = &run->started.supervised.stop.asked,
	};
	if (options->disabled || roll->first_ms == 0)
		return false;
	/* with a link the names of the nodes that do not run come before this */
	if (options->link != RI_LINK_MODE_NO)
		roll->first_ms *= 3;
	else if (options->given.roll_call.value == NULL)
		roll->first_ms = ROLL_CALL_MS;
	if ((options->link == RI_LINK_MODE_NO &&
		ri_link_part_find(&run->started.part, &run->found.topology, context, 0) < 0) ||
		!find_rendezvous(run, &roll->place))
		return false;
	if (hosts->state == RI_STATE_KNOWN && hosts->number == roll->place.nodes)
		roll->hosts = hosts->list;
	return true;
}

/* "node 1 (gpu-0514)" */
static void add_node(struct ri_text *out, struct ri_run *run)
{
	const char *name = own_name(run);

	ri_text_addf(out, "node %llu", (unsigned long long)run->started.part.node);
	if (name != NULL) {
		ri_text_add(out, " (");
		ri_text_add_shown(out, name, RI_LINK_WORD);
		ri_text_add(out, ")");
	}
}

/* first: the rank that it is about; NULL: it is about the node, just now. */
static void say_end(struct ri_run *run, enum ri_link_class class,
	const struct ri_rank_outcome *first, const char *lines)
{
	static struct ri_link_end end;
	struct timespec at;

	ri_clock_read(CLOCK_REALTIME, &at);
	if (first != NULL)
		at = ri_moment_find(first).at;
	end = (struct ri_link_end){ .class = class, .fatal = run->started.part.may_stop,
		.lives = first != NULL && first->leaving,
		.at_us = (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000 };
	ri_link_text_set(end.text, lines);
	ri_link_end(&end);
}

static void say_stop(struct ri_run *run, int number)
{
	char line[RI_MAX_LINE], name[RI_SIGNAL_NAME];
	struct ri_text out;

	ri_text_init(&out, line, sizeof(line));
	add_node(&out, run);
	ri_text_addf(&out, " was stopped from outside by %s\n", ri_signal_name(number, name));
	say_end(run, RI_LINK_STOPPED, NULL, line);
}

/* What this end says of the job; what is blamed on a rank that hangs, or left, is less sure. */
static enum ri_link_class class_of(const struct ri_outcome *outcome)
{
	if (outcome->blame != RI_BLAME_FIRST)
		return RI_LINK_LOSS;
	switch (outcome->ranks[outcome->first].evidence.class) {
	case RI_CLASS_OWN:
		return RI_LINK_OWN;
	case RI_CLASS_LOSS:
		return RI_LINK_LOSS;
	case RI_CLASS_UNKNOWN:
	case RI_CLASS_STOPPED:
	case RI_CLASS_NONE:
		break;
	}
	return RI_LINK_UNKNOWN;
}

/* From outside; not where that came for a failure, or after it. */
static bool is_stopped(const struct ri_outcome *outcome)
{
	return outcome->stop.signal != 0 &&
		(outcome->first < 0 || class_of(outcome) == RI_LINK_LOSS);
}

static void say_failure(struct ri_run *run)
{
	static char lines[RI_VERDICT_SIZE];
	struct ri_outcome outcome = ri_ends_so_far(run);
	const struct ri_rank_outcome *first;
	struct ri_text out;

	if (is_stopped(&outcome)) {
		say_stop(run, outcome.stop.signal);
		return;
	}
	if (outcome.first < 0) {
		if (run->started.children.living == 0)
			say_end(run, RI_LINK_DONE, NULL, "");
		return;
	}
	first = &outcome.ranks[outcome.first];
	ri_text_init(&out, lines, sizeof(lines));
	ri_verdict_render_job(&outcome, outcome.reason, &out);
	say_end(run, class_of(&outcome), first, lines);
}

/*
 * The verdict is no order, and the ranks of this node run on: say why. A stop is no failure, and
 * mostly comes to all nodes.
 */
static void say_why_we_go_on(struct ri_run *run, const struct ri_link_verdict *verdict)
{
	const char *why;

	if (verdict->order || verdict->class == RI_LINK_STOPPED ||
		run->started.children.living == 0 || run->started.supervised.stop.asked ||
		(verdict->named && verdict->node == run->started.part.node))
		return;
	if (run->found.options.link == RI_LINK_MODE_TELL)
		why = "with --link=tell rankinit stops none";
	else if (!run->started.part.may_stop)
		why = "rankinit stops those that it starts with --nproc-per-node, those of a "
			"torchrun without restarts, and the only task of a step on its node";
	else if (!run->started.part.apart)
		why = "another job on the same host may have the name of this one";
	else
		why = "rankinit stops only for a failure that ends the job, and only nodes that "
			"came before it";
	ri_log(RI_LEVEL_ALWAYS, "  the ranks of this node run on: %s", why);
}

void ri_run_tidings(void *context, enum ri_tiding tiding)
{
	struct ri_run *run = context;

	switch (tiding) {
	case RI_TIDING_FAILED:
		if (!run->started.supervised.ordered)
			say_failure(run);
		break;
	case RI_TIDING_STOPPED:
	case RI_TIDING_ASKED:
		say_failure(run);
		break;
	case RI_TIDING_JUDGED:
		ri_report_job(ri_link_verdict()->text);
		say_why_we_go_on(run, ri_link_verdict());
		break;
	}
}

void ri_run_refused(struct ri_run *run)
{
	char line[RI_MAX_LINE], reasons[RI_CHECK_REASONS];
	struct ri_text out;

	if (!ri_link_is_on())
		return;
	if (ri_apart_stop() != 0) {
		say_stop(run, ri_apart_stop());
	} else if (run->err.code != RI_CODE_LINK_STOPPED) {
		ri_text_init(&out, line, sizeof(line));
		add_node(&out, run);
		if (run->err.code == RI_CODE_CHECK_UNFIT)
			ri_text_addf(&out, " is not fit%s",
				ri_check_reasons(&run->checked, reasons));
		else
			ri_text_addf(&out, " could not start: %s: %s", run->err.subject,
				run->err.text);
		ri_text_addf(&out, " [%s]\n", ri_code_name(run->err.code));
		say_end(run, RI_LINK_OWN, NULL, line);
	}
	ri_link_finish(FINISH_MS);
}

int ri_run_hear(struct ri_run *run)
{
	const struct ri_link_verdict *verdict;

	if (!ri_link_hear())
		return 0;
	verdict = ri_link_verdict();
	ri_report_job(verdict->text);
	if (!verdict->order)
		return 0;
	ri_fail(&run->err, RI_CODE_LINK_STOPPED, "--link", "the job has failed before the ranks of "
		"this node were started");
	return ri_fail_hint(&run->err, "look at the lines above: another node is the cause");
}

/* The sender of the stop waits for --grace, as far as we know. */
static int64_t time_to_finish(const struct ri_run *run)
{
	const struct ri_stop *stop = &run->started.supervised.stop;
	int64_t left = stop->at_ms + (int64_t)run->found.options.grace_ms - ri_now_ms();

	if (!stop->asked || run->found.options.grace_ms == 0 || left > FINISH_MS)
		return FINISH_MS;
	return left < 0 ? 0 : left;
}

bool ri_run_conclude(struct ri_run *run, int status)
{
	bool judged = ri_link_verdict() != NULL;

	if (!ri_link_is_on())
		return judged;
	if (!run->started.supervised.ordered) {
		if (status == 0 && run->started.supervised.stop.asked)
			say_stop(run, run->started.supervised.stop.number);
		else
			say_failure(run);
	}
	ri_link_finish(time_to_finish(run));
	if (!judged && ri_link_verdict() != NULL)
		ri_report_job(ri_link_verdict()->text);
	return ri_link_verdict() != NULL;
}

int ri_run_judged(struct ri_run *run, struct ri_outcome *outcome, int status)
{
	const struct ri_link_verdict *verdict = ri_link_verdict();

	outcome->link.verdict = verdict->text;
	outcome->link.verdict_node = verdict->named ? (int64_t)verdict->node : -1;
	outcome->link.verdict_is_here = verdict->named && verdict->node == run->started.part.node &&
		outcome->first >= 0;
	/* what ended here of itself, or well, before anything was stopped keeps its own status, */
	if (!run->started.supervised.ordered && (!verdict->order || outcome->link.verdict_is_here ||
		run->started.supervised.stop.asked || outcome->first < 0 ||
		class_of(outcome) != RI_LINK_LOSS))
		return status;
	/* and so does a loss where no node is named: some node has to say that the job failed */
	if (!run->started.supervised.ordered && !verdict->named)
		return status;
	return ri_code_status(RI_CODE_LINK_STOPPED);
}
