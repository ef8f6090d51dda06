# SPDX-License-Identifier: Apache-2.0
"""What harmless.py makes its programs of."""

HEAD = '''import atexit, contextlib, ctypes, faulthandler, functools, gc, logging, os, signal
import subprocess, sys, threading, time, traceback, warnings
RANK = os.environ.get("RANK", "0")
def save(seconds):
    """A checkpoint goes to a slow disk."""
    with open(os.devnull, "w") as file:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            file.write("weights")
            time.sleep(0.05)
def done(*_, seconds={slow}):
    save(seconds)
    with open(os.path.join(os.environ["DONE"], "done-" + RANK), "w") as file:
        file.write("done")
def fail(*_):
    raise {error}
def say(text):
    print(text, file=sys.stderr, flush=True)
'''
ERRORS = ('ValueError("bad batch 17")', 'RuntimeError("CUDA error: out of memory")', 'KeyError(3)',
          'OSError(5, "Input/output error")', 'AttributeError("name")', 'StopIteration(3)',
          'RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:3")',
          'MemoryError()', 'ImportError("libcuda.so.1: cannot open shared object file")',
          'FloatingPointError("loss is nan")', 'Exception()')

# What a program does on its way; each is the body of a function. SLOW is a number of seconds.
BLOCKS = {
    "logs": """
        try:
            fail()
        except BaseException:
            logging.exception("step failed, again")
            save(SLOW)
        """,
    "prints": """
        for attempt in range(2):
            try:
                fail()
            except Exception:
                traceback.print_exc()
        save(SLOW)
        """,
    "chains": """
        try:
            try:
                fail()
            except Exception as error:
                save(SLOW)
                raise RuntimeError("lost") from error
        except RuntimeError:
            traceback.print_exc()
        """,
    "calls the hook": """
        try:
            fail()
        except Exception:
            sys.excepthook(*sys.exc_info())
        save(SLOW)
        """,
    "quotes": """
        say('the log of rank 1 said:\\n[rank1]: Traceback (most recent call last):\\n'
            '[rank1]:   File "train.py", line 9, in <module>\\n[rank1]: ValueError: bad batch 17')
        save(SLOW)
        """,
    "quotes a part": """
        say('Traceback (most recent call last):\\n  File "train.py", line 9, in <module>')
        save(SLOW)
        """,
    "quotes a crash": """
        say('Fatal Python error: Segmentation fault\\n\\nCurrent thread 0x0 (most recent call '
            'first):\\n  File "a.py", line 1 in <module>\\nterminate called after throwing an '
            'instance of c10::Error\\nCUDA error: an uncorrectable ECC error was encountered')
        """,
    "dumps": "faulthandler.dump_traceback(all_threads=True)\nsave(SLOW)",
    "warns": "warnings.warn('Traceback (most recent call last): is only a word')",
    "a thread fails": """
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        save(SLOW)
        """,
    "a thread fails slowly": """
        def work():
            try:
                fail()
            finally:
                save(SLOW)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
    "a pool fails": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(fail), pool.submit(save, SLOW)]:
                if future.exception():
                    say("".join(traceback.format_exception_only(
                        type(future.exception()), future.exception())))
        """,
    "hasattr": """
        class Model:
            @property
            def weights(self):
                try:
                    raise AttributeError("weights")
                finally:
                    save(SLOW)
        say(str(hasattr(Model(), "weights")))
        """,
    "getattr": """
        class Model:
            def __getattr__(self, name):
                try:
                    raise AttributeError(name)
                finally:
                    save(SLOW)
        say(str(getattr(Model(), "weights", None)))
        """,
    "a method of C": """
        class Model:
            def __length_hint__(self):
                try:
                    raise TypeError("no length")
                finally:
                    save(SLOW)
            def __iter__(self):
                return iter(())
        list(Model())
        """,
    "a callback": """
        def work():
            try:
                fail()
            finally:
                save(SLOW)
        ctypes.CFUNCTYPE(None)(work)()
        """,
    "a sort": """
        def key(number):
            try:
                raise TypeError(number)
            finally:
                save(SLOW / 3)
        try:
            sorted([3, 2, 1], key=key)
        except TypeError as error:
            say(repr(error))
        """,
    "suppress": """
        with contextlib.suppress(BaseException):
            try:
                fail()
            finally:
                save(SLOW)
        """,
    "a context": """
        class Held:
            def __enter__(self):
                return self
            def __exit__(self, *exception):
                save(SLOW)
                return True
        with Held():
            fail()
        """,
    "a generator": """
        def batches():
            try:
                yield 1
            finally:
                save(SLOW / 2)
        for batch in batches():
            break
        kept = batches()
        next(kept)
        kept.close()
        """,
    "__del__": """
        class Held:
            def __del__(self):
                try:
                    fail()
                finally:
                    save(SLOW)
        held = Held()
        del held
        """,
    "a cycle": """
        class Held:
            def __del__(self):
                save(SLOW)
                fail()
        held = Held()
        held.own = held
        del held
        gc.collect()
        """,
    "exec": """
        try:
            exec("fail()")
        except BaseException as error:
            save(SLOW)
            say(type(error).__name__ + ": " + str(error))
        """,
    "retries": """
        for attempt in range(3):
            try:
                try:
                    fail()
                finally:
                    save(SLOW / 3)
            except BaseException:
                traceback.print_exc()
                continue
        """,
    "recursion": """
        def deeper():
            return deeper() + 1
        try:
            deeper()
        except RecursionError:
            save(SLOW)
        """,
    "exits in vain": """
        try:
            try:
                sys.exit("no data")
            finally:
                save(SLOW)
        except SystemExit as error:
            say(str(error))
        """,
    "a test runner": """
        try:
            fail()
        except BaseException as error:
            sys.last_type, sys.last_value = type(error), error
            sys.last_traceback, sys.last_exc = error.__traceback__, error
            traceback.print_exc()
        save(SLOW)
        """,
    "a console": """
        import code
        code.InteractiveInterpreter().runsource("1 / 0")
        save(SLOW)
        """,
    "C prints": """
        ctypes.pythonapi.PyRun_SimpleString(b"raise ValueError('in C')")
        save(SLOW)
        """,
    "a crash below": """
        subprocess.run([sys.executable, "-ISc", "raise ValueError('bad batch 17')"])
        save(SLOW)
        """,
    "a signal below": """
        subprocess.run(["/bin/sh", "-c", "echo Traceback >&2; kill -SEGV $$"])
        save(SLOW)
        """,
    "a slow child": """
        subprocess.run(["/bin/sh", "-c", "sleep SLOW; exit 3"])
        """,
    "a fork fails": """
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            try:
                fail()
            except BaseException:
                traceback.print_exc()
                save(SLOW)
            os._exit(1)
        os.waitpid(pid, 0)
        """,
    "multiprocessing": """
        import multiprocessing
        child = multiprocessing.get_context("fork").Process(target=fail)
        child.start()
        child.join()
        save(SLOW)
        """,
    "asyncio": """
        import asyncio
        async def work():
            try:
                raise ValueError("bad batch 17")
            finally:
                await asyncio.sleep(SLOW / 2)
                save(SLOW / 2)
        async def main():
            say(str(await asyncio.gather(work(), return_exceptions=True)))
        asyncio.run(main())
        """,
    "a lost task": """
        import asyncio
        async def work():
            raise ValueError("bad batch 17")
        async def main():
            task = asyncio.ensure_future(work())
            await asyncio.sleep(0.01)
        asyncio.run(main())
        gc.collect()
        save(SLOW)
        """,
    "a signal": """
        def handler(*_):
            save(SLOW)
            raise TimeoutError("17")
        signal.signal(signal.SIGUSR1, handler)
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(3)
        except TimeoutError:
            traceback.print_exc()
        """,
    "KeyboardInterrupt": """
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(3)
        except KeyboardInterrupt:
            save(SLOW)
        """,
    "a hook of its own": """
        hook, threading.excepthook = threading.excepthook, lambda *_: save(SLOW)
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        threading.excepthook = hook
        """,
    "partial": """
        def work(number):
            try:
                return 1 / number
            except ZeroDivisionError:
                save(SLOW)
                logging.exception("no gradient")
        functools.partial(work, 0)()
        """,
    "waits in silence": "save(SLOW)",
}
# Those whose words look like an exception that ended the program, where they are the last.
LAST_WORDS = ("logs", "prints", "calls the hook", "quotes", "a crash below", "a test runner")

