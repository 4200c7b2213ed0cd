"""The data of a batch or of a whole training as lists of arrays in the order of a model's inputs and outputs, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.graph.operation import Tensor
from headrace.library import log
from headrace.library.keras.training.endpoint import Endpoint

_SAME_SHAPE = ("mean_squared_error", "binary_crossentropy", "categorical_crossentropy")


def listed(data: Any, names: Sequence[str], what: str) -> list[Any]:
    """The arrays of ``data``, a list, a dict by names or one array, in the order of the names."""
    if data is None:
        return []
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(
                f"No data provided for {missing}: {what} has {sorted(data)}, needed are {list(names)} {at()}"
            )
        found = [data[name] for name in names]
    elif isinstance(data, (list, tuple)):
        if len(names) == 1 and data and not hasattr(data[0], "shape"):
            found = [np.asarray(data)]
            if len(data) == 1 and found[0].ndim > 1:  # a list with one array in it that is no numpy array
                found = [np.asarray(data[0])]
        else:
            found = list(data)
    else:
        found = [data]
    if len(found) != len(names):
        shapes = [getattr(a, "shape", type(a).__name__) for a in found[:5]]
        raise ValueError(
            f"Error when checking model {what}: the list of arrays that you are passing to your model is not the size the model "
            f"expected. Expected to see {len(names)} array(s), for {list(names)}, but instead got {len(found)} array(s) of "
            f"shapes {shapes} {at()}"
        )
    return [as_array(a) for a in found]


def as_array(data: Any) -> Any:
    """An array of one of the kinds of data that are taken; a column of a table is one too."""
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "values") and hasattr(data, "columns"):  # a table of pandas
        return np.asarray(data.values)
    if isinstance(data, Tensor) and hasattr(data, "numpy"):
        return data.numpy()
    return (
        data if hasattr(data, "shape") and hasattr(data, "__getitem__") and hasattr(data, "dtype") else np.asarray(data)
    )


def fitted(arrays: Sequence[Any], names: Sequence[str], shapes: Sequence[Any], what: str) -> list[Any]:
    """The arrays, a vector made a column where the model wants one; ValueError where a shape is wrong."""
    result = []
    for array, name, shape in zip(arrays, names, shapes, strict=True):
        if what == "target" and getattr(array.dtype, "kind", "") in "US":
            raise ValueError(
                f"Error when checking target: the labels of {name} are texts, such as {str(array.flat[0])!r}: give numbers, for "
                f"example the places of the classes in a list {at()}"
            )
        if array.ndim == 1 and shape is not None and len(shape) == 2 and shape[1] == array.shape[0] != 1:
            raise ValueError(
                f"Error when checking {what}: expected {name} to have shape {tuple(shape[1:])} for each sample, but got array "
                f"with shape {tuple(array.shape)}, which is one sample without a batch axis: give array[None] {at()}"
            )
        if array.ndim == 1 and (shape is None or len(shape) != 1):
            array = array[:, None]
        if shape is not None:
            _check_shape(array, name, shape, what)
        result.append(array)
    return result


def _check_shape(array: Any, name: str, shape: Sequence[int | None], what: str) -> None:
    if array.ndim != len(shape):
        raise ValueError(
            f"Error when checking {what}: expected {name} to have {len(shape)} dimensions, but got array with shape "
            f"{tuple(array.shape)} {at()}"
        )
    for size, expected in zip(array.shape[1:], shape[1:], strict=True):
        if expected is not None and size != expected:
            raise ValueError(
                f"Error when checking {what}: expected {name} to have shape {tuple(shape[1:])} but got array with shape "
                f"{tuple(array.shape[1:])} {at()}"
            )


def check_lengths(xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[Any]) -> int:
    """How many samples all arrays have; ValueError if they differ."""
    roles = (("Input", xs), ("Target", ys), ("Sample weight", [w for w in ws if w is not None]))
    for role, arrays in roles:
        if len({a.shape[0] for a in arrays}) > 1:
            raise ValueError(
                f"All {role.lower()} arrays should have the same number of samples. Got array shapes: "
                f"{[tuple(a.shape) for a in arrays]} {at()}"
            )
    count = xs[0].shape[0]
    for role, arrays in roles[1:]:
        if arrays and arrays[0].shape[0] != count:
            raise ValueError(
                f"Input arrays should have the same number of samples as {role.lower()} arrays. Found {count} input samples "
                f"and {arrays[0].shape[0]} {role.lower()} samples {at()}"
            )
    return int(count)


def target_shape(endpoint: Endpoint, output: Any) -> Any:
    """The shape that the labels of an output must have; None where the loss takes any."""
    shape = output.shape.tuple
    if shape is None:
        return None
    name = getattr(getattr(endpoint.loss, "fn", None), "__name__", None)
    if name == "sparse_categorical_crossentropy":
        return (*shape[:-1], 1)
    return shape if name in _SAME_SHAPE or name in _LOSS_FUNCTIONS else None


_LOSS_FUNCTIONS = (
    "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_logarithmic_error", "squared_hinge", "hinge",
    "categorical_hinge", "logcosh", "huber_loss", "kullback_leibler_divergence", "poisson", "cosine_similarity",
)  # fmt: skip


def check_targets(ys: Sequence[Any], endpoints: Sequence[Endpoint], outputs: Sequence[Any]) -> None:
    """ValueError for labels whose shape the loss of the output cannot mean."""
    for y, endpoint, output in zip(ys, endpoints, outputs, strict=True):
        name = getattr(getattr(endpoint.loss, "fn", None), "__name__", None)
        if name == "categorical_crossentropy" and y.shape[1:] in ((), (1,)) and output.shape.tuple[1:] != (1,):
            raise ValueError(
                f"You are passing a target array of shape {tuple(y.shape)} while using as loss `categorical_crossentropy`, "
                "which expects targets to be one-hot (samples, classes). If your targets are integer classes, convert them "
                "with tf.keras.utils.to_categorical(y), or use the loss `sparse_categorical_crossentropy`, which takes "
                f"integers {at()}"
            )
        shape = output.shape.tuple
        if name in _SAME_SHAPE and shape is not None and y.ndim == len(shape):
            for size, expected in zip(y.shape[1:], shape[1:], strict=False):
                if expected is not None and size != expected:
                    raise ValueError(
                        f"A target array with shape {tuple(y.shape)} was passed for an output of shape {tuple(shape)} while "
                        f"using as loss `{name}`. This loss expects targets to have the same shape as the output {at()}"
                    )


# ---- weights


def weights_of(ys: Sequence[Any], endpoints: Sequence[Endpoint], sample_weight: Any, class_weight: Any) -> list[Any]:
    """The weight of each sample, for each output that is trained; None where all weigh the same."""
    names = [endpoint.name for endpoint in endpoints]
    by_sample = _each("sample_weight", sample_weight, names)
    by_class = _each("class_weight", class_weight, names)
    return [
        _weights(y, endpoint, sample, classes)
        for y, endpoint, sample, classes in zip(ys, endpoints, by_sample, by_class, strict=True)
    ]


def _each(what: str, given: Any, names: Sequence[str]) -> list[Any]:
    if given is None or (isinstance(given, (list, tuple, dict)) and not len(given)):
        return [None] * len(names)
    by_name = isinstance(given, dict) and any(name in given for name in names)
    if len(names) == 1:
        if by_name:
            return [given[names[0]]]
        alone = isinstance(given, (list, tuple)) and len(given) == 1 and hasattr(given[0], "shape")
        return [given[0] if alone else given]
    if isinstance(given, dict):
        unknown = sorted(set(map(str, given)) - set(names))
        if unknown:
            raise ValueError(
                f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {names} {at()}"
            )
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(
                f"Provided `{what}` was a list of {len(given)} elements, but the model has {len(names)} outputs. Provide one "
                f"entry for each output {at()}"
            )
        return list(given)
    raise TypeError(
        f"The model has multiple outputs, so `{what}` should be either a list or a dict; got {given!r} {at()}"
    )


def _weights(y: Any, endpoint: Endpoint, sample_weight: Any, class_weight: Any) -> Any:
    if sample_weight is not None and class_weight is not None:
        log.warning(
            "Received both a `sample_weight` and `class_weight` argument. The `class_weight` argument will be ignored."
        )
    if sample_weight is not None:
        weight = np.asarray(as_array(sample_weight))
        expected = 2 if endpoint.is_temporal else 1
        if weight.ndim == 2 and expected == 1 and weight.shape[1] == 1:
            weight = weight[:, 0]
        if weight.ndim != expected:
            hint = (
                "" if endpoint.is_temporal else ' To weigh each timestep, compile with sample_weight_mode="temporal".'
            )
            raise ValueError(
                f"Found a sample_weight array with shape {weight.shape} for the output {endpoint.name!r}: expected "
                f"{expected} dimension(s).{hint} {at()}"
            )
        if weight.shape != y.shape[: weight.ndim] and weight.shape[0] == y.shape[0]:
            raise ValueError(
                f"Found a sample_weight array with shape {weight.shape} for an input with shape {tuple(y.shape)}. "
                f"sample_weight cannot be broadcast {at()}"
            )
        return weight.astype(np.float32, copy=False)
    return None if class_weight is None else _by_class(y, class_weight)


def _by_class(y: Any, class_weight: dict[Any, float]) -> Any:
    if y.ndim > 2:
        raise ValueError(
            f"`class_weight` not supported for 3+ dimensional targets, got targets of shape {y.shape} {at()}"
        )
    classes = np.argmax(y, axis=1) if y.ndim == 2 and y.shape[1] > 1 else np.reshape(y, -1).astype(np.int64)
    present, places = np.unique(classes, return_inverse=True)
    missing = [int(c) for c in present if int(c) not in class_weight]
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in "
            f"`class_weight` {at()}"
        )
    return np.asarray([class_weight[int(c)] for c in present], np.float32)[places]


def split(arrays: Sequence[Any], place: int) -> tuple[list[Any], list[Any]]:
    """The arrays up to a sample, and from it on; None stays None."""
    return [None if a is None else a[:place] for a in arrays], [None if a is None else a[place:] for a in arrays]
