"""``headrace compare``: what differs between two graphs, SavedModels or checkpoints.

    headrace compare before/ after/      or   python -m headrace.tools.compare model/ckpt-1000 model/ckpt-2000

Nothing in the files is run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import headrace as tf
from headrace.core.table import Table
from headrace.library.saved_model.loader import parse_saved_model
from headrace.tools.inspect import Unknown, holds_saved_model, read_graph
from headrace.tools.said import said


def compare(first: str, second: str, rtol: float = 0.0, atol: float = 0.0) -> Table:
    """The differences between what is at two paths, which must be of one kind."""
    (form, one), (other_form, other) = _loaded(first), _loaded(second)
    if form != other_form:
        raise Unknown(f"{first} is a {form} and {second} a {other_form}: both must be of one kind")
    if form == "checkpoint":
        return tf.debugging.compare_checkpoints(one, other, rtol, atol)
    return tf.debugging.compare_graphs(one, other)


def _loaded(path: str) -> tuple[str, Any]:
    if os.path.isdir(path) and holds_saved_model(path):
        return "graph", parse_saved_model(path).meta_graphs[0]
    prefix = tf.train.latest_checkpoint(path) if os.path.isdir(path) else path.removesuffix(".index")
    if prefix is not None and os.path.exists(f"{prefix}.index"):
        return "checkpoint", tf.train.load_checkpoint(prefix)
    if not os.path.exists(path):
        raise Unknown(f"{path}: there is no such file or folder, and no checkpoint {path}.index")
    found = None if os.path.isdir(path) else read_graph(path)
    if found is None:
        raise Unknown(f"{path} is none of: a GraphDef or MetaGraphDef, a SavedModel, a checkpoint")
    return "graph", found[1]


def show(first: str, second: str, as_json: bool = False, rtol: float = 0.0, atol: float = 0.0) -> int:
    """Prints what differs.  Returns 0 if nothing does, 1 if something does, 2 if a file cannot be read."""
    try:
        table = compare(first, second, rtol, atol)
    except (Unknown, OSError, tf.errors.OpError) as e:
        print(f"headrace compare: {said(e)}", file=sys.stderr)
        return 2
    print(json.dumps(table.rows, indent=1) if as_json else table)
    return 1 if len(table) else 0


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rtol", type=float, default=0.0, help="relative difference that is allowed (%(default)s)")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute difference that is allowed (%(default)s)")
    options = parser.parse_args(argv)
    return show(options.first, options.second, options.json, options.rtol, options.atol)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
