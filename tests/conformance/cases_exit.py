# SPDX-License-Identifier: Apache-2.0
"""Exit codes, commands that cannot be run, the command line."""

import os

from registry import case, judge

SAMPLE_CODES = (0, 1, 2, 7, 42, 99, 126, 127, 128, 137, 143, 255)
FATAL_SIGNALS = (1, 2, 9, 11, 15, 34)


def each(bench, step, values, wanted):
    """Which values did not give the code that wanted(value) says."""
    wrong = []
    for value in values:
        code = bench.probe(f"{step}={value}").code()
        if code != wanted(value):
            wrong.append(f"{value} gave {code}")
    return wrong


@case("T01", "exit codes", "12 codes from 0 to 255 come out unchanged")
def t01(bench):
    wrong = each(bench, "exit", SAMPLE_CODES, lambda value: value)
    return judge(not wrong, ", ".join(wrong) or "12 of 12 codes kept")


@case("T02", "command dies of a signal", "exits with 128 + signal, HUP to RTMIN")
def t02(bench):
    wrong = each(bench, "raise", FATAL_SIGNALS, lambda value: 128 + value)
    return judge(not wrong, ", ".join(wrong) or "6 of 6 signals as 128 + n")


@case("T03", "command does not exist", "127, and stderr names the command")
def t03(bench):
    run = bench.start("/nonexistent/no-such-command")
    code = run.code()
    named = "no-such-command" in run.stderr()
    return judge(code == 127 and named,
                 f"{run.outcome()}, {'named' if named else 'not named'}")


def file_in(run_folder, name, content, mode):
    path = os.path.join(run_folder, name)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


@case("T04", "command may not be executed", "126 for a plain file and for a folder")
def t04(bench):
    folder = bench.folder()
    plain = file_in(folder, "plain", b"text\n", 0o644)
    codes = [bench.start(path).code() for path in (plain, folder)]
    return judge(codes == [126, 126], f"file {codes[0]}, folder {codes[1]}")


@case("T05", "executable file of no known format", "126")
def t05(bench):
    path = file_in(bench.folder(), "garbage", b"\x7fELF\x01\x02\x03\x00" * 16, 0o755)
    run = bench.start(path)
    code = run.code()
    return judge(code == 126, run.outcome())


@case("T06", "no command", "fails soon, says how to use it on stderr, nothing on stdout")
def t06(bench):
    run = bench.start(mode="plain")
    code = run.code(5)
    said, out = "usage" in run.stderr().lower(), run.stdout()
    good = code is not None and code > 0 and said and not out
    return judge(good, f"{run.outcome()}, usage {'shown' if said else 'missing'}, "
                       f"{len(out)} bytes on stdout")


@case("T07", "options of the command, without --", "they all reach the command")
def t07(bench):
    run = bench.start("echo", "-g", "-v", "-z", mode="plain")
    run.code()
    out = run.stdout().strip()
    return judge(out == "-g -v -z", f'echo wrote "{out}", {run.outcome()}')


@case("T08", "a second -- is the command", "127: no such command as --")
def t08(bench):
    run = bench.start("--", "true")
    code = run.code()
    return judge(code == 127, run.outcome())
