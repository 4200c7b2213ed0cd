"""Builds the programs of graph_def_cases.py under TensorFlow, runs them, and writes their GraphDefs and values.

Also writes the definitions of TensorFlow's ops that Headrace has (graph_def_ops.pb.xz), which exported nodes are held against.
Given a folder of GraphDefs that Headrace wrote from the same programs (``python tests/graph/exported.py FOLDER``), it runs those
under TensorFlow instead and compares.
"""

import base64
import json
import lzma
import sys
from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from graph_def_cases import CASES, FEED, OTHER, build
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

tf.disable_v2_behavior()
HERE = Path(__file__).parent


def plain(value):
    if value.dtype == object:
        return [v.decode() for v in value.reshape(-1)]
    return [float(f"{v:.8g}") for v in np.asarray(value, np.float64).reshape(-1)]


def run(graph, fetches, setup):
    found = []
    with graph.as_default():
        for feed in (FEED, OTHER):
            with tf.Session() as session:
                for name in setup:
                    session.run(name)
                values = session.run([f"{f}:0" for f in fetches], {"x:0": feed})
                found.append(
                    {f: [list(np.shape(v)), plain(np.asarray(v))] for f, v in zip(fetches, values, strict=True)}
                )
    return found


def make():
    found = {}
    for name in CASES:
        graph, fetches, setup = build(tf, name)
        data = graph.as_graph_def().SerializeToString()
        found[name] = {
            "graph": base64.b85encode(lzma.compress(data)).decode(),
            "setup": setup,
            "values": run(graph, fetches, setup),
        }
    (HERE / "graph_def.json").write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")


def make_ops(names):
    every = op_def_pb2.OpList()
    every.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    kept = op_def_pb2.OpList()
    for op in every.op:
        if op.name in names:
            for part in (op, *op.input_arg, *op.output_arg, *op.attr):
                part.ClearField("description")
            op.ClearField("summary")
            kept.op.add().CopyFrom(op)
    (HERE / "graph_def_ops.pb.xz").write_bytes(lzma.compress(kept.SerializeToString()))


def compare(folder):
    golden = json.loads((HERE / "graph_def.json").read_text())
    for path in sorted(folder.glob("*.pb")):
        definition = tf.GraphDef()
        definition.ParseFromString(path.read_bytes())
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(definition, name="")
        notes = json.loads(path.with_suffix(".json").read_text())
        found = run(graph, notes["fetches"], notes["setup"])
        for mine, theirs in zip(found, golden[path.stem]["values"], strict=True):
            for fetch in mine:  # gradients are of Headrace's own nodes and were not written
                shape, values = theirs[fetch]
                assert mine[fetch][0] == shape, (path.stem, fetch)
                if values and isinstance(values[0], str):
                    assert mine[fetch][1] == values, (path.stem, fetch)
                else:
                    np.testing.assert_allclose(
                        mine[fetch][1], values, rtol=2e-5, atol=1e-6, err_msg=f"{path.stem} {fetch}"
                    )
        print(f"{path.stem}: the same", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "ops":
        make_ops(set(sys.stdin.read().split()))
    elif len(sys.argv) > 1:
        compare(Path(sys.argv[1]))
    else:
        make()
