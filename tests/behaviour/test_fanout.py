# SPDX-License-Identifier: Apache-2.0
"""--nproc-per-node: which ranks are started here, and what each of them finds."""

import json
import os
import re
import socket
import subprocess

import pytest

from box import refused, warned
from link_peer import network
from peek import free_port, wait_until

SAY = ["sh", "-c", 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK '
                   '$MASTER_ADDR:$MASTER_PORT $*"', "sh"]
# Rank 1 of 2, one on each node.
MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
       "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
       "MASTER_ADDR": "node0", "MASTER_PORT": "7000"}
AZUREML = {"AZUREML_RUN_ID": "x", "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
           "NODE_RANK": "1", "MASTER_ADDR": "node0", "MASTER_PORT": "6105"}
PORT = 29500


def lines(result):
    assert result.status == 0, result.err
    return sorted(result.out.decode().splitlines(), key=lambda line: int(line.split("/")[0]))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_rank_knows_who_it_is(box, count):
    result = box.run(f"--nproc-per-node={count}", "--master-port=2000", "--", *SAY,
                     "--local_rank", "$LOCAL_RANK", "--r=${RANK}")
    assert lines(result) == [
        f"{k}/{count} {k}/{count} 0 127.0.0.1:2000 --local_rank {k} --r={k}"
        for k in range(count)]
    assert result.err == ""


def test_without_it_nothing_is_set(box):
    """The control."""
    assert box.run("--", *SAY, "$RANK").out == b"/ /  : $RANK\n"


@pytest.mark.parametrize("env, more", [
    (MPI, []), (AZUREML, []),
    ({"MASTER_ADDR": "node0", "MASTER_PORT": "1"}, ["--nnodes=2", "--node-rank=1"])])
def test_ranks_of_a_second_node(box, env, more):
    result = box.run("--nproc-per-node=3", *more, "--", *SAY, env=env)
    assert lines(result) == [f"{3 + k}/6 {k}/3 1 node0:{env['MASTER_PORT']} " for k in range(3)]


LEFT = ["no-such-host", "no-such-host:29500", "192.0.2.77", "2001:db8::77"]
NAME = socket.gethostname()
OWN = [NAME, NAME.partition(".")[0] + ".example", NAME.upper(), "localhost", "127.0.0.1", "::1"]


@pytest.mark.parametrize("master", LEFT)
@pytest.mark.parametrize("more", [[], ["--nnodes=1"]])
def test_a_master_that_was_left_behind(box, master, more):
    """All ranks are here, and would wait for a machine that has none of them."""
    result = box.run("--nproc-per-node=2", *more, "--master-port=2000", "--", *SAY,
                     env={"MASTER_ADDR": master})
    assert lines(result) == [f"{k}/2 {k}/2 0 127.0.0.1:2000 " for k in range(2)]
    line = warned(result, "env.differs", "MASTER_ADDR")
    assert 'becomes "127.0.0.1": all ranks of this job start here' in line


@pytest.mark.parametrize("master", OWN)
def test_a_master_that_is_this_machine(box, master):
    result = box.run("--nproc-per-node=2", "--master-port=2000", "--", *SAY,
                     env={"MASTER_ADDR": master})
    assert lines(result) == [f"{k}/2 {k}/2 0 {master}:2000 " for k in range(2)]
    assert result.err == ""


def test_an_address_of_this_machine_is_kept(box):
    with open("/proc/net/fib_trie") as file:
        found = re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", file.read())
    for master in found:
        result = box.run("--nproc-per-node=1", "--master-port=2000", "--", *SAY,
                         env={"MASTER_ADDR": master})
        assert lines(result) == [f"0/1 0/1 0 {master}:2000 "] and result.err == ""
    if all(address.startswith("127.") for address in found):
        pytest.skip("this machine has no address but that of every machine")


@pytest.mark.parametrize("env, options", [
    ({}, ["--master-addr=no-such-host"]),
    ({"RANKINIT_MASTER_ADDR": "no-such-host"}, []),
    # the operator counts one node, and says by which name it is reached
    ({"PET_NNODES": "1", "PET_NODE_RANK": "0", "MASTER_ADDR": "no-such-host"}, []),
    ({"MASTER_ADDR": "no-such-host"}, ["--nnodes=2", "--node-rank=0"])])
def test_a_master_that_is_said_stays(box, env, options):
    result = box.run("--nproc-per-node=1", f"--master-port={free_port()}", *options, "--",
                     "sh", "-c", "echo $MASTER_ADDR", env=env)
    assert (result.status, result.out, result.err) == (0, b"no-such-host\n", "")


