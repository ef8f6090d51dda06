#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""harmless.py [--python=PATH] [--rankinit=FILE] [--count=N] [--seed=N] [--jobs=N]

Random programs that are well: each catches, logs, quotes, forks, execs and saves slowly, at places
that look like a hang after an exception, writes its file "done" as the last thing that it does, and
ends with status 0. rankinit runs them: one of them, two ranks, or two below a launcher. Whoever of
them is stopped, or named by a line or by the report, is printed with its seed. --alone runs them
without rankinit, and --print shows the program of a seed. Several --python take turns, and
--python=all is every one that is here.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import interpreters

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PATIENCE = 60
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
# Which of the words below starts it: as one command, as two ranks, or below a launcher.
MODES = ("one", "ranks", "torchrun")
OPTIONS = ((), ("--restarts=1",), ("--grace=1",), ("--log-prefix",), ("--exit-class",),
           ("--state=s.json",), ("--launch=process",))
LINGER = "--linger=0.2"


def dedent(text):
    lines = text.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[margin:] for line in lines if line.strip()]


def label(name):
    return "do_" + re.sub(r"\W+", "_", name)


def written(name, text, slow, inline):
    """A step, as a function that is called, or as a part of the module itself."""
    name = label(name)
    lines = [line.replace("SLOW", f"{slow:.2f}") for line in dedent(text)]
    if inline:
        return [f"# {name}", *lines]
    return [f"def {name}():", *(f"    {line}" for line in lines), f"{name}()"]


def program(seed):
    """(text, mode, options): the same for the same seed."""
    draw = random.Random(seed)
    blocks = draw.sample(sorted(BLOCKS), draw.randint(1, 3))
    end = draw.choice(sorted(ENDS))
    if draw.random() < 0.6:
        blocks.append(draw.choice(LAST_WORDS))
    # one place is slow, mostly the end
    place = draw.choice((len(blocks), len(blocks), draw.randrange(len(blocks))))
    slow = [round(draw.uniform(1.2, 1.6), 2) if i == place else draw.choice((0, 0, 0.05))
            for i in range(len(blocks) + 1)]
    body = [HEAD.format(slow=slow[-1], error=draw.choice(ERRORS))]
    if draw.random() < 0.3:
        body += ["atexit.register(logging.shutdown)"]
    if draw.random() < 0.3:
        body += ["threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"]
    for (name, part), seconds in zip([*((name, BLOCKS[name]) for name in blocks),
                                      (end, ENDS[end])], slow):
        body += written(name, part, seconds, draw.random() < 0.7)
    body += [""]
    mode = draw.choice(MODES)
    options = draw.choice(OPTIONS)
    if mode == "torchrun" or options == ("--log-prefix",) and mode == "one":
        options = ()
    return "\n".join(body), mode, (LINGER, "--report=r.json", *options)


def command(mode, python):
    """The words behind rankinit's options; the launcher is ./torchrun."""
    if mode == "alone":
        return [*python, "train.py"]
    if mode == "torchrun":
        line = f"exec {' '.join(python)} train.py"
        return ["--", "./torchrun", line, line]
    return [*(["--nproc-per-node=2"] if mode == "ranks" else []), "--", *python, "train.py"]


def launcher():
    sys.path.append(os.path.join(TOP, "tests/behaviour"))
    from test_launched import LAUNCHER  # pylint: disable=import-outside-toplevel
    return LAUNCHER


# A line that says that a rank, or a job, is not well.
BLAMES = re.compile(r"^rankinit: .*(\brank \d|\bfailed\b|\braised\b|\bverdict\b|\bstop)", re.M)


def judge(folder, mode, done):
    """What is wrong; None: nothing is."""
    ranks = 1 if mode in ("one", "alone") else 2
    text = done.stderr.decode("utf-8", "replace")
    found = BLAMES.search(text)
    if done.returncode != 0:
        return f"ended with {done.returncode}"
    if not all(os.path.exists(os.path.join(folder, f"done-{rank}")) for rank in range(ranks)):
        return "has not done all"
    if mode == "alone":
        return None
    if found:
        return f"said: {text[found.start():].splitlines()[0]}"
    with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
        report = json.load(file)
    blamed = [name for name in ("first_failure", "verdict", "stop") if report[name] is not None]
    return f"the report has {blamed}" if blamed else None


def in_namespace():
    """rankinit is process 1 of a container, where this user may make one."""
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*words, "/bin/true"], capture_output=True, check=False) \
        if shutil.which("unshare") else None
    return words if done and done.returncode == 0 else []


def run(text, mode, options, python, rankinit, before, shim):
    """Runs it in a folder of its own: what is wrong with that, None for nothing; what it said."""
    with tempfile.TemporaryDirectory(prefix="harmless-") as folder:
        for name, content in (("train.py", text), ("torchrun", shim)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        os.chmod(os.path.join(folder, "torchrun"), 0o755)
        words = [*before, *([rankinit, *options] if rankinit else []), *command(mode, python)]
        with subprocess.Popen(
                words, cwd=folder, env={"PATH": os.environ["PATH"], "DONE": folder,
                                        "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True) as job:
            try:
                said = job.communicate(timeout=PATIENCE)[1]
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                said = job.communicate()[1]
            done = subprocess.CompletedProcess(words, job.returncode, None, said)
        return judge(folder, mode, done), said.decode("utf-8", "replace")


def run_all(pythons, rankinit, seeds, jobs):
    """[(seed, python, what is wrong, what was said)] of those with which something is."""
    before, shim = in_namespace(), launcher()

    def one(seed):
        text, mode, options = program(seed)
        mode = mode if rankinit else "alone"
        more, python = interpreters.laid_over(pythons[seed % len(pythons)])
        wrong, said = run(text, mode, options, python, rankinit, before + more, shim)
        return (seed, python, f"{mode}: {wrong}", said) if wrong else None
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [found for found in pool.map(one, seeds) if found]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--python", action="append")
    parser.add_argument("--rankinit", default=os.path.join(TOP, "build/rankinit"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 1))
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    if given.print:
        print(*program(given.seed)[::-1], sep="\n")
        return 0
    pythons = [[path] for path in given.python or ["/usr/bin/python3"]]
    if given.python == ["all"]:
        pythons = interpreters.native()
    wrong = run_all(pythons, None if given.alone else given.rankinit,
                    range(given.seed, given.seed + given.count), given.jobs)
    for seed, python, why, said in wrong:
        print(f"seed {seed}, {python[-1]}: {why}")
        print("".join(f"    {line}\n" for line in said.splitlines() if "rankinit: " in line),
              end="")
    kinds = collections.Counter(re.sub(r"\d+", "N", why)[:60] for _, _, why, _ in wrong)
    print(f"{given.count - len(wrong)} of {given.count} were left alone", *kinds.most_common(9),
          sep="\n    ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
