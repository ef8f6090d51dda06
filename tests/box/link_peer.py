# SPDX-License-Identifier: Apache-2.0
"""
The other side of --link, as docs/link.md and lib/link/seal.h describe it and without a line
of rankinit's: a member or a centre that says what a test wants it to say. BLAKE2b is
Python's, the cipher and X25519 libsodium's.
"""

import contextlib
import ctypes
import ctypes.util
import fcntl
import hashlib
import json
import os
import select
import socket
import struct
import termios
import time

import pytest

PORT, PORTS = 9471, 8
SECRET = b"d08fbc5a150028b59a73c7852451d26f"
OTHER_SECRET = b"db66ecb306cea2b109290e9e2b5bee16"
TEXT_MOST = 8192
TAG = 16
OPENING = 69
PATIENCE = 30.0
CLONE_NEWNET = 0x40000000


def _find_sodium():
    name = ctypes.util.find_library("sodium")
    return ctypes.CDLL(name) if name else None


SODIUM = _find_sodium()
needs_sodium = pytest.mark.skipif(SODIUM is None, reason="no libsodium to speak the link with")


# The seal, in the words of lib/link/seal.h.

def blake2b(*parts, key=b""):
    return hashlib.blake2b(b"".join(parts), key=key, digest_size=32).digest()


def job_name(nodes, port=29500, attempt=0, identity=""):
    return f"nodes {nodes}, port {port}, attempt {attempt}, id {identity}".encode()


def job_key(name, secret=SECRET):
    if secret is None:
        return blake2b(b"rankinit link 1: job without a secret\0", name)
    of_secret = blake2b(b"rankinit link 1: secret\0", secret)
    return blake2b(b"rankinit link 1: job\0", name, key=of_secret)


def next_key(key, centre):
    """Of the attempt behind the one that has this key, whose centre had this life."""
    return blake2b(b"rankinit link 1: attempt\0", bytes.fromhex(centre), key=key)


BASE = b"\x09" + bytes(31)


def x25519(scalar, point=BASE):
    """RFC 7748: the point of a scalar, or what two sides share."""
    out = ctypes.create_string_buffer(32)
    assert SODIUM.crypto_scalarmult(out, scalar, point) == 0, "a point of low order"
    return out.raw


def _nonce(count):
    return bytes(16) + struct.pack(">Q", count)


class Direction:
    """Frames one way: each is numbered."""

    def __init__(self, key, name, node, centre, shared):
        self.key = blake2b(b"rankinit link 1: ", name, b"\0", node, centre, shared, key=key)
        self.count = 0

    def frame(self, text):
        head = struct.pack(">H", len(text))
        out = ctypes.create_string_buffer(len(text) + TAG)
        SODIUM.crypto_aead_xchacha20poly1305_ietf_encrypt(
            out, None, text, ctypes.c_ulonglong(len(text)), head, ctypes.c_ulonglong(2), None,
            _nonce(self.count), self.key)
        self.count += 1
        return head + out.raw

    def open(self, head, body):
        out = ctypes.create_string_buffer(max(1, len(body) - TAG))
        wrong = SODIUM.crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, None, None, body, ctypes.c_ulonglong(len(body)), head, ctypes.c_ulonglong(2),
            _nonce(self.count), self.key)
        assert wrong == 0, "a frame that does not open"
        self.count += 1
        return out.raw[:len(body) - TAG]


# What is said.

def life(number):
    return f"{number:032x}"


def hello(node, nodes, number=None, **other):
    """A member's, of the life of that number."""
    said = {"say": "hello", "life": life(1000 + node if number is None else number),
            "centre": life(0), "node": node, "nodes": nodes, "age_ms": 1000, "may_stop": True,
            "place": "guest", "host": f"host{node}", "version": "0.1.0"}
    return {**said, **other}


def end(text, kind="own", fatal=True):
    return {"say": "end", "class": kind, "fatal": fatal, "text": text}


def phase(name):
    return {"say": "phase", "phase": name}


def go(step, goes=True, text=""):
    return {"say": "go", "step": step, "go": goes, "text": text}


def news(text):
    return {"say": "news", "text": text}


def verdict(node, text, order=False, named=True, kind="own"):
    return {"say": "verdict", "node": node, "named": named, "order": order, "class": kind,
            "cause": "unknown", "retry": "same", "rank": -1, "host": f"host{node}",
            "again": False, "mark": 0, "text": text}


def look(soon=False):
    return {"say": "look", "soon": soon}


def groups(text):
    return {"say": "groups", "text": text}


def found(rank, node, text):
    return {"say": "found", "rank": rank, "node": node, "text": text}


def rendered(message):
    return json.dumps(message, ensure_ascii=False).encode()


class Closed(Exception):
    """The other side has closed the connection, and said nothing before."""


