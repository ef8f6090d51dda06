# SPDX-License-Identifier: Apache-2.0
"""How fast the lines of several ranks go through: beside cat and torchrun's tee."""

import shutil
import statistics
import subprocess
import tempfile

RANKS = 4
LENGTH = 100        # bytes of a line, its end included
PREFIX = 4          # "[0] "


class Way:
    """
    One way for bytes: who starts the speakers, and how many bytes it adds to a
    line (None: nobody knows).
    """

    def __init__(self, words, megabytes, prefix=0, ranks=RANKS):
        self.words = words
        self.bytes = megabytes * 1000000 // ranks // LENGTH * LENGTH
        self.prefix = prefix
        self.ranks = ranks

    def run(self, talk, folder):
        """Megabytes in a second, as they were said."""
        words = [word.replace("@BYTES", str(self.bytes)).replace("@FOLDER", folder)
                 for word in self.words]
        way = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        heard = subprocess.run([talk, "hear"], stdin=way.stdout, capture_output=True, text=True,
                               timeout=300, check=True)
        way.stdout.close()
        if way.wait() != 0:
            raise RuntimeError(f"{words[0]} ended with status {way.returncode}")
        count, time = map(int, heard.stdout.split())
        said = self.bytes * self.ranks
        wanted = said + said // LENGTH * (self.prefix or 0)
        if count < wanted or (self.prefix is not None and count != wanted):
            raise RuntimeError(f"{count} bytes came, of {wanted}")
        return said / max(time, 1) * 1000


def torchrun():
    """The words of a torch.distributed.run that is there, or None."""
    for python in ("/usr/bin/python3", shutil.which("python3")):
        found = subprocess.run([python, "-c", "import torch.distributed.run"],
                               capture_output=True, check=False) if python else None
        if found and found.returncode == 0:
            return [python, "-m", "torch.distributed.run", "--standalone", "--no_python",
                    f"--nproc_per_node={RANKS}", "--tee=3", "--log_dir=@FOLDER"]
    return None


def ways(rankinit, fans_out, talk, quick):
    """row -> Way"""
    size = 200 if quick else 1000
    ranks = RANKS if fans_out else 1
    start = [rankinit, *([f"--nproc-per-node={RANKS}"] if fans_out else [])]
    say = [talk, "say", "@BYTES", str(LENGTH)]
    rows = {
        "cat": Way(["sh", "-c", f"'{talk}' say @BYTES {LENGTH} | cat"], size, ranks=1),
        "rankinit-prefix": Way([*start, "--log-prefix", "--", *say], size, PREFIX, ranks),
        "rankinit-files": Way([*start, "--log-prefix", "--log-file=@FOLDER/%r", "--", *say],
                              size // 5, PREFIX, ranks),
    }
    tee = torchrun()
    if tee:
        rows["torchrun-tee"] = Way([*tee, *say], 10, None)
    return rows


def throughput(rows, talk, rounds):
    """row -> (median, lower, upper quartile), or why there is none; interleaved."""
    rates, failed = {name: [] for name in rows}, {}
    for number in range(rounds):
        for name, way in rows.items():
            if name in failed or (name == "torchrun-tee" and number >= 3):
                continue
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                try:
                    rates[name].append(way.run(talk, folder))
                except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                    failed[name] = f"failed: {error}"
    found = {}
    for name, list_ in rates.items():
        if name not in failed:
            low, middle, high = statistics.quantiles(list_, n=4) if len(list_) > 1 else list_ * 3
            found[name] = (middle, low, high)
    return found, failed
