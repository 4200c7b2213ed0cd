"""opcheck finds what is wrong with an op: one deliberately broken op per promise."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import dtypes
from headrace.core.registry import REGISTRY, OpDef, op
from headrace.library.testing.opcheck import OpCheckError, Sample, opcheck

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture(autouse=True)
def forget_test_ops() -> Iterator[None]:
    before = {d.name for d in REGISTRY}
    yield
    for definition in REGISTRY:
        if definition.name not in before:
            REGISTRY.remove(definition.name)


def declare(kernel, *, shape=lambda x: x, gradient=None, signature="Checked(x: T) -> (y: T)", **traits) -> OpDef:  # type: ignore[no-untyped-def]
    types = {"T": dtypes.FLOATING} if "T" in signature else {}
    made = op(signature, **types, **traits)
    made.kernel(kernel)
    if shape is not None:
        made.shape(shape)
    if gradient is not None:
        made.gradient(gradient)
    return made


def complaint(checked: OpDef, *samples: Sample) -> str:
    with pytest.raises(OpCheckError) as caught:
        opcheck(checked, samples or [Sample([X])])
    return str(caught.value)


def test_a_whole_op_passes() -> None:
    whole = declare(torch.sin, gradient=lambda node, grad: [grad * _cos(node.inputs[0])])
    opcheck(whole, [Sample([X]), Sample([X.astype(np.float64)]), Sample([X[:0]]), Sample([X[0, 0]])])
    opcheck("Checked", [Sample([X])])


def _cos(x: tf.Tensor) -> tf.Tensor:
    return tf.cos(x)


def test_no_rule_means_the_kernel_is_differentiated() -> None:
    opcheck(declare(lambda x: torch.sin(x) * x), [Sample([X])])


def test_wrong_shape_rule() -> None:
    text = complaint(declare(torch.neg, shape=lambda x: (3, 2)))
    assert "output 0 was inferred as (3, 2), but is [2, 3]" in text
    assert "Checked (declared at" in text and "sample 0" in text


def test_shape_rule_that_fails_on_partial_shapes() -> None:
    text = complaint(declare(torch.neg, shape=lambda x: tuple(d + 0 for d in x.tuple)))
    assert "cannot be built with dimension 0 of input 0 unknown" in text
    assert "cannot be built with the rank of input 0 unknown" in text


def test_shape_rule_that_lies_only_on_partial_shapes() -> None:
    text = complaint(declare(torch.neg, shape=lambda x: x if x.is_fully_defined() else (9, 9)))
    assert "with dimension 1 of input 0 unknown, output 0 was inferred as (9, 9), but is [2, 3]" in text


def test_wrong_dtype() -> None:
    text = complaint(declare(lambda x: (x > 0).to(torch.int32)))
    assert "output 0 is declared float32, but is int32" in text
    assert "output 0 must be float32; the kernel gives torch.int32" in text


def test_undeclared_view() -> None:
    assert "output 0 shares memory with input 0" in complaint(declare(lambda x: x.view(-1).view_as(x)))
    REGISTRY.remove("Checked")
    opcheck(declare(lambda x: x.view(-1).view_as(x), view=True), [Sample([X])])


def test_outputs_that_share_memory() -> None:
    def halves(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.clone().chunk(2)

    twins = declare(halves, shape=lambda x: [None, None], signature="Checked(x: T) -> (a: T, b: T)")
    assert "outputs 1 and 0 share memory" in complaint(twins)


def test_changed_input() -> None:
    assert "changes its input 0" in complaint(declare(lambda x: x.add_(1).clone()))


def test_wrong_gradient() -> None:
    text = complaint(declare(torch.square, gradient=lambda node, grad: [grad]))
    assert "the gradient of input 0 (x) at [0, 0] is" in text
    REGISTRY.remove("Checked")
    opcheck(declare(torch.square, gradient=lambda node, grad: [grad]), [Sample([X], gradient=False)])


def test_missing_gradient_of_one_input() -> None:
    partial = declare(
        lambda x, y: x * y, shape=lambda x, y: x, signature="Checked(x: T, y: T) -> (z: T)",
        gradient=lambda node, grad: [grad * node.inputs[1], None],
    )  # fmt: skip
    assert "the gradient of input 1 (y)" in complaint(partial, Sample([X, X]))
    opcheck(partial, [Sample([X, X], wrt=["x"])])


def test_gradient_rule_that_raises() -> None:
    def rule(node: tf.Operation, grad: tf.Tensor) -> None:
        raise LookupError("not today")

    assert "gradient: LookupError: not today" in complaint(declare(torch.square, gradient=rule))


def test_complex_gradient_follows_the_convention() -> None:
    z = np.array([1 + 2j, -0.5 + 0.25j], np.complex128)

    def square(slope: Callable[..., Any]) -> OpDef:
        REGISTRY.remove("Checked")
        made = op("Checked(x: T) -> (y: T)", T=dtypes.COMPLEX)
        made.kernel(torch.square)
        made.gradient(lambda node, grad: [grad * 2.0 * slope(node.inputs[0])])
        return made

    opcheck(square(tf.conj), [Sample([z])])
    assert "imaginary part" in complaint(square(tf.identity), Sample([z]))


def test_kernel_that_cannot_be_traced() -> None:
    text = complaint(declare(lambda x: x.neg() if x.sum() > 0 else x.abs()))
    assert "cannot be traced with fake tensors" in text


def test_host_value_unknown() -> None:
    tiled = op("Checked(x: T, times: host int32) -> (y: T)", T=dtypes.FLOATING)
    tiled.kernel(lambda x, times: x.repeat(times, 1))
    tiled.shape(lambda x, times: (int(x[0]) * times, x[1]))
    tiled.gradient(lambda node, grad: [None, None])
    text = complaint(tiled, Sample([X, 2], gradient=False))
    assert "cannot be built with the values that decide shapes unknown" in text


def test_expected_errors() -> None:
    def positive(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("never")

    failing = declare(positive)
    opcheck(failing, [Sample([X], error=tf.errors.InvalidArgumentError)])
    assert "must raise KeyError; raised ['InvalidArgumentError: never" in complaint(
        failing, Sample([X], error=KeyError)
    )
    assert "sample 0 (the note): does not run: InvalidArgumentError: never" in complaint(
        failing, Sample([X], note="the note")
    )


def test_random_values_are_not_compared() -> None:
    noisy = declare(torch.rand_like)
    assert "differs" in complaint(noisy, Sample([X], gradient=False))
    opcheck(noisy, [Sample([X], random=True)])


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="at least one Sample"):
        opcheck("Identity", [])
    with pytest.raises(ValueError, match="no op type is called"):
        opcheck("Identitee", [Sample([X])])
    with pytest.raises(OpCheckError, match="takes 1 inputs; the sample has 2"):
        opcheck("Identity", [Sample([X, X])])


def test_input_made_by_a_function() -> None:
    opcheck("Identity", [Sample([lambda: tf.constant([1.0, 2.0])])])


def test_wrong_second_gradient() -> None:
    stopped = declare(torch.square, gradient=lambda node, grad: [grad * 2.0 * tf.stop_gradient(node.inputs[0])])
    assert "the second gradient of input 0 (x) at [0, 0] is 0, finite differences give" in complaint(stopped)
    opcheck(stopped, [Sample([X], second=False)])


def test_gradient_that_depends_on_what_is_known() -> None:
    def rule(node: tf.Operation, grad: tf.Tensor) -> list[tf.Tensor]:
        return [grad * 2.0 * node.inputs[0] if node.inputs[0].shape.is_fully_defined() else grad]

    text = complaint(declare(torch.square, gradient=rule))
    assert "the gradient of input 0 (x) is another one when no shape is known before running" in text
