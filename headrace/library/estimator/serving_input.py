"""How requests reach an exported model: placeholders, and the features that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.tensor.creation import placeholder
from headrace.library.text.parsing import parse_example

_TENSORS = (Tensor, SparseTensor)


class _Fields(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


class ServingInputReceiver(_Fields):
    """The tensors that requests are fed to, and the features for the model: dictionaries of tensors.

    A single feature is called "feature", a single receiver tensor "input".  ``receiver_tensors_alternatives`` are other sets of
    tensors that may be fed instead, by name.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        return super().__new__(
            cls, _checked_tensors("features", features, "feature"),
            _checked_tensors("receiver_tensors", receiver_tensors, "input"),
            _checked_alternatives(receiver_tensors_alternatives),
        )  # fmt: skip


class TensorServingInputReceiver(_Fields):
    """A `ServingInputReceiver` for a model function whose features are one tensor, not a dictionary."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        if not isinstance(features, _TENSORS):
            raise ValueError(f"features must be a Tensor or SparseTensor, got {features!r} {at()}")
        return super().__new__(
            cls, features, _checked_tensors("receiver_tensors", receiver_tensors, "input"),
            _checked_alternatives(receiver_tensors_alternatives),
        )  # fmt: skip


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that receives encoded ``tf.train.Example`` messages and parses them as ``feature_spec`` says.

    Args:
      feature_spec: A dictionary for ``tf.parse_example``, such as `tf.feature_column.make_parse_example_spec` makes.
      default_batch_size: How many examples each request has; None for any number.

    Returns:
      A function without arguments that returns a `tf.estimator.export.ServingInputReceiver`.

    >>> spec = {'x': tf.FixedLenFeature([1], tf.float32)}
    >>> list(tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)().features)
    ['x']
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, feature_spec), {"examples": examples})

    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Any, default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver | TensorServingInputReceiver]:
    """A function that receives the features themselves; ``features`` are tensors of their dtypes and shapes.

    Args:
      features: A dictionary of tensors, or one tensor, with the batch as their first dimension.
      default_batch_size: How many examples each request has; None for any number.

    Returns:
      A function without arguments that returns a receiver.

    >>> features = {'x': tf.placeholder(tf.float32, [None, 2])}
    >>> tf.estimator.export.build_raw_serving_input_receiver_fn(features)().features['x'].shape.as_list()
    [None, 2]
    """
    named = features if isinstance(features, Mapping) else {None: features}
    specs = {}
    for name, value in named.items():
        tensor = convert_to_tensor(value)
        shape = tensor.shape.as_list()
        if not shape:
            raise ValueError(f"features[{name!r}] must have a first dimension for the batch, got {value!r} {at()}")
        specs[name] = (tensor.dtype, [default_batch_size, *shape[1:]], tensor.op.name.rsplit("/", 1)[-1])

    def serving_input_receiver_fn() -> ServingInputReceiver | TensorServingInputReceiver:
        received = {name: placeholder(dtype, shape, name=label) for name, (dtype, shape, label) in specs.items()}
        if isinstance(features, Mapping):
            return ServingInputReceiver(received, received)
        return TensorServingInputReceiver(received[None], received[None])

    return serving_input_receiver_fn


# ---- checks


def _checked_tensors(what: str, tensors: Any, default_name: str) -> dict[str, Any]:
    if tensors is None:
        raise ValueError(f"{what} must be defined: a tensor or a dictionary of tensors {at()}")
    named = dict(tensors) if isinstance(tensors, Mapping) else {default_name: tensors}
    for name, tensor in named.items():
        if not isinstance(name, str):
            raise ValueError(f"{what} keys must be strings: {name!r} {at()}")
        if not isinstance(tensor, _TENSORS):
            raise ValueError(f"{what}[{name!r}] must be a Tensor or SparseTensor, got {tensor!r} {at()}")
    return named


def _checked_alternatives(alternatives: Any) -> dict[str, dict[str, Any]] | None:
    if alternatives is None:
        return None
    if not isinstance(alternatives, Mapping):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives!r} {at()}")
    return {
        name: _checked_tensors(f"receiver_tensors_alternatives[{name!r}]", tensors, "input")
        for name, tensors in alternatives.items()
    }
