#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""offsets.py [--cc=COMPILER] [INCLUDE...]: lib/python/offsets.def again, from CPython's headers.

INCLUDE is a folder with Python.h and internal/, as .../include/python3.12; without one, those
of Debian's packages, of pyenv and of `make pythons` that are here. Each is compiled with
Py_BUILD_CORE and asked by offsetof; what differs from the table is printed, and counts.
--cc=aarch64-linux-gnu-gcc does the same for that architecture. Nothing is run: the numbers are
read off the assembler's text. --write prints the rows as the table has them.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLE = os.path.join(TOP, "lib/python/offsets.def")
ABSENT = 0xffffffff
MINORS = (9, 10, 11, 12, 13, 14)
HEADERS = ("Python.h", "internal/pycore_runtime.h", "internal/pycore_interp.h",
           "internal/pycore_pystate.h", "internal/pycore_frame.h", "internal/pycore_code.h",
           "internal/pycore_interpframe.h", "internal/pycore_debug_offsets.h",
           "internal/pycore_dict.h", "frameobject.h", "opcode.h")


def of(struct, member):
    return f"offsetof({struct}, {member})"


def debug(group, name):
    return f"offsetof(struct _Py_DebugOffsets, {group}.{name})"


OLD_FRAME = "struct _frame"
FRAME = "struct _PyInterpreterFrame"
THREAD = "struct _ts"
INTERPRETER = "struct _is"
RUNTIME = "struct pyruntimestate"
KEYS = "struct _dictkeysobject"

