# SPDX-License-Identifier: Apache-2.0
"""
Ranks that Open MPI's mpirun starts and does not stop, seen as ranks.py sees forks:
through FIFOs, of which the ranks have the other ends.
"""

import os
import selectors
import signal
import subprocess

import ranks

# sh stays, for the status; the last FIFO but one is the rank's alone.
RANK = """
r=$OMPI_COMM_WORLD_RANK
exec 8>"$0/ended.$r"
(exec "$@" >"$0/stdout.$r" 2>"$0/stderr.$r" 9>"$0/closed.$r" 8>&-)
echo $? >&8
"""

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--enable-recovery", "--continuous",
          "--mca", "orte_abort_on_non_zero_status", "0"]


class Watch(ranks.Watch):
    def __init__(self, seconds, limit, folder):
        super().__init__(seconds, limit)
        self.folder, self.mpirun = folder, None

    def start_all(self, count, words, env):
        for number in range(count):
            rank = ranks.Rank(number, None)
            self.ranks.append(rank)
            for what in ("stdout", "stderr", "closed", "ended"):
                path = os.path.join(self.folder, f"{what}.{number}")
                os.mkfifo(path)
                self.selector.register(os.open(path, os.O_RDONLY | os.O_NONBLOCK),
                                       selectors.EVENT_READ, (rank, what))
        self.mpirun = subprocess.Popen(
            [*MPIRUN, "-n", str(count), "sh", "-c", RANK, self.folder, *words], env=env,
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def see(self, rank, what, file):
        if what != "ended":
            return super().see(rank, what, file)
        said = os.read(file, 64)
        if said:
            rank.ended, status = self.now(), int(said)
            rank.status = 128 - status if status > 128 else status
            self.sign()
        return not said

    def stop(self):
        for rank in self.alive():
            rank.told = self.now()
            rank.status = -signal.SIGTERM
        if self.mpirun.poll() is None:
            self.mpirun.terminate()
        try:
            self.mpirun.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.mpirun.pid, signal.SIGKILL)
            self.mpirun.wait()
