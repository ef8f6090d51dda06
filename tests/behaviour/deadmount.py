# SPDX-License-Identifier: Apache-2.0
"""
A mount whose server is gone: a FUSE file system that answers its first request
(INIT) and looks at no other, so that whoever asks it for a file waits in the
kernel, as with an NFS server that went away.
"""

import ctypes
import os
import signal
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_DETACH = 2
# linux/fuse.h: struct fuse_in_header, fuse_out_header, fuse_init_out
IN_HEADER = struct.Struct("=IIQQIIII")
OUT_HEADER = struct.Struct("=IiQ")
INIT_OUT = struct.Struct("=IIIIHHI40x")
INIT = 26


def answer_init(device):
    _, opcode, unique = IN_HEADER.unpack_from(os.read(device, 65536))[:3]
    assert opcode == INIT, opcode
    body = INIT_OUT.pack(7, 31, 65536, 0, 12, 9, 65536)
    os.write(device, OUT_HEADER.pack(OUT_HEADER.size + len(body), 0, unique) + body)


class DeadMount:
    """
    On that folder, as the process of that pid sees it, or as we do. OSError: it
    cannot be made here.
    """

    def __init__(self, folder, pid=None):
        self.folder, self.pid = str(folder), pid
        told, tell = os.pipe()
        self.server = os.fork()
        if self.server == 0:
            self._serve(tell)
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            said = pipe.read(4)
        if said != b"made":
            os.waitpid(self.server, 0)
            number = int(said or 0)
            raise OSError(number, os.strerror(number), self.folder)

    def _enter(self):
        if self.pid:
            namespace = os.open(f"/proc/{self.pid}/ns/mnt", os.O_RDONLY)
            LIBC.setns(namespace, 0)

    def _serve(self, tell):
        try:
            device = os.open("/dev/fuse", os.O_RDWR)
            self._enter()
            options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other"
            if LIBC.mount(b"dead", self.folder.encode(), b"fuse.dead", 0, options.encode()) < 0:
                raise OSError(ctypes.get_errno(), "mount")
            answer_init(device)
            os.write(tell, b"made")
            os.close(tell)
            signal.alarm(300)
            signal.pause()
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(0)

    def let_go(self):
        """Whoever waits gets "not connected", and the mount is gone."""
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        if not self.pid:
            LIBC.umount2(self.folder.encode(), MNT_DETACH)
