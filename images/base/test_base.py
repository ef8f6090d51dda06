# SPDX-License-Identifier: Apache-2.0
"""The base image: who is PID 1, what is in it, and a job over ssh."""

import json
import os
import re
import subprocess

import build

HOSTS = ("node-a", "node-b")
SHOW = 'echo "$(hostname) $RANK $LOCAL_RANK $WORLD_SIZE $NODE_RANK $MASTER_ADDR $GREETING"'


def inspect(engine, field):
    text = engine.docker("inspect", "-f", "{{json %s}}" % field, engine.tag("base")).stdout
    return json.loads(text)


def test_rankinit_is_process_1_of_a_user_who_is_not_root(engine):
    done = engine.run("base", "sh", "-c", "cat /proc/1/comm; id -u; id -un")
    assert done.stdout.split() == ["rankinit", "1000", "trainer"]


def test_options_reach_rankinit(engine):
    assert engine.run("base", "--version").stdout.startswith("rankinit ")
    assert "sh -c" in engine.run("base", "--explain", "--", "sh", "-c", "true").stdout


def test_the_stop_reaches_the_program(engine):
    name = engine.start("base", "sh", "-c", "trap 'exit 7' TERM; echo up; sleep 60 & wait")
    engine.until(lambda: "up" in engine.docker("logs", name).stdout)
    engine.docker("stop", "-t", "30", name)
    assert engine.wait(name) == 7


def test_what_it_says_of_itself(engine):
    labels = inspect(engine, ".Config.Labels")
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.base.name"] == engine.tag("root")
    assert engine.tag("base").endswith(":" + labels["org.opencontainers.image.version"])
    assert inspect(engine, ".Config.StopSignal") == "SIGTERM"
    assert inspect(engine, ".Config.Healthcheck") is None
    assert inspect(engine, ".Config.User") == "1000:1000"


def test_no_key_is_baked_in(engine):
    # of all files, not only where they usually are
    find = "grep -rlIs -e '-----BEGIN.*PRIVATE KEY' /etc /home /root /usr/local /var || true"
    done = engine.run("base", "sh", "-c", find, options=["--user", "0"])
    assert done.stdout == ""


def test_libraries_of_the_fabric(engine):
    words = "mpirun --version | head -1; ucx_info -v | head -1; ibv_devinfo --help | head -1"
    done = engine.run("base", "sh", "-c", words)
    assert "Open MPI) 4" in done.stdout and "Version 1." in done.stdout
    assert "ibv_devinfo" in done.stdout


def test_nothing_keeps_open_mpi_from_ucx(engine):
    done = engine.run("base", "grep", "-E", "^(pml|osc) =", "/etc/openmpi/openmpi-mca-params.conf",
                      check=False)
    assert "ucx" not in done.stdout


def test_status_can_be_a_health_check(engine):
    name = engine.start("base", "sleep", "60", options=[
        "--env", "RANKINIT_STATE=/tmp/state", "--health-interval", "1s",
        "--health-cmd", "rankinit --status=/tmp/state"])
    field = "{{.State.Health.Status}}"
    engine.until(lambda: engine.docker("inspect", "-f", field, name).stdout == "healthy\n")


def nodes(engine, options=()):
    """Two nodes of one job, with keys in a volume: their containers by host name."""
    network, keys = engine.name("network"), engine.name("volume")
    engine.docker("network", "create", network)
    mounted = ["--volume", f"{keys}:/etc/rankinit/ssh"]
    engine.run("base", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
               "/etc/rankinit/ssh/id_ed25519", options=mounted)
    made = {}
    for host in HOSTS:
        made[host] = engine.start("base", "--launch=none", "ssh-node", options=[
            "--network", network, "--hostname", host, "--network-alias", host,
            "--env", 'GREETING=hello "you" \\ $HOME', *mounted, *options])
        engine.until(lambda: "Server listening on" in engine.docker("logs", made[host]).stderr)
    return made