def test_stated_nodes_whose_command_gets_no_rank(box):
    """The hosts alone make nodes, and a program of Python's would train alone on each."""
    hosts = {"RANKINIT_HOSTS": f"{NAME},other.invalid"}
    words = ["--", "/usr/bin/python3", "-c", "import os; print(os.environ.get('RANK'))"]
    result = box.run(*words, env=hosts)
    assert (result.status, result.out) == (0, b"None\n")
    line = warned(result, "launch.rankless", "RANKINIT_HOSTS")
    assert "one process on each of 2 nodes" in line and "--nproc-per-node=gpu" in line
    told = box.run("--nproc-per-node=1", *words, env=hosts)
    assert (told.status, told.out) == (0, b"0\n") and "launch.rankless" not in told.err
    for options in (["--launch=node"], ["--frameworks=lightning"]):
        quiet = box.run(*options, *words, env=hosts)
        assert quiet.status == 0 and "launch.rankless" not in quiet.err, options
    shell = box.run("--", "sh", "-c", "true", env=hosts)
    assert shell.status == 0 and "launch.rankless" not in shell.err


def test_one_host_that_is_another_machine(box):
    """What is left of two in compose's list without quotes: environment: [RANKINIT_HOSTS=a,b]."""
    for options in [], ["--nproc-per-node=1"]:
        words = [*options, "--", "true"]
        line = warned(box.run(*words, env={"RANKINIT_HOSTS": "other.invalid"}),
                      "source.incomplete", "RANKINIT_HOSTS")
        assert "its one host is not this machine" in line
        assert '"RANKINIT_HOSTS=node0,node1"' in line
        assert box.run(*words, env={"RANKINIT_HOSTS": NAME}).err == ""


def test_what_one_launch_left_is_gone(box):
    script = "env | grep -cE '^(OMPI_COMM|PMIX_|SLURM_)'; env | grep -c ^OMPI_MCA_btl"
    env = {**MPI, "PMIX_RANK": "1", "SLURM_PROCID": "1", "SLURM_LOCALID": "0",
           "SLURM_NTASKS": "2", "OMPI_MCA_btl": "self"}
    result = box.run("--nproc-per-node=2", "--", "sh", "-c", script, env=env)
    assert sorted(result.out.split()) == [b"0", b"0", b"1", b"1"]
    # the control: this process alone is that rank
    assert box.run("--", "sh", "-c", script, env=env).out.split() == [b"8", b"1"]


