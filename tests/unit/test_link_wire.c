/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that does not read holds up nobody, and what waits for it is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../../shim/link/wire.c"

enum { PEERS = 2, READS = 0, SLEEPS = 1 };

static struct {
	struct ri_wire centre[PEERS], node[PEERS];
	struct ri_wire_room all[2 * PEERS];
	struct ri_wires wires;
	size_t sent, taken[PEERS];
} own;

static void open_(struct ri_wire *wire)
{
	(void)wire;
}

/* Each says its number, so that none is lost and none comes twice. */
static bool take(struct ri_wire *wire, const struct ri_link_message *message)
{
	size_t peer = (size_t)(wire - own.node);

	assert_true(peer < PEERS);
	assert_int_equal(message->kind, RI_LINK_NEWS);
	assert_int_equal(strtoul(message->news.text, NULL, 10), own.taken[peer]);
	own.taken[peer]++;
	return true;
}

static void go_on(struct ri_wire *wire, short events)
{
	ri_wire_go_on(wire, events, 0);
}

static int connect_all(void **state)
{
	static const struct ri_wire_keys keys = { .keyed = true };
	int ends[2];

	(void)state;
	memset(&own, 0, sizeof(own));
	own.wires = (struct ri_wires){ .keys = &keys, .open = open_, .take = take,
		.rooms = own.all };
	for (size_t i = 0; i < PEERS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
		own.centre[i].wires = own.node[i].wires = &own.wires;
		ri_wire_accept(&own.centre[i], ends[0], 0);
		begin(&own.node[i], ends[1], RI_WIRE_CONNECTING, 0);
		go_on(&own.node[i], POLLOUT);
		go_on(&own.centre[i], POLLIN);
		go_on(&own.node[i], POLLIN);
		assert_int_equal(own.centre[i].state, RI_WIRE_OPEN);
		assert_int_equal(own.node[i].state, RI_WIRE_OPEN);
	}
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < PEERS; i++) {
		ri_wire_close(&own.centre[i]);
		ri_wire_close(&own.node[i]);
	}
	return 0;
}

/* To all, in one pass; one of them reads at once. */
static void tell_all(void)
{
	static struct ri_link_message news = { .kind = RI_LINK_NEWS };
	char line[3000];

	snprintf(line, sizeof(line), "%zu %2900s\n", own.sent++, ".");
	ri_link_text_set(news.news.text, RI_LINK_TEXT, line);
	for (size_t i = 0; i < PEERS; i++)
		ri_wire_send(&own.centre[i], &news);
	go_on(&own.node[READS], POLLIN);
}

static void test_what_is_taken_at_once_takes_no_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		tell_all();
	assert_int_equal(own.taken[READS], 10);
	assert_int_equal(own.wires.used, 0);
}

static void test_a_slow_peer_gets_all(void **state)
{
	(void)state;
	while (ri_wire_events(&own.centre[SLEEPS]) == POLLIN)
		tell_all();
	tell_all();
	assert_int_equal(own.taken[READS], own.sent);
	assert_int_equal(own.taken[SLEEPS], 0);
	assert_null(own.centre[READS].room);
	assert_int_equal(own.wires.used, 1);
	for (int i = 0; i < 1000 && own.taken[SLEEPS] < own.sent; i++) {
		go_on(&own.node[SLEEPS], POLLIN);
		go_on(&own.centre[SLEEPS], POLLOUT);
	}
	assert_int_equal(own.taken[SLEEPS], own.sent);
	/* what waited has given its memory back, for the next one that needs it */
	assert_null(own.centre[SLEEPS].room);
	assert_null(own.node[SLEEPS].room);
	assert_true(own.wires.used <= 2);
}

static void test_one_that_never_reads_is_lost(void **state)
{
	size_t full;

	(void)state;
	while (ri_wire_events(&own.centre[SLEEPS]) == POLLIN)
		tell_all();
	full = own.sent;
	for (size_t i = 0; i < 20; i++) {
		tell_all();
		assert_true(own.centre[SLEEPS].out_end <= RI_WIRE_OUT);
	}
	assert_int_equal(own.centre[SLEEPS].state, RI_WIRE_DEAD);
	assert_string_equal(own.centre[SLEEPS].why, "it does not read");
	assert_int_equal(own.taken[READS], full + 20);
	assert_int_equal(own.centre[READS].state, RI_WIRE_OPEN);
	/* and its memory comes back with its end */
	ri_wire_close(&own.centre[SLEEPS]);
	assert_null(own.centre[SLEEPS].room);
	assert_non_null(own.wires.free);
}

#define WIRE(test) cmocka_unit_test_setup_teardown(test, connect_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WIRE(test_what_is_taken_at_once_takes_no_memory),
		WIRE(test_a_slow_peer_gets_all),
		WIRE(test_one_that_never_reads_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