# name -> what C says of it in 3.9, 3.10, 3.11, 3.12, 3.13 and 3.14; None: there is none.
OFFSETS = {
    # in _PyRuntime: the newest interpreter
    "interpreters": [of(RUNTIME, "interpreters.head")] * 4 +
                    [debug("runtime_state", "interpreters_head")] * 2,
    # in an interpreter: the next older one, the dict of its sys, and its newest thread
    "interpreter_next": [of(INTERPRETER, "next")] * 4 + [debug("interpreter_state", "next")] * 2,
    "sysdict": [of(INTERPRETER, "sysdict")] * 4 + [debug("interpreter_state", "sysdict")] * 2,
    "threads": [of(INTERPRETER, "tstate_head")] * 2 + [of(INTERPRETER, "threads.head")] * 2 +
               [debug("interpreter_state", "threads_head")] * 2,
    # in a thread: the next older one, what pthread_self() and gettid() say in it
    "thread_next": [of(THREAD, "next")] * 4 + [debug("thread_state", "next")] * 2,
    "thread_pthread": [of(THREAD, "thread_id")] * 4 + [debug("thread_state", "thread_id")] * 2,
    "thread_tid": [None] * 2 + [of(THREAD, "native_thread_id")] * 2 +
                  [debug("thread_state", "native_thread_id")] * 2,
    # its innermost frame; in 3.11 and 3.12 there is a struct on its C stack in between
    "thread_frame": [of(THREAD, "frame")] * 2 + [of(THREAD, "cframe")] * 2 +
                    [debug("thread_state", "current_frame")] * 2,
    "cframe_frame": [None] * 2 + [of("struct _PyCFrame", "current_frame")] * 2 + [None] * 2,
    # in a frame: its caller, the code object, where in it (3.9 and 3.10: an int), its kind
    "frame_previous": [of(OLD_FRAME, "f_back")] * 2 + [of(FRAME, "previous")] * 2 +
                      [debug("interpreter_frame", "previous")] * 2,
    "frame_code": [of(OLD_FRAME, "f_code")] * 2 + [of(FRAME, "f_code")] * 2 +
                  [debug("interpreter_frame", "executable")] * 2,
    "frame_instruction": [of(OLD_FRAME, "f_lasti")] * 2 + [of(FRAME, "prev_instr")] * 2 +
                         [debug("interpreter_frame", "instr_ptr")] * 2,
    "frame_owner": [None] * 2 + [of(FRAME, "owner")] * 2 +
                   [debug("interpreter_frame", "owner")] * 2,
    # in a code object
    "code_file": [of("PyCodeObject", "co_filename")] * 4 + [debug("code_object", "filename")] * 2,
    "code_name": [of("PyCodeObject", "co_name")] * 2 + [of("PyCodeObject", "co_qualname")] * 2 +
                 [debug("code_object", "qualname")] * 2,
    "code_line": [of("PyCodeObject", "co_firstlineno")] * 4 +
                 [debug("code_object", "firstlineno")] * 2,
    "code_table": [of("PyCodeObject", "co_lnotab")] + [of("PyCodeObject", "co_linetable")] * 3 +
                  [debug("code_object", "linetable")] * 2,
    "code_first": [None] * 2 + [of("PyCodeObject", "co_code_adaptive")] * 2 +
                  [debug("code_object", "co_code_adaptive")] * 2,
    # in a bytes object
    "bytes_size": [of("PyBytesObject", "ob_base.ob_size")] * 4 +
                  [debug("bytes_object", "ob_size")] * 2,
    "bytes_data": [of("PyBytesObject", "ob_sval")] * 4 + [debug("bytes_object", "ob_sval")] * 2,
    # in a str: how many characters, of which kind, and where they begin if all are ASCII
    "str_length": [of("PyASCIIObject", "length")] * 4 + [debug("unicode_object", "length")] * 2,
    "str_state": [of("PyASCIIObject", "state")] * 4 + [debug("unicode_object", "state")] * 2,
    "str_ascii": ["sizeof(PyASCIIObject)"] * 4 + [debug("unicode_object", "asciiobject_size")] * 2,
    # in any object: its type, which has a name in C and flags; in a tuple: what it holds
    "object_type": [of("PyObject", "ob_type")] * 4 + [debug("pyobject", "ob_type")] * 2,
    "type_name": [of("PyTypeObject", "tp_name")] * 4 + [debug("type_object", "tp_name")] * 2,
    "type_flags": [of("PyTypeObject", "tp_flags")] * 4 + [debug("type_object", "tp_flags")] * 2,
    "tuple_items": [of("PyTupleObject", "ob_item")] * 4 + [debug("tuple_object", "ob_item")] * 2,
    # in a dict: its keys, and their values where several dicts share the keys
    "dict_keys": [of("PyDictObject", "ma_keys")] * 4 + [debug("dict_object", "ma_keys")] * 2,
    "dict_values": [of("PyDictObject", "ma_values")] * 4 + [debug("dict_object", "ma_values")] * 2,
}
CONSTANTS = {
    # where the characters of any other str begin
    "str_compact": ["sizeof(PyCompactUnicodeObject)"] * 6,
    # frames of this kind and above are the interpreter's own
    "owner_inner": [None] * 3 + ["FRAME_OWNED_BY_CSTACK"] * 2 + ["FRAME_OWNED_BY_INTERPRETER"],
    # bits of a frame's pointer to its code object that are no address
    "code_tag": ["0"] * 5 + ["Py_TAG_BITS"],
    # in a thread: 1 for the first one of its interpreter
    "thread_number": [of(THREAD, "id")] * 6,
    # in a thread: what it handles; in such an entry: the exception, and the entry outside of it
    "thread_handles": [of(THREAD, "exc_info")] * 6,
    "handled_exception": [of("_PyErr_StackItem", "exc_value")] * 6,
    "handled_previous": [of("_PyErr_StackItem", "previous_item")] * 6,
    # in an exception: its arguments, the traceback of the frames that it has come through
    "exception_args": [of("PyBaseExceptionObject", "args")] * 6,
    "exception_traceback": [of("PyBaseExceptionObject", "traceback")] * 6,
    # in a traceback: the next one inwards, a frame object, the instruction; in a frame object: the
    # frame that it is made of, where that is a struct of its own
    "traceback_next": [of("PyTracebackObject", "tb_next")] * 6,
    "traceback_frame": [of("PyTracebackObject", "tb_frame")] * 6,
    "traceback_instruction": [of("PyTracebackObject", "tb_lasti")] * 6,
    "frame_data": [None] * 2 + [of(OLD_FRAME, "f_frame")] * 4,
    # in a frame object: that of its caller, which it has from its end on; in a frame: its state
    # (3.9: it runs; from 3.11 on frame_owner tells it), what that is after its end, its globals,
    # and whether C code has called it
    "frame_caller": [of(OLD_FRAME, "f_back")] * 6,
    "frame_state": [of(OLD_FRAME, "f_executing"), of(OLD_FRAME, "f_state")] + [None] * 4,
    "frame_ended": ["0", "FRAME_RAISED"] + ["FRAME_OWNED_BY_FRAME_OBJECT"] * 4,
    "frame_globals": [of(OLD_FRAME, "f_globals")] * 2 + [of(FRAME, "f_globals")] * 4,
    "frame_entry": [None] * 2 + [of(FRAME, "is_entry")] + [None] * 3,
    # in a code object: its instructions, where they are no part of it
    "code_bytes": [of("PyCodeObject", "co_code")] * 2 + [None] * 4,
    # in a code object: its exception table; the instruction that a handler begins with, and the one
    # that does nothing
    "code_handlers": [None] * 2 + [of("PyCodeObject", "co_exceptiontable")] * 4,
    "handler_begins": [None] * 2 + ["PUSH_EXC_INFO"] * 4,
    "does_nothing": [None] * 2 + ["NOP"] * 4,
    # the instructions that raise
    "raises": ["RAISE_VARARGS"] * 6,
    "raises_again": ["RERAISE"] * 6,
    # in the keys of a dict: how many indices (from 3.11 on the logarithm of their bytes), what
    # kinds of keys, how many entries, and the indices, which the entries follow; 3.9 and 3.10 have
    # that struct in Objects/dict-common.h, which is not installed
    "keys_size": ["8"] * 2 + [of(KEYS, "dk_log2_index_bytes")] * 4,
    "keys_kind": [None] * 2 + [of(KEYS, "dk_kind")] * 4,
    "keys_count": ["32"] * 2 + [of(KEYS, "dk_nentries")] * 4,
    "keys_indices": ["40"] * 2 + [of(KEYS, "dk_indices")] * 4,
}
ROWS = {**{name: ("OFFSET", row) for name, row in OFFSETS.items()},
        **{name: ("CONSTANT", row) for name, row in CONSTANTS.items()}}


