#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
What test_seal.c and fuzz_seal.c compare with, made without libsodium: BLAKE2b is
hashlib's; XChaCha20-Poly1305 stands here as RFC 8439 and draft-irtf-cfrg-xchacha-03
write it down, X25519 as RFC 7748 does, and both are held to these documents' examples first.

usage: seal_vectors.py [FOLDER]    prints the vectors; writes the corpus of fuzz_seal
"""
import hashlib
import os
import struct
import sys

MASK = 0xffffffff


def rotate(value, by):
    return (value << by | value >> (32 - by)) & MASK


def quarter(x, a, b, c, d):
    """RFC 8439, 2.1"""
    for first, second, third, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[first] = (x[first] + x[second]) & MASK
        x[third] = rotate(x[third] ^ x[first], by)


def twenty_rounds(words):
    x = list(words)
    for _ in range(10):
        for at in range(4):
            quarter(x, at, at + 4, at + 8, at + 12)
        for at in range(4):
            quarter(x, at, (at + 1) % 4 + 4, (at + 2) % 4 + 8, (at + 3) % 4 + 12)
    return x


def state(key, last):
    return struct.unpack("<16I", b"expand 32-byte k" + key + last)


def block(key, number, nonce):
    """RFC 8439, 2.3"""
    begin = state(key, struct.pack("<I", number) + nonce)
    return struct.pack("<16I", *((one + other) & MASK
                                 for one, other in zip(twenty_rounds(begin), begin)))


def chacha20(key, number, nonce, text):
    out = bytearray()
    for at in range(0, len(text), 64):
        stream = block(key, number + at // 64, nonce)
        out += bytes(one ^ other for one, other in zip(text[at:at + 64], stream))
    return bytes(out)


def hchacha20(key, nonce):
    """The draft, 2.2"""
    x = twenty_rounds(state(key, nonce))
    return struct.pack("<8I", *x[:4], *x[12:])


def poly1305(key, text):
    """RFC 8439, 2.5"""
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(text), 16):
        total = (total + int.from_bytes(text[at:at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def encrypt(key, nonce, text, data):
    """RFC 8439, 2.8, with the draft's 24 bytes of nonce"""
    key, nonce = hchacha20(key, nonce[:16]), bytes(4) + nonce[16:]
    secret = chacha20(key, 1, nonce, text)
    proven = b"".join(part + bytes(-len(part) % 16) for part in (data, secret))
    proven += struct.pack("<QQ", len(data), len(secret))
    return secret + poly1305(block(key, 0, nonce)[:32], proven)


def x25519(scalar, point):
    """RFC 7748, 5"""
    prime = 2**255 - 19
    k = int.from_bytes(scalar, "little") & ~7 & (1 << 255) - 1 | 1 << 254
    u = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for at in range(254, -1, -1):
        bit = k >> at & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        plus, minus = x2 + z2, x2 - z2
        aa, bb = plus * plus, minus * minus
        da, cb = (x3 - z3) * plus, (x3 + z3) * minus
        x3, z3 = (da + cb)**2 % prime, u * (da - cb)**2 % prime
        x2, z2 = aa * bb % prime, (aa - bb) * (aa + 121665 * (aa - bb)) % prime
    if swap:
        x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, prime - 2, prime) % prime).to_bytes(32, "little")


BASE = bytes([9]) + bytes(31)


def check_points():
    """RFC 7748, 6.1"""
    alice, bob = (bytes.fromhex(scalar) for scalar in (
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
    assert x25519(alice, x25519(bob, BASE)).hex() == shared
    assert x25519(bob, x25519(alice, BASE)).hex() == shared


def check():
    """The draft, A.3.1"""
    text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for "
            b"the future, sunscreen would be it.")
    made = encrypt(bytes(range(0x80, 0xa0)), bytes(range(0x40, 0x58)), text,
                   bytes.fromhex("50515253c0c1c2c3c4c5c6c7"))
    assert made[:16].hex() == "bd6d179d3e83d43b9576579493c0e939"
    assert made[-16:].hex() == "c0875924c1c7987947deafd8780acf49"


# --- the protocol, in the words of lib/link/seal.h ---------------------------------

SECRET = bytes(range(32))
SCALARS = [bytes(range(at, at + 32)) for at in (0x20, 0xc0)]
NODE, CENTRE = (bytes(range(at, at + 37)) + x25519(scalar, BASE)
                for at, scalar in zip((0x40, 0x80), SCALARS))
SHARED = x25519(SCALARS[0], CENTRE[37:])


def blake2b(parts, key=b""):
    return hashlib.blake2b(b"".join(parts), key=key, digest_size=32).digest()


def job_key(job, secret):
    if secret is None:
        return blake2b([b"rankinit link 1: job without a secret\0", job])
    return blake2b([b"rankinit link 1: job\0", job],
                   blake2b([b"rankinit link 1: secret\0", secret]))


def direction(key, name):
    return blake2b([b"rankinit link 1: ", name, b"\0", NODE, CENTRE, SHARED], key)


def frame(key, count, text):
    length = struct.pack(">H", len(text))
    return length + encrypt(key, bytes(16) + struct.pack(">Q", count), text, length)


def flipped(text, at):
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1:]


def main(folder):
    check()
    check_points()
    key = job_key(b"train-7", SECRET)
    up, down = direction(key, b"node to centre"), direction(key, b"centre to node")
    hello, empty, last = frame(up, 0, b"hello"), frame(up, 1, b""), frame(up, 2, b"x" * 300)
    vectors = {
        "job key": key,
        "job key of 100 bytes 0xaa": job_key(b"train-7", b"\xaa" * 100),
        "job key without a secret": job_key(b"train-7", None),
        "key of the next attempt": blake2b(
            [b"rankinit link 1: attempt\0", b"a centre's life."], key),
        "node to centre": up, "centre to node": down,
        "frame 0 to the centre": hello, "frame 1 to the centre": empty,
        "frame 0 to the node": frame(down, 0, b"stop"),
        "frame 2^64 - 2 to the node": frame(down, 2**64 - 2, b"end"),
        "end of frame 0 of 8192 bytes 0x55 to the centre": frame(up, 0, b"\x55" * 8192)[-32:],
    }
    for name, value in vectors.items():
        print(f"{name}: {value.hex()}")
    corpus = {
        "one": hello, "three": hello + empty + last, "half": hello + empty[:9],
        "again": hello + hello, "moved": empty + hello, "dropped": hello + last,
        "length-changed": flipped(hello, 1), "text-changed": flipped(hello, 4),
        "tag-changed": flipped(hello, len(hello) - 1),
        "of-the-other-side": frame(down, 0, b"hello"),
        "too-long": b"\x20\x01" + bytes(30), "longest-begun": b"\x20\x00" + bytes(30),
        "one-byte": b"\x00", "plain": b'{"hello": {"job": "train-7", "node": 1}}\n',
    }
    for name, content in corpus.items() if folder else ():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
