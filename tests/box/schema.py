# SPDX-License-Identifier: Apache-2.0
"""The documents of docs/NAME.schema.json."""

import functools
import json
import os

import pytest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")


@functools.lru_cache
def validator(name):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    with open(os.path.join(DOCS, f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    # one may refer to another one of the folder
    resolver = jsonschema.RefResolver(f"file://{os.path.realpath(DOCS)}/", schema)
    return jsonschema.Draft7Validator(schema, resolver=resolver)


def check(document, name):
    """Is it one of this schema? Every fault is said."""
    faults = [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}"
              for fault in validator(name).iter_errors(document)]
    assert not faults, faults
