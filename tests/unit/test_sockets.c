/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/net/tcp and tcp6, as kernels write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/sockets.h"

#define REST " 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"

static void assert_end(const struct ri_socket_end *end, const char *address, unsigned port)
{
	char text[INET6_ADDRSTRLEN];

	assert_non_null(inet_ntop(AF_INET6, end->address, text, sizeof(text)));
	assert_string_equal(text, address);
	assert_int_equal(end->port, port);
}

/* Numbers of this machine's memory: these are of one that is little-endian. */
static void reads_ipv4(void **state)
{
	struct ri_socket socket;

	(void)state;
	assert_true(ri_socket_read(&socket, "   7: 0400000A:733C 0500000A:8A0C 01" REST));
	assert_end(&socket.local, "::ffff:10.0.0.4", 29500);
	assert_end(&socket.remote, "::ffff:10.0.0.5", 35340);
	assert_int_equal(socket.state, RI_SOCKET_ESTABLISHED);
}

static void reads_ipv6(void **state)
{
	struct ri_socket socket;

	(void)state;
	assert_true(ri_socket_read(&socket, " 123: B80D0120000000000000000001000000:733C "
		"0000000000000000FFFF00000500000A:0050 02" REST));
	assert_end(&socket.local, "2001:db8::1", 29500);
	assert_end(&socket.remote, "::ffff:10.0.0.5", 80);
	assert_int_equal(socket.state, RI_SOCKET_SYN_SENT);
}

static void our_own_socket_is_there(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);
	struct ri_socket socket;
	char line[512];
	bool found = false;
	FILE *file;

	(void)state;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	file = fopen("/proc/self/net/tcp", "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		found |= ri_socket_read(&socket, line) && socket.state == RI_SOCKET_LISTEN &&
			socket.local.port == ntohs(address.sin_port) &&
			ri_socket_is_loopback(socket.local.address);
	fclose(file);
	close(fd);
	assert_true(found);
}

static void knows_loopback(void **state)
{
	static const struct {
		const char *text;
		bool loopback;
	} addresses[] = {
		{ "::1", true }, { "::ffff:127.0.0.1", true }, { "::ffff:127.255.0.9", true },
		{ "::", false }, { "::2", false }, { "::ffff:128.0.0.1", false },
		{ "::127.0.0.1", false }, { "2001:db8::1", false },
	};
	unsigned char address[16], ipv4[16];

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		assert_int_equal(inet_pton(AF_INET6, addresses[i].text, address), 1);
		assert_int_equal(ri_socket_is_loopback(address), addresses[i].loopback);
	}
	ri_socket_ipv4(ipv4, "\x7f\0\0\1");
	assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", address), 1);
	assert_memory_equal(ipv4, address, 16);
}

static void anything_else_is_refused_and_leaves_out(void **state)
{
	static const char *const lines[] = {
		"",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt",
		"7: 0400000A:733C 0500000A:8A0C",
		"7: 0400000A:733C 0500000A:8A0C 1" REST,
		"7: 0400000A:733C 0500000A:8A0C 011" REST,
		"7: 0400000A:733C 0500000A:8A0C 01",
		"7: 0400000A:733C 0500000A:8A0 01" REST,
		"7: 0400000A:733C 0500000A 01" REST,
		"7: 0400000A:733CC 0500000A:8A0C 01" REST,
		"7: 040000A:733C 0500000A:8A0C 01" REST,
		"7: 0400000G:733C 0500000A:8A0C 01" REST,
		"7: 0400000A0400000A:733C 0500000A:8A0C 01" REST,
		"7: 000000000000000000000000000000000400000A:733C 0500000A:8A0C 01" REST,
		"7: :733C 0500000A:8A0C 01" REST,
		"7 0400000A:733C 0500000A:8A0C 01" REST,
		"x: 0400000A:733C 0500000A:8A0C 01" REST,
	};
	struct ri_socket socket, before;

	(void)state;
	memset(&socket, 7, sizeof(socket));
	memcpy(&before, &socket, sizeof(socket));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (ri_socket_read(&socket, lines[i]))
			fail_msg("taken: %s", lines[i]);
		assert_memory_equal(&socket, &before, sizeof(socket));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_ipv4),
		cmocka_unit_test(reads_ipv6),
		cmocka_unit_test(our_own_socket_is_there),
		cmocka_unit_test(knows_loopback),
		cmocka_unit_test(anything_else_is_refused_and_leaves_out),
	};

	return cmocka_run_group_tests_name("sockets", tests, NULL, NULL);
}
