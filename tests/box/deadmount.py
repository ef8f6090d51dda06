# SPDX-License-Identifier: Apache-2.0
"""
A mount whose server is gone, as that of an NFS server that went away: a FUSE file
system that answers its first request (INIT) and looks at no other, so that whoever
asks it for a file waits in the kernel. A dying one serves a folder of files until it
is told to die. The numbers and structures are those of linux/fuse.h.
"""

import contextlib
import ctypes
import errno
import functools
import os
import signal
import stat
import struct
import time

import peek
import pytest

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_DETACH = 2
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
IN_HEADER = struct.Struct("=IIQQIIII")  # length, opcode, unique, node, uid, gid, pid
OUT_HEADER = struct.Struct("=IiQ")
INIT_OUT = struct.Struct("=IIIIHHI40x")
ATTR = struct.Struct("=6Q3I7I")
(LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, RENAME, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT,
 ACCESS, CREATE, BATCH_FORGET, RENAME2) = (1, 2, 3, 4, 10, 12, 14, 15, 16, 17, 18, 25, 26, 34, 35,
                                           42, 45)
ROOT = 1


def is_held(pid):
    """Where fs/fuse/dev.c waits for an answer, or for the file system to begin."""
    return peek.wchan(pid) in ("request_wait_answer", "fuse_get_req")


@functools.cache
def leave_mounts():
    """Other tests look at the mounts of the machine: this thread has its own from now on."""
    if LIBC.unshare(CLONE_NEWNS) == 0:
        LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)


class DeadMount:
    """OSError: it cannot be made here."""

    def __init__(self, folder):
        leave_mounts()
        self.folder = str(folder)
        told, tell = os.pipe()
        self.server = os.fork()
        if self.server == 0:
            self._begin(tell)
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            said = pipe.read(4)
        if said != b"made":
            os.waitpid(self.server, 0)
            number = int(said or 0)
            raise OSError(number, os.strerror(number), self.folder)

    def _begin(self, tell):
        try:
            device = os.open("/dev/fuse", os.O_RDWR)
            options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other"
            if LIBC.mount(b"dead", self.folder.encode(), b"fuse.dead", 0, options.encode()) < 0:
                raise OSError(ctypes.get_errno(), "mount")
            request = os.read(device, 1 << 17)
            assert IN_HEADER.unpack_from(request)[1] == INIT
            answer(device, request, INIT_OUT.pack(7, 31, 65536, 0, 12, 9, 65536))
            os.write(tell, b"made")
            os.close(tell)
            signal.alarm(300)
            self.serve(device)
            signal.pause()
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(0)

    def serve(self, device):
        """Nothing."""

    def let_go(self):
        """Whoever waits gets "not connected", and the mount is gone."""
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        LIBC.umount2(self.folder.encode(), MNT_DETACH)


def answer(device, request, body=b"", error=0):
    unique = IN_HEADER.unpack_from(request)[2]
    os.write(device, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body)


class DyingMount(DeadMount):
    """Files in one folder, as far as rankinit and its tests use them."""

    def die(self):
        os.kill(self.server, signal.SIGUSR1)
        while peek.wchan(self.server) != "do_sys_pause" and "pause" not in peek.wchan(self.server):
            time.sleep(0.005)

    def serve(self, device):
        self.nodes, self.names = {ROOT: None}, {}

        def stop(*_):
            signal.pause()
        signal.signal(signal.SIGUSR1, stop)
        while True:
            request = os.read(device, 1 << 17)
            _, opcode, _, node = IN_HEADER.unpack_from(request)[:4]
            if opcode in (FORGET, BATCH_FORGET):
                continue
            try:
                answer(device, request, self.reply(opcode, node, request[IN_HEADER.size:]))
            except OSError as error:
                answer(device, request, error=error.errno)

    def attr(self, node):
        """Nothing of it may be kept: attributes are valid for no time."""
        data = self.nodes[node]
        mode = stat.S_IFDIR | 0o755 if data is None else stat.S_IFREG | 0o644
        return ATTR.pack(node, len(data or b""), 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("=4Q2I", node, 0, 0, 0, 0, 0) + self.attr(node)

    def find(self, name):
        if name not in self.names:
            raise OSError(errno.ENOENT, "")
        return self.names[name]

    def reply(self, opcode, node, body):
        if opcode == LOOKUP:
            return self.entry(self.find(body.rstrip(b"\0")))
        if opcode in (GETATTR, SETATTR):
            return struct.pack("=QII", 0, 0, 0) + self.attr(node)
        if opcode == CREATE:
            made = len(self.nodes) + ROOT
            self.nodes[made] = b""
            self.names[body[16:].rstrip(b"\0")] = made
            return self.entry(made) + struct.pack("=QII", 0, 0, 0)
        if opcode == OPEN:
            return struct.pack("=QII", 0, 0, 0)
        if opcode == READ:
            offset, size = struct.unpack_from("=QI", body, 8)
            return self.nodes[node][offset:offset + size]
        if opcode == WRITE:
            offset, size = struct.unpack_from("=QI", body, 8)
            self.nodes[node] = self.nodes[node][:offset] + body[40:40 + size]
            return struct.pack("=II", size, 0)
        if opcode in (RENAME, RENAME2):
            old, new = body[8 if opcode == RENAME else 16:].rstrip(b"\0").split(b"\0")
            self.names[new] = self.find(old)
            del self.names[old]
            return b""
        if opcode == UNLINK:
            self.find(body.rstrip(b"\0"))
            del self.names[body.rstrip(b"\0")]
            return b""
        if opcode in (RELEASE, FLUSH):
            return b""
        raise OSError(errno.ENOSYS, "")


@contextlib.contextmanager
def mounted(folder, kind=DeadMount):
    """For one test, which is skipped where none can be made; then whoever waits there goes on."""
    os.makedirs(folder, exist_ok=True)
    try:
        mount = kind(folder)
    except OSError as error:
        pytest.skip(f"NOT TESTED: no FUSE file system can be mounted here: {error}")
    try:
        yield mount
    finally:
        mount.let_go()
