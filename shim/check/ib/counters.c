/* SPDX-License-Identifier: Apache-2.0 */
/* What the InfiniBand ports have counted, and how wide their links are. */
#include <inttypes.h>
#include <stdio.h>

#include "check/ib/ib.h"
#include "check/machine.h"
#include "check/thresholds.h"

enum { DAY = 86400, HOUR = 3600 };

static const uint64_t unknown = UINT64_MAX;

static const char folder[] = "/sys/class/infiniband";

static const char cable_hint[] =
	"node admin: check the cable, the transceiver and the switch port (ibqueryerrors, "
	"mlxlink); for the job: another node";

/* What one check says of a port; true: it knew enough to judge. */
typedef bool judge_port(struct ri_checking *checking, const struct ri_hca *hca,
	const struct ri_port *port, uint64_t uptime);

static void judge_ports(struct ri_checking *checking, judge_port *judge, const char *pass)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	uint64_t uptime;
	size_t known = 0;

	if (hcas == NULL)
		return;
	if (!ri_machine_uptime(checking->host, &uptime))
		uptime = unknown;
	for (size_t i = 0; i < hcas->count; i++)
		for (size_t j = 0; j < hcas->list[i].count; j++)
			if (hcas->list[i].ports[j].link == RI_LINK_INFINIBAND)
				known += judge(checking, &hcas->list[i], &hcas->list[i].ports[j],
					uptime);
	if (checking->count > 0)
		return;
	if (known > 0)
		ri_check_pass(checking, folder, "%s", pass);
	else
		ri_check_skip(checking, folder, "no InfiniBand port tells");
}

/* Is that more than so many, and than so many in each of these times? */
static bool is_many(uint64_t count, uint64_t least, uint64_t rate, uint64_t times)
{
	return count >= least && count > rate * (times == 0 ? 1 : times);
}

/* ib.flap */

static bool judge_flap(struct ri_checking *checking, const struct ri_hca *hca,
	const struct ri_port *port, uint64_t uptime)
{
	uint64_t count, days = uptime / DAY;
	char name[80];

	if (uptime == unknown ||
		!ri_port_counter(checking->host, hca, port, "link_downed", &count))
		return false;
	if (!is_many(count, RI_THRESHOLD_FLAPS, RI_THRESHOLD_FLAPS_A_DAY, days))
		return true;
	ri_check_lack(checking, RI_CODE_IB_FLAP_OFTEN, ri_ib_name(name, hca, port),
		"went down %" PRIu64 " times; the machine runs for %" PRIu64 " h", count,
		uptime / HOUR);
	return true;
}

static void check_flap(struct ri_checking *checking)
{
	judge_ports(checking, judge_flap, "no InfiniBand port goes down again and again");
}

const struct ri_check ri_check_ib_flap = {
	.id = "ib.flap",
	.summary = "InfiniBand ports stay up",
	.reads = "counters/link_downed of each InfiniBand port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband), CLOCK_BOOTTIME (clock_gettime(2))",
	.fails = "a port went down at least three times, and more than once a day since the "
		"machine was started; a note",
	.advice = cable_hint,
	.unverified = "the counters of a real adapter",
	.topics = RI_ABOUT(IB),
	.run = check_flap,
};

/* ib.errors */

static bool judge_errors(struct ri_checking *checking, const struct ri_hca *hca,
	const struct ri_port *port, uint64_t uptime)
{
	uint64_t symbols = 0, packets = 0, hours = uptime / HOUR;
	bool known = ri_port_counter(checking->host, hca, port, "symbol_error", &symbols);
	char name[80];

	known |= ri_port_counter(checking->host, hca, port, "port_rcv_errors", &packets);
	if (uptime == unknown)
		return false;
	if (!is_many(symbols, RI_THRESHOLD_ERRORS, RI_THRESHOLD_ERRORS_AN_HOUR, hours) &&
		!is_many(packets, RI_THRESHOLD_ERRORS, RI_THRESHOLD_ERRORS_AN_HOUR, hours))
		return known;
	ri_check_lack(checking, RI_CODE_IB_ERRORS_MANY, ri_ib_name(name, hca, port),
		"%" PRIu64 " symbol errors and %" PRIu64 " packets with an error; the machine runs "
		"for %" PRIu64 " h", symbols, packets, hours);
	return true;
}

static void check_errors(struct ri_checking *checking)
{
	judge_ports(checking, judge_errors, "the InfiniBand ports have few errors");
}

const struct ri_check ri_check_ib_errors = {
	.id = "ib.errors",
	.summary = "InfiniBand ports receive without errors",
	.reads = "counters/symbol_error and port_rcv_errors of each InfiniBand port in "
		"/sys/class/infiniband (Linux ABI/stable/sysfs-class-infiniband), "
		"CLOCK_BOOTTIME (clock_gettime(2))",
	.fails = "a port has at least a hundred of either, and more than ten an hour since the "
		"machine was started; a note. An adapter may stop counting at 65535",
	.advice = cable_hint,
	.unverified = "the counters of a real adapter",
	.topics = RI_ABOUT(IB),
	.run = check_errors,
};

/* ib.width */

/*
 * InfiniBand ports have four lanes; cables are split into two ports of two
 * lanes at HDR and faster. One lane is what is left when the others are dead.
 */
static bool judge_width(struct ri_checking *checking, const struct ri_hca *hca,
	const struct ri_port *port, uint64_t uptime)
{
	char name[80];

	(void)uptime;
	if (port->state != RI_PORT_ACTIVE || port->lanes == 0)
		return false;
	if (port->lanes > 1)
		return true;
	ri_check_lack(checking, RI_CODE_IB_WIDTH_NARROW, ri_ib_name(name, hca, port),
		"uses one lane");
	return true;
}

static void check_width(struct ri_checking *checking)
{
	judge_ports(checking, judge_width, "each active InfiniBand port uses several lanes");
}

const struct ri_check ri_check_ib_width = {
	.id = "ib.width",
	.summary = "InfiniBand ports use all their lanes",
	.reads = "rate of each active InfiniBand port in /sys/class/infiniband (Linux "
		"ABI/stable/sysfs-class-infiniband): \"4X\" of \"400 Gb/sec (4X NDR)\"",
	.fails = "a port uses one lane; a note. Ports slower than others are ib.rate's",
	.advice = cable_hint,
	.unverified = "a link that has lost lanes",
	.topics = RI_ABOUT(IB),
	.run = check_width,
};
