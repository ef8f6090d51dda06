# SPDX-License-Identifier: Apache-2.0
"""What --list=simulations prints is what --simulate can play, and each of it is a job."""
import subprocess

PATIENCE = 60


def ask(rankinit, *words):
    return subprocess.run([rankinit, *words], env={}, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)


def rows(rankinit, name):
    return [line.split("\t") for line in ask(rankinit, f"--list={name}").stdout.splitlines()]


def test_the_list(rankinit):
    """A name of a source or that with _KIND, who is started, and a summary."""
    listed = rows(rankinit, "simulations")
    names = [row[0] for row in listed]
    sources = [row[0] for row in rows(rankinit, "sources") if row[0]]
    assert {len(row) for row in listed} == {3}
    assert {row[1] for row in listed} == {"processes", "nodes"}
    assert all(row[2] for row in listed)
    assert len(set(names)) == len(names)
    # one that two plugins of one source make, and that is called as its users call it
    assert [name for name in names
            if not any(name == one or name.startswith(one + "_") for one in sources)
            ] == ["kubeflow_trainjob"]
    assert ["azureml_mpi", "processes"] in [row[:2] for row in listed]
    assert ["sagemaker", "nodes"] in [row[:2] for row in listed]


def test_each_of_the_list_is_a_job_in_which_everybody_knows_who_he_is(rankinit):
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR".split()
    say = "echo member " + " ".join("$" + name for name in names)
    want = [f"{2 * node + rank} 4 {rank} 2 {node} 127.0.0.2" for node in (0, 1) for rank in (0, 1)]
    for name, _, _ in rows(rankinit, "simulations"):
        done = ask(rankinit, f"--simulate={name}:2x2", "--", "sh", "-c", say)
        said = sorted(line.partition("member ")[2].rstrip() for line in done.stdout.splitlines())
        assert (done.returncode, said) == (0, want), (name, done.stdout, done.stderr)


def test_a_name_that_is_not_in_the_list_is_refused(rankinit):
    done = ask(rankinit, "--simulate=kubeflow_tf:2x2", "--", "true")
    assert done.returncode == 125
    assert "[option.value]" in done.stderr and "--simulate" in done.stderr
