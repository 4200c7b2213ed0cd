"""Small programs whose results and node names real TensorFlow gave: how they are kept and compared.

A program takes the module (real TensorFlow or Headrace) and returns what to fetch, a flat list of tensors; it may add
gradients.  ``make_programs.py`` runs them on real TensorFlow and keeps values and nodes in ``<family>.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any], Any]


class Programs(dict[str, Program]):
    """Programs by name.  ``unnamed``: those whose nodes are not compared."""

    def __init__(self) -> None:
        super().__init__()
        self.unnamed: set[str] = set()

    def add(self, name: str, names: bool = True) -> Callable[[Program], Program]:
        def keep(program: Program) -> Program:
            self[name] = program
            if not names:
                self.unnamed.add(name)
            return program

        return keep


def run(tf: Any, program: Program, **options: Any) -> tuple[list[np.ndarray], list[str]]:
    """-> the fetched values, and "name Type" of each node the program made."""
    with tf.Graph().as_default() as graph:
        fetches = flat(program(tf))
        nodes = [f"{op.name} {op.type}" for op in graph.get_operations()]
        setup = graph.get_collection("setup")
        with tf.Session(**options) as session:
            if setup:
                session.run(setup)
            return [np.asarray(v) for v in session.run(fetches)], nodes


def flat(fetches: Any) -> list[Any]:
    """Tensors one after another; a sparse tensor as its three parts."""
    if hasattr(fetches, "dense_shape") and hasattr(fetches, "indices"):
        return [fetches.indices, fetches.values] + ([] if fetches.dense_shape is None else [fetches.dense_shape])
    if isinstance(fetches, dict):
        return [t for key in sorted(fetches) for t in flat(fetches[key])]
    return [t for f in fetches for t in flat(f)] if isinstance(fetches, (list, tuple)) else [fetches]


def encode(array: np.ndarray) -> Any:
    """As JSON: [dtype, shape, elements]; strings as Latin-1 text."""
    if array.dtype.kind in "SO":
        items = [bytes(v).decode("latin-1") for v in array.reshape(-1)]
        return ["string", list(array.shape), items]
    if array.dtype.kind == "c":
        return [array.dtype.name, list(array.shape), array.view(array.real.dtype).reshape(-1).tolist()]
    return [array.dtype.name, list(array.shape), array.reshape(-1).tolist()]


def decode(kept: Any) -> np.ndarray:
    kind, shape, items = kept
    if kind == "string":
        array = np.array([*(v.encode("latin-1") for v in items), None], dtype=object)[:-1]
    elif kind.startswith("complex"):
        array = np.array(items, dtype=f"float{int(kind[7:]) // 2}").view(kind)
    else:
        array = np.array(items, dtype=kind)
    return array.reshape(shape)


def load(family: str) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((Path(__file__).parent / f"{family}.json").read_text())
    return kept


def compare(tf: Any, programs: Programs, name: str, kept: dict[str, Any]) -> None:
    """Runs one program and asserts what real TensorFlow gave."""
    values, nodes = run(tf, programs[name])
    wanted = [decode(v) for v in kept[name]["values"]]
    assert len(values) == len(wanted)
    for i, (found, expected) in enumerate(zip(values, wanted, strict=True)):
        assert found.shape == expected.shape, f"output {i}"
        if expected.dtype == object or expected.dtype.kind not in "fc":
            np.testing.assert_array_equal(found.astype(object), expected.astype(object), err_msg=f"output {i}")
        else:
            assert found.dtype == expected.dtype, f"output {i}"
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"output {i}")
    if name not in programs.unnamed:
        assert sorted(nodes) == sorted(kept[name]["nodes"])
