# SPDX-License-Identifier: Apache-2.0
"""A program that waits with known stacks, for images (image.py) and for comparisons.

It tells its pid when all of its threads wait. Started as
python -c 'exec(compile(open("program.py").read(), "/job/train.py", "exec"))'
it has only names of files that no machine has.
"""
import _thread
import asyncio
import os
import sys
import time

ready = []


def wait():
    ready.append(1)
    while True:
        time.sleep(1000)


# One function in a file of each of these names calls the next: of one byte a character, not
# ASCII, of two bytes, of four, with a byte that is no UTF-8, and of more than fits.
FILES = ("/job/gr\xf6\xdfe.py", "/job/\u65e5\u672c.py", "/job/\U0001f600.py", "/job/\udcff.py",
         "/" + "long/" * 80 + "end.py")


def through(files, then):
    """Calls then from a function of the last of these files, which the others call."""
    for name in reversed(files):
        names = {"inner": then}
        exec(compile("\n\ndef outer():\n    inner()\n", name, "exec"), names)
        then = names["outer"]
    then()


class Trainer:
    def step(self, left):
        if left:
            self.step(left - 1)
        else:
            (self.
                epoch(

            ))

    def epoch(self):
        through(FILES, lambda: max([1, 2], key=self.batch))

    def batch(self, _):
        ready.append(1)
        for _ in self.batches(
            10,
        ):
            pass

    def batches(self, _):
        yield wait()


async def serve():
    await asyncio.sleep(0)
    wait()


def deep(left):
    return deep(left - 1) if left else wait()


def long_name():
    names = {"wait": wait}
    exec("def " + "n" * 300 + "():\n    wait()\nn = " + "n" * 300, names)
    names["n"]()


def far_down():
    names = {"wait": wait}
    text = ["def far():\n    x = 1", "\n" * 70001, "    if x:", "\n" * 301, "        wait()\n"]
    exec(compile("".join(text), "/job/far.py", "exec"), names)
    names["far"]()


THREADS = {
    "deep": lambda: deep(100),
    "long": long_name,
    "far": far_down,
    "async": lambda: asyncio.new_event_loop().run_until_complete(serve()),
}


def main():
    chosen = os.environ.get("THREADS", " ".join(THREADS)).split()
    for name in chosen:
        _thread.start_new_thread(THREADS[name], ())
    while len(ready) < len(chosen):
        time.sleep(0.01)
    time.sleep(0.2)
    os.write(1, b"%d\n" % os.getpid())
    Trainer().step(3)


main()
