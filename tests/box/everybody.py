# SPDX-License-Identifier: Apache-2.0
"""
A folder that every user may enter, for what tests run as others than root: a
clone below /root, or below anybody's home, is closed to them.
"""

import os
import shutil
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="everybody-")  # until the tests end
FOLDER = _folder.name
os.chmod(FOLDER, 0o755)


def copy(path):
    """The path of its copy, which everybody can read and run."""
    made = os.path.join(FOLDER, os.path.basename(path))
    shutil.copyfile(path, made)
    os.chmod(made, 0o755)
    return made
