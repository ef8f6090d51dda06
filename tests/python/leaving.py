# SPDX-License-Identifier: Apache-2.0
"""Small programs that hang, and what each of them shows from outside: for test_python_left.py.
Those with an exception in hand follow in in_hand.py.

LEFT: an uncaught exception has left the program. HAND: one is in hand that leaves it for certain
(from 3.11 on; before that it is NONE). NONE: neither, for all that is known.

Each row has a name, what it shows, its text, how it starts (as a file, or by "-c", "-m", stdin and
others that write() has; "image" is a file that starts sys.executable), and in which minors.
"""

import textwrap

LEFT, HAND, NONE = "left", "hand", "none"
ROWS = []


def row(name, shows, text, how="file", minors=range(9, 15)):
    ROWS.append((name, shows, textwrap.dedent(text), how, minors))


# --- an uncaught exception has left them

row("a thread waits", LEFT, "waits(); fail()")
row("an atexit callback", LEFT, "atexit.register(hang); fail()")
row("an atexit callback in C", LEFT, "atexit.register(time.sleep, 1000); tell(); fail()")
row("an excepthook", LEFT, "sys.excepthook = hang; fail()")
row("stderr is full", LEFT, """
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    os.dup2(write, 2)
    tell()
    fail()
    """)
row("the end of a cycle", LEFT, """
    class Cycle:
        __del__ = hang
    cycle = Cycle()
    cycle.own = cycle
    del cycle
    fail()
    """)
row("a child of multiprocessing", LEFT, """
    import multiprocessing
    multiprocessing.get_context("fork").Process(target=hang).start()
    fail()
    """)
row("a pool of threads", LEFT, """
    from concurrent.futures import ThreadPoolExecutor
    ThreadPoolExecutor().submit(hang)
    fail()
    """)
row("a log handler", LEFT, """
    import logging
    class Uploads(logging.Handler):
        flush = hang
    handler = Uploads()
    fail()
    """)
for _how in ("-m", "-c", "stdin", "zip", "folder", "package", "-u -X dev"):
    row(f"started as {_how}", LEFT, "waits(); fail()", _how)
row("KeyboardInterrupt", LEFT, "waits(); raise KeyboardInterrupt")
row("BaseException", LEFT, "class Mine(BaseException): pass\nwaits(); raise Mine(17)")
row("raise again", LEFT, """
    waits()
    try:
        fail()
    except ValueError:
        raise
    """)
row("raise from", LEFT, """
    waits()
    try:
        fail()
    except ValueError as error:
        raise RuntimeError("lost") from error
    """)
row("a finally in the module", LEFT, "waits()\ntry:\n    fail()\nfinally:\n    done = 1\n")
row("a with in the module", LEFT, """
    waits()
    with open(os.devnull) as file:
        fail()
    """)
row("asyncio", LEFT, """
    import asyncio
    async def main():
        await asyncio.sleep(0)
        fail()
    waits()
    asyncio.run(main())
    """)
row("run_path", LEFT, """
    import runpy
    if __name__ == "__main__":
        waits()
        runpy.run_path(__file__, run_name="inner")
    else:
        fail()
    """)
row("a module that is not there", LEFT, "waits()\nimport there_is_no_such_module\n")
row("a module that is broken", LEFT, """
    with open(os.path.join(os.path.dirname(__file__), "broken.py"), "w") as file:
        file.write("def (")
    waits()
    import broken
    """)
row("after an exec", LEFT, """
    if "again" not in sys.argv:
        os.execv(sys.executable, [sys.executable, __file__, "again"])
    waits()
    fail()
    """, "image")
row("a forked child", LEFT, """
    pid = os.fork()
    if pid:
        look_at(pid)
        time.sleep(1000)
    waits()
    fail()
    """)
row("register_at_fork", LEFT, """
    os.register_at_fork(after_in_child=lambda: (look_at(os.getpid()), waits()))
    if os.fork():
        time.sleep(1000)
    fail()
    """)
row("settrace", LEFT, """
    def trace(*_):
        return trace
    waits()
    sys.settrace(trace)
    fail()
    """)
row("a hook that clears frames", LEFT, """
    import traceback
    def hook(kind, error, trace):
        traceback.clear_frames(trace)
    sys.excepthook = hook
    waits()
    fail()
    """)
row("a hook that fails", LEFT, "sys.excepthook = fail; waits(); raise KeyError(3)")
row("a hook that exits", LEFT, "sys.excepthook = lambda *_: sys.exit(3); waits(); fail()")
row("5,000 globals", LEFT, """
    globals().update((f"name_{i}", i) for i in range(5000))
    waits(); fail()
    """)
