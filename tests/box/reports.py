# SPDX-License-Identifier: Apache-2.0
"""Reports of a job that never ran, as --report writes them: every member of the schema is there."""

import datetime
import json

import schema

BEGAN = 1769860800.0        # 2026-01-31T12:00:00Z
RANKS = 2                   # of each node


def clock(seconds):
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def fact(value, source="manual"):
    return {"value": value, "source": source, "variable": "X", "raw": str(value)}


def a_rank(number, ranks, began, ended, **more):
    return {"rank": number, "local_rank": number % ranks, "pid": 100 + number,
            "state": "exited", "exit_code": 0, "signal": None, "told": False, "class": None,
            "lost": None, "started": clock(began), "ended": clock(ended), "log": None, **more}


OWN = {"exit_code": 1, "class": "own"}
UNKNOWN = {"exit_code": 3, "class": "unknown"}
LOSS = {"exit_code": 1, "class": "loss", "lost": "peer"}
WAITED = {**LOSS, "lost": "clock"}
STOPPED = {"state": "signaled", "exit_code": None, "signal": "SIGTERM", "told": True,
           "class": "stopped"}
KILLED = {"state": "signaled", "exit_code": None, "signal": "SIGKILL", "class": "own"}


def a_failure(rank, end, why, cause=None):
    named = end["class"] != "loss"
    return {"rank": rank["rank"] if named else None,
            "local_rank": rank["local_rank"] if named else None, "class": end["class"],
            "elsewhere": not named, "node": None if named else "10.0.0.7",
            "kind": "signal" if rank["signal"] else "exit", "exit_code": rank["exit_code"],
            "signal": rank["signal"], "at": rank["ended"], "cause": cause, "reason": [why],
            "traceback": None, "last_lines": [why], "torch_error": None}


def report(node, nodes, *ends, ranks=RANKS, at=60.0, ahead=0.0, clocks=None, job="j-1", attempt=0,
           facts=None, began=BEGAN, why="ValueError: bad batch 17", **more):
    """
    One node: how its ranks ended, so many seconds after the start; an end may be (end, seconds).
    ahead: how far its clock is wrong; clocks: what the link measured of it.
    """
    began += ahead
    members, first = [], None
    for local, end in enumerate(ends or ({},) * ranks):
        end, when = end if isinstance(end, tuple) else (end, at)
        members.append(a_rank(node * ranks + local, ranks, began, began + when, **end))
        if end.get("class") in ("own", "unknown", "loss") and (
                first is None or first["class"] == "loss"):
            first = a_failure(members[-1], end, why)
    last = max(member["ended"] for member in members)
    document = {
        "schema": "rankinit-report-1", "version": "0.1.0",
        "exit_status": 1 if first else 143 if any(end is STOPPED for end in ends) else 0,
        "launch": "process", "host": f"gpu-{node:04d}", "started": clock(began), "ended": last,
        "topology": {"rank": fact(node * ranks), "world_size": fact(nodes * ranks),
                     "node_rank": fact(node), "nnodes": fact(nodes)},
        "ranks": members, "first_failure": first, "refusal": None, "job_verdict": None,
        "job_verdict_node": None,
        "stop": None, "facts": {"kernel": "6.1.0", **(facts or {})}, "roll_call": None,
        "clock": clocks, "autopsy": None, "job_autopsy": None, "check": None, **more}
    if job is not None:
        document["topology"]["job_id"] = fact(job)
    if attempt is not None:
        document["topology"]["restart_count"] = fact(attempt)
    schema.check(document, "report")
    return document


def saw(odd, *others, at=60.0, text="sleeps, train.py:55 in step", suspects=True, name="sleeps"):
    """The autopsy of a node one of whose ranks did not wait for the others."""
    def group(number, ranks, kind, did):
        frame = {"file": "/job/train.py", "line": 55 + number, "function": "step"}
        thread = {"tid": 7, "main": True, "depth": 1, "frames": [frame]}
        return {"group": number, "ranks": ranks, "class": kind, "text": did, "python": "3.12.4",
                "no_stack": None, "threads": [thread]}
    suspect = {"rank": odd, "pid": 9, "class": name, "text": text}
    document = {
        "schema": "rankinit-autopsy-1", "at": clock(BEGAN + at), "why": "stop",
        "interval_ms": 200, "ended": [], "unseen": 0, "cut_ms": None,
        "suspect": suspect if suspects else None,
        "groups": [group(0, [odd], name, text),
                   group(1, list(others), "collective", "waits for the other ranks in barrier")],
        "processes": [], "listed": True, "left_out": 0}
    schema.check(document, "autopsy")
    return document


def stopped(*args, **more):
    return report(*args, STOPPED, STOPPED, **more)


def write(folder, documents):
    """Each in a file of its own, by its number."""
    for number, document in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(document, indent=2) + "\n")


def swollen(document, size):
    """The same with so many bytes: a long traceback, as real ones have."""
    text = json.dumps(document, indent=2)
    document = json.loads(text)
    frame = '  File "/opt/train/model/layers.py", line 417, in forward\n    x = self.mlp(x)\n'
    missing = size - len(text)
    if document["first_failure"] is not None:
        document["first_failure"]["traceback"] = (frame * (missing // len(frame) + 1))[:missing]
        return json.dumps(document, indent=2)
    hosts = [f"gpu-{number:04d}.cluster.internal" for number in range(missing // 36)]
    document["topology"]["hosts"] = fact(hosts)
    document["topology"]["hosts"]["raw"] = "hosts"
    return json.dumps(document, indent=2)


def page(box, *words):
    result = box.run("--blame", *map(str, words), place="below")
    assert result.status == 0 and result.err == "", result
    return result.out.decode()


def names(document):
    return [(suspect["node"], suspect["rank"]) for suspect in document["suspects"]]