class Peer:
    """One connection, from either side. Everything that goes out and comes in is kept."""

    def __init__(self, sock, name, secret=SECRET, centre=False):
        self.sock = sock
        self.key = job_key(name, secret)
        self.keyed = secret is not None
        self.centre = centre
        self.sent = self.got = b""
        self.rest = b""
        self.heard = []
        self.out = self.into = self.met = None

    def close(self):
        self.sock.close()

    def reset(self):
        """An end without a word: the other side gets ECONNRESET."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def put(self, data):
        self.sent += data
        self.sock.sendall(data)

    def take(self, count, seconds=PATIENCE):
        """So many bytes that have come; fewer, where the other side closes before."""
        until = time.monotonic() + seconds
        while len(self.rest) < count:
            left = until - time.monotonic()
            assert left > 0, f"waited {seconds} s for {count} bytes, got {self.rest!r}"
            poll = select.poll()    # its descriptor may be beyond those of select
            poll.register(self.sock, select.POLLIN)
            if not poll.poll(1000 * left):
                continue
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                break
            self.got += data
            self.rest += data
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    # The opening.

    def opening(self, keyed=None, magic=b"RKL4", point=None):
        self.scalar = os.urandom(32)
        keyed = self.keyed if keyed is None else keyed
        point = x25519(self.scalar) if point is None else point
        self.own = magic + bytes([keyed]) + os.urandom(32) + point
        return self.own

    def take_opening(self, seconds=PATIENCE):
        theirs = self.take(OPENING, seconds)
        if len(theirs) < OPENING:
            raise Closed
        self.seal(theirs)
        return theirs

    def seal(self, theirs):
        node, centre = (theirs, self.own) if self.centre else (self.own, theirs)
        shared = x25519(self.scalar, theirs[-32:])
        up = Direction(self.key, b"node to centre", node, centre, shared)
        down = Direction(self.key, b"centre to node", node, centre, shared)
        self.out, self.into = (down, up) if self.centre else (up, down)

    def meet(self, **opening):
        """Both openings: a caller speaks first."""
        self.put(self.opening(**opening))
        return self.take_opening()

    # Frames.

    def say(self, *messages):
        self.put(b"".join(self.out.frame(rendered(message)) for message in messages))

    def say_bytes(self, text):
        self.put(self.out.frame(text))

    def hear(self, kind=None, seconds=PATIENCE):
        """The next message, or the next of a kind; Closed where there is none."""
        while True:
            head = self.take(2, seconds)
            if len(head) < 2:
                raise Closed
            body = self.take(struct.unpack(">H", head)[0] + TAG, seconds)
            said = json.loads(self.into.open(head, body))
            self.heard.append(said)
            if kind in (None, said["say"]):
                return said

    def has_arrived(self):
        """What was said lies in the other side's kernel, whose answer may take a moment."""
        return struct.unpack("i", fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(4)))[0] == 0

    def is_closed(self, seconds=PATIENCE):
        """Nothing more comes but the end of the connection."""
        return self.take(1, seconds) == b""

    def hello(self, node, nodes, number=None, **other):
        """Say it, and return what the centre answers."""
        self.say(hello(node, nodes, number, **other))
        return self.hear("hello")


# Where these meet.

def set_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS, up


@contextlib.contextmanager
def network():
    """This thread, and what it starts, are in a network of their own, which has loopback alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET) < 0:
            pytest.skip(f"no network namespace here: {os.strerror(ctypes.get_errno())}")
        try:
            set_up_loopback()
            yield
        finally:
            assert libc.setns(home, CLONE_NEWNET) == 0
    finally:
        os.close(home)


def connect(port=PORT, seconds=PATIENCE, host="127.0.0.1"):
    """A connection to somebody who may not listen yet."""
    until = time.monotonic() + seconds
    while True:
        sock = socket.socket()
        try:
            sock.connect((host, port))
            return sock
        except ConnectionRefusedError:
            sock.close()
            assert time.monotonic() < until, f"nobody listens on port {port}"
            time.sleep(0.01)


def call(name, secret=SECRET, port=PORT):
    """A member that has called, and met the centre."""
    peer = Peer(connect(port), name, secret)
    peer.meet()
    return peer


def listen(port=PORT):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("0.0.0.0", port))
    sock.listen(64)
    sock.settimeout(PATIENCE)
    return sock


def _answer(listener, name, secret):
    sock, _ = listener.accept()
    peer = Peer(sock, name, secret, centre=True)
    with contextlib.suppress(OSError):
        theirs = peer.take(OPENING)
        peer.put(peer.opening())
        peer.seal(theirs)
    return peer


def answers(listeners, name, secret=SECRET):
    """Centres that were called, all of them at once; what the member says is in their .met."""
    while True:
        peers = [_answer(listener, name, secret) for listener in listeners]
        try:
            for peer in peers:
                peer.met = peer.hear("hello")
            return peers
        except Closed:
            # it was called so long ago that the member has given it up
            for peer in peers:
                peer.close()


def answer(listener, name, secret=SECRET):
    return answers([listener], name, secret)[0]
