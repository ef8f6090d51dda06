#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
The main job, on real processes: ranks under a real mpirun, why each is who it
is, a rank that fails, another platform's job that is played here, and a stop
while a shell runs the training.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RANKINIT = os.path.join(TOP, "build", "rankinit")
INITS = (("tini", ["tini", "--"]), ("dumb-init", ["dumb-init", "--"]),
         ("rankinit", [RANKINIT, "--"]))
LIMIT = 10.0  # seconds that anything here may take
AZURE = {"AZ_BATCH_MASTER_NODE": "10.0.0.4:6000", "AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5"}


def title(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def mpirun_words(ranks):
    """Real mpirun on two nodes; without the right to make them, on one."""
    words = [shutil.which("mpirun.openmpi") or "mpirun", "--oversubscribe", "-np", str(ranks)]
    if os.geteuid() != 0:
        return words
    words += ["--allow-run-as-root", "--host", "node0:2,node1:2",
              "--mca", "plm_rsh_agent", os.path.join(HERE, "agent.sh"),
              "--mca", "oob_tcp_if_include", "lo", "--mca", "btl_tcp_if_include", "lo"]
    for name in AZURE:
        words += ["-x", name]
    return ["unshare", "--uts", "sh", "-c", "hostname node0; " + shlex.join(words) + ' "$@"', "sh"]


def run_mpi(ranks, *command):
    return subprocess.run(mpirun_words(ranks) + list(command), env={**os.environ, **AZURE},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)


def show_ranks():
    """Four ranks of an Azure ML MPI job on two nodes, as their script sees them."""
    title("1. mpirun starts four ranks on two nodes, rankinit tells each who it is")
    print("   $ mpirun -np 4 --host node0:2,node1:2 -x AZ_BATCH_MASTER_NODE=10.0.0.4:6000 "
          "rankinit -- python3 rank.py")
    done = run_mpi(4, RANKINIT, "--", sys.executable, os.path.join(HERE, "rank.py"))
    row = "   {:>4} {:>10} {:>10} {:>9}  {:<11} {:>11}".format
    print(row("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
    for line in sorted(done.stdout.splitlines()):
        print(row(*line.split()))
    return done.returncode == 0


def show_explanation():
    title("2. Why? rankinit --explain, as rank 3")
    # the terminal that mpirun gives its ranks is not that of this demo
    script = (f'[ "$OMPI_COMM_WORLD_RANK" != 3 ] || '
              f'{RANKINIT} --explain -- python3 train.py')
    done = run_mpi(4, "sh", "-c", script)
    print("".join("   " + line + "\n" for line in done.stdout.splitlines()), end="")
    return done.returncode == 0


def show_failure():
    title("3. Rank 1 raises an exception, and its rankinit says why the job failed")
    script = 'import os\nif os.environ["RANK"] == "1":\n    raise ValueError("bad batch 17")'
    done = run_mpi(2, RANKINIT, "--", sys.executable, "-c", script)
    said = [line for line in done.stderr.splitlines() if line.startswith("rankinit: ")]
    print("".join(f"   {line}\n" for line in said) + f"   mpirun ends with {done.returncode}")
    return done.returncode == 1 and any("verdict cause=exception" in line for line in said)


def show_simulation():
    """Two nodes of SageMaker, one of whose ranks is killed: who is blamed, by whom."""
    job = "--simulate=sagemaker:2x2,kill=3@2"
    title("4. The same on SageMaker? Played here, and rank 3 is killed after two seconds")
    print(f"   $ rankinit {job} -- sh -c 'python3 rank.py; exec sleep 9'")
    script = f"{shlex.join([sys.executable, os.path.join(HERE, 'rank.py')])}; exec sleep 9"
    done = subprocess.run([RANKINIT, job, "--", "sh", "-c", script],
                          env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    for line in sorted(done.stdout.splitlines()) + done.stderr.splitlines():
        print("   " + line)
    return done.returncode == 137


def wait_for(ready):
    """Waits until ready() gives something, and returns it; None when time is over."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.01)
    return None


def first_child(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return int(children.read().split()[0])
    except (OSError, IndexError):
        return None


def namespace():
    """The words before an init that make it PID 1, with a /proc that fits if possible."""
    words = ["unshare", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    tried = subprocess.run(words + ["--mount-proc", "true"], stderr=subprocess.DEVNULL)
    # in a chroot there is no mount at / that could be made private
    return words + ["--mount-proc"] if tried.returncode == 0 else words


def stop(words, folder):
    """
    Runs the shell as a container would, under an init that is PID 1, and
    stops it. Returns the init's exit status and the time that it took.
    """
    checkpoint = os.path.join(folder, "checkpoint")
    script = shlex.join([sys.executable, os.path.join(HERE, "save.py"), checkpoint])
    runner = subprocess.Popen(namespace() + words + ["sh", "-c", script + "; echo end"],
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        if not wait_for(lambda: os.path.exists(checkpoint + ".ready")):
            return None, 0.0
        begin = time.monotonic()
        os.kill(wait_for(lambda: first_child(runner.pid)), 15)
        status = runner.wait(LIMIT)
        return status, time.monotonic() - begin
    finally:
        runner.kill()
        runner.wait()


def show_stop():
    """Who keeps the checkpoint when a container is stopped?"""
    title("5. SIGTERM, as docker stop sends it, to: sh -c 'python3 save.py; echo end'")
    print("   {:<10} {:<11} {:<12} {}".format("init", "checkpoint", "exit status", "seconds"))
    kept = False
    for name, words in INITS:
        if not shutil.which(words[0]):
            print(f"   {name:<10} skipped: it is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            status, seconds = stop(words, folder)
            kept = os.path.exists(os.path.join(folder, "checkpoint"))
        if status is None:
            print(f"   {name:<10} skipped: no PID namespace can be made here")
            continue
        print("   {:<10} {:<11} {:<12} {:.1f}".format(
            name, "kept" if kept else "LOST", status, seconds))
    print("   The shell dies of SIGTERM, and with tini and dumb-init the kernel then kills the\n"
          "   training at once. rankinit tells what is left to stop, and waits for it.")
    return kept


def main():
    if not os.access(RANKINIT, os.X_OK):
        sys.exit("build/rankinit is not there: run make first")
    shown = [show() for show in (show_ranks, show_explanation, show_failure,
                                 show_simulation, show_stop)]
    return 0 if all(shown) else 1


if __name__ == "__main__":
    sys.exit(main())
