"""GraphDefs that TensorFlow wrote, run here (tests/golden/make_graph_def.py); ours, held against TensorFlow's ops."""

import base64
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from golden.graph_def_cases import CASES, FEED, OTHER
from graph.exported import forward
from tensorboard.compat.proto import op_def_pb2

import headrace as tf
from headrace.core import wire

FOLDER = Path(__file__).parent.parent / "golden"
GOLDEN = json.loads((FOLDER / "graph_def.json").read_text())


def definition(case):
    return tf.GraphDef.FromString(lzma.decompress(base64.b85decode(GOLDEN[case]["graph"])))


def check(session, case, feed, expected):
    for name in GOLDEN[case]["setup"]:
        session.run(name)
    names = list(expected)
    for name, got in zip(names, session.run([f"{n}:0" for n in names], {"x:0": feed}), strict=True):
        shape, values = expected[name]
        assert list(np.shape(got)) == shape, name
        if values and isinstance(values[0], str):
            assert [v.decode() for v in got.reshape(-1)] == values
        else:
            np.testing.assert_allclose(
                np.asarray(got, np.float64).reshape(-1), values, rtol=2e-5, atol=1e-6, err_msg=name
            )


@pytest.mark.parametrize(
    "case, mode", [*((c, "off") for c in CASES), ("perceptron", "always"), ("functions", "always")]
)
def test_what_tensorflow_wrote_runs_here(case, mode):
    for feed, expected in zip((FEED, OTHER), GOLDEN[case]["values"], strict=True):
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            tf.import_graph_def(definition(case), name="")
            check(session, case, feed, expected)


@pytest.mark.parametrize("case", CASES)
def test_it_survives_being_written_again(case):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition(case), name="")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="")
        check(session, case, FEED, GOLDEN[case]["values"][0])


def test_every_program_is_recorded():
    assert set(GOLDEN) == set(CASES)


# ---- ours as TensorFlow sees them

_KINDS = {"bool": "b", "int": "i", "float": "f", "string": "s", "func": "func"}


def op_definitions():
    data = lzma.decompress((FOLDER / "graph_def_ops.pb.xz").read_bytes())
    return {op.name: op for op in (op_def_pb2.OpDef.FromString(p) for _, _, p in wire.fields(data))}


def problems(node, known):
    """Why TensorFlow would not take the node."""
    op = known.get(node.op)
    if op is None:
        return [f"no op {node.op}"]
    found = []
    attrs = {a.name: a for a in op.attr}
    for name, value in node.attr.items():
        if name.startswith("_"):
            continue
        if name not in attrs:
            found.append(f"attr {name} is not in {node.op}")
            continue
        kind = attrs[name].type
        wanted = "list" if kind.startswith("list") else _KINDS.get(kind, kind)
        if value.WhichOneof("value") != wanted:
            found.append(f"attr {name} of {node.op} is a {value.WhichOneof('value')}, not a {kind}")
        allowed = attrs[name].allowed_values.list.type
        given = [value.type] if wanted == "type" else value.list.type
        if allowed and any(t not in allowed for t in given):
            found.append(f"attr {name} of {node.op} has a type that is not allowed")
    for name, attr in attrs.items():
        if name not in node.attr and not attr.HasField("default_value"):
            found.append(f"attr {name} of {node.op} is missing")
    count = 0
    for arg in op.input_arg:
        if arg.number_attr:
            count += node.attr[arg.number_attr].i
        else:
            count += len(node.attr[arg.type_list_attr].list.type) if arg.type_list_attr else 1
    given = sum(not i.startswith("^") for i in node.input)
    return found + ([f"{node.op} has {given} inputs, not {count}"] if count != given else [])


@pytest.mark.parametrize("case", CASES)
def test_what_is_written_here_fits_tensorflows_ops(case):
    known = op_definitions()
    made, fetches, _ = forward(case)
    assert fetches
    functions = {f.signature.name for f in made.library.function}
    for node in [*made.node, *(n for f in made.library.function for n in f.node_def)]:
        assert problems(node, known) == [], node.name
        for value in node.attr.values():
            assert value.WhichOneof("value") != "func" or value.func.name in functions