# How it ends; done() is its last act.
ENDS = {
    "plainly": "done()",
    "by sys.exit(0)": "done()\nsys.exit(0)",
    "by SystemExit in a finally": """
        try:
            sys.exit(0)
        finally:
            done()
        """,
    "by sys.exit(0) in an except": """
        try:
            fail()
        except BaseException:
            traceback.print_exc()
            done()
            sys.exit(0)
        """,
    "by os._exit": "done()\nsys.stderr.flush()\nos._exit(0)",
    "in atexit": "atexit.register(done)",
    "in atexit, after an exception": """
        atexit.register(done)
        try:
            fail()
        except BaseException:
            traceback.print_exc()
        """,
    "in an atexit callback that has one": """
        @atexit.register
        def last():
            try:
                try:
                    fail()
                finally:
                    done()
            except BaseException:
                traceback.print_exc()
        """,
    "in an atexit callback in C": """
        done(seconds=0)
        atexit.register(ctypes.CDLL(None).usleep, int(1000000 * SLOW))
        """,
    "in a thread": "threading.Thread(target=done).start()",
    "in a thread that fails after it": """
        def last():
            done()
            fail()
        threading.Thread(target=last).start()
        """,
    "in a server": """
        import http.server
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        def stop():
            done()
            server.shutdown()
        threading.Thread(target=server.serve_forever).start()
        threading.Thread(target=stop).start()
        """,
    "in a pool": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        pool.submit(fail)
        pool.submit(done)
        """,
    "in a log handler": """
        class Uploads(logging.Handler):
            def close(self):
                done()
                super().close()
        logging.getLogger("uploads").addHandler(Uploads())
        """,
    "in a child": """
        import multiprocessing
        multiprocessing.get_context("fork").Process(target=done).start()
        """,
    "in a fork": """
        pid = os.fork()
        if pid == 0:
            done()
            os._exit(0)
        os.waitpid(pid, 0)
        """,
    "in another image": """
        text = "import time; time.sleep(SLOW); open(%r, 'w').write('done')"
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-ISc", text % os.path.join(
            os.environ["DONE"], "done-" + RANK)])
        """,
    "in another image, from an except": """
        text = "import time; time.sleep(SLOW); open(%r, 'w').write('done')"
        try:
            fail()
        except BaseException:
            traceback.print_exc()
            os.execv(sys.executable, [sys.executable, "-ISc", text % os.path.join(
                os.environ["DONE"], "done-" + RANK)])
        """,
    "in a cycle": """
        class Last:
            def __init__(self):
                self.own = self
            def __del__(self, done=done):
                done()
        gc.disable()
        atexit.register(lambda last=[Last()]: last.clear() or gc.collect())
        """,
    "in asyncio": """
        import asyncio
        async def main():
            try:
                await asyncio.wait_for(asyncio.sleep(9), 0.01)
            except (asyncio.TimeoutError, TimeoutError):
                traceback.print_exc()
                done()
        asyncio.run(main())
        """,
}
