/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/master.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "from/hosts.h"
#include "launch/children.h"
#include "system/clock.h"
#include "system/held_path.h"
#include "system/helper.h"
#include "system/kept_fds.h"
#include "system/log.h"
#include "system/name_service.h"

enum {
	FIRST_PAUSE_MS = 100,
	LONGEST_PAUSE_MS = 2000,
	LAST_MS = 200,		/* for an attempt that begins at the deadline */
	SAY_FIRST_MS = 1000,
	SAY_EVERY_MS = 5000,
	TIMED_OUT = 255,	/* exit status of a child that was ended */
};

struct ri_carried_port ri_port_held;

bool ri_is_local_master(const char *host)
{
	union ri_socket_address address;
	unsigned char bytes[16];
	char name[RI_MAX_NAME + 2];
	socklen_t length;
	bool is_other;
	int fd;

	/* with "%eth0" it is an address of this link, on this machine or another */
	if (ri_loopback_is(host, strlen(host)) || strchr(host, '%') != NULL)
		return true;
	/* not by inet_aton(3), whose short forms are names here */
	if (!ri_address_read(bytes, host)) {
		/* another name of this machine's does not have to be kept */
		if (gethostname(name, sizeof(name)) < 0)
			return true;
		name[sizeof(name) - 1] = '\0';
		return ri_is_same_host(host, name);
	}
	length = ri_socket_address_make(&address, bytes, 0);
	/* by the kernel: an address of another machine cannot be bound */
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;	/* in doubt it stays as it is */
	is_other = bind(fd, &address.any, length) < 0 && errno == EADDRNOTAVAIL;
	close(fd);
	return !is_other;
}

/*
 * Bind as a TCPStore does: to every address, and past connections that only
 * wait to be forgotten. Returns the port, or 0 and errno.
 */
static unsigned try_port(unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, saved;
	bool bound;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	bound = bind(fd, (struct sockaddr *)&address, length) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &length) == 0;
	saved = errno;
	close(fd);
	errno = saved;
	return bound ? ntohs(address.sin_port) : 0;
}

unsigned ri_port_pick(unsigned usual)
{
	unsigned picked = try_port(usual);

	if (picked != 0 || errno != EADDRINUSE)
		return picked == 0 ? usual : picked;
	picked = try_port(0);
	return picked == 0 ? usual : picked;
}

/*
 * Rank 0 opens the port seconds after it was found free. Until the job ends a name in the same
 * network namespace, which rankinits alone ask for, tells them that it is taken: the port itself
 * stays free for programs that set no SO_REUSEADDR. False: somebody has it. Where
 * a profile denies such names no port is held.
 */
static bool hold(unsigned port)
{
	char name[32];
	bool taken;
	int fd;

	snprintf(name, sizeof(name), "rankinit/port/%u", port);
	fd = ri_held_name(name);
	taken = (fd < 0 && errno == EADDRINUSE) || (try_port(port) == 0 && errno == EADDRINUSE);
	if (fd >= 0 && !taken) {
		ri_port_held = (struct ri_carried_port){ fd, port };
		ri_kept_fds_add(fd);
	} else if (fd >= 0) {
		close(fd);
	}
	return !taken;
}

unsigned ri_port_take(unsigned usual)
{
	/* below the ports that anybody may get of the kernel (ip(7), ip_local_port_range) */
	enum { END = 32768, STEP = 10 };

	if (ri_port_held.name > 0)
		return ri_port_held.number;
	/* not the next one, which a program may open beside its own */
	for (unsigned port = usual; port < END; port += STEP)
		if (hold(port))
			return port;
	return ri_port_pick(0);
}

/*
 * The name is resolved in a child, since musl's resolver blocks: for as long
 * as resolv.conf(5) says, which is much longer than a stop may take.
 */
struct waiting {
	const char *name;
	int64_t begun, end, say;	/* CLOCK_MONOTONIC ms */
	int error;			/* of the last attempt: EAI_..., positive */
	ri_sigset stops;		/* whatever else comes waits for the command */
	int stop;			/* the signal that ended it, or 0 */
};

/* In the child. The errors of getaddrinfo(3) are small numbers below 0. */
static void resolve(void *context)
{
	const struct waiting *waiting = context;
	char address[INET6_ADDRSTRLEN];
	int error = ri_name_resolve(waiting->name, address, sizeof(address));

	_exit(error < 0 ? -error : error);
}

static const char *explain(int error)
{
	return error == TIMED_OUT ? "the resolver does not answer" : gai_strerror(-error);
}

