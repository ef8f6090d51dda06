/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "from/sources.h"
#include "link/link.h"
#include "link/seal.h"
#include "link/secret.h"
#include "say/report_file.h"
#include "system/apart.h"
#include "system/log.h"

#define EVER_MS INT64_C(1000000000000)

enum {
	SECRET_MOST = 4096,
	LATE_MS = 5000,		/* that node 0 may begin an attempt behind this one */
	ROLL_CALL_MS = 30000,	/* without a link */
};

struct secret {
	const char *path;
	char bytes[SECRET_MOST];
	size_t length;
	bool open;		/* other users of the machine can read the file */
};

/*
 * Not where the mode is the platform's doing, which no user here can change: Docker's secrets lie
 * in /run/secrets (docs.docker.com, "Manage secrets"), and Kubernetes mounts those of a pod
 * read-only (kubernetes.io, "Secrets").
 */
static bool is_open(int fd, const char *path)
{
	static const char place[] = "/run/secrets/";
	struct statvfs mount;
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 066) != 0 &&
		(geteuid() == 0 || geteuid() == info.st_uid) &&
		strncmp(path, place, strlen(place)) != 0 && fstatvfs(fd, &mount) == 0 &&
		(mount.f_flag & ST_RDONLY) == 0;
}

static int read_secret(void *argument)
{
	struct secret *secret = argument;
	int fd = open(secret->path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, secret->bytes, sizeof(secret->bytes));
	int saved = errno;

	secret->open = fd >= 0 && is_open(fd, secret->path);
	if (fd >= 0)
		close(fd);
	errno = saved;
	secret->length = got < 0 ? 0 : (size_t)got;
	return got < 0 ? -1 : 0;
}

/* Also where this node takes no part: the same secret is used on other nodes. */
static void forget_secret(const struct ri_given *given)
{
	if (given->value != NULL && given->twin)
		ri_seal_wipe((void *)(uintptr_t)given->value, strlen(given->value));
}

/* What stands in the file, or in the variable, whose place in our own environment is wiped. */
static int find_secret(const struct ri_given *given, struct secret *secret, struct ri_error *err)
{
	const struct ri_apart reading = {
		.work = read_secret, .argument = secret, .subject = given->subject,
		.path = given->value,
	};
	const char *flaw;

	secret->path = given->value;
	if (given->value == NULL)
		return 0;
	if (given->twin) {
		secret->length = strnlen(given->value, sizeof(secret->bytes));
		memcpy(secret->bytes, given->value, secret->length);
		secret->length = ri_secret_length(secret->bytes, secret->length);
		forget_secret(given);
		return 0;
	}
	if (ri_apart(&reading) < 0) {
		ri_fail(err, RI_CODE_LINK_KEY, given->subject, "the file cannot be read: %s",
			strerror(errno));
		return ri_fail_hint(err, "look whether rankinit's own user may read it: "
			"ls -l %s", given->value);
	}
	if (secret->open)
		ri_log(RI_LEVEL_WARNING, "%s: other users can read the secret of this job, and "
			"with it stop the job; run chmod 600 %s [%s]", given->subject, given->value,
			ri_code_name(RI_CODE_LINK_OPEN));
	secret->length = ri_secret_length(secret->bytes, secret->length);
	/* the options have looked at a variable */
	flaw = ri_secret_flaw(secret->bytes, secret->length);
	if (secret->length < RI_SEAL_SECRET)
		ri_fail(err, RI_CODE_LINK_KEY, given->subject, "the file has %zu bytes; "
			"expected %d or more", secret->length, RI_SEAL_SECRET);
	else if (flaw != NULL)
		ri_fail(err, RI_CODE_LINK_KEY, given->subject, "what is in the file is no "
			"random secret: it %s", flaw);
	else
		return 0;
	return ri_fail_hint(err, "make one, and give each node the same: head -c 32 "
		"/dev/urandom | base64 >%s", given->value);
}

static bool find_rendezvous(const struct ri_link_job *job, struct ri_rendezvous *out)
{
	return ri_rendezvous_find(out, job->topology, job->context, &job->part,
		ri_source_of(job->topology->identity)->mpi != RI_SOURCE_NO_MPI);
}

/* Of the job: of its name and the secret, or as the attempt before this one has it. */
static int find_keys(const struct ri_link_job *job, struct ri_link_setup *setup,
	struct ri_error *err)
{
	struct secret secret = { .length = 0 };
	int status;

	if (job->before != NULL) {
		setup->keys.keyed = job->before->link.on;
		memcpy(setup->keys.job, job->before->link.key, RI_SEAL_KEY);
		ri_seal_wipe(job->before->link.key, RI_SEAL_KEY);
		return 0;
	}
	status = find_secret(&job->options->given.link_key, &secret, err);
	setup->keys.keyed = secret.length > 0;
	if (status == 0)
		ri_seal_job_key(setup->keys.job, job->part.job,
			setup->keys.keyed ? secret.bytes : NULL, secret.length);
	ri_seal_wipe(secret.bytes, sizeof(secret.bytes));
	return status;
}

