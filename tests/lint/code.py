#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""code.py [--strings] FOLDER...: the C below these folders, "FILE<tab>LINE" for each line of code.

Without comments and, unless --strings is given, without the insides of strings; lines that end
in a backslash are joined with the next.
"""
import os
import re
import sys

TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def files(folders):
    for folder in folders:
        for path, names, found in os.walk(folder):
            names.sort()
            for name in sorted(found):
                if name.endswith((".c", ".h")):
                    yield os.path.join(path, name)


def code(text, strings):
    def instead(found):
        token = found.group()
        if token.startswith("/"):
            return " "
        return token if strings else token[0] + " " * (token[0] == "'") + token[0]

    return TOKEN.sub(instead, text.replace("\\\n", " "))


def main(arguments):
    strings = "--strings" in arguments
    for path in files(word for word in arguments if word != "--strings"):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for line in code(text, strings).split("\n"):
            if line.strip():
                print(f"{path}\t{line.strip()}")


if __name__ == "__main__":
    main(sys.argv[1:])
