# SPDX-License-Identifier: Apache-2.0
"""Small programs that hang with an exception in hand: the rows of leaving.py go on."""

from leaving import HAND, NONE, ROWS, row

__all__ = ("ROWS",)

# --- leaves for certain

row("a finally in a function", HAND, """
    def main():
        try:
            fail()
        finally:
            hang()
    main()
    """)
row("a finally around the module", HAND, "try:\n    fail()\nfinally:\n    hang()\n")
row("an except that raises", HAND, """
    def main():
        try:
            fail()
        except ValueError:
            hang()
            raise
    main()
    """)
row("an except that raises another", HAND, """
    def main():
        try:
            fail()
        except ValueError as error:
            hang()
            raise RuntimeError("lost") from error
    main()
    """)
for _how in ("-m", "-c", "stdin", "zip", "package"):
    row(f"a finally in {_how}", HAND, """
        def main():
            try:
                fail()
            finally:
                hang()
        main()
        """, _how)
row("a finally within a finally", HAND, """
    def inner():
        try:
            fail()
        finally:
            hang()
    def main():
        try:
            inner()
        finally:
            done = 1
    main()
    """)
row("what C called raised it", HAND, """
    def main():
        try:
            sorted([3, 2], key=fail)
        finally:
            hang()
    main()
    """)

# --- may be caught

for _name, _call in (
        ("hasattr", "hasattr(Model(), 'name')"), ("getattr", "getattr(Model(), 'name', 3)"),
        ("a property", "hasattr(Model(), 'size')"), ("len", "list(Model())"),
        ("in", "3 in Model()"), ("sort", "sorted([Model(), Model()])"), ("bool", "bool(Model())"),
        ("next", "next(iter(Model()), 3)"), ("a key", "{Model(): 3}"), ("str", "str(Model())"),
        ("map", "list(map(work, [3]))"), ("del", "Model().delete()"), ("exec", "exec('work()')"),
        ("a callback", "ctypes.CFUNCTYPE(None)(work)()"), ("a class", "Model.build()"),
        ("partial", "functools.partial(work)()"), ("close", "Model().batches()"),
        ("reduce", "functools.reduce(work, [3, 2])"), ("a comparison", "Model() == 3"),
        ("a format", "f'{Model()}'"), ("a signal", "Model.signal()"),
        ("isinstance", "isinstance(3, Kind('Kind', (), {}))")):
    row(f"in hand below {_name}", NONE, f"""
        import ctypes, functools, signal
        def work(*_):
            try:
                raise AttributeError("name")
            finally:
                hang()
        class Kind(type):
            __instancecheck__ = work
        class Held:
            __del__ = work
        class Model:
            __getattr__ = __length_hint__ = __lt__ = __bool__ = __hash__ = __str__ = work
            __eq__ = __format__ = __contains__ = size = work
            size = property(work)
            def __iter__(self):
                return self
            __next__ = work
            def delete(self):
                held = Held()
                del held
            def batches(self):
                def inner():
                    try:
                        yield 1
                    finally:
                        work()
                kept = inner()
                next(kept)
                kept.close()
            @staticmethod
            def build():
                class Inner:
                    work()
            @staticmethod
            def signal():
                signal.signal(signal.SIGUSR1, work)
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(1000)
        def main():
            {_call}
        main()
        """)
row("in hand below a suppress", NONE, """
    import contextlib
    with contextlib.suppress(ValueError):
        try:
            fail()
        finally:
            hang()
    """)
row("in hand below an except", NONE, """
    def main():
        try:
            fail()
        finally:
            hang()
    try:
        main()
    except KeyError:
        pass
    """)
row("in hand in an except", NONE, "try:\n    fail()\nexcept ValueError:\n    hang()\n")
row("in hand in a thread", NONE, """
    def work():
        try:
            fail()
        finally:
            hang()
    threading.Thread(target=work).start()
    time.sleep(1000)
    """)
row("in hand in an atexit callback", NONE, """
    @atexit.register
    def work():
        try:
            fail()
        finally:
            hang()
    """)
row("in hand in a task", NONE, """
    import asyncio
    async def work():
        try:
            fail()
        finally:
            hang()
    async def main():
        await asyncio.gather(work(), return_exceptions=True)
    asyncio.run(main())
    """)
row("in hand at a prompt", NONE, """
    exec('''def main():
        try:
            fail()
        finally:
            hang()''')
    main()
    """, "prompt")
row("in hand in a child of multiprocessing", NONE, """
    import multiprocessing
    def work():
        look_at(os.getpid())
        try:
            fail()
        finally:
            hang()
    multiprocessing.get_context("fork").Process(target=work).start()
    """)
row("in hand in a context manager", NONE, """
    import contextlib
    @contextlib.contextmanager
    def held():
        try:
            yield
        finally:
            hang()
    with held():
        fail()
    """)