def test_mpirun_over_ssh(engine):
    """Every rank knows its place, and the environment of its own container."""
    made = nodes(engine)
    done = engine.execute(
        made["node-a"], "mpirun", "-np", "4", "--host", "node-a:2,node-b:2",
        "rankinit", "--master-addr=node-a", "--", "sh", "-c", SHOW)
    greeting = 'node-a hello "you" \\ $HOME'
    assert sorted(done.stdout.splitlines()) == [
        f"node-a 0 0 4 0 {greeting}", f"node-a 1 1 4 0 {greeting}",
        f"node-b 2 0 4 1 {greeting}", f"node-b 3 1 4 1 {greeting}"]
    for name in made.values():
        engine.docker("stop", "-t", "30", name)
        assert engine.wait(name) == 0


def test_a_login_has_the_environment_of_its_container(engine):
    """All but what belongs to one process, and this container's options."""
    made = nodes(engine, ["--env", "RANKINIT_GRACE=5", "--env", "LINES=a\nb", "--env", "a.b=c d"])
    words = ["ssh", "-p", "2222", "node-b", "env; cat /proc/1/environ | tr '\\0' '\\n' >&2"]
    done = engine.execute(made["node-a"], *words)
    seen, first = (set(text.splitlines()) for text in (done.stdout, done.stderr))
    assert {"HOSTNAME=node-b", "a.b=c d", "OMPI_MCA_plm_rsh_args=-p 2222"} <= seen
    assert "RANKINIT_GRACE=5" in first and not any(it.startswith("RANKINIT") for it in seen)
    assert "LINES=a" in first and not any(it.startswith("LINES") for it in seen)
    assert [it for it in seen if it.startswith("PATH=")] == [
        it for it in first if it.startswith("PATH=")]


NO_RIGHTS = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def test_it_needs_no_capability_and_writes_nothing(engine):
    done = engine.run("base", "sh", "-c", "cat /proc/1/comm", options=NO_RIGHTS)
    assert done.stdout == "rankinit\n"


def test_a_node_needs_one_folder_to_write(engine):
    done = engine.run("base", "ssh-node", options=NO_RIGHTS, check=False)
    assert done.returncode == 1 and "mount a tmpfs at /tmp" in done.stderr
    name = engine.start("base", "ssh-node", options=[*NO_RIGHTS, "--tmpfs", "/tmp:mode=1777"])
    engine.until(lambda: "Server listening on" in engine.docker("logs", name).stderr)
    assert "nobody can log in yet" in engine.docker("logs", name).stderr


def test_a_node_takes_no_argument(engine):
    done = engine.run("base", "ssh-node", "-p", "22", check=False)
    assert done.returncode == 2 and "ssh-node: no argument expected, not '-p'" in done.stderr


def test_no_login_without_the_key(engine):
    made = nodes(engine)
    words = ["ssh", "-p", "2222", "-o", "IdentityFile=none", "-o", "IdentitiesOnly=yes",
             "-F", "none", "-o", "StrictHostKeyChecking=no", "node-b", "true"]
    done = engine.execute(made["node-a"], *words, check=False)
    assert done.returncode == 255 and "Permission denied (publickey)" in done.stderr


def gate(engine, image, folder, require="mpi,ib,gpu=8,shm=16G"):
    """The lines of docs/checks.md with that image and list: the last one's status and words."""
    with open(os.path.join(build.TOP, "docs", "checks.md"), encoding="utf-8") as page:
        lines = re.search(r"```sh\n(mkdir rootfs\n.*?)```", page.read(), re.S)[1]
    name = engine.name("container")
    for old, new in (("create IMAGE", f"create --name {name} {engine.tag(image)}"),
                     ("mpi,ib,gpu=8,shm=16G", require)):
        assert lines.count(old) == 1
        lines = lines.replace(old, new)
    folder.mkdir()
    path = f"{build.TOP}/build:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-euc", lines], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PATH": path})
    return done.returncode, " ".join(done.stdout.split())


def test_the_gate_of_an_image(engine, tmp_path):
    """Its files pass, and what no image has does not stop it; the control is an image without."""
    status, said = gate(engine, "base", tmp_path / "base")
    assert status == 0 and said.endswith(": fit, as far as an image tells")
    assert re.search(r"pass mpi\.present /\S+/libmpi\.so\.40: Open MPI 4", said)
    status, said = gate(engine, "root", tmp_path / "root")
    assert status == 123 and "fail mpi.present libmpi: this image has no MPI library" in said
    assert "gpu.count" in said.partition("skip ")[2].partition(": not to be known")[0]
    assert gate(engine, "root", tmp_path / "none", "gpu=8,shm=16G")[0] == 0
