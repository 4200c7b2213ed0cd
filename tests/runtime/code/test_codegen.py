"""A step as generated Python: its text, what it keeps alive, what it binds."""

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import dtypes
from headrace.core.registry import REGISTRY, op
from headrace.graph import raw_ops
from headrace.runtime.drive.plans import SinglePlan


@pytest.fixture(autouse=True)
def on_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is that of code on tensors, however small the values are."""
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")


def cpu_session() -> tf.Session:
    """A session without GPUs, so that programs and messages are the same on every machine."""
    return tf.Session(config=tf.ConfigProto(device_count={"GPU": 0}))


def program(session: tf.Session, fetches: Any, feeds: Any = ()) -> Any:
    """The program of a step of one strand."""
    elements = [session.graph.as_graph_element(f) for f in (fetches if isinstance(fetches, list) else [fetches])]
    tensors = [e for e in elements if isinstance(e, tf.Tensor)]
    targets = [e for e in elements if isinstance(e, tf.Operation)]
    plan = session._master.plan(list(feeds), tensors, targets)
    assert isinstance(plan, SinglePlan)
    return plan.programs[0]


def normal(source: str) -> list[str]:
    """The lines with names numbered by first appearance, so that tests do not depend on how they are numbered."""
    seen: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        prefix = match.group(1)
        return seen.setdefault(match.group(0), f"{prefix}{sum(k[0] == prefix for k in seen)}")

    return [re.sub(r"\b([acdkstvx])\d+\b", name, line).strip() for line in source.splitlines()]


def test_the_text_of_a_step() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
    y = raw_ops.Relu(raw_ops.MatMul(x, w), name="y")
    with cpu_session() as session:
        made = program(session, y, [x])
    assert normal(made.source) == [
        "def strand(i0):",
        "v0 = s0.value",
        "v1 = k0(i0, v0, False, False); del v0",
        "v2 = k1(v1); del v1",
        "return (v2,)",
    ]
    assert [made.lines[i].name for i in sorted(made.lines)] == ["w/_read", "MatMul", "y"]


def test_constants_and_attributes_are_bound() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = raw_ops.Add(raw_ops.Reshape(x, [1, 2]), tf.constant([3.0, 4.0]))
    with cpu_session() as session:
        made = program(session, y, [x])
        lines = normal(made.source)
        assert session.run(y, {x: [1.0, 1.0]}).tolist() == [[4.0, 5.0]]
    assert lines[1] == "v0 = k0(i0, [1, 2])"  # a host input that is constant is a literal
    assert lines[2] == "v1 = k1(v0, c0); del v0"


def test_identities_cost_nothing() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with cpu_session() as session:
        lines = normal(program(session, raw_ops.Neg(raw_ops.Identity(raw_ops.StopGradient(x))), [x]).source)
    assert lines == ["def strand(i0):", "v0 = k0(i0)", "return (v0,)"]


def test_several_outputs_and_unused_ones() -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    top = raw_ops.TopKV2(x, 2)
    parts = raw_ops.Split(0, x, 2)
    with cpu_session() as session:
        lines = normal(program(session, [top.indices, parts[1]], [x]).source)
    assert lines[1].startswith("v0, v1 = k0(i0, 2, True")
    assert lines[1].endswith("; del v0")
    assert lines[2].startswith("[v2, v3] = k1(0, i0") and lines[2].endswith("; del v2")
    assert lines[3] == "return (v1, v3,)"


def test_targets_return_nothing() -> None:
    v = raw_ops.VariableV2(shape=[], dtype=tf.float32, name="v")
    with cpu_session() as session:
        lines = normal(program(session, raw_ops.Assign(v, 1.0).op).source)
    assert lines[-1] == "return ()"


@pytest.fixture
def probe() -> Any:
    """An op that records, whenever it runs, how many of the tensors it ever saw are still alive."""
    alive: list[int] = []
    seen: list[weakref.ref[torch.Tensor]] = []
    made = op("TestProbe(x: T) -> (y: T)", T=dtypes.FLOATING)
    made.shape(lambda x: x)

    @made.kernel
    def _(x: torch.Tensor) -> torch.Tensor:
        gc.collect()
        alive.append(sum(r() is not None for r in seen))
        out = x + 1
        seen.append(weakref.ref(out))
        return out

    yield alive
    REGISTRY.remove("TestProbe")


def test_values_are_released_after_their_last_use(probe: list[int]) -> None:
    x = tf.placeholder(tf.float32, [2])
    y = x
    for _ in range(4):
        y = raw_ops.TestProbe(y)
    with cpu_session() as session:
        assert session.run(y, {x: np.zeros(2)}).tolist() == [4.0, 4.0]
    assert probe == [0, 1, 1, 1]  # each sees only its own input


def test_a_value_used_later_is_kept(probe: list[int]) -> None:
    x = tf.placeholder(tf.float32, [2])
    first = raw_ops.TestProbe(x)
    second = raw_ops.TestProbe(first)
    third = raw_ops.TestProbe(second)
    with cpu_session() as session:
        session.run(raw_ops.Add(first, third), {x: np.zeros(2)})
    assert probe == [0, 1, 2]


def test_fetches_do_not_share_memory_with_state_feeds_or_each_other() -> None:
    v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
    x = tf.placeholder(tf.float32, [2])
    c = tf.constant([7.0, 7.0])
    fetches = [raw_ops.Identity(v), raw_ops.Identity(x), raw_ops.Identity(c), raw_ops.Reshape(v, [2, 1]), c]
    with cpu_session() as session:
        session.run(raw_ops.Assign(v, [1.0, 2.0]))
        fed = np.array([3.0, 4.0], np.float32)
        results = session.run([*fetches, fetches[0]], {x: fed})
        for result in results:
            result[...] = -1.0
        again = session.run(fetches, {x: fed})
    assert [r.reshape(-1).tolist() for r in again] == [[1.0, 2.0], [3.0, 4.0], [7.0, 7.0], [1.0, 2.0], [7.0, 7.0]]
    assert fed.tolist() == [3.0, 4.0]