row("200 names in sys", LEFT, """
    for i in range(200):
        setattr(sys, f"name_{i}", i)
    waits(); fail()
    """)
row("a key that is no str", LEFT, "sys.__dict__[3] = 4; waits(); fail()")
row("recursion", LEFT, "def deeper(): deeper()\nwaits(); deeper()")
row("MemoryError", LEFT, "waits(); raise MemoryError")
row("a second exception", LEFT, """
    try:
        fail()
    except ValueError as error:
        keep(error)
    waits()
    raise KeyError(4)
    """)
row("a class's body", LEFT, "waits()\nclass Model:\n    fail()\n")
row("exec", LEFT, "waits()\nexec('fail()')")
row("a generator", LEFT, "waits()\nlist(fail() for _ in range(3))")
row("through C", LEFT, "waits()\nsorted([3, 2], key=fail)")
row("an exception without a message", LEFT, "waits()\nassert 1 == 2")
row("a group", LEFT, "waits()\nraise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
    minors=range(11, 15))

# --- it did not

row("a good end with a thread", NONE, "waits()")
row("sys.exit(1) with a thread", NONE, "waits(); sys.exit(1)")
row("sys.exit(text) with a thread", NONE, "waits(); sys.exit('no data')")
row("a good end with atexit", NONE, "atexit.register(hang)")
row("print_exc", NONE, """
    import traceback
    try:
        fail()
    except ValueError:
        traceback.print_exc()
    hang()
    """)
row("print_exc and a good end", NONE, """
    import traceback
    try:
        fail()
    except ValueError:
        traceback.print_exc()
    waits()
    """)
row("logging.exception", NONE, """
    import logging
    try:
        fail()
    except ValueError:
        logging.exception("it failed")
        hang()
    """)
row("a thread's exception", NONE, """
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    waits()
    """)
row("a low thread's exception", NONE, """
    import _thread
    _thread.start_new_thread(fail, ())
    time.sleep(0.1)
    hang()
    """)
row("the hook by hand", NONE, """
    try:
        fail()
    except ValueError:
        sys.excepthook(*sys.exc_info())
    waits()
    """)
for _end, _text in (("goes on", "hang()"), ("ends", "waits()"), ("exits", "waits(); sys.exit(1)"),
                    ("ends late", "atexit.register(hang)")):
    row(f"a test runner {_end}", NONE, f"""
        def run():
            try:
                fail()
            except ValueError as error:
                keep(error)
        run()
        {_text}
        """)
    row(f"last_value by hand {_end}", NONE, f"""
        try:
            fail()
        except ValueError as error:
            keep(error)
        {_text}
        """)
row("last_value by hand raises SystemExit", NONE, """
    try:
        import there_is_no_such_module
    except ImportError as error:
        keep(error)
    waits()
    raise SystemExit(0)
    """)
row("last_value by hand is printed", NONE, """
    import traceback
    try:
        fail()
    except ValueError as error:
        keep(error)
        traceback.print_exc()
    waits()
    raise SystemExit
    """)
row("showtraceback", NONE, """
    import code
    try:
        fail()
    except ValueError:
        code.InteractiveInterpreter().showtraceback()
    waits()
    raise SystemExit(0)
    """)
# before 3.11 nothing shows what an except may have caught
row("a retry that keeps last_value", NONE, """
    tries = iter([fail, waits, sys.exit])
    while True:
        try:
            next(tries)()
        except Exception as error:
            keep(error)
    """, minors=range(11, 15))
row("last_value by hand and sys.exit in the except", NONE, """
    try:
        fail()
    except ValueError as error:
        keep(error)
        waits()
        sys.exit()
    """, minors=range(11, 15))
# sys.exit ends by another instruction: a RERAISE, as what it kept would
for _part in ("last_type", "last_traceback"):
    row(f"last_value without {_part}", NONE, f"""
        try:
            try:
                fail()
            except ValueError as error:
                keep(error)
            sys.{_part} = None
            waits()
            sys.exit(0)
        finally:
            done = 1
        """)
row("last_value is a text", NONE, "sys.last_value = sys.last_exc = 'text'; waits()")
row("last_value without a traceback", NONE, "keep(ValueError(3)); waits()")
row("sys.exit in an except", NONE, """
    waits()
    try:
        fail()
    except ValueError:
        sys.exit(1)
    """)
