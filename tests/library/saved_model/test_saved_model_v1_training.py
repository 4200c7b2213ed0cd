"""MetaGraphs of TensorFlow 1 that train through conditionals and loops (tests/golden/v1_training_cases.py) train on here."""

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.v1_training_cases import CASES, feeds

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden/v1_training.json.xz"
KEPT: dict[str, dict[str, Any]] = json.loads(lzma.decompress(GOLDEN.read_bytes()))
WAYS = {
    "raised": tf.ConfigProto(compile="off"),
    "lowered": tf.ConfigProto(control_flow="lowered"),
    "primitives": tf.ConfigProto(compile="off"),
}
# These run as primitives: a loop whose gradient asks for the branch that it is in, and gradients of gradients of a conditional,
# which TensorFlow makes of numbers of inputs.
PRIMITIVES = ("loop_in_conditional, resource", "loop_in_conditional, reference", "second_order, resource")


def meta_graph(name: str) -> Any:
    return tf.MetaGraphDef.FromString(KEPT[name]["meta"].encode("latin-1"))


def train(name: str, config: tf.ConfigProto) -> None:
    tf.train.import_meta_graph(meta_graph(name))
    with tf.Session(config=config) as session:
        session.run("init")
        losses = []
        for feed in feeds():
            losses.append(session.run("loss:0", feed))
            session.run("train", feed)
        np.testing.assert_allclose(losses, KEPT[name]["losses"], rtol=2e-5)
        for variable in tf.global_variables():
            np.testing.assert_allclose(
                session.run(variable), KEPT[name]["variables"][variable.op.name], rtol=2e-4, atol=1e-6
            )


def test_all_are_kept() -> None:
    assert len(CASES) >= 20
    assert list(KEPT) == [f"{name}, {'resource' if resource else 'reference'}" for name, resource in CASES]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KEPT)
def test_losses_are_tensorflows(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "primitives":
        monkeypatch.setenv("HEADRACE_PASSES_OFF", "raise_primitives")
    train(name, WAYS[way])


@pytest.mark.parametrize("name", KEPT)
def test_training_steps_are_raised(name: str) -> None:
    """Loops, conditionals and their gradients are nodes that hold bodies."""
    tf.train.import_meta_graph(meta_graph(name))
    graph = tf.get_default_graph()
    given = [graph.get_tensor_by_name(n) for n in feeds()[0]]
    with tf.Session(config=WAYS["raised"]) as session:
        plan = session._master.plan(given, [graph.get_tensor_by_name("loss:0")], [graph.get_operation_by_name("train")])
        assert (plan.framed is None) == (name not in PRIMITIVES)


@pytest.mark.parametrize(
    "name", ["while_loop, resource", "conditional, reference", "lstm, reference", "nested, resource"]
)
def test_gradients_taken_here(name: str) -> None:
    """A new optimizer for an imported loss takes the steps that TensorFlow's took."""
    tf.train.import_meta_graph(meta_graph(name))
    loss = tf.get_default_graph().get_tensor_by_name("loss:0")
    again = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(config=WAYS["raised"]) as session:
        session.run("init")
        losses = []
        for feed in feeds():
            losses.append(session.run(loss, feed))
            session.run(again, feed)
    np.testing.assert_allclose(losses, KEPT[name]["losses"], rtol=2e-5)


@pytest.mark.parametrize("name", ["conditional_in_loop, resource", "arrays, resource"])
def test_compiled(name: str) -> None:
    train(name, tf.ConfigProto(compile="always"))
