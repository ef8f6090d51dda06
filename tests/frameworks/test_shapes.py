# SPDX-License-Identifier: Apache-2.0
"""
Every recipe of docs/recipes.md that trains, on nodes that share this machine:
all ranks take part, and what happens without rankinit is what the table says.
"""

import glob
import os
import re
import shutil

import pytest

import platforms
import recipes
import shapes
from conftest import PROGRAM, TOP, said
from hosts import PATH

BUILD = os.path.join(TOP, "build", "frameworks")
RECIPES = recipes.read()


@pytest.fixture
def world(shape, hosts, installed, tmp_path, temporary):
    """train.py on nodes whose PATH has the framework's Python and rankinit."""
    for name in (shape.python, *shape.extra):
        installed(name)
    shutil.copy(os.path.join(shapes.HERE, "train", shape.train + ".py"), tmp_path / "train.py")
    os.mkdir(tmp_path / "bin")
    os.symlink(PROGRAM, tmp_path / "bin" / "rankinit")
    if "MPI4PY_MPIABI" in shape.env:
        link_mpich(tmp_path / "lib")
    extra = [f"{BUILD}/{name}/lib/{os.path.basename(folder)}/site-packages"
             for name in shape.extra for folder in python_folders(name)]
    env = {"PATH": f"{BUILD}/{shape.python}/bin:{tmp_path}/bin:{PATH}", "HOME": str(tmp_path),
           "TMPDIR": temporary, "PYTHONPATH": ":".join(extra), "HF_HUB_OFFLINE": "1",
           "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1",
           "TORCH_EXTENSIONS_DIR": f"{BUILD}/{shape.python}/extensions",
           "LD_LIBRARY_PATH": str(tmp_path / "lib"), **shape.env}
    return platforms.World(hosts(shape.nodes), str(tmp_path), env)


def link_mpich(folder):
    """The wheel of mpi4py knows MPICH by its own name, not by Debian's."""
    found = glob.glob("/usr/lib/*/libmpich.so.12")
    if not found:
        pytest.skip("NOT TESTED: MPICH is not installed")
    os.mkdir(folder)
    os.symlink(found[0], folder / "libmpi.so.12")


def python_folders(name):
    folder = os.path.join(BUILD, name, "lib")
    return [entry for entry in os.listdir(folder) if entry.startswith("python3")]


def start(shape, world, words, request):
    recipe = RECIPES[shape.recipe]
    world.env.update(recipe.env)
    if shape.platform == "slurm":
        return platforms.slurm(world, words, request.getfixturevalue("cluster"))
    if shape.platform:
        return getattr(platforms, shape.platform)(world, words, shape.nodes)
    name, numbers = recipe.job
    return platforms.AZUREML_JOBS[name](world, words, numbers)


BY_NAME = pytest.mark.parametrize("shape", shapes.SHAPES, ids=lambda shape: shape.recipe)


@BY_NAME
def test_all_ranks_take_part(shape, world, request):
    jobs = start(shape, world, RECIPES[shape.recipe].words, request)
    outcome = world.finish(jobs, platforms.SECONDS, shape.recipe.endswith("parameter-server"))
    print(outcome)
    assert said(outcome.out) == shape.rows
    assert outcome.codes[0] == 0 and None not in outcome.codes
    assert not re.search("rankinit: (warning|error)", outcome.err)


@BY_NAME
def test_without_rankinit(shape, world, request):
    """The control."""
    jobs = start(shape, world, RECIPES[shape.recipe].without_rankinit(), request)
    without = shape.without
    outcome = world.finish(jobs, without.seconds)
    print(outcome)
    if without.rows is not None:
        assert said(outcome.out) == without.rows
    else:
        assert said(outcome.out) == [] and any(code != 0 for code in outcome.codes)
        assert re.search(without.error or "", outcome.out + outcome.err)