def test_several_processes_of_a_node_are_refused(box):
    env = {**MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    for options in [], ["--explain"], ["--print-env"]:
        result = box.run("--nproc-per-node=2", *options, "--", "echo", "started", env=env)
        assert result.status == 125 and b"started\n" not in result.out.splitlines(True)
        assert "[launch.ranks]" in result.err + result.out.decode()
    error = refused(box.run("--nproc-per-node=2", "--", "echo", env=env), 125, "launch.ranks",
                    "OMPI_COMM_WORLD_LOCAL_SIZE")
    assert "--nproc-per-node" in error


@pytest.mark.parametrize("value", ["0", "513", "-1", "+2", "1.5", "two", "GPU", "4 4", " "])
def test_values_that_are_none(box, value):
    error = refused(box.run(f"--nproc-per-node={value}", "--", "true"), 125, "option.value",
                    "--nproc-per-node")
    assert "a number from 1 to 512, gpu, cpu or auto" in error
    result = box.run("true", env={"RANKINIT_NPROC_PER_NODE": value})
    refused(result, 125, "option.value", "RANKINIT_NPROC_PER_NODE")


@pytest.mark.parametrize("options, subject, code", [
    (["--nnodes=2"], "--nnodes", "launch.incomplete"),
    (["--node-rank=1"], "--node-rank", "launch.incomplete"),
    (["--rank=0"], "--rank", "option.conflict"),
    (["--local-rank=0"], "--local-rank", "option.conflict"),
    (["--source=none"], "--nproc-per-node", "option.conflict"),
    (["--source=openmpi"], "--source", "source.absent"),
    (["--supervise=never"], "--nproc-per-node", "option.conflict"),
])
def test_what_does_not_go_with_it(box, options, subject, code):
    words = ["--nproc-per-node=2", *options, "--", "echo", "started"]
    refused(box.run(*words), 125, code, subject)
    dry = box.run("--explain=json", *words)
    assert dry.status == 125
    assert json.loads(dry.out)["findings"][0]["code"] == code


def test_one_rank_may_become_the_command(box):
    script = 'echo $RANK; [ $$ = 1 ] && echo itself'
    result = box.run("--nproc-per-node=1", "--supervise=never", "--", "sh", "-c", script)
    assert result.out == b"0\nitself\n"


# What the words come to.

@pytest.fixture
def machine(tmp_path):
    """A recorded machine with these device nodes."""
    def make(*names):
        (tmp_path / "dev").mkdir(exist_ok=True)
        for name in names:
            (tmp_path / "dev" / name).touch()
        return f"--root={tmp_path}"
    return make


def world_size(box, *options, env=None):
    result = box.run(*options, "--print-env=json", "--", "true", env=env)
    assert result.status == 0, result.err
    return int(json.loads(result.out)["WORLD_SIZE"])


GPUS = ["nvidia0", "nvidia1", "nvidia2", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia1x"]


@pytest.mark.parametrize("env, count", [
    ({}, 4), ({"CUDA_VISIBLE_DEVICES": "0,1"}, 2), ({"CUDA_VISIBLE_DEVICES": "2,-1,1"}, 1),
    ({"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5"}, 4), ({"NVIDIA_VISIBLE_DEVICES": "all"}, 4),
    # not injected by that runtime, and here all the same
    ({"NVIDIA_VISIBLE_DEVICES": "void"}, 4),
    ({"CUDA_VISIBLE_DEVICES": "GPU-a,MIG-b"}, 2),
])
def test_a_rank_for_each_gpu(box, machine, env, count):
    root = machine(*GPUS)
    assert world_size(box, root, "--nproc-per-node=gpu", env=env) == count
    assert world_size(box, root, "--nproc-per-node=auto", env=env) == count


@pytest.mark.parametrize("env", [
    {"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "-1"},
    {"NVIDIA_VISIBLE_DEVICES": "none"}])
def test_no_gpu_is_visible(box, machine, env):
    root = machine(*GPUS)
    error = refused(box.run(root, "--nproc-per-node=gpu", "--print-env", "--", "true", env=env),
                    125, "nproc.none", "--nproc-per-node")
    assert "no GPU is visible" in error
    assert world_size(box, root, "--nproc-per-node=auto", env=env) == 1


def test_no_gpu_at_all(box, machine):
    root = machine("null")
    refused(box.run(root, "--nproc-per-node=gpu", "--print-env", "--", "true"), 125,
            "nproc.none", "--nproc-per-node")
    # where the command starts the whole job nobody asks
    assert box.run(root, "--nproc-per-node=gpu", "--print-env", "--", "mpirun").status == 0


NO_GPUS = {"CUDA_VISIBLE_DEVICES": ""}
ALL = ["--nproc-per-node=gpu", "--", "echo", "begun"]


@pytest.mark.parametrize("asked", ["--require=gpu=8", "--require=gpu.count"])
def test_no_gpu_and_the_node_is_to_blame(box, asked):
    result = box.run(asked, *ALL, env=NO_GPUS)
    said = result.lines()[-1]
    assert (result.status, result.out) == (123, b"")
    assert re.match(f"rankinit: error: {asked.split('=')[0]}: this node .*is not fit", said)
    assert re.search(r"\[gpu\.(vendor\.none|count\.few)\]", result.err)
    assert box.run(asked, "--explain", *ALL, env=NO_GPUS).status == 123


@pytest.mark.parametrize("asked", [[], ["--expect=gpu=8"], ["--require=fs.tmp"]])
def test_no_gpu_though_the_node_is_fit(box, asked):
    refused(box.run(*asked, *ALL, env=NO_GPUS), 125, "nproc.none", "--nproc-per-node")


def test_check_of_a_node_without_gpus(box, machine):
    """What to count ranks by is missing: the other checks are worth reading all the same."""
    result = box.run(machine("null"), "--nproc-per-node=gpu", "--check=json")
    found = {check["id"]: check for check in json.loads(result.out)["checks"]}
    assert result.status == 0 and found["gpu.vendor"]["code"] == "gpu.vendor.none"
    assert found["gpu.count"]["expected"] == "1 (--nproc-per-node)"
    unfit = box.run(machine("null"), "--nproc-per-node=gpu", "--require=gpu=2", "--check")
    assert unfit.status == 123
    alone = box.run(machine("null"), "--nproc-per-node=2", "--check=json")
    assert "gpu.vendor" not in [check["id"] for check in json.loads(alone.out)["checks"]
                                if check["status"] == "warn"]


def test_a_rank_for_each_cpu(box, tool):
    cpus = len(os.sched_getaffinity(0))
    assert world_size(box, "--nproc-per-node=cpu") == cpus
    one = str(min(os.sched_getaffinity(0)))
    result = box.run("-c", one, box.rankinit, "--nproc-per-node=cpu", "--", "sh", "-c",
                     "echo $WORLD_SIZE", program=tool("taskset"))
    assert result.out == b"1\n"


# Launchers.

def test_a_launcher_is_started_once_and_told(box, tmp_path):
    script = tmp_path / "torchrun"
    script.write_text("#!/bin/sh\necho $PET_NPROC_PER_NODE ${RANK-none}\n")
    script.chmod(0o755)
    assert box.run("--nproc-per-node=4", "--", script).out == b"4 none\n"
    assert box.run("--nproc-per-node=4", "--launch=none", "--", script).out == b"none\n"
    composer = tmp_path / "composer"
    composer.write_text("#!/bin/sh\necho $WORLD_SIZE $LOCAL_WORLD_SIZE ${RANK-none}\n")
    composer.chmod(0o755)
    assert box.run("--nproc-per-node=4", "--", composer).out == b"4 4 none\n"
    fabric = tmp_path / "fabric"
    script.rename(fabric)
    warned(box.run("--nproc-per-node=4", "--", fabric, "run"), "nproc.unused",
           "--nproc-per-node")


def test_a_rankinit_inside_does_not_start_more(box):
    result = box.run("--", box.rankinit, "--", *SAY,
                     env={"RANKINIT_NPROC_PER_NODE": "3", "MASTER_PORT": "1"})
    assert len(lines(result)) == 3
    # the control: the inner one obeys when it is told
    result = box.run("--nproc-per-node=3", "--", box.rankinit, "--nproc-per-node=1", "--", *SAY)
    assert result.status == 125


# Standard input.

INPUT = ["sh", "-c", 'echo "$RANK/ $(readlink /proc/self/fd/0) $(cat)"']


def test_the_first_rank_reads_and_the_others_have_nothing(box):
    read_end, write_end = os.pipe()
    os.write(write_end, b"hello")
    os.close(write_end)
    try:
        result = box.run("--nproc-per-node=3", "--", *INPUT, stdin=read_end)
    finally:
        os.close(read_end)
    said = lines(result)
    assert said[0].startswith("0/ pipe:") and said[0].endswith(" hello")
    assert said[1:] == ["1/ /dev/null ", "2/ /dev/null "]


def test_a_terminal_is_for_the_first_of_them(box):
    master, slave = os.openpty()
    try:
        os.write(master, b"word\n\x04")
        result = box.run("--nproc-per-node=2", "--", *INPUT, stdin=slave)
        assert lines(result) == [f"0/ {os.ttyname(slave)} word", "1/ /dev/null "]
    finally:
        os.close(master)
        os.close(slave)


def test_closed_standard_input(box):
    script = 'echo "$RANK/ $(ls -l /proc/$$/fd/0 2>&1 | grep -c null) $(ls /proc/$$/fd | wc -l)"'
    result = box.run("--nproc-per-node=2", "--", "sh", "-c", script, shell="exec 0<&-")
    said = lines(result)
    assert said[0].startswith("0/ 0 ") and said[1].startswith("1/ 1 ")


def test_descriptors_are_passed_on_and_ours_are_not(box):
    read_end, write_end = os.pipe()
    listing = ["--", "sh", "-c", "ls /proc/$$/fd >@FOLDER/fds$RANK"]
    try:
        many = box.start("--nproc-per-node=2", *listing, pass_fds=(write_end,))
        one = box.start(*listing, pass_fds=(write_end,))
        assert (many.wait().status, one.wait().status) == (0, 0)
        assert many.read("fds0") == many.read("fds1") == one.read("fds")
        assert str(write_end) in one.read("fds").decode().split()
    finally:
        os.close(read_end)
        os.close(write_end)


# What would be done.

def test_print_env_is_what_a_rank_finds(box):
    words = ["--nproc-per-node=3", "--master-port=9", "--", "env"]
    for rank in range(3):
        printed = box.run("--print-env=json", f"--local-rank={rank}", *words)
        wanted = {name: value for name, value in json.loads(printed.out).items()
                  if value is not None}
        result = box.run("--nproc-per-node=3", "--master-port=9", "--", "sh", "-c",
                         f"[ $LOCAL_RANK = {rank} ] || exit 0; env")
        found = dict(line.split("=", 1) for line in result.out.decode().splitlines())
        assert wanted.items() <= found.items()
        assert wanted["RANK"] == str(rank)
    assert box.run("--print-env=json", *words).out == \
        box.run("--print-env=json", "--local-rank=0", *words).out


@pytest.mark.parametrize("value", ["3", "512", "x", "-1"])
def test_print_env_of_no_rank(box, value):
    error = refused(box.run("--print-env", "--nproc-per-node=3", f"--local-rank={value}", "true"),
                    125, "option.value", "--local-rank")
    assert "0 to 2" in error


def test_explain_shows_all_of_them(box):
    words = ["--nproc-per-node=4", "--nnodes=2", "--node-rank=1", "--master-addr=a", "--",
             "train", "$LOCAL_RANK", "x"]
    found = json.loads(box.run("--explain=json", *words).out)
    assert [(rank["rank"], rank["local_rank"], rank["set"]["RANK"], rank["argv"])
            for rank in found["ranks"]] == \
        [(4 + k, k, str(4 + k), ["train", str(k), "x"]) for k in range(4)]
    assert found["identity"] == "manual" and found["topology"]["world_size"]["value"] == 8
    text = box.run("--explain", *words).out.decode()
    assert "ranks 4 to 7 of 8" in text and "local ranks 0 to 3 of 4" in text
    assert "rank 7 differs in" in text and "train 3 x" in text


def test_the_largest_explanation(box):
    found = box.run("--explain=json", "--nproc-per-node=512", "--", "true")
    assert [rank["rank"] for rank in json.loads(found.out)["ranks"]] == list(range(512))
    assert box.run("--explain", "--nproc-per-node=512", "--", "true").status == 0


# The port.

@pytest.fixture
def alone():
    """A network of its own, in which no other test has the usual port."""
    with network():
        yield


@pytest.fixture
def taken(alone):
    """Somebody listens at the usual port."""
    with socket.create_server(("", PORT)):
        yield


def ports(box, *options, **env):
    result = box.run("-v", *options, "--", "sh", "-c", "echo $RANK/$MASTER_PORT", env=env)
    return [int(line.split("/")[1]) for line in lines(result)], result.err


def test_a_port_that_is_taken(box, taken):
    found, said = ports(box, "--nproc-per-node=3")
    assert len(set(found)) == 1 and found[0] not in (0, PORT)
    assert f"{PORT} is in use" in said and "[master_port.taken]" in said
    with socket.socket() as listener:
        listener.bind(("", found[0]))
    # whoever states one gets it, and nodes have to agree
    assert ports(box, "--nproc-per-node=2", f"--master-port={PORT}")[0] == [PORT] * 2
    assert ports(box, "--nproc-per-node=2", MASTER_PORT=str(PORT))[0] == [PORT] * 2
    assert ports(box, "--nproc-per-node=2", "--nnodes=2", "--node-rank=0",
                 "--master-addr=a")[0] == [PORT] * 2


def test_a_port_that_is_free(box, alone):
    """The control."""
    found, said = ports(box, "--nproc-per-node=2")
    assert found == [PORT] * 2 and "master_port.taken" not in said


# Each writes the port that it was told. Rank 0 opens it when all have, without SO_REUSEADDR, and
# rank 1 of the same job asks there for its parent.
MEET = """import os, socket, time
rank, port = os.environ["RANK"], os.environ["MASTER_PORT"]
open(f"{rank}.{os.getppid()}", "x").write(port)
while not os.path.exists("go"):
    time.sleep(0.01)
parent = str(os.getppid()).encode()
if rank == "0":
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", int(port)))
        listener.listen()
        listener.accept()[0].sendall(parent)
else:
    for _ in range(3000):
        try:
            answer = socket.create_connection(("127.0.0.1", int(port))).recv(100)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    assert answer == parent, answer
"""


def read_all(*files):
    """The number in each of these files, when all of them have one."""
    wait_until(lambda: all(file.exists() and file.read_text() for file in files),
               "every rank has written its port")
    return [int(file.read_text()) for file in files]


def start_pairs(rankinit, folder, count, *options, env=None):
    """So many jobs of two ranks, and the port of each job while no port is open yet."""
    (folder / "meet.py").write_text(MEET)
    jobs = [subprocess.Popen([rankinit, *options, "--nproc-per-node=2", "--", "/usr/bin/python3",
                              "meet.py"], cwd=folder,
                             env={"PATH": os.environ["PATH"], **(env or {})})
            for _ in range(count)]
    first, second = (read_all(*(folder / f"{rank}.{job.pid}" for job in jobs)) for rank in (0, 1))
    assert first == second
    return jobs, first


def test_pairs_that_start_at_once(rankinit, tmp_path, alone):
    jobs, found = start_pairs(rankinit, tmp_path, 50)
    (tmp_path / "go").touch()
    assert [job.wait() for job in jobs] == [0] * 50
    assert len(set(found)) == 50 and PORT in found


@pytest.mark.parametrize("options, env", [
    (["--link=tell"], {}), ([], {"MASTER_PORT": str(PORT)}), ([f"--master-port={PORT}"], {})])
def test_jobs_that_were_told_to_meet_at_one_port(rankinit, tmp_path, alone, options, env):
    """The control: whoever names a port gets it, and nodes of a link agree."""
    jobs, found = start_pairs(rankinit, tmp_path, 2, *options, env=env)
    for job in jobs:
        job.terminate()
    assert [job.wait() for job in jobs] == [143] * 2 and found == [PORT] * 2


MANY = {
    "mpirun": (PORT, {"OMPI_COMM_WORLD_RANK": "{}", "OMPI_COMM_WORLD_SIZE": "2",
                      "OMPI_COMM_WORLD_LOCAL_RANK": "{}", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}),
    "srun": (10007, {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "{}",
                     "SLURM_LOCALID": "{}", "SLURM_NODEID": "0", "SLURM_NNODES": "1",
                     "SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "node0",
                     "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_STEP_NUM_TASKS": "2",
                     "SLURM_STEP_NUM_NODES": "1"}),
}


@pytest.mark.parametrize("launcher", MANY)
def test_one_rank_of_many_meets_the_others(box, alone, launcher):
    """There is a rankinit for each rank, and none takes another port than the others."""
    port, names = MANY[launcher]
    with socket.create_server(("", port)):
        for rank in ("0", "1"):
            env = {name: value.format(rank) for name, value in names.items()}
            result = box.run("--", "sh", "-c", "echo $RANK/$MASTER_PORT", env=env)
            assert result.out.decode() == f"{rank}/{port}\n", result.err


def test_each_rank_is_printed_the_same_port(box, alone):
    with socket.create_server(("", PORT)):
        for rank in (0, 1):
            result = box.run("--nproc-per-node=2", f"--local-rank={rank}", "--print-env=dotenv")
            assert f"MASTER_PORT={PORT}" in result.out.decode().splitlines()


def test_restarts_keep_the_port(rankinit, tmp_path, alone):
    """What held the usual one has ended by then, and a job that comes gets that, not this one."""
    first, found = start_pairs(rankinit, tmp_path, 1)
    script = ("echo $MASTER_PORT > $RANKINIT_ATTEMPT.$RANK; until [ -e go.$RANKINIT_ATTEMPT ]; "
              "do sleep 0.01; done; [ $RANKINIT_ATTEMPT = 1 ] || kill -9 $$")
    job = subprocess.Popen([rankinit, "--restarts=1", "--nproc-per-node=2", "--", "sh", "-c",
                            script], cwd=tmp_path)
    before = read_all(tmp_path / "0.0", tmp_path / "0.1")
    first[0].terminate()
    first[0].wait()
    (tmp_path / "go.0").touch()
    after = read_all(tmp_path / "1.0", tmp_path / "1.1")
    other, later = start_pairs(rankinit, tmp_path, 1)
    for name in ("go", "go.1"):
        (tmp_path / name).touch()
    assert (found, later) == ([PORT], [PORT]) and before == after == [PORT + 10] * 2
    assert (job.wait(), other[0].wait()) == (0, 0)


def test_a_root_without_devices(box):
    """The ranks but the first read /dev/null. The control: one command reads what is there."""
    result = box.run("--nproc-per-node=2", "--checks=none", "--", "/bin/true",
                     shell="mount -t tmpfs none /dev")
    error = refused(result, 125, "file.unreadable", "/dev/null")
    assert "cannot be opened: No such file or directory; " in error and "mount --rbind" in error
    assert box.run("--", "/bin/true", shell="mount -t tmpfs none /dev").status == 0