row("PyErr_Print goes on", NONE, """
    import ctypes
    call = ctypes.pythonapi
    def print_it():
        call.PyRun_SimpleString(b"1 / 0")
    print_it()
    hang()
    """)
row("PyErr_Print and a good end", NONE, """
    import ctypes
    ctypes.pythonapi.PyRun_SimpleString(b"raise ValueError(3)")
    waits()
    """)
row("PyErr_Print in a thread of C", NONE, """
    import _thread, ctypes
    _thread.start_new_thread(ctypes.pythonapi.PyRun_SimpleString, (b"raise ValueError(3)",))
    while not hasattr(sys, "last_traceback"):
        time.sleep(0.01)
    waits()
    """)
row("exec that is caught", NONE, """
    try:
        exec("fail()")
    except ValueError as error:
        pass
    waits()
    """)
row("like coverage", NONE, """
    import traceback
    try:
        exec(compile("fail()", "prog.py", "exec"), {**globals(), "__name__": "__main__"})
    except Exception:
        traceback.print_exc()
        status = 1
    waits()
    sys.exit(status)
    """)
row("__del__ that fails", NONE, """
    class Broken:
        __del__ = fail
    Broken()
    hang()
    """)
row("an atexit callback that fails", NONE, "atexit.register(hang); atexit.register(fail)")
row("a task that nobody awaits", NONE, """
    import asyncio
    async def lost():
        fail()
    async def main():
        asyncio.ensure_future(lost())
        await asyncio.sleep(0.05)
    asyncio.run(main())
    waits()
    """)
# 3.12 lets no thread fork once its end has begun
row("another thread forks", NONE, """
    def forks():
        while not hasattr(sys, "last_value"):
            time.sleep(0.01)
        time.sleep(0.2)
        if os.fork() == 0:
            look_at(os.getpid())
            hang()
        time.sleep(1000)
    threading.Thread(target=forks).start()
    fail()
    """, minors=(9, 10, 11, 13, 14))
row("a test runner's thread forks", NONE, """
    def run():
        try:
            fail()
        except ValueError as error:
            keep(error)
    run()
    def forks():
        if os.fork() == 0:
            look_at(os.getpid())
            hang()
        time.sleep(1000)
    threading.Thread(target=forks).start()
    """)
row("an exec in the hook", NONE, """
    if "again" in sys.argv:
        hang()
    sys.excepthook = lambda *_: os.execv(sys.executable, [sys.executable, __file__, "again"])
    fail()
    """, "image")
for _start in ("fork", "spawn"):
    row(f"a child by {_start}", NONE, f"""
        import multiprocessing
        def body():
            look_at(os.getpid())
            hang()
        if __name__ == "__main__":
            multiprocessing.get_context("{_start}").Process(target=body).start()
        """, "image")
row("code.interact", NONE, """
    import code
    tell()
    code.interact("", lambda *_: time.sleep(1000))
    """)
row("code.interact after a failure", NONE, """
    import code
    lines = iter(["fail()", "hang()"])
    code.interact("", lambda *_: next(lines), {**globals()})
    """)
row("code.interact has ended", NONE, """
    import code
    lines = iter(["fail()", "exit()"])
    def line(*_):
        for text in lines:
            return text
        raise EOFError
    try:
        code.interact("", line, {**globals()})
    except SystemExit:
        pass
    waits()
    """)
row("the prompt", NONE, "tell()\nfail()", "prompt")
row("the prompt in a call", NONE, "fail()\nhang()", "prompt")
row("python -i", NONE, "tell()\nfail()", "-i")
row("PYTHONINSPECT", NONE, "tell()\nfail()", "inspect")
row("set PYTHONINSPECT", NONE, "os.environ['PYTHONINSPECT'] = '1'\ntell()\nfail()", "open")
row("a sub-interpreter", NONE, """
    try:
        if sys.version_info >= (3, 13):
            from _interpreters import create, exec as run
        else:
            from _xxsubinterpreters import create, run_string as run
        run(create(), "raise ValueError(3)")
    except Exception:
        pass
    hang()
    """)

# --- what cannot be seen

row("__del__ of a global", NONE, """
    class Last:
        __del__ = hang
    last = Last()
    del hang
    fail()
    """)
row("a child that raised", NONE, """
    import multiprocessing
    def body():
        look_at(os.getpid())
        waits()
        fail()
    multiprocessing.get_context("fork").Process(target=body).start()
    """)
row("last_value is deleted", NONE, """
    def hook(*_):
        del sys.last_value
    sys.excepthook = hook
    waits()
    fail()
    """)
