"""``python tests/graph/exported.py FOLDER``: writes the programs of golden/graph_def_cases.py as GraphDefs for TensorFlow.

``python tests/golden/make_graph_def.py FOLDER``, under TensorFlow, then runs them and compares.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.graph_def_cases import CASES, build

import headrace as tf


def forward(name):
    """The GraphDef, fetches and initialisers of a program, without gradients: those use nodes of Headrace's own."""
    graph, fetches, setup = build(tf, name)
    definition = graph.as_graph_def()
    fetches = [f for f in fetches if not own_nodes(definition, [f])]
    setup = [s for s in setup if not own_nodes(definition, [s])]
    return tf.graph_util.extract_sub_graph(definition, fetches + setup), fetches, setup


def own_nodes(definition, names):
    """The types of Headrace's own that these nodes need."""
    part = tf.graph_util.extract_sub_graph(definition, names)
    every = [*part.node, *(n for f in part.library.function for n in f.node_def)]
    return {n.op for n in every if n.op.startswith("_")}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        made, fetched, first = forward(case)
        (folder / f"{case}.pb").write_bytes(made.SerializeToString())
        (folder / f"{case}.json").write_text(json.dumps({"fetches": fetched, "setup": first}))
        print(case, fetched)
