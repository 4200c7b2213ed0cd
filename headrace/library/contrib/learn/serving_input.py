"""contrib.learn's functions that make what an exported model is fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.library.estimator.serving_input import (
    ServingInputReceiver,
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
)  # fmt: skip


class InputFnOps(NamedTuple):
    """The features for a model, its labels, None when it serves, and the tensors that requests are fed to.

    >>> tf.contrib.learn.utils.input_fn_utils.InputFnOps({"x": tf.zeros([1])}, None, {}).labels is None
    True
    """

    features: Any
    labels: Any
    default_inputs: Any


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that receives encoded `tf.train.Example`s and parses them.

    Args:
      feature_spec: What `tf.parse_example` takes to read them.
      default_batch_size: How many examples a request has; None for any number.

    Returns:
      A function without arguments that returns an `InputFnOps`.

    >>> serving = tf.contrib.learn.utils.input_fn_utils.build_parsing_serving_input_fn({"x": tf.FixedLenFeature([], tf.float32)})
    >>> sorted(serving().features)
    ['x']
    """

    def receive() -> InputFnOps:
        made = build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size)()
        return InputFnOps(made.features, None, made.receiver_tensors)

    return receive


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that receives the features themselves.

    Args:
      features: A dictionary of tensors that requests look like.
      default_batch_size: How many examples a request has; None for any number.

    Returns:
      A function without arguments that returns an `InputFnOps`.

    >>> serving = tf.contrib.learn.utils.input_fn_utils.build_default_serving_input_fn({"x": tf.zeros([2, 3])})
    >>> serving().features["x"].shape.as_list()
    [None, 3]
    """

    def receive() -> InputFnOps:
        made = build_raw_serving_input_receiver_fn(dict(features), default_batch_size)()
        return InputFnOps(made.features, None, made.receiver_tensors)

    return receive


def as_receiver_fn(serving_input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """A function of contrib.learn as `tf.estimator.Estimator.export_savedmodel` takes it."""

    def receive() -> Any:
        made = serving_input_fn()
        return ServingInputReceiver(made.features, made.default_inputs) if isinstance(made, InputFnOps) else made

    return receive