/* Sleep until then, or a signal of the set. Returns its number, or 0. */
static int sleep_until(struct waiting *waiting, int64_t until, ri_sigset set)
{
	siginfo_t info;
	int64_t left, next, now;
	int number;

	for (;;) {
		now = ri_now_ms();
		if (now >= waiting->say) {
			waiting->say = now + SAY_EVERY_MS;
			ri_log(RI_LEVEL_WARNING, "waiting for the master's name to resolve, %.0f s "
				"of %g s: %s: %s [%s]", (double)(now - waiting->begun) / 1000,
				(double)(waiting->end - waiting->begun) / 1000, waiting->name,
				explain(waiting->error), ri_code_name(RI_CODE_MASTER_UNRESOLVED));
		}
		next = until < waiting->say ? until : waiting->say;
		left = next - ri_now_ms();
		number = ri_mask_wait_for(set, &info, left < 0 ? 0 : left);
		if (number != 0 && number != SIGCHLD)
			waiting->stop = number;
		if (number != 0 || ri_now_ms() >= until)
			return number;
	}
}

/* One attempt, for at most so long. Returns false where no process could be made for it. */
static bool attempt(struct waiting *waiting, int64_t until)
{
	pid_t pid = ri_helper_start(&(struct ri_helper_task){
		.body = resolve, .context = waiting, .signal = SIGCHLD,
	});
	struct rusage usage;
	int status = TIMED_OUT << 8, number;

	if (pid == 0)
		return false;
	/* an orphan's end is none of this one's */
	do {
		number = sleep_until(waiting, until, waiting->stops | RI_MASK_OF(SIGCHLD));
	} while (number == SIGCHLD && ri_children_reap(pid, &status, WNOHANG, &usage) == 0);
	if (number != SIGCHLD) {
		ri_children_signal(pid, SIGKILL);
		ri_children_reap(pid, &status, 0, &usage);
	}
	/* one that was cut short says less than the one before it */
	if (WIFEXITED(status))
		waiting->error = WEXITSTATUS(status);
	return true;
}

static int wait_for_name(struct waiting *waiting, struct ri_error *err)
{
	int64_t pause = FIRST_PAUSE_MS, until = waiting->end;

	/* the last one begins at the deadline, unless one took until then */
	for (bool is_last = false;; is_last = until == waiting->end) {
		if (!attempt(waiting, is_last ? waiting->end + LAST_MS : waiting->end))
			return ri_fail(err, RI_CODE_SPAWN_REFUSED, "--wait-master",
				"the kernel refused a process for resolving names: %s",
				strerror(errno));
		if (waiting->error == 0 || waiting->stop != 0)
			return waiting->stop == 0 ? 0 : 128 + waiting->stop;
		if (is_last || ri_now_ms() >= waiting->end)
			break;
		until = ri_now_ms() + pause;
		if (until > waiting->end)
			until = waiting->end;
		sleep_until(waiting, until, waiting->stops);
		if (waiting->stop != 0)
			return 128 + waiting->stop;
		pause = 2 * pause > LONGEST_PAUSE_MS ? LONGEST_PAUSE_MS : 2 * pause;
	}
	ri_fail(err, RI_CODE_MASTER_UNRESOLVED, waiting->name,
		"the master's name did not resolve within %g s: %s",
		(double)(waiting->end - waiting->begun) / 1000, explain(waiting->error));
	return ri_fail_hint(err, "has rank 0 started, and do both nodes share a network or a "
		"service?");
}

int ri_master_wait(const struct ri_options *options, const struct ri_topology *topology,
	struct ri_error *err)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	struct waiting waiting = { .error = TIMED_OUT };

	if (options->wait_master_ms == 0)
		return 0;
	if (master->state != RI_STATE_KNOWN) {
		ri_log(RI_LEVEL_WARNING, "%s: the master is unknown, so rankinit does not wait "
			"for it [%s]", options->given.wait_master.subject,
			ri_code_name(RI_CODE_MASTER_ABSENT));
		return 0;
	}
	if (ri_name_is_address(master->text))
		return 0;
	ri_mask_default_chld();
	waiting.stops = ri_mask_stops();
	waiting.name = master->text;
	waiting.begun = ri_now_ms();
	waiting.end = waiting.begun + (int64_t)options->wait_master_ms;
	waiting.say = waiting.begun + SAY_FIRST_MS;
	return wait_for_name(&waiting, err);
}
