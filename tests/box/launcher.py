# SPDX-License-Identifier: Apache-2.0
"""
A launcher's stand-in: it starts, reaps and stops its ranks as torchrun does (torch/distributed/
elastic/multiprocessing/api.py). Each of its words is a shell's line, that of a rank.
"""

import sys

LAUNCHER = f"""#!{sys.executable} -IS
import os, signal, sys
ranks, restarts = {{}}, int(os.environ.pop("RESTARTS", "0"))
tells = "TELLS" in os.environ
signal.signal(signal.SIGTERM, lambda *_: [os.kill(pid, 15) for pid in ranks])
def start(attempt):
    for rank, command in enumerate(sys.argv[1:]):
        # one that is told to stop before it is a shell is not to take that for its parent's
        signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGTERM}})
            world = str(len(sys.argv) - 1)
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=world,
                              LOCAL_WORLD_SIZE=world, ATTEMPT=str(attempt))
            if "ERRORS" in os.environ:
                error = os.environ["ERRORS"] % (attempt, rank)
                os.environ["TORCHELASTIC_ERROR_FILE"] = (
                    error if "RELATIVE" in os.environ else os.path.abspath(error))
            if tells:
                os.environ.update(TORCHELASTIC_RESTART_COUNT=str(attempt),
                                  TORCHELASTIC_MAX_RESTARTS=str(restarts))
            os.execv("/bin/sh", ["sh", "-c", command])
        ranks[pid] = rank
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGTERM}})
for attempt in range(restarts + 1):
    start(attempt)
    failed = False
    while ranks:
        pid, status = os.wait()
        del ranks[pid]
        if status and not failed:
            failed = True
            for pid in ranks:
                os.kill(pid, int(os.environ.get("STOP", "15")))
    if not failed:
        sys.exit(0)
sys.exit(1)
"""
