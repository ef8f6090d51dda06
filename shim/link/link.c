/* SPDX-License-Identifier: Apache-2.0 */
#include "link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/mask.h"
#include "system/kept_fds.h"
#include "system/held_path.h"
#include "system/helper.h"

enum {
	/* more than the socket holds: no signal comes for what stays there; and not without end */
	PACKETS_AT_ONCE = 256,
	CALM_MS = 1500,		/* where no verdict is waited for: more than the helper takes */
	LOOK_MS = 50,		/* how long a stop may wait at the end, */
	HURRY_MS = 100,		/* and then for the verdict, if node 0 is about to say one */
	PLACE_MS = 50, PLACES = 10,	/* between tries for the place, and how many */
};

static struct {
	bool woken;		/* SIGIO may come of the socket, also of a closed one */
	pid_t helper;		/* 0: none */
	int fd;			/* to it; -1: it is gone */
	int place;		/* that this node has in its network; -1: there is none */
	int kept;		/* holds the helper's connection (link.h); -1: nothing does */
	struct ri_link_noted *noted;
	bool finishing;		/* it may go */
	bool ended;		/* this node by itself, or the job failed: others are to hear it */
	bool judged;
	bool asked;
	uint64_t owed;		/* the number of a question that has no answer yet; 0: none */
	bool awaits;		/* what a look of all nodes finds */
	bool looks, soon;	/* the centre said that it shall look */
	bool found;		/* and what was found, */
	struct timespec kept_at;	/* of it for the report; 0: none */
	bool answered[2], goes[2];	/* by enum ri_link_step */
	bool refused;		/* this node has said that it cannot take one */
	ri_sigset told;		/* stops in the queue of which the others know by that */
	unsigned char key[RI_SEAL_KEY];
} own = { .fd = -1, .place = -1, .kept = -1 };

/* Apart: what begins with a value costs memory from the start, and this is large. */
static struct ri_link_decision decision;

/* What is larger still, mapped where there is a link. */
static struct room {
	struct ri_link_message heard, said;
	struct ri_link_found found, kept;
	char why_not[2][RI_LINK_TEXT];
} *room;

bool ri_link_is_on(void)
{
	return own.helper != 0;
}

/* SIGIO whose si_code is POLL_IN; that of a kill(2) is another one (fcntl(2), F_SETSIG). */
static int wake_us(int fd)
{
	return fcntl(fd, F_SETOWN, getpid()) < 0 || fcntl(fd, F_SETSIG, SIGIO) < 0 ||
			fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) < 0
		? -1
		: 0;
}