/* The helper lives in a copy of our memory: what it needs may lie on our stack. */
static int begin(const struct ri_link_job *job, struct ri_error *err)
{
	const struct ri_options *options = job->options;
	struct ri_link_setup setup = {
		.job = job, .orders = options->link == RI_LINK_MODE_STOP && job->part.unique,
		.wait_ms = options->restart_wait_ms == 0 ? EVER_MS
			: (int64_t)options->restart_wait_ms,
		.end_ms = options->link_grace_ms == 0 ? EVER_MS : (int64_t)options->link_grace_ms,
	};
	struct ri_rendezvous place;
	int status = find_keys(job, &setup, err);

	if (find_rendezvous(job, &place))
		setup.meeting = place.port;
	if (status == 0 && ri_link_begin(&setup) < 0) {
		if (errno == EADDRINUSE)
			ri_log(RI_LEVEL_NOTE, "--link: another rankinit of this network is node "
				"%llu of this job, so this one takes no part",
				(unsigned long long)job->part.node);
		else
			ri_log(RI_LEVEL_WARNING, "--link: the kernel refused its process or its "
				"socket: %s; the job goes on without it [%s]", strerror(errno),
				ri_code_name(RI_CODE_LINK_REFUSED));
	}
	/* there is a secret, but the job's name may be another one's, too: no rank is stopped */
	if (ri_link_is_on() && setup.keys.keyed && options->link == RI_LINK_MODE_STOP &&
		job->part.may_stop && !job->part.unique)
		ri_log(RI_LEVEL_WARNING, "--link: no rank of this job is stopped for another "
			"node's failure: another job whose node 0 is on the same host may have the "
			"same name; give each job a port of its own: --master-port=PORT [%s]",
			ri_code_name(RI_CODE_LINK_APART));
	ri_seal_wipe(&setup.keys, sizeof(setup.keys));
	return status;
}

/* Returns as ri_link_join(). */
static int join(struct ri_link_job *job, struct ri_error *err)
{
	const struct ri_options *options = job->options;
	uint64_t attempt = job->before == NULL ? 0 : job->before->attempt;

	if (options->link == RI_LINK_MODE_NO)
		return 0;
	if (ri_link_part_find(&job->part, job->topology, job->context, options->link_port) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--link", "no memory left for it");
	if (options->supervise == RI_SWITCH_NEVER)
		job->part.why_not = "by --supervise=never rankinit does not stay";
	if (job->part.why_not != NULL) {
		ri_log(RI_LEVEL_NOTE, "--link: %s, so this node has no link", job->part.why_not);
		return 0;
	}
	/* how often the ranks may start again after this attempt, if all nodes agree */
	if (job->part.may_stop && job->part.unique && attempt < options->restarts)
		job->restarts = options->restarts - attempt;
	if (job->part.ports[0] != 0)
		return begin(job, err);
	/* the link never takes that port, even where --link-port names it */
	ri_log(RI_LEVEL_WARNING, "--link-port: %u is the port where the ranks meet; choose another "
		"one; the job goes on without the link [%s]", (unsigned)options->link_port,
		ri_code_name(RI_CODE_LINK_PORT));
	return 0;
}

int ri_link_join(struct ri_link_job *job, struct ri_error *err)
{
	int status;

	/* a disabled rankinit leaves the environment of the command as it is */
	if (job->options->disabled)
		return 0;
	status = join(job, err);
	forget_secret(&job->options->given.link_key);
	return status;
}

bool ri_link_calls_roll(struct ri_link_job *job, struct ri_roll_call *roll)
{
	const struct ri_fact *hosts = &job->topology->facts[RI_FACT_HOSTS];
	const struct ri_options *options = job->options;

	*roll = (struct ri_roll_call){
		.first_ms = (int64_t)options->roll_call_ms,
		.children = job->children, .stop = job->stop,
	};
	if (options->disabled || roll->first_ms == 0)
		return false;
	/* with a link the names of the nodes that do not run come before this */
	if (options->link != RI_LINK_MODE_NO)
		roll->first_ms *= 3;
	else if (options->given.roll_call.value == NULL)
		roll->first_ms = ROLL_CALL_MS;
	if ((options->link == RI_LINK_MODE_NO &&
		ri_link_part_find(&job->part, job->topology, job->context, 0) < 0) ||
		!find_rendezvous(job, &roll->place))
		return false;
	if (hosts->state == RI_STATE_KNOWN && hosts->number == roll->place.nodes)
		roll->hosts = hosts->list;
	return true;
}

/*
 * The ranks of a later attempt start on all nodes or on none. Returns 0 also where a stop has come:
 * it is still in the queue, and the caller takes it.
 */
static int permit_again(const struct ri_link_job *job, struct ri_error *err)
{
	uint64_t wait_ms = job->options->restart_wait_ms;
	const char *why;
	bool goes;

	/* the attempt before this one may have left it in the queue: first */
	if (ri_mask_pending_stop() != 0)
		return 0;
	ri_link_vote(RI_LINK_START, NULL);
	goes = ri_link_await(RI_LINK_START, (wait_ms == 0 ? EVER_MS : (int64_t)wait_ms) + LATE_MS);
	/* a verdict on this attempt may come with the word that all start */
	if ((goes && ri_link_decision() == NULL) || ri_mask_pending_stop() != 0)
		return 0;
	why = ri_link_why_not(RI_LINK_START);
	if (why != NULL)
		return ri_fail(err, RI_CODE_LINK_STOPPED, "--restarts", "%.*s",
			(int)strcspn(why, "\n"), why);
	return ri_fail(err, RI_CODE_LINK_STOPPED, "--restarts", "the ranks do not start again: %s",
		!ri_link_is_on() ? "this node has no link to the others"
		: ri_link_decision() != NULL ? "the job has failed again before"
		: "node 0 has not said that all nodes can");
}

int ri_link_permit(const struct ri_link_job *job, struct ri_error *err)
{
	const struct ri_link_decision *decision;

	if (job->before != NULL && job->before->link.on)
		return permit_again(job, err);
	if (!ri_link_hear())
		return 0;
	decision = ri_link_decision();
	ri_link_print_verdict(job);
	if (!decision->order)
		return 0;
	ri_fail(err, RI_CODE_LINK_STOPPED, "--link", "the job has failed before the ranks of "
		"this node were started");
	return ri_fail_hint(err, "look at the lines above: another node is the cause");
}
