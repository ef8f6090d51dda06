# SPDX-License-Identifier: Apache-2.0
"""A program that waits with an exception in hand, for images (image.py) and tests.

THREADS has the names of some of its functions. The main thread runs the last one, and threads the
others. An exception that a function of LEAVES has in hand in the main thread leaves the program for
certain, one of STAYS may be caught. The others, NOTHING, have none any more.
"""
# pylint: disable=lost-exception,return-in-finally,broad-exception-caught,try-except-raise
import _thread
import contextlib
import os
import sys
import threading
import time

ready = []


def wait():
    ready.append(1)
    while True:
        time.sleep(1000)


def step(number=17):
    if number == 17:
        raise ValueError(f"bad batch {number}\n(20 left)", "and more")


class Held:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        wait()
        return True


# --- LEAVES

def a_finally():
    try:
        step()
    finally:
        wait()


def a_finally_in_c():
    try:
        step()
    finally:
        ready.append(1)
        time.sleep(1000)


def a_finally_with_a_try():
    try:
        step()
    finally:
        try:
            wait()
        except OSError:
            pass
        ready.clear()


def a_finally_with_branches():
    try:
        step()
    finally:
        if len(sys.argv) > 9:
            ready.clear()
        else:
            for _ in range(3):
                wait()


def an_except_that_raises():
    try:
        step()
    except Exception:
        wait()
        raise


def an_except_that_raises_another():
    try:
        step()
    except KeyError:
        return 1
    except Exception as error:
        wait()
        raise RuntimeError("lost") from error


def a_finally_in_a_finally():
    try:
        a_finally()
    finally:
        ready.clear()


def a_finally_in_an_except():
    try:
        a_finally()
    except Exception as error:
        ready.append(error)
        raise


# --- STAYS

def an_except():
    try:
        step()
    except Exception:
        wait()


def an_except_with_a_name():
    try:
        step()
    except Exception as error:
        wait()
        ready.append(error)


def an_except_with_a_loop():
    try:
        step()
    except Exception:
        while True:
            if len(sys.argv) > 9:
                return
            wait()


def an_except_that_returns_or_raises():
    try:
        step()
    except Exception:
        if len(sys.argv) > 9:
            return
        wait()
        raise


def a_retry():
    for _ in range(3):
        try:
            a_finally()
        except ValueError:
            continue


def a_choice():
    try:
        a_finally()
    except KeyError:
        pass
    except Exception:
        raise


def a_suppress():
    with contextlib.suppress(ValueError):
        a_finally()


def the_end_of_a_with():
    with Held():
        step()


def a_finally_that_goes_on():
    for _ in range(3):
        try:
            step()
        finally:
            wait()
            continue


def a_finally_that_returns():
    try:
        step()
    finally:
        wait()
        return 3


def a_finally_that_may_return():
    try:
        step()
    finally:
        if len(sys.argv) > 9:
            return
        wait()


# C code calls a generator, and may take what it raises
def a_finally_of_a_generator():
    def batches():
        try:
            step()
        finally:
            wait()
        yield 1
    for _ in batches():
        pass


# --- NOTHING

def one_that_was_caught():
    try:
        step()
    except ValueError:
        pass
    wait()


def one_of_a_generator_that_was_caught():
    def batches():
        try:
            step()
        except ValueError:
            pass
        yield wait()
    for _ in batches():
        pass


LEAVES = (a_finally, a_finally_in_c, a_finally_with_a_try, a_finally_with_branches,
          an_except_that_raises, an_except_that_raises_another, a_finally_in_a_finally,
          a_finally_in_an_except)
STAYS = (an_except, an_except_with_a_name, an_except_with_a_loop,
         an_except_that_returns_or_raises, a_retry, a_choice, a_suppress, the_end_of_a_with,
         a_finally_that_goes_on, a_finally_that_returns, a_finally_that_may_return,
         a_finally_of_a_generator)
NOTHING = (one_that_was_caught, one_of_a_generator_that_was_caught)


def nothing_catches():
    threading.Thread(target=wait).start()
    step()


def main():
    functions = {function.__name__: function
                 for function in (*LEAVES, *STAYS, *NOTHING, nothing_catches)}
    *others, own = os.environ["THREADS"].split()
    for name in others:
        _thread.start_new_thread(functions[name], ())
    while len(ready) < len(others):
        time.sleep(0.01)
    os.write(1, b"%d\n" % os.getpid())
    functions[own]()


if __name__ == "__main__":
    main()
