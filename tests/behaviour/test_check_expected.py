# SPDX-License-Identifier: Apache-2.0
"""
What the kind of job asks of a node by itself: MPI, shared memory, adapters;
and what is required, whatever else is said.
"""

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess

import pytest

import peek
import test_check
from box import refused, warned
from test_check_hosts import HOSTS, TWO, WIDE, grow, lines_of, look

TOP = os.path.dirname(os.path.dirname(HOSTS))


def said(rankinit, root, check, words):
    return [line.split()[0] for line in lines_of(look(rankinit, root, words))
            if line.split()[1] == check]


def env(prefix, **numbers):
    return [f"{prefix}{name}={number}" for name, number in numbers.items()]


# Who starts the ranks of an MPI job, and nothing else.
MPI_JOBS = {
    "openmpi": env("OMPI_COMM_WORLD_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2),
    "hydra": ["PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=9", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"],
    "mvapich2": env("MV2_COMM_WORLD_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2),
}
# Who starts whatever it is told to; that it offers PMI or PMIx is no word on the program.
STARTERS = {
    "slurm": [*env("SLURM_", PROCID=0, NTASKS=2, LOCALID=0, STEP_ID=0, JOB_ID=7, NNODES=1),
              "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_STEP_NODELIST=n0", "SLURM_STEP_NUM_TASKS=2",
              "PMI_RANK=0", "PMI_SIZE=2", "PMIX_RANK=0"],
    "jsm": [*env("JSM_NAMESPACE_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2), "PMIX_RANK=0"],
    "pals": [*env("PALS_", RANKID=0, NODEID=0, LOCAL_RANKID=0, LOCAL_SIZE=2),
             "PMI_RANK=0", "PMI_SIZE=2"],
    "flux": [*env("FLUX_", TASK_RANK=0, JOB_SIZE=2, TASK_LOCAL_ID=0, JOB_NNODES=1),
             "FLUX_JOB_ID=f1", "PMI_RANK=0", "PMI_SIZE=2"],
    "torchrun": ["RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2",
                 "GROUP_RANK=0", "TORCHELASTIC_RUN_ID=1"],
}


@pytest.mark.parametrize("source", [*MPI_JOBS, *STARTERS])
def test_mpi(rankinit, tmp_path, source):
    """A job of MPI in an image without it is warned of; others may do without."""
    root = str(tmp_path / "root")
    grow("no-mpi", root)
    words = MPI_JOBS.get(source) or STARTERS[source]
    expected = ["warn"] if source in MPI_JOBS else ["note"]
    assert said(rankinit, root, "mpi.present", words) == expected


@pytest.mark.parametrize("source", [*MPI_JOBS, *STARTERS])
def test_mpi_before_a_launch(rankinit, tmp_path, source):
    """The kind of job asks for it, so no option has to."""
    root = str(tmp_path / "root")
    grow("no-mpi", root)
    words = MPI_JOBS.get(source) or STARTERS[source]
    done = subprocess.run([rankinit, f"--root={root}", "--explain=json", "--", "true"],
                          env=dict(word.split("=", 1) for word in words), capture_output=True,
                          timeout=60, check=True)
    found = [one["code"] for one in json.loads(done.stdout)["findings"]]
    assert ("mpi.present.missing" in found) == (source in MPI_JOBS)


ONE = env("OMPI_COMM_WORLD_", RANK=0, SIZE=1, LOCAL_RANK=0, LOCAL_SIZE=1)


@pytest.mark.parametrize("gpus, words, expected", [
    (True, TWO, "warn"), (True, ONE, "note"), (False, TWO, "note")])
def test_shared_memory(rankinit, tmp_path, gpus, words, expected):
    """Several ranks with GPUs hand data through /dev/shm, of which Docker gives 64 MiB."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    if not gpus:
        os.remove(f"{root}/dev/nvidiactl")
    assert said(rankinit, root, "shm.size", words) == [expected]


FIRST_GPU = "CUDA_VISIBLE_DEVICES=0"


@pytest.mark.parametrize("words, expected", [
    (TWO, "warn"),
    (["--nproc-per-node=2", "--", "true"], "warn"),
    (["--", "torchrun", "--nproc-per-node=2", "t.py"], "warn"),
    ([FIRST_GPU, "--nproc-per-node=2", "--", "true"], "warn"),
    ([FIRST_GPU, "--", "torchrun", "--nproc-per-node=2", "t.py"], "warn"),
    # what srun gave one rank says nothing of the others
    ([FIRST_GPU, *TWO], "note"),
    (["--nproc-per-node=cpu", "--", "true"], "note"),
    # the controls
    (ONE, "pass"),
    (["--nproc-per-node=1", "--", "true"], "pass"),
    (["--nproc-per-node=gpu", "--", "true"], "pass"),
    (["CUDA_VISIBLE_DEVICES=", "--nproc-per-node=2", "--", "true"], "skip"),
])
def test_ranks_that_share_a_gpu(rankinit, tmp_path, words, expected):
    root = str(tmp_path / "root")
    grow("cpu-quota-v2", root)
    os.makedirs(f"{root}/dev", exist_ok=True)
    for name in ("nvidiactl", "nvidia0"):
        with open(f"{root}/dev/{name}", "w", encoding="ascii"):
            pass
    assert said(rankinit, root, "gpu.count", words) == [expected]


@pytest.mark.parametrize("nodes, count", [
    ("nvidiactl nvidia0", 1), ("nvidiactl nvidia0 nvidia1", 0), ("", 0)])
@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU here")
def test_a_launch_says_that_ranks_share_a_gpu(box, nodes, count):
    """In a mount namespace of its own, with device nodes that nobody opens."""
    shell = f"mount -t tmpfs none /dev && mknod /dev/null c 1 3 && cd /dev && touch null {nodes}"
    result = box.run("--nproc-per-node=2", "--", "true", shell=shell)
    assert result.status == 0 and result.out == b""
    assert result.err.count("[gpu.count.shared]") == count, result.err
    if count:
        line = warned(result, "gpu.count.shared", "GPUs")
        assert "sees 1, but 2 ranks" in line and "--nproc-per-node=gpu" in line


@pytest.mark.parametrize("code, subject, words, shell", [
    ("shm.write.denied", "/dev/shm", [], "mount -t tmpfs -o ro none /dev/shm"),
    ("fs.tmp.absent", "TMPDIR", ["TMPDIR=/nonexistent"], "true")])
def test_a_rank_alone_hears_nothing_of_what_it_may_do_without(box, code, subject, words, shell):
    variables = dict(word.split("=", 1) for word in words)
    alone = box.run("--", "true", env={**test_check.ONE, **variables}, shell=shell)
    assert (alone.status, alone.err) == (0, "")
    check = code.rpartition(".")[0]
    for options, env in (([f"--checks={check}"], test_check.ONE), (["--nproc-per-node=2"], {})):
        told = box.run(*options, "--", "true", env={**env, **variables}, shell=shell)
        assert told.status == 0
        warned(told, code, subject)


@pytest.mark.parametrize("adapter, words, expected", [
    (True, WIDE, "warn"), (True, TWO, "note"), (False, WIDE, "skip")])
def test_adapters(rankinit, tmp_path, adapter, words, expected):
    """Several nodes with InfiniBand want it opened; without adapters nobody asks."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    if not adapter:
        shutil.rmtree(f"{root}/sys/class/infiniband")
    # the accelerated network's device lacks its node too, which nobody needs
    assert said(rankinit, root, "ib.uverbs", words)[0] == expected


def test_a_list_takes_nothing_from_what_is_required(box):
    for options in (["--checks=lim.nofile"], ["--checks=lim.nofile", "--check"]):
        words = [*options, "--", "true"]
        unfit = box.run(test_check.UNMET, *words, env=test_check.ONE)
        assert unfit.status == 123, options
        assert box.run(*words, env=test_check.ONE).status == 0, "the control"


def test_nothing_to_look_at_is_no_pass_of_what_is_required(box, tmp_path):
    """By its id; --expect and a check that nobody asks for may be skipped."""
    (tmp_path / "root").mkdir()
    where = ["--check=json", f"--root={tmp_path}/root"]
    unmet = box.run("--require=gpu.libcuda", *where)
    found, = [each for each in json.loads(unmet.out)["checks"] if each["id"] == "gpu.libcuda"]
    assert unmet.status == 123
    assert (found["status"], found["code"]) == ("unknown", "check.skipped")
    assert box.run("--expect=gpu.libcuda", *where).status == 0


@pytest.mark.parametrize("name, status", [("gpu.vendor", "fail"), ("gpu.count", "unknown")])
def test_a_family_leaves_what_has_nothing_to_look_at_alone(box, tmp_path, name, status):
    """A check that is named must pass; of a family no check may find a problem."""
    (tmp_path / "root").mkdir()
    where = ["--check=json", f"--checks={name}", f"--root={tmp_path}/root"]

    def found(*options, env=None):
        result = box.run(*options, *where, env=env or {})
        one, = [each for each in json.loads(result.out)["checks"] if each["id"] == name]
        return result.status, one["status"], one["code"]
    named = found(f"--require={name}")
    assert named[:2] == (123, status)
    assert found(f"--require=gpu.*,{name}") == named
    assert found(env={"RANKINIT_REQUIRE": f"gpu.*,{name}"}) == named
    assert found("--require=gpu.*")[:2] == (0, "skip")
    assert found(f"--require={name}", f"--expect={name},gpu.*")[0] == 123, "the firmer one counts"


JOBS = [{"AZUREML_RUN_ID": "brave_owl_1", "AZUREML_NODE_COUNT": "1"}, {"AZUREML_RUN_ID": "r"},
        {"AWS_BATCH_JOB_ID": "1b2c"}, {"AZ_BATCH_JOB_ID": "train"}]


@pytest.mark.parametrize("job", JOBS)
def test_a_job_of_one_process_is_looked_at(box, job):
    """Its service says that it is none, by a rank; and that it is no shell in an image."""
    words = ["--", "sh", "-c", "echo ${RANK-none}; exit 7"]
    for options, env in (([test_check.UNMET], {}), ([], {"RANKINIT_REQUIRE": test_check.HUGE})):
        result = box.run(*options, *words, env={**job, **env})
        subject = "--require" if options else "RANKINIT_REQUIRE"
        test_check.unfit(result, "shm.size.small", "/dev/shm", subject)
        empty = box.run(*options, *words, env={**dict.fromkeys(job, ""), **env})
        assert (empty.status, empty.out) == (7, b"none\n"), "the control: nobody's job"
    met = box.run("--require=shm=4k", *words, env=job)
    assert (met.status, met.out, met.err) == (7, b"none\n", "")
    warned(box.run(f"--expect={test_check.HUGE}", *words, env=job), "shm.size.small", "/dev/shm")
    for option in ("--launch=none", "--source=none", "--source=pid1"):
        twin = box.run(option, *words, env={**job, "RANKINIT_REQUIRE": test_check.HUGE})
        assert twin.status in (7, 125) and "check.unfit" not in twin.err, option


@pytest.mark.parametrize("allocation", [
    {"SLURM_JOB_ID": "7"}, {"PBS_JOBID": "7"}, {"LSB_JOBID": "7"},
    {"AZUREML_EXPERIMENT_ID": "e"}, {"AZUREML_NODE_COUNT": "1"}])
def test_a_shell_in_an_allocation_is_no_job(box, allocation):
    result = box.run("--", "sh", "-c", "exit 7",
                     env={**allocation, "RANKINIT_REQUIRE": test_check.HUGE})
    assert result.status == 7 and len(result.lines()) == 1
    warned(result, "check.unasked", "RANKINIT_REQUIRE")


# Who refuses, of several ranks, and who says why.

def test_a_family_makes_each_rank_look(box):
    """None of them may begin, whichever word it is that finds the node unfit."""
    words = [f"--expect={test_check.HUGE}", "--", "sh", "-c", "echo ran"]
    for number in (0, 1, 3):
        rank = test_check.rank(number, 4)
        result = box.run("--require=shm.size", *words, env=rank)
        assert (result.status, result.out) == (123, b""), number
        assert result.lines()[-1].startswith("rankinit: error: --require: this node "
                                             f"({os.uname().nodename}) is not fit")
        twin = box.run(*words, env={**rank, "RANKINIT_REQUIRE": "shm.*"})
        assert (twin.status, "error: RANKINIT_REQUIRE: " in twin.err) == (123, True)
        mild = box.run("--expect=shm.*", *words[1:], env=rank)
        assert (mild.status, mild.out) == (0, b"ran\n"), "the control"


def test_a_rank_says_what_local_rank_0_cannot_see(box):
    """The limit of one rank is lower: in a line, with what local rank 0 has no reason to say."""
    words = ["--require=lim.nofile,net.loopback", "--", "sh", "-c", "echo ran"]
    port = {"MASTER_PORT": str(peek.free_port())}
    first = box.run(*words, env={**test_check.rank(0), **port},
                    shell="ulimit -n 5000; ulimit -c 0")
    assert (first.status, first.out, first.err) == (0, b"ran\n", "")
    other = box.run(*words, env=test_check.rank(1), shell="ulimit -n 1000; ulimit -c 0")
    assert (other.status, other.out, len(other.lines())) == (123, b"", 1)
    line, = other.lines()
    assert line.startswith("rankinit: error: --require: this node "
                           f"({os.uname().nodename}) is not fit for the job: "
                           "lim.nofile (nofile: a process may have 1000 open files; expected ")


@pytest.mark.parametrize("place", ["init", "below"])
def test_the_others_wait_until_the_first_has_spoken(box, place):
    """A launcher that ends the job for local rank 0 finds them silent; other signals matter not."""
    job = box.start(test_check.UNMET, "--", "true", env=test_check.rank(1), place=place)

    def waits():
        """For a signal, with nothing under way in a child; two looks agree."""
        call = peek.read(job.pid, "syscall")
        return (call.startswith(b"128 ") and not peek.children(job.pid)
                and call == peek.read(job.pid, "syscall") and call)
    if platform.machine() != "x86_64":
        pytest.skip("the number of rt_sigtimedwait")
    call = peek.wait_until(waits, "local rank 0 is let speak")
    job.signal(signal.SIGUSR1)
    assert peek.read(job.pid, "syscall") == call
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert (result.status, result.out, result.err) == (143, b"", "")


# What is required and left out.

def test_no_checks_leave_out_what_is_required_and_say_so(box):
    """Once on a node; it is how a launch gets past what an image requires, and not in silence."""
    words = [test_check.UNMET, "--", "sh", "-c", "echo ran"]
    for options, env, subject, other in (
            (["--checks=none"], {}, "--require", "--checks=none"),
            ([], {"RANKINIT_CHECKS": "none"}, "--require", "RANKINIT_CHECKS=none")):
        result = box.run(*options, *words, env={**test_check.ONE, **env})
        assert (result.status, result.out) == (0, b"ran\n")
        assert f" because {other} turns off all checks" in warned(result, "check.unasked", subject)
        rest = box.run(*options, *words, env={**test_check.rank(1), **env})
        assert (rest.status, rest.out, rest.err) == (0, b"ran\n", "")
    image = {**test_check.ONE, "RANKINIT_REQUIRE": test_check.HUGE}
    warned(box.run("--checks=none", "--", "true", env=image), "check.unasked", "RANKINIT_REQUIRE")
    asked = box.run("--check", "--checks=none", test_check.UNMET)
    assert (asked.status, asked.out) == (0, b"no checks were run\n")
    warned(asked, "check.unasked", "--require")
    family = box.run("--checks=none", "--require=shm.*", "--", "true", env=test_check.ONE)
    warned(family, "check.unasked", "--require")
    assert box.run("--checks=none", "--", "true", env=test_check.ONE).err == "", "the control"


# The size of the VM.

def test_the_size_of_the_vm(box):
    """A mistyped name promises nothing: refused where somebody wrote it for this launch."""
    words = ["--", "sh", "-c", "echo ran"]
    typo = box.run("--expect=azure=Standard_ND96irs_H100_v5", *words, env=test_check.ONE)
    line = refused(typo, 125, "option.value", "--expect")
    assert "did you mean azure=Standard_nd96isr_h100_v5?" in line
    other = box.run("--check", "--require=azure=Standard_D4s_v5")
    assert "as gpu=8,ib=8@400" in refused(other, 125, "option.value", "--require")
    image = box.run(*words, env={**test_check.ONE, "RANKINIT_EXPECT": "azure=nd96_unknown"})
    assert (image.status, image.out) == (0, b"ran\n")
    assert "nd96_unknown" in warned(image, "azure_size.unknown", "RANKINIT_EXPECT")
    for name in ("Standard_ND96isr_H100_v5", "hb120-16RS_v3", "standard_nc24r"):
        result = box.run(f"--expect=azure={name}", *words, env=test_check.ONE)
        assert (result.status, result.out) == (0, b"ran\n")
        assert "azure_size.unknown" not in result.err
        # of the command line; the variable's is not in force
        result = box.run(f"--expect=azure={name}", *words,
                         env={**test_check.ONE, "RANKINIT_EXPECT": "azure=nd96_unknown"})
        assert "azure_size.unknown" not in result.err
    both = box.run("--expect=azure=nc24r,azure=nd96isr_h100_v5", *words, env=test_check.ONE)
    assert "each of them only once" in refused(both, 125, "option.value", "--expect")


def commands(path):
    """The lines of shell in a document that state a size, or what one comes to."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        lines = [shlex.split(line) for line in file.read().replace("\\\n", "").splitlines()
                 if line.startswith("rankinit --")]
    return [words[1:words.index("--")] for words in lines if "--" in words]


@pytest.mark.parametrize("machine, fit", [("az-nd96isr-h100", True), ("az-nd96is-h200", False),
                                          ("az-nd96asr-v4-1down", False)])
def test_how_a_size_is_required(box, tmp_path, machine, fit):
    """The documented ways to refuse a node that has less than its size."""
    root = str(tmp_path / "root")
    grow(machine, root)
    ways = [words for words in commands("docs/checks.md") if "shm=" not in words[0]
            and "deep" not in words[0]]
    assert len(ways) == 2
    for words in ways:
        result = box.run(*words, "--check", f"--root={root}")
        assert result.status == (0 if fit else 123), (words, result.out.decode())
    mild = box.run(ways[0][0].replace("--require", "--expect"), "--check=json", f"--root={root}")
    states = {one["status"] for one in json.loads(mild.out)["checks"]
              if one["id"] in ("ib.count", "ib.rate")}
    assert (mild.status, "warn" in states) == (0, not fit), "the control: a size is expected"


# What follows from another.

def lines_before_a_launch(box, *words):
    """The codes of the lines of a launch; --explain has the same as findings."""
    result = box.run(*words, "--", "true", env=test_check.ONE)
    return [re.search(r"\[([\w.]+)\]$", line).group(1) for line in result.lines()], result


@pytest.mark.parametrize("asked, cause, folded", [
    ("gpu=1000", "gpu.vendor.none", ["gpu.count"]),
    ("ib=1000,ofed", "ib.dev.absent", ["ib.count", "ib.ofed"]),
])
def test_one_cause_is_one_line(box, asked, cause, folded):
    """A machine without: what that makes of other checks is in JSON and in the table alone."""
    words = [f"--require={asked}", "--checks=default,^mpi.*"]
    shown = json.loads(box.run("--check=json", *words).out)["checks"]
    found = {one["code"]: one for one in shown if one["status"] in ("fail", "unknown")}
    if cause not in found:
        pytest.skip("this machine has such a device")
    assert {one["id"] for one in found.values() if one["because_of"]} == set(folded)
    assert {one["because_of"] for one in found.values()} == {None, cause.rpartition(".")[0]}
    codes, result = lines_before_a_launch(box, *words)
    assert codes == [cause, "check.unfit"]
    assert "; expected 1000 (--require); " in result.lines()[0]
    explained = json.loads(box.run("--explain=json", *words, "--", "true", env=test_check.ONE).out)
    assert [one["code"] for one in explained["findings"] if one["code"] in found] == [cause]
    # the control: without the cause, its consequence is a line
    words[1] += f",^{cause.rpartition('.')[0]}"
    codes, _ = lines_before_a_launch(box, *words)
    assert {code.rpartition(".")[0] for code in codes} == {*folded, "check"}


def test_a_cause_that_is_milder_folds_nothing(box):
    """What refuses is always said."""
    codes, result = lines_before_a_launch(box, "--expect=gpu=1000", "--require=gpu.count")
    if "gpu.vendor.none" not in codes:
        pytest.skip("this machine has a GPU")
    assert (result.status, codes) == (123, ["gpu.vendor.none", "gpu.count.few", "check.unfit"])


def test_causes_have_causes(rankinit, tmp_path):
    """Adapters over Ethernet are no InfiniBand ports; without adapters there is neither."""
    root = str(tmp_path / "root")
    grow("roce", root)
    for cause in (None, "ib.dev"):
        found = {one["id"]: one for one in look(rankinit, root, ["--require=ib=8"])["checks"]}
        assert found["ib.count"]["status"] == "fail"
        assert found["ib.count"]["because_of"] == cause
        assert found[cause or "ib.count"]["because_of"] is None
        assert found[cause or "ib.count"]["expected"] == "8 (--require)"
        shutil.rmtree(f"{root}/sys/class/infiniband")
        os.mkdir(f"{root}/sys/class/infiniband")


def test_what_is_required_runs(box):
    """By its id also a check that no list has; a family those that run by default."""
    words = ["--check=json", "--master-addr=nowhere.invalid"]

    def ids(*options):
        done = box.run(*words, *options)
        return done.status, {one["id"] for one in json.loads(done.out)["checks"]}
    status, found = ids("--require=net.master")
    assert (status, "net.master" in found) == (123, True)
    assert "net.master" not in ids("--require=net.*")[1], "the control"
    assert ids("--checks=default,net.master")[1] - ids()[1] == {"net.master"}
    assert ids("--checks=lim.nofile", "--require=lim.nproc")[1] == {"lim.nofile", "lim.nproc"}
    assert ids("--checks=lim.nofile", "--expect=lim.*")[1] == {"lim.nofile"}
    some = ids("--checks=lim.nofile", "--require=lim.*")[1]
    assert some == ids("--checks=lim.*")[1] > {"lim.nofile", "lim.nproc"}
    assert ids("--checks=lim.*,^lim.nofile")[1] == some - {"lim.nofile"}
    assert ids("--checks=^lim.nofile")[1] == ids()[1] - {"lim.nofile"}


@pytest.mark.parametrize("options, size", [
    ([], "16g"), (["--require=shm=32G"], "32g"), (["--expect=shm=1536m"], "1536m"),
    (["--require=shm=65537k"], "65537k"), (["--nproc-per-node=128"], "32g")])
def test_the_hint_has_the_size_that_is_asked_for(rankinit, tmp_path, options, size):
    root = str(tmp_path / "root")
    grow("docker-default", root)
    found, = [one for one in look(rankinit, root, options)["checks"] if one["id"] == "shm.size"]
    assert f"--shm-size={size} " in found["hint"] and f"shm_size: {size} " in found["hint"]


def test_a_check_that_is_left_out_though_it_is_required(box):
    words = ["--require=lim.nofile,shm=4k", "--", "sh", "-c", "echo ran"]
    result = box.run("--checks=default,^lim.*", *words, env=test_check.ONE)
    assert (result.status, result.out) == (0, b"ran\n")
    line = warned(result, "check.unasked", "--require")
    assert "lim.nofile is not checked, because --checks turns it off" in line
    warned(box.run("--check", "--checks=default,^lim.*", words[0]), "check.unasked", "--require")
    # of what a word stands for, a part may be left out without a word, but not all
    assert box.run("--checks=default,^shm.free", "--require=shm=4k", "--", "true",
                   env=test_check.ONE).err == "", "the control"
    result = box.run("--checks=default,^gpu.*", "--require=gpu=8", "--", "true",
                     env=test_check.ONE)
    assert result.status == 0
    line = warned(result, "check.unasked", "--require")
    assert "gpu is not checked, because --checks turns it off" in line
