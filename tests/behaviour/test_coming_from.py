# SPDX-License-Identifier: Apache-2.0
"""
docs/coming-from.md: both lines of each block are run, theirs where its program is
here, and do the same; where ours gives more, by so much.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from box import BASE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRYPOINT = "/opt/nvidia/nvidia_entrypoint.sh"
BANNER = "stand-in: this is no CUDA image"
NAMES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
# it prints these as one line, and ends as STATUS says
TRAIN = f"""\
import os, sys
print(" ".join(f"{{n}}={{os.environ.get(n)}}" for n in {NAMES}), flush=True)
status = os.environ.get("STATUS", "0")
if status == "TERM":
    os.kill(os.getpid(), 15)
sys.exit(int(status))
"""
TORCHRUN = '#!/bin/sh\necho "$@"; env | grep ^PET_ | sort\n'
PAGE = os.path.join(ROOT, "docs", "coming-from.md")


def blocks():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    return [block.replace("    ", "").splitlines()
            for block in re.findall(r"^    .*\n(?:    .*\n)*", text, re.M)]


@pytest.fixture
def at(tmp_path, rankinit):
    """at(line, **variables): run it where rankinit, torchrun and train.py are."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rankinit").symlink_to(rankinit)
    (tmp_path / "bin" / "torchrun").write_text(TORCHRUN)
    shutil.copy(f"{ROOT}/images/cuda/stand-in/nvidia_entrypoint.sh", tmp_path / "bin")
    for name in "torchrun", "nvidia_entrypoint.sh":
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "train.py").write_text(TRAIN)
    env = {**BASE, "PATH": f"{tmp_path}/bin:{BASE['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def run(line, **variables):
        return subprocess.run(["sh", "-c", line.replace("/opt/nvidia/", "")], cwd=tmp_path,
                              env={**env, **variables}, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=50, check=False)
    return run


def test_every_block_is_run():
    firsts = [lines[0].split()[0] for lines in blocks()]
    assert firsts == ["tini", "dumb-init", "catatonit", ENTRYPOINT, "torchrun", "torchrun",
                      "mpirun"]
    assert {len(lines) for lines in blocks()} == {2}


# A /usr/bin with an init of that name and little else, and rankinit in /usr/local/bin.
OTHER_INIT = """old=@FOLDER/bin; mkdir $old && mount --bind /usr/bin $old && PATH=$old &&
mount -t tmpfs none /usr/bin && for name in ln sh env; do ln -s $old/$name /usr/bin/$name; done;
echo old >/usr/bin/tini; cp /usr/bin/tini /usr/bin/dumb-init; mount -t tmpfs none /usr/local/bin;
cp {} /usr/local/bin/rankinit; cd /; """


@pytest.mark.parametrize("name, version", [("tini", "tini version"), ("dumb-init", "dumb-init v")])
def test_the_line_that_replaces_an_init(box, name, version):
    """As it stands there: the file is there already, and rankinit is somewhere else."""
    with open(PAGE, encoding="utf-8") as file:
        line, = re.findall(rf"`(ln [^`]* /usr/bin/{name})`", file.read())
    result = box.run("--version", program=f"/usr/bin/{name}", place="below",
                     shell=OTHER_INIT.format(box.rankinit) + line)
    assert result.status == 0 and (result.out.decode() + result.err).startswith(version)


def lines_of(program, number=0):
    return [lines for lines in blocks() if lines[0].split()[0] == program][number]


@pytest.mark.parametrize("program", ["tini", "dumb-init", "catatonit"])
@pytest.mark.parametrize("status, ends", [("0", 0), ("7", 7), ("TERM", 143)])
def test_an_init(at, tool, program, status, ends):
    theirs, ours = lines_of(program)
    tool(program)
    if "-e 143" in theirs and ends == 143:
        ends = 0
    assert at(theirs, STATUS=status).returncode == ends
    assert at(ours, STATUS=status).returncode == ends
    assert at(theirs, STATUS=status).stdout == at(ours, STATUS=status).stdout


JOB = {"NODE_RANK": "1", "NNODES": "2", "MASTER_ADDR": "node0", "MASTER_PORT": "6105",
       "AZUREML_RUN_ID": "a_1", "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}


def test_nvidias_entrypoint(at):
    """The banner, once, and then the launcher; only with us it knows its node."""
    theirs, ours = (at(line, **JOB) for line in lines_of(ENTRYPOINT))
    assert (theirs.returncode, ours.returncode) == (0, 0)
    assert ours.stdout.startswith(theirs.stdout) and "train.py" in theirs.stdout
    assert "PET_NODE_RANK=1" in ours.stdout and "PET_" not in theirs.stdout
    assert ours.stdout.count(BANNER) == theirs.stdout.count(BANNER) == 1


@pytest.fixture
def nvidias(box, tmp_path):
    """nvidias(word, ...): the script, process 1, with a part that sets a variable."""
    (tmp_path / "entrypoint.d").mkdir()
    (tmp_path / "entrypoint.d" / "10-part.sh").write_text(
        "echo part of $$\nexport _CUDA_COMPAT_STATUS=CUDA_DRIVER_OK\n")
    script = shutil.copy(f"{ROOT}/images/cuda/stand-in/nvidia_entrypoint.sh", tmp_path)
    os.chmod(script, 0o755)
    return lambda *words, **more: box.run(*words, program=script, **more)


def test_rankinit_becomes_process_1_behind_nvidias_entrypoint(box, nvidias):
    """ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh", "rankinit"] of the page."""
    with open(PAGE, encoding="utf-8") as file:
        assert f'ENTRYPOINT ["{ENTRYPOINT}", "rankinit"]' in file.read()
    what = "echo $(cat /proc/1/comm) $_CUDA_COMPAT_STATUS $RANK; exit 7"
    result = nvidias(box.rankinit, "--nproc-per-node=1", "--", "sh", "-c", what)
    assert result.status == 7, result.err
    assert result.out.decode().splitlines() == [
        BANNER, "part of 1", "rankinit CUDA_DRIVER_OK 0"]
    control = nvidias("sh", "-c", what)
    assert control.out.decode().splitlines()[2] == "sh CUDA_DRIVER_OK"


def test_no_word_behind_nvidias_entrypoint(box, nvidias, tmp_path):
    """docker run -it IMAGE: the CMD of the page is a shell. Without one the launch is refused."""
    with open(PAGE, encoding="utf-8") as file:
        words, = re.findall(r"`CMD (\[.*?\])`", file.read())
    (tmp_path / "typed").write_text("echo $BASH; exit 3\n")
    with open(tmp_path / "typed", "rb") as typed:
        result = nvidias(box.rankinit, *json.loads(words), stdin=typed)
    assert result.status == 3 and result.out.decode().splitlines()[2].endswith("/bash"), result
    assert nvidias(box.rankinit).status == 125, "the control"


def test_options_behind_nvidias_entrypoint(box, nvidias):
    """docker run IMAGE --print-env; with rankinit in front the script takes it for a command."""
    result = nvidias(box.rankinit, "--print-env", "--rank=1", "--world-size=2", "--local-rank=1",
                     "--local-world-size=2", "--master-addr=node0")
    assert result.status == 0 and "export RANK=1" in result.out.decode().replace("'", "")
    result = nvidias("--print-env")
    assert result.status == 127, "the control"


def test_torchrun_on_two_nodes(at):
    """The flags that we leave out are in the variables by which torchrun has them."""
    theirs, ours = (at(line, **JOB).stdout for line in lines_of("torchrun"))
    flags = dict(re.findall(r"--(\w+)=(\S+)", theirs))
    for name in "nnodes", "node_rank", "master_addr":
        assert f"PET_{name.upper()}={flags.pop(name)}\n" in ours
    assert dict(re.findall(r"--(\w+)=(\S+)", ours)) == flags != {}


def test_ranks_without_torchrun(at):
    _, ours = lines_of("torchrun", 1)
    done = at(ours)
    said = sorted(re.sub(r"PORT=\d+", "PORT=N", line) for line in done.stdout.splitlines())
    assert said == [f"MASTER_ADDR=127.0.0.1 MASTER_PORT=N RANK={rank} WORLD_SIZE=2 "
                    f"LOCAL_RANK={rank}" for rank in range(2)]
    assert at(ours, STATUS="9").returncode == 9


def test_an_option_behind_the_script_is_the_script_s(at):
    with open(PAGE, encoding="utf-8") as file:
        line, option = re.search(r"`(rankinit -- .* (--restarts=3))`", file.read()).groups()
    at("echo 'import os, sys; print(sys.argv[1:], flush=True); "
       "os.kill(os.getpid(), 9)' >train.py")
    done = at(line)
    assert (done.returncode, done.stdout) == (137, f"['{option}']\n")
    # the control
    done = at(line.replace(f" {option}", "").replace("--", f"{option} --"))
    assert done.returncode == 137 and done.stdout.count("[]\n") > 1


def test_mpirun(at, tool):
    tool("mpirun")
    theirs, ours = (at(line) for line in lines_of("mpirun"))
    assert (theirs.returncode, ours.returncode) == (0, 0), ours.stderr
    master = "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 "
    assert theirs.stdout.splitlines() == [master + "RANK=None WORLD_SIZE=None LOCAL_RANK=None"] * 2
    said = sorted(re.sub("MASTER_ADDR=[^ N]+", "MASTER_ADDR=127.0.0.1", line)
                  for line in ours.stdout.splitlines())
    assert said == [f"{master}RANK={rank} WORLD_SIZE=2 LOCAL_RANK={rank}" for rank in range(2)]