/* 0 to 2 are the ranks', even where they are closed. */
static int open_ends(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		ends[i] = ri_fd_move_up(ends[i]);
	return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

const struct ri_link_noted *ri_link_noted(void)
{
	return own.helper == 0 ? own.noted : NULL;
}

/*
 * The place of a node in its job, which one rankinit of a network, as a pod has one, has: a second
 * one in there (kubectl exec, a sidecar) has the pod's variables, too, but is no node. Its name
 * follows from the job's key, so that jobs do not meet, and that who has not the secret cannot
 * foresee it. Returns the descriptor, or -1 and errno: EADDRINUSE where another process has it,
 * also half a second later, as one that was killed a moment ago has not.
 */
static int hold_place(const unsigned char job_key[RI_SEAL_KEY], uint64_t node)
{
	unsigned char key[RI_SEAL_KEY];
	char words[48];
	RI_TEXT(name, 100);
	int fd;

	snprintf(words, sizeof(words), "the place of node %llu", (unsigned long long)node);
	ri_seal_job_key(key, words, job_key, RI_SEAL_KEY);
	ri_text_add(&name, "rankinit-link ");
	for (size_t i = 0; i < sizeof(key); i++)
		ri_text_addf(&name, "%02x", key[i]);
	for (int i = 0; (fd = ri_held_name(name.bytes)) < 0 && errno == EADDRINUSE && i < PLACES;
		i++)
		ri_mask_pause(PLACE_MS);
	return fd;
}

/* Also where the helper dies: it is this rankinit that is the node. */
static int take_place(const struct ri_link_setup *setup)
{
	const struct ri_carried *before = setup->job->before;

	own.place = before != NULL && before->link.place > 0 ? before->link.place
		: hold_place(setup->keys.job, setup->job->part.node);
	if (own.place < 0)	/* where the kernel has no such names each is on its own */
		return errno == EADDRINUSE ? -1 : 0;
	ri_kept_fds_add(own.place);
	return 0;
}

int ri_link_begin(struct ri_link_setup *setup)
{
	const struct ri_helper_task task = {
		.body = ri_link_help, .context = setup, .user = RI_HELPER_NOBODY,
		.name = RI_LINK_HELPER,
	};
	int ends[2], saved;
	pid_t pid;

	room = ri_pages(sizeof(*room));
	if (room == NULL || take_place(setup) < 0 || open_ends(ends) < 0 ||
		open_ends(setup->kept) < 0)
		return -1;
	/* without this memory the report says less */
	own.noted = setup->noted = ri_pages_shared(sizeof(*own.noted));
	own.woken = true;
	setup->inner = ends[1];
	setup->place = own.place;
	pid = wake_us(ends[0]) < 0 ? 0 : ri_helper_start(&task);
	saved = errno;
	if (pid == 0)	/* ours first, so that no SIGIO waits for a command that we become */
		close(ends[0]);
	close(ends[1]);
	close(setup->kept[1]);
	if (pid == 0)
		close(setup->kept[0]);
	errno = saved;
	if (pid == 0)
		return -1;
	ri_kept_fds_add(ends[0]);
	ri_kept_fds_add(setup->kept[0]);
	own.fd = ends[0];
	own.kept = setup->kept[0];
	own.helper = pid;
	return 0;
}

bool ri_link_is_ours(const siginfo_t *info)
{
	return own.woken && info->si_signo == SIGIO && info->si_code > 0;
}

/* What was put into room->said. */
static void tell(enum ri_link_kind kind)
{
	room->said.kind = kind;
	send(own.fd, &room->said, sizeof(room->said), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void ri_link_reach(enum ri_link_phase phase)
{
	if (own.fd < 0)
		return;
	room->said.phase = phase;
	tell(RI_LINK_PHASE);
}

void ri_link_end(const struct ri_link_end *end)
{
	own.ended = end->verdict.class != RI_CLASS_STOPPED;
	if (own.fd < 0)
		return;
	room->said.end = *end;
	tell(RI_LINK_END);
}

void ri_link_look(bool soon)
{
	if (own.fd < 0)
		return;
	own.awaits = true;
	room->said.look.soon = soon;
	tell(RI_LINK_LOOK);
}

void ri_link_groups(const char *text)
{
	if (own.fd < 0)
		return;
	ri_link_text_set(room->said.groups.text, RI_LINK_GROUPS_TEXT, text);
	tell(RI_LINK_GROUPS);
}

/* This node is on its way out: its connection ends, if the helper has not ended it. */
static void let_go(void)
{
	if (own.kept >= 0)
		close(own.kept);
	own.kept = -1;
}

/*
 * The helper has gone: it is done, or was killed, or could not begin. Where it was killed alone the
 * container lives on, and so does its connection: the end of one tells node 0 that the other ended.
 */
static void lose_helper(void)
{
	close(own.fd);
	own.fd = -1;
	if (own.finishing)
		let_go();
	else
		ri_log(RI_LEVEL_WARNING, "link: its process has ended before its time; the job "
			"goes on without it [%s]", ri_code_name(RI_CODE_LINK_REFUSED));
}

/* This node is none of the job's any more: another rankinit of its network may be it. */
static void leave_place(void)
{
	if (own.place >= 0)
		close(own.place);
	own.place = -1;
}

/* The first one lasts, but the order may come behind it. */
static void take_decision(const struct ri_link_decision *told)
{
	if (own.judged) {
		decision.order = decision.order ||
			(told->order && strcmp(told->text, decision.text) == 0);
		return;
	}
	own.judged = true;
	own.owed = 0;
	decision = *told;
	/* the job is over: one that follows may start beside what is left of this one */
	if (!decision.again)
		leave_place();
	own.ended = own.ended || decision.order;
}

static void take(struct ri_link_message *message)
{
	struct ri_link_go *go = &message->go;

	switch (message->kind) {
	case RI_LINK_ASK:
		own.asked = !own.judged;
		own.owed = own.judged || !message->ask.waits ? 0 : message->ask.number;
		break;
	case RI_LINK_LOOK:
		own.looks = own.awaits = true;
		own.soon = message->look.soon;
		break;
	case RI_LINK_FOUND:
		room->found = message->found;
		own.found = true;
		own.awaits = false;
		if (own.kept_at.tv_sec != 0 && room->kept.rank >= 0 && room->found.rank < 0)
			break;
		room->kept = room->found;
		ri_clock_read(CLOCK_REALTIME, &own.kept_at);
		break;
	case RI_LINK_VERDICT:
		take_decision(&message->decision);
		break;
	case RI_LINK_GO:
		if (own.answered[go->step])
			break;
		own.answered[go->step] = true;
		own.goes[go->step] = go->go;
		if (!go->go)
			leave_place();
		ri_text_copy(room->why_not[go->step], RI_LINK_TEXT, go->text);
		/* the key is no longer than this needed where the packet was */
		memcpy(own.key, go->key, sizeof(own.key));
		ri_seal_wipe(go->key, sizeof(go->key));
		break;
	default:
		break;
	}
}

bool ri_link_hear(void)
{
	bool judged = own.judged, ordered = decision.order;

	for (int i = 0; i < PACKETS_AT_ONCE && own.fd >= 0; i++) {
		ssize_t got = recv(own.fd, &room->heard, sizeof(room->heard),
			MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			lose_helper();
			break;
		}
		if (ri_link_packet_check(&room->heard, (size_t)got))
			take(&room->heard);
	}
	return (own.judged && !judged) || (decision.order && !ordered);
}

bool ri_link_was_asked(void)
{
	bool asked = own.asked;

	own.asked = false;
	return asked;
}

bool ri_link_owes_answer(void)
{
	return own.fd >= 0 && own.owed != 0;
}

void ri_link_answer(void)
{
	room->said.answers = own.owed;
	own.owed = 0;
	tell(RI_LINK_ANSWER);
}

bool ri_link_is_to_look(bool *soon)
{
	bool looks = own.looks;

	own.looks = false;
	*soon = own.soon;
	return looks;
}

void ri_link_print_found(void)
{
	struct ri_span rest, line;
	bool is_new = own.found;

	own.found = false;
	if (!is_new || !ri_log_shows(RI_LEVEL_WARNING))
		return;
	rest = ri_span_of(room->found.text);
	while (ri_span_line(&rest, &line))
		ri_log(RI_LEVEL_ALWAYS, "autopsy: %.*s", (int)line.length, line.at);
}

const struct ri_link_found *ri_link_found(struct timespec *at)
{
	*at = own.kept_at;
	return own.kept_at.tv_sec != 0 ? &room->kept : NULL;
}

const struct ri_link_decision *ri_link_decision(void)
{
	return own.judged ? &decision : NULL;
}

uint64_t *ri_link_lines(void)
{
	return own.helper == 0 || own.noted == NULL ? NULL : &own.noted->lines;
}

void ri_link_vote(enum ri_link_step step, const char *why_not)
{
	if (own.fd < 0)
		return;
	own.refused = own.refused || why_not != NULL;
	if (why_not != NULL)
		own.told = ri_mask_pending() & ri_mask_stops();
	/* it may have no more to do then */
	own.finishing = own.finishing || step == RI_LINK_LEAVE;
	room->said.go.step = step;
	room->said.go.go = why_not == NULL;
	ri_link_text_set(room->said.go.text, RI_LINK_TEXT, why_not == NULL ? "" : why_not);
	tell(RI_LINK_GO);
}

/* One of which the others are to hear first. It stays in the queue, also for the next attempt. */
static bool has_stop(void)
{
	return (ri_mask_pending() & ri_mask_stops() & ~own.told) != 0;
}

/* Is there still something to wait for? */
static bool may_go(enum ri_link_step step, int64_t until)
{
	bool open = !own.judged || (step == RI_LINK_LEAVE && decision.again);

	if (own.fd < 0 || own.answered[step] || !open || has_stop())
		return false;
	return (own.judged && !own.refused) || ri_now_ms() < until;
}

bool ri_link_await(enum ri_link_step step, int64_t most_ms)
{
	struct pollfd packets = { .fd = own.fd, .events = POLLIN };
	int64_t until = ri_now_ms() + most_ms;

	ri_link_hear();
	while (may_go(step, until)) {
		if (poll(&packets, 1, LOOK_MS) < 0)
			ri_mask_pause(LOOK_MS);
		ri_link_hear();
	}
	return own.answered[step] && own.goes[step];
}

const char *ri_link_why_not(enum ri_link_step step)
{
	return own.answered[step] && !own.goes[step] ? room->why_not[step] : NULL;
}

const unsigned char *ri_link_key(void)
{
	return own.answered[RI_LINK_LEAVE] && own.goes[RI_LINK_LEAVE] ? own.key : NULL;
}

int ri_link_place(void)
{
	return own.place < 0 ? 0 : own.place;
}

void ri_link_finish(int64_t most_ms)
{
	struct pollfd packets = { .fd = own.fd, .events = POLLIN };
	/* nodes that come late are to hear of these, too */
	bool is_off = own.answered[RI_LINK_START] && !own.goes[RI_LINK_START];
	bool is_worth_it = own.ended || own.refused || own.awaits || is_off || most_ms < CALM_MS;
	int64_t until = ri_now_ms() + (is_worth_it ? most_ms : CALM_MS);

	if (own.helper == 0)
		return;
	own.finishing = true;
	if (own.fd >= 0)
		shutdown(own.fd, SHUT_WR);
	while (own.fd >= 0 && ri_now_ms() < until && !has_stop()) {
		if (poll(&packets, 1, LOOK_MS) < 0)
			ri_mask_pause(LOOK_MS);
		ri_link_hear();
	}
	if (own.fd >= 0) {
		close(own.fd);
		own.fd = -1;
		/* its end closes the other side of that */
		if (has_stop())
			poll(&(struct pollfd){ .fd = own.kept }, 1, HURRY_MS);
	}
	let_go();
	ri_helper_end(&own.helper, 0, NULL);
}
