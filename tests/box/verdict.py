# SPDX-License-Identifier: Apache-2.0
"""
The sentences of a verdict, each in one place: a test asks for the rank, its end, the status.
What takes a text takes the whole of stderr, a line, or a list of lines.
"""

import re


def as_text(lines):
    return lines if isinstance(lines, str) else "\n".join(lines)


def names(text, rank, local=None):
    """Does a line begin with that rank, a process of this node? A terminal has colours."""
    local = r"\d+" if local is None else local
    return re.search(rf"(^|rankinit: (\x1b\[0m)?)rank {rank} \(local rank {local}, pid \d+\b",
                     as_text(text), re.M) is not None


def failed_first(text, how):
    """Does a line of it name the rank that failed first, and say that it ended so?"""
    return re.search(r"rank \d+ \(.*\) failed first(?: \(node [^)]*\))?: " + re.escape(how) +
                     r"(?=[,: ]|$)", as_text(text), re.M) is not None


def came_late(text, how=""):
    """Does a line of it name the rank that the others waited for, and say that it ended so?"""
    return f") did not come when all others waited for it: {how}" in as_text(text)


def names_none(text, why=""):
    """Does a line of it say that no rank can be named, and why?"""
    return re.search(r"(^|rankinit: (\x1b\[0m)?)cannot tell which rank failed first" +
                     re.escape(why and f": {why}"), as_text(text), re.M) is not None


def was_killed_late(text):
    """Does it say that SIGKILL ended what had not stopped?"""
    return "SIGKILL for processes that did not stop in time" in as_text(text)


def stopped_line(ranks, how="killed by SIGTERM (15)"):
    """The line about ranks that were told to stop: "3", "0-1, 3"."""
    return f"rankinit:   rank{'' if str(ranks).isdigit() else 's'} {ranks}: told to stop, {how}"


def status_line(status, of="the job"):
    """The last line: the status of the job, or where it has more nodes that of this node."""
    return f"rankinit:   {of}'s exit status is {status}"
