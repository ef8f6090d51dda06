# SPDX-License-Identifier: Apache-2.0
"""A program of five thousand threads, and its own, all of which wait."""
import _thread
import time


def wait():
    time.sleep(600)


def main():
    _thread.stack_size(65536)
    for _ in range(5000):
        _thread.start_new_thread(wait, ())
    print("there", flush=True)
    wait()


main()
