"""The user's functions: which arguments a model_fn or input_fn may name, calling them, and what they may return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.graph.structures import IndexedSlices, SparseTensor
from headrace.library import nest
from headrace.library.control.replica import Copies
from headrace.library.data.dataset import Dataset
from headrace.library.estimator.estimator_spec import EstimatorSpec
from headrace.library.state.variable import Variable
from headrace.library.train.session.run_hook import SessionRunHook

_MODEL_ARGUMENTS = ("features", "labels", "mode", "params", "config")
_TENSORS = (
    Tensor,
    SparseTensor,
    IndexedSlices,
    Variable,
    Copies,
    np.ndarray,
    np.generic,
    int,
    float,
    str,
    bytes,
    type(None),
)


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that it can be called with, those bound by a method or a partial left out."""
    bound = getattr(function, "keywords", {})
    return tuple(name for name in inspect.signature(function).parameters if name not in bound)


def where_defined(function: Any) -> str:
    """``name (file:line)`` of the user's function."""
    plain = inspect.unwrap(getattr(function, "func", function))
    plain = getattr(plain, "__func__", plain)
    name = getattr(plain, "__name__", repr(function))
    code = getattr(plain, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


# ---- model functions


def check_model_fn(model_fn: Any, params: Any) -> None:
    """Refuses a model function that cannot be called as estimators do."""
    if not callable(model_fn):
        raise ValueError(f"model_fn must be provided to Estimator: a function of features, got {model_fn!r} {at()}")
    names = arguments(model_fn)
    if "features" not in names:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} must include features argument; it has {list(names)} {at()}"
        )
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} does not include params argument, but params ({params!r}) is passed to "
            f"Estimator {at()}"
        )
    unknown = [name for name in names if name not in _MODEL_ARGUMENTS and not _is_optional(model_fn, name)]
    if unknown:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} has following not expected args: {unknown}; accepted are "
            f"{list(_MODEL_ARGUMENTS)} {at()}"
        )


def _is_optional(function: Callable[..., Any], name: str) -> bool:
    parameter = inspect.signature(function).parameters[name]
    return parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)


def call_model_fn(
    model_fn: Callable[..., Any], features: Any, labels: Any, mode: str, params: Any, config: Any,
    plain_spec: Callable[[Any], Any],
) -> EstimatorSpec:  # fmt: skip
    """The spec that a model function returns, called with what it names of labels, mode, params and config.

    ``plain_spec`` makes an `EstimatorSpec` of what else a model function of this kind of estimator may return.
    """
    names = arguments(model_fn)
    values: dict[str, Any] = {"features": features}
    if "labels" in names:
        values["labels"] = labels
    elif labels is not None:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} does not take labels, but input_fn returns labels: {labels!r} {at()}"
        )
    others = {"mode": mode, "params": params, "config": config}
    values.update((name, value) for name, value in others.items() if name in names)
    spec = plain_spec(model_fn(**values))
    if not isinstance(spec, EstimatorSpec):
        raise ValueError(
            f"model_fn should return an EstimatorSpec: {where_defined(model_fn)} returned {spec!r} of type "
            f"{type(spec).__name__} for mode {mode!r} {at()}"
        )
    if spec.mode != mode:
        raise ValueError(
            f"model_fn {where_defined(model_fn)} was called for mode {mode!r} and returned an EstimatorSpec with mode "
            f"{spec.mode!r} {at()}"
        )
    return spec


# ---- input functions


class BeginIterator(SessionRunHook):
    """Begins the iterator of a dataset with each session."""

    def __init__(self, iterator: Any) -> None:
        self._initializer = iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def call_input_fn(input_fn: Any, mode: str, params: Any, config: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """(features, labels, hooks) of an input function, called with what it names of mode, params and config.

    A dataset has features, or (features, labels), for elements; the hook begins its iterator.
    """
    result = called_input_fn(input_fn, mode, params, config, None)
    hooks: list[SessionRunHook] = []
    if isinstance(result, Dataset):
        iterator = result.make_initializable_iterator()
        hooks.append(BeginIterator(iterator))
        result = iterator.get_next()
    return *features_and_labels(input_fn, result), hooks


def called_input_fn(input_fn: Any, mode: str, params: Any, config: Any, input_context: Any) -> Any:
    """What an input function gives, called with what it names of mode, params, config and input_context."""
    if not callable(input_fn):
        raise TypeError(
            f"input_fn must be a function that returns features, (features, labels) or a dataset of them, got {input_fn!r} {at()}"
        )
    names = arguments(input_fn)
    others = {"mode": mode, "params": params, "config": config, "input_context": input_context}
    return input_fn(**{name: value for name, value in others.items() if name in names})


def features_and_labels(input_fn: Any, result: Any) -> tuple[Any, Any]:
    """The features, and the labels or None, of what an input function, or its dataset, gives."""
    features, labels = parse_iterator_result(result, where_defined(input_fn))
    _check_result(input_fn, "features", features)
    _check_result(input_fn, "labels", labels)
    if result is None:
        raise ValueError(f"input_fn {where_defined(input_fn)} returned None: does it return its features? {at()}")
    return features, labels


def parse_input_fn_result(result: Any, source: str = "input_fn") -> tuple[Any, Any, list[SessionRunHook]]:
    """(features, labels, hooks) of what an input function returned; the hook begins the iterator of a dataset."""
    if not isinstance(result, Dataset):
        return (*parse_iterator_result(result, source), [])
    iterator = result.make_initializable_iterator()
    return (*parse_iterator_result(iterator.get_next(), source), [BeginIterator(iterator)])


def parse_iterator_result(result: Any, source: str = "input_fn") -> tuple[Any, Any]:
    """(features, labels) of a pair, or of features alone."""
    if not isinstance(result, (list, tuple)):
        return result, None
    if len(result) != 2:
        raise ValueError(
            f"input_fn should return (features, labels) as a len 2 tuple: {source} returned {len(result)} values {at()}"
        )
    features, labels = result
    return features, labels


def _check_result(input_fn: Any, what: str, structure: Any) -> None:
    for leaf in nest.flatten(structure):
        if not isinstance(leaf, _TENSORS):
            raise TypeError(
                f"input_fn {where_defined(input_fn)} returned {what} that hold {leaf!r} of type {type(leaf).__name__}. Accepted "
                f"are tensors, sparse tensors, arrays, dictionaries, lists or tuples of them, and a dataset {at()}"
            )
