"""Ops on handles of resource variables do what the ops on references do, in a step and eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ops.test_opcheck import SAMPLES

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import Sample

NOT_HERE = (
    "VarHandleOp",
    "_InitializedResource",
    "_TakeTouchedResource",
)  # the last: tests/resources/state/test_touched_ops.py
FORMS = sorted(d.name for d in REGISTRY if d.traits.by_ref and d.name not in NOT_HERE)
# Forms of ops that take values: a sample's first input is what the variable holds, and the others are named here.
OF_VALUES = {
    "ReadVariableOp": [([np.array([1.0, 2.0], np.float32)], "dtype"), ([np.array([b"a"], object)], "dtype")],
    "VariableShape": [([np.zeros((2, 3), np.float32)], None)],
    "VarIsInitializedOp": [([np.zeros(2, np.float32)], None)],
    "ResourceGather": [([np.arange(6.0, dtype=np.float32).reshape(3, 2), np.array([2, 0], np.int32)], "dtype")],
    "ResourceGatherNd": [([np.arange(6.0, dtype=np.float32).reshape(3, 2), np.array([[2, 0]], np.int32)], "dtype")],
}


def samples_of(name: str) -> list[Sample]:
    signature = REGISTRY.get(name).signature
    taken = {a.name for a in signature.attrs} | {"use_locking"}
    samples = SAMPLES.get(REGISTRY.get(name).traits.by_ref, [])
    return [s for s in samples if not s.error and not set(s.attrs) - taken and s.inputs[0] is not None]


def run(name: str, inputs: Any, attrs: dict[str, Any], by_handle: bool) -> list[np.ndarray]:
    """-> the results, and the variables afterwards."""
    with tf.Graph().as_default(), tf.Session() as session:
        signature = REGISTRY.get(name).signature
        arguments, variables = [], []
        for arg, value in zip(signature.inputs, inputs, strict=True):
            if arg.ref:
                variables.append(tf.Variable(np.asarray(value), use_resource=by_handle))
                arguments.append(variables[-1]._ref())
            else:
                arguments.append(np.asarray(value))
        results = getattr(tf.raw_ops, name)(*arguments, **attrs)
        session.run(tf.global_variables_initializer())
        values = session.run(results)
        gives = not isinstance(results, tf.Operation) and not results.dtype._is_ref_dtype
        return [*([values] if gives else []), *session.run(variables)]


@pytest.mark.parametrize("name", [n for n in FORMS if samples_of(n) and n not in OF_VALUES])
def test_does_what_the_op_on_references_does(name: str) -> None:
    form, by_ref = REGISTRY.get(name), REGISTRY.get(REGISTRY.get(name).traits.by_ref)
    for sample in samples_of(name):
        attrs = {k: v for k, v in sample.attrs.items() if k in form.attr_names}
        if "T" in form.attr_names:
            attrs["T"] = np.asarray(sample.inputs[0]).dtype
        found = run(name, sample.inputs, attrs, by_handle=True)
        wanted = run(by_ref.name, sample.inputs, sample.attrs, by_handle=False)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_every_form_is_compared() -> None:
    training = {n for n in FORMS if "Apply" in n}  # tests/ops/test_training.py
    assert set(FORMS) == training | set(OF_VALUES) | {n for n in FORMS if samples_of(n)}


@pytest.mark.parametrize("name", OF_VALUES)
def test_reads(name: str) -> None:
    for inputs, dtype_attr in OF_VALUES[name]:
        attrs = {} if dtype_attr is None else {dtype_attr: inputs[0].dtype}
        found = run(name, inputs, attrs, by_handle=True)[0]
        with tf.eager_mode():
            variable = tf.Variable(inputs[0])
            eagerly = getattr(tf.raw_ops, name)(variable.handle, *inputs[1:], **attrs).numpy()
        np.testing.assert_array_equal(found, eagerly)


def test_eager_updates() -> None:
    with tf.eager_mode():
        v = tf.Variable([1.0, 2.0])
        tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=[1.0, 1.0])
        before = tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32)
        tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=0.5, delta=[2.0, 2.0])
        tf.raw_ops.ResourceScatterUpdate(resource=v.handle, indices=[1], updates=[9.0])
        assert before.numpy().tolist() == [2.0, 3.0] and v.numpy().tolist() == [1.0, 9.0]


def test_gradient_of_a_gather_with_a_batch(session: tf.Session) -> None:
    v = tf.Variable(np.arange(12.0, dtype=np.float64).reshape(2, 3, 2), use_resource=True)
    rows = tf.raw_ops.ResourceGather(resource=v.handle, indices=[[2, 0], [1, 1]], dtype=tf.float64, batch_dims=1)
    slope = tf.gradients(tf.square(rows), v)[0]
    session.run(v.initializer)
    taken = session.run(rows)
    wanted = np.zeros((2, 3, 2))
    for batch, chosen in enumerate([[2, 0], [1, 1]]):
        for place, row in enumerate(chosen):
            wanted[batch, row] += 2 * taken[batch, place]
    np.testing.assert_allclose(session.run(slope), wanted)


def test_errors() -> None:
    v = tf.Variable([1.0], use_resource=True)
    reference = tf.Variable([1.0], use_resource=False)
    with pytest.raises(TypeError, match=r"'Assign' Op has type resource.*use_resource=False.*test_resource_form"):
        tf.raw_ops.Assign(v.handle, [2.0])
    with pytest.raises(TypeError, match="'AddV2' Op has type resource.*ReadVariableOp"):
        tf.raw_ops.AddV2(v.handle, 1.0)
    with pytest.raises(TypeError, match="'Pack' Op has type resource"):
        tf.raw_ops.Pack([v.handle])
    with pytest.raises(TypeError, match="mutable"):
        tf.raw_ops.ReadVariableOp(resource=tf.constant(1.0), dtype=tf.float32)
    with pytest.raises(TypeError, match="float32"):
        tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.int32)
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        tf.raw_ops.AssignVariableOp(resource=v.handle, value=[1.0, 2.0])
    with pytest.raises(AttributeError, match="use_resource=True"):
        _ = reference.handle
