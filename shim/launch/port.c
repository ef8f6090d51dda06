/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

void ri_port_settle(struct ri_topology *topology, struct ri_findings *findings)
{
	struct ri_fact *fact = &topology->facts[RI_FACT_MASTER_PORT];
	unsigned usual = (unsigned)fact->number, picked;
	uint64_t nodes;

	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes != 1 ||
		fact->state != RI_STATE_KNOWN || fact->strength != RI_STRENGTH_DEFAULT ||
		fact->origin.variable != NULL)
		return;
	if (try_port(usual) != 0 || errno != EADDRINUSE)
		return;
	picked = try_port(0);
	if (picked == 0)
		return;
	fact->number = picked;
	ri_findings_add(findings, RI_SEVERITY_NOTE, RI_CODE_MASTER_PORT_TAKEN, "MASTER_PORT",
		"%u is in use on this machine, so this job meets at %u", usual, picked);
}
