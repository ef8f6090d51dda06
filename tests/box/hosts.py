# SPDX-License-Identifier: Apache-2.0
"""
Hosts that are network namespaces of this machine, on one bridge, and that
know each other's names. agent.sh runs a command on one of them, and stands in
for ssh where a launcher starts its daemons.
"""

import copy
import os
import shutil
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AGENT = os.path.join(TOP, "tests", "demo", "agent.sh")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def ip(*words):
    return subprocess.run(["ip", *words], check=False, capture_output=True, text=True)


class Hosts:
    """node0, node1, ... at 10.77.0.1 and on."""

    def __init__(self, count):
        self.names = [f"node{number}" for number in range(count)]
        self.address = {host: f"10.77.0.{number}" for number, host in enumerate(self.names, 1)}
        self.prefix = f"rk{os.getpid()}-"  # of the namespaces' names
        self.env = {"AGENT_NETNS": self.prefix,
                    "AGENT_HOSTS": f"/etc/netns/{self.prefix}node0/hosts"}
        if os.geteuid() != 0 or shutil.which("ip") is None:
            pytest.skip("hosts in network namespaces need root and iproute2")
        failed = [done.stderr for done in self.make() if done.returncode != 0]
        if failed:
            self.close()
            pytest.skip(f"no network namespaces here: {failed[0].strip()}")

    def make(self):
        bridge = self.prefix + "bridge"
        yield ip("netns", "add", bridge)
        yield ip("-n", bridge, "link", "add", "br0", "up", "type", "bridge")
        for host in self.names:
            yield from self.make_host(host, bridge)

    def make_host(self, host, bridge):
        space = self.prefix + host
        yield ip("netns", "add", space)
        yield ip("link", "add", f"to{host}", "netns", bridge, "type", "veth",
                 "peer", "name", "eth0", "netns", space)
        yield ip("-n", bridge, "link", "set", f"to{host}", "up", "master", "br0")
        yield ip("-n", space, "addr", "add", f"{self.address[host]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            yield ip("-n", space, "link", "set", device, "up")
        os.makedirs(f"/etc/netns/{space}", exist_ok=True)
        with open(f"/etc/netns/{space}/hosts", "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{address} {name}\n" for name, address in self.address.items())

    def close(self):
        for space in ("bridge", *self.names):
            ip("netns", "del", self.prefix + space)
            shutil.rmtree(f"/etc/netns/{self.prefix}{space}", ignore_errors=True)
        if os.path.isdir("/etc/netns") and not os.listdir("/etc/netns"):
            os.rmdir("/etc/netns")

    def inside(self, host, *words):
        """The words that run a command in the host's network."""
        return ["ip", "netns", "exec", self.prefix + host, *words]

    def first(self, count):
        """The same network, of which somebody is to know so many hosts."""
        some = copy.copy(self)
        some.names = self.names[:count]
        return some
