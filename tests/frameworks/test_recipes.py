# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/recipes.md that do not train, and that there are no others."""

import glob
import os
import re
import subprocess

import pytest

import environments
import platforms
import recipes
import shapes
from conftest import PROGRAM, TOP, clean_env

RECIPES = recipes.read()
# those of --simulate are run by test_simulate.py
OTHERS = {"image", "variables", "simulate-ci", "simulate-stop", "simulate-stop-train"}


def test_every_block_is_run():
    with open(os.path.join(TOP, "docs", "recipes.md"), encoding="utf-8") as file:
        assert recipes.blocks_without_a_name(file.read()) == 0
    run = [row.recipe for row in (*shapes.SHAPES, *shapes.LOOKS)]
    assert len(run) == len(set(run))
    assert set(run) | OTHERS == set(RECIPES)


def test_nobody_writes_a_rank_by_hand():
    for recipe in RECIPES.values():
        assert not re.search(r"(NODE_RANK|node.rank|RANK|MASTER_ADDR)[= ]['\"]?\d", recipe.text)


def test_what_trains_is_what_is_installed():
    """Files of requirements are exact, and the environments are those."""
    for path in glob.glob(f"{shapes.HERE}/requirements/*.txt"):
        with open(path, encoding="ascii") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines), path


@pytest.mark.parametrize("name", environments.ORDER)
def test_versions(name, installed):
    """Those of the table are those that the tests have run with."""
    installed(name)
    text = "import importlib.metadata as m, sys; [print(n, m.version(n)) for n in sys.argv[1:]]"
    with open(f"{shapes.HERE}/requirements/{name}.txt", encoding="ascii") as file:
        wanted = dict(re.findall(r"^([\w.-]+)==(\S+)$", file.read(), re.M))
    done = subprocess.run([f"{TOP}/build/frameworks/{name}/bin/python", "-c", text, *wanted],
                          capture_output=True, text=True, check=True, timeout=60)
    found = dict(line.split() for line in done.stdout.splitlines())
    assert {key: value.partition("+")[0] for key, value in found.items()} == wanted


def check(recipe, host, env):
    root = os.path.join(TOP, "build", "hosts", host)
    assert os.path.isdir(root), "make hosts"
    words = RECIPES[recipe].words
    assert words[0] == "rankinit"
    done = subprocess.run([PROGRAM, f"--root={root}", *words[1:]], env=clean_env(**env),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                          check=False)
    return done.returncode, [" ".join(line.split()[:2]) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("look", shapes.LOOKS, ids=lambda look: look.recipe)
def test_a_look_at_the_node(look):
    status, lines = check(look.recipe, look.host, look.env)
    assert status == look.status and look.line in lines
    status, lines = check(look.recipe, look.worse, look.worse_env)
    assert status == look.worse_status and look.worse_line in lines


@pytest.fixture
def world(hosts, tmp_path, temporary):
    os.mkdir(tmp_path / "bin")
    os.symlink(PROGRAM, tmp_path / "bin" / "rankinit")
    return platforms.World(hosts(2), str(tmp_path), {
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path),
        "TMPDIR": temporary})


def test_variables_of_open_mpi(world):
    """NODE_RANK is the node's index; what Open MPI calls so is the local rank here."""
    with open(f"{world.folder}/show.sh", "w", encoding="ascii") as file:
        file.write("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $(uname -n) "
                   "$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_NODE_RANK\n")
    outcome = world.finish(platforms.by_hand(world, RECIPES["variables"].words, 2), 60)
    print(outcome)
    assert sorted(outcome.out.splitlines()) == [
        f"{rank} 4 {rank % 2} 2 {rank // 2} node{rank // 2} {rank} {rank % 2}"
        for rank in range(4)]


def test_the_image(world):
    """Its ENTRYPOINT, CMD and ENV, where no platform is: the command as it stands."""
    with open(f"{world.folder}/train.py", "w", encoding="ascii") as file:
        file.write("import os\nprint(os.getppid(), os.environ['OMP_NUM_THREADS'], "
                   "'RANK' in os.environ)\n")
    recipe = RECIPES["image"]
    world.env.update(recipe.env)
    outcome = world.finish(platforms.alone(world, recipe.words, 1), 60)
    assert (outcome.out, outcome.codes) == ("1 1 False\n", [0]), outcome.err


@pytest.mark.parametrize("end, status, said", [
    ([], 0, "fit"), (["--"], 127, "options of rankinit go before --")], ids=["open", "closed"])
def test_options_behind_the_name_of_the_image(end, status, said):
    """docker run IMAGE --check, where the ENTRYPOINT ends in "--" and where it does not."""
    words = [*RECIPES["image"].entrypoint[1:], *end, "--check"]
    done = subprocess.run([PROGRAM, *words], env=clean_env(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status and said in done.stdout + done.stderr
