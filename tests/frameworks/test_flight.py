# SPDX-License-Identifier: Apache-2.0
"""
Dumps that torch's Flight Recorder made: --blame names the rank that did not come where all waited
in vain. The oracle is torch's own analyzer, which wants dumps of NCCL's form.
"""

import json
import os
import pickle
import re
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env

RANKS, VICTIM = 4, 2
NUMBER = 6      # of the collective that it does not enter
ENV = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}


def blamed(folder):
    said = subprocess.run([PROGRAM, "--blame=json", str(folder)], capture_output=True, check=True,
                          timeout=SECONDS).stdout
    return json.loads(said)


@pytest.fixture
def play(python_with, tmp_path, free_port):
    """The job, all ranks of which wait in vain; its reports and dumps lie in the folder."""
    python = python_with("torch")

    def run(fault):
        job = subprocess.run(
            [PROGRAM, f"--nproc-per-node={RANKS}", f"--master-port={free_port}", "--checks=none",
             "--settle=60", f"--report={tmp_path}/%n.json", "--", python,
             os.path.join(TRAIN, "torch_flight.py"), fault, str(VICTIM)],
            env=clean_env(**ENV), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS, check=False)
        assert job.returncode == 1, job.stderr
        dumps = sorted(path.name for path in tmp_path.glob("*.flight_*"))
        assert dumps == [f"0.json.flight_{rank}" for rank in range(RANKS)], job.stderr
        document = blamed(tmp_path)
        assert document["skipped"] == []
        return document
    return run


def without_dumps(folder):
    for path in folder.glob("*.flight_*"):
        path.unlink()
    document = blamed(folder)
    return document["finding"], document["suspects"], document["out_of_step"]


def named(document):
    return document["finding"], [one["rank"] for one in document["suspects"]]


def ask_torch(python, folder):
    """The ranks that torch's analyzer misses, if these were dumps of NCCL."""
    made = folder / "nccl"
    made.mkdir()
    for rank in range(RANKS):
        dump = pickle.loads((folder / f"0.json.flight_{rank}").read_bytes())
        dump["pg_config"] = {"0": {"name": "0", "desc": "default_pg",
                                   "ranks": str(list(range(RANKS)))}}
        for entry in dump["entries"]:
            entry["profiling_name"] = entry["profiling_name"].replace("gloo:", "nccl:")
            pending = entry["collective_seq_id"] == NUMBER
            entry["state"] = "started" if pending else "completed"
        (made / f"flight_{rank}").write_bytes(pickle.dumps(dump))
    said = subprocess.run([python, "-m", "torch.distributed.flight_recorder.fr_trace", str(made)],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    found = re.search(r"sequence number: (\d+)\n(?:.*\n)*?.*missing ranks: \{([0-9, ]+)\}",
                      said.stdout + said.stderr)
    assert found, said
    return int(found[1]), [int(rank) for rank in found[2].split(", ")]


def test_the_one_that_did_not_come(play, python_with, tmp_path):
    document = play("missing")
    assert named(document) == ("held", [VICTIM])
    assert document["out_of_step"] == f"rank {VICTIM} never entered all_reduce {NUMBER} of group " \
        "default_pg, which ranks 0-1, 3 entered"
    assert ask_torch(python_with("torch"), tmp_path) == (NUMBER, [VICTIM])
    # the same in NCCL's form, in which the others are seen to wait
    for rank in range(RANKS):
        (tmp_path / "nccl" / f"flight_{rank}").rename(tmp_path / f"0.json.flight_{rank}")
    document = blamed(tmp_path)
    assert named(document) == ("held", [VICTIM])
    assert document["out_of_step"] == f"rank {VICTIM} never entered all_reduce {NUMBER} of group " \
        "default_pg, in which ranks 0-1, 3 wait"
    assert without_dumps(tmp_path) == ("unknown", [], None)


def test_the_one_that_called_another(play, tmp_path):
    document = play("another")
    assert named(document) == ("held", [VICTIM])
    assert document["out_of_step"] == f"in group default_pg rank {VICTIM} entered broadcast " \
        f"{NUMBER} (numel 4), ranks 0-1, 3 entered all_reduce {NUMBER} (numel 4)"
    assert without_dumps(tmp_path) == ("unknown", [], None)


def test_the_control_in_which_all_came(play):
    document = play("together")
    assert named(document) == ("unknown", [])
    assert document["out_of_step"] is None