def minor_of(include):
    with open(os.path.join(include, "patchlevel.h"), encoding="utf-8") as file:
        found = dict(re.findall(r"^#define PY_(MAJOR|MINOR)_VERSION\s+(\d+)", file.read(), re.M))
    return int(found["MINOR"]) if found.get("MAJOR") == "3" else 0


def ask(include, minor, compiler):
    """The column of this minor, name -> number; None: these are another architecture's headers."""
    column = MINORS.index(minor)
    lines = ["#define Py_BUILD_CORE 1", "#include <stddef.h>"]
    lines += [f'#include "{name}"' for name in HEADERS
              if os.path.exists(os.path.join(include, name))]
    wanted = {name: row[column] for name, (_, row) in ROWS.items() if row[column]}
    lines += ["void answer(void) {"]
    lines += [f'__asm__ volatile("ANSWER {name} %c0" :: "i"({text}));'
              for name, text in wanted.items()]
    lines += ["}"]
    # pyconfig.h of a multiarch package is a folder away
    parent, leaf = os.path.split(include.rstrip("/"))
    multiarch = glob.glob(os.path.join(parent, "*-linux-gnu"))
    done = subprocess.run(
        [compiler, "-std=gnu11", "-O0", "-S", "-o", "-", "-x", "c", "-w", f"-I{include}",
         f"-I{include}/internal", f"-I{include}/internal/mimalloc", f"-I{parent}",
         *[f"-I{path}" for path in multiarch], *[f"-I{path}/{leaf}" for path in multiarch], "-"],
        input="\n".join(lines), capture_output=True, text=True, check=False)
    if "pyconfig.h: No such file" in done.stderr:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{include}: {done.stderr[:2000]}")
    found = dict(re.findall(r"ANSWER (\w+) \$?#?(-?\d+)", done.stdout))
    return {name: int(found[name]) if name in wanted else ABSENT for name in ROWS}


def table():
    """name -> [number for each minor], as the table has it."""
    with open(TABLE, encoding="utf-8") as file:
        rows = re.findall(r"^RI_PYTHON_(OFFSET|CONSTANT)\(\s*(\w+),([^)]*)\)", file.read(), re.M)
    return {name: (kind, [ABSENT if word.strip() == "RI_PYTHON_NO" else int(word)
                          for word in numbers.split(",")]) for kind, name, numbers in rows}


def here():
    return [path for pattern in ("/usr/include/python3.*",
                                 os.path.expanduser("~/.pyenv/versions/3.*/include/python3.*"),
                                 os.path.join(TOP, "build/pythons/*/usr/include/python3.*"))
            for path in sorted(glob.glob(pattern))
            if os.path.exists(os.path.join(path, "internal")) and minor_of(path) in MINORS]


def write(columns):
    for name, (kind, _) in ROWS.items():
        numbers = [columns[minor][name] for minor in MINORS if minor in columns]
        print(f"RI_PYTHON_{kind}({name}, " +
              ", ".join("RI_PYTHON_NO" if number == ABSENT else str(number)
                        for number in numbers) + ")")


def main(arguments):
    options = dict(word[2:].partition("=")[::2] for word in arguments if word.startswith("--"))
    compiler = options.get("cc", "gcc")
    includes = [word for word in arguments if not word.startswith("--")] or here()
    if shutil.which(compiler) is None or not includes:
        print(f"skip: there is no {compiler}, or there are no headers of CPython")
        return 77
    columns = {}
    said = table()
    wrong = [f"{TABLE}: its rows are not those of {__file__}"] if list(said) != list(ROWS) and \
        "write" not in options else []
    for path in includes:
        minor = minor_of(path)
        found = ask(path, minor, compiler)
        if found is None:
            print(f"3.{minor}: {path} is not for {compiler}")
            continue
        columns[minor] = found
        for name, (_, numbers) in said.items():
            number = numbers[MINORS.index(minor)]
            if name in columns[minor] and number != columns[minor][name]:
                wrong.append(f"{path}: {name} is {columns[minor][name]}, not {number}")
        print(f"3.{minor}: {len(columns[minor])} numbers of {path}, {compiler}")
    if not columns:
        print(f"skip: no headers of CPython for {compiler}")
        return 77
    if "write" in options:
        write(columns)
        return 0
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
