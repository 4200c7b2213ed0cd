"""Encoded examples as tensors: feature descriptions, parse_example and its kin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape, as_shape
from headrace.graph import raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import sparse_merge
from headrace.library.tensor import array

_TYPES = (dtypes.float32, dtypes.int64, dtypes.string)


class VarLenFeature(NamedTuple):
    """A feature with any number of values; it becomes a sparse tensor."""

    dtype: Any


class SparseFeature(NamedTuple):
    """A sparse tensor spread over features: its indices under ``index_key`` (or several), its values under another."""

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class FixedLenFeature(NamedTuple):
    """A feature of known shape; without a default it must be there."""

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of steps of known shape; a batch is padded with the default."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class _SortedFeatures:
    """Feature descriptions sorted into what the ops take."""

    def __init__(self, features: Mapping[str, Any] | None, allowed: Sequence[type]) -> None:
        self.sparse: dict[str, DType] = {}
        self.dense: dict[str, tuple[DType, TensorShape]] = {}
        self.defaults: dict[str, Any] = {}
        for key in sorted(features or {}):
            feature = (features or {})[key]
            if type(feature) not in allowed:
                names = ", ".join(t.__name__ for t in allowed)
                raise ValueError(
                    f"Unsupported {type(feature).__name__} {feature!r} for feature {key}; accepted: {names}"
                )
            self._add(key, feature)

    def _add(self, key: str, feature: Any) -> None:
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            for index_key in _index_keys(feature):
                self._add_sparse(index_key, dtypes.int64)
            self._add_sparse(feature.value_key, feature.dtype)
        else:
            if feature.shape is None:
                raise ValueError(f"Missing shape for feature {key}.")
            shape = as_shape(feature.shape)
            dtype = _dtype(key, feature.dtype)
            if isinstance(feature, FixedLenFeature) and not shape.is_fully_defined() and shape.ndims:
                if shape.tuple and shape.tuple[0] is None:
                    raise ValueError(
                        f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature."
                    )
                if any(d is None for d in (shape.tuple or ())[1:]):
                    raise ValueError(
                        f"All dimensions of shape for feature {key} need to be known but received {shape}."
                    )
            self.dense[key] = (dtype, shape)
            if isinstance(feature, FixedLenSequenceFeature) and feature.allow_missing:
                self.defaults[key] = None
            if feature.default_value is not None:
                self.defaults[key] = feature.default_value

    def _add_sparse(self, key: str, dtype: Any) -> None:
        dtype = _dtype(key, dtype)
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(f"Conflicting type {self.sparse[key].name} vs {dtype.name} for feature {key}.")

    def default_tensors(self) -> list[Tensor]:
        return [self._default(key, *dtype_and_shape) for key, dtype_and_shape in self.dense.items()]

    def _default(self, key: str, dtype: DType, shape: TensorShape) -> Tensor:
        default = self.defaults.get(key)
        label = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        if shape.ndims and shape.tuple is not None and shape.tuple[0] is None:  # what a batch is padded with
            if default is None:
                return convert_to_tensor("" if dtype == dtypes.string else 0, dtype)
            return array.reshape(convert_to_tensor(default, dtype, name=f"padding_{label}"), [])
        if default is None:
            return constant([], dtype=dtype)
        if isinstance(default, Tensor):
            return default
        return array.reshape(convert_to_tensor(default, dtype, name=f"key_{label}"), shape)

    @property
    def shapes(self) -> list[TensorShape]:
        return [shape for _, shape in self.dense.values()]


def _dtype(key: str, dtype: Any) -> DType:
    if dtype is None:
        raise ValueError(f"Missing type for feature {key}.")
    element_type = dtypes.as_dtype(dtype)
    if element_type not in _TYPES:
        raise TypeError(f"Unsupported type {element_type.name} for feature {key}; accepted: float32, int64, string")
    return element_type


def _index_keys(feature: SparseFeature) -> list[str]:
    keys = feature.index_key
    return list(keys) if isinstance(keys, (list, tuple)) else [keys]


def _as_sequences(features: Mapping[str, Any]) -> dict[str, Any]:
    """Sequences in an Example have their unknown number of steps as first dimension."""
    sequences = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True (feature {key})."
                )
            sequences[key] = feature._replace(shape=[None, *as_shape(feature.shape).as_list()])
    return sequences


def _outputs(described: _SortedFeatures, indices: Any, values: Any, shapes: Any, dense: Any) -> dict[str, Any]:
    sparse = [SparseTensor(i, v, s) for i, v, s in zip(indices, values, shapes, strict=True)]
    return dict(zip([*described.sparse, *described.dense], [*sparse, *dense], strict=True))


def _merge_sparse(features: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Puts the sparse features together from their parts; parts nobody asked for by name go."""
    merged = dict(outputs)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            ids: Any = [outputs[k] for k in _index_keys(feature)]
            size = feature.size
            if not isinstance(feature.index_key, (list, tuple)):
                ids = ids[0]
            merged[key] = sparse_merge(ids, outputs[feature.value_key], size, already_sorted=feature.already_sorted)
    return {key: value for key, value in merged.items() if key in features}


_EXAMPLE = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """A vector of encoded Examples -> a tensor, or sparse tensor, for each feature described.

    ``tf.parse_example(batch, {"image": tf.FixedLenFeature([784], tf.float32), "label": tf.FixedLenFeature([], tf.int64)})``

    Args:
      serialized: A vector of strings: encoded `tf.train.Example`s.
      features: What to read: for each key of a feature its description, such as a `tf.FixedLenFeature`.
      name: A name for the op.
      example_names: A vector of strings: a name for each example, shown in errors; None for none.

    Returns:
      A dictionary with the keys of `features`; each tensor has the batch as its first dimension.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"label": feature})).SerializeToString()
    >>> parsed = tf.parse_example([example], {"label": tf.FixedLenFeature([], tf.int64)})
    >>> tf.Session().run(parsed["label"]).tolist()
    [7]
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    features = _as_sequences(features)
    described = _SortedFeatures(features, _EXAMPLE)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        names = convert_to_tensor([] if example_names is None else example_names, dtypes.string, name="names")
        defaults = described.default_tensors()
        parts = raw_ops.ParseExample(
            serialized, names, list(described.sparse), list(described.dense), defaults,
            sparse_types=list(described.sparse.values()), dense_shapes=described.shapes,
        )  # fmt: skip
        outputs = _outputs(described, *parts)
    return _merge_sparse(features, outputs)


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """One encoded Example -> a tensor, or sparse tensor, for each feature described.

    Args:
      serialized: A scalar string: an encoded `tf.train.Example`.
      features: What to read: for each key of a feature its description, such as a `tf.FixedLenFeature`.
      name: A name for the op.
      example_names: Accepted for TensorFlow's sake; it changes nothing.

    Returns:
      A dictionary with the keys of `features`.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"label": feature})).SerializeToString()
    >>> tf.Session().run(tf.parse_single_example(example, {"label": tf.FixedLenFeature([], tf.int64)}))
    {'label': np.int64(7)}
    """
    if not features:
        raise ValueError("Invalid argument: Missing features.")
    features = _as_sequences(features)
    described = _SortedFeatures(features, _EXAMPLE)
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, name="serialized")
        parts = raw_ops.ParseSingleExample(
            serialized, described.default_tensors(), num_sparse=len(described.sparse), sparse_keys=list(described.sparse),
            dense_keys=list(described.dense), sparse_types=list(described.sparse.values()), dense_shapes=described.shapes,
        )  # fmt: skip
        outputs = _outputs(described, *parts)
    return _merge_sparse(features, outputs)


def parse_single_sequence_example(
    serialized: Any, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_name: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """One encoded SequenceExample -> the features of its context, and those of its steps.

    Args:
      serialized: A scalar string: an encoded `tf.train.SequenceExample`.
      context_features: The features of the context: for each key a `tf.FixedLenFeature` or `tf.VarLenFeature`; None
        for none.
      sequence_features: Those of the steps: for each key a `tf.FixedLenSequenceFeature` or `tf.VarLenFeature`; None
        for none.
      example_name: A name for the example, shown in errors; None for none.
      name: A name for the op.

    Returns:
      Two dictionaries, with the keys of `context_features` and of `sequence_features`.

    >>> step = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> steps = tf.train.FeatureLists(feature_list={"word": tf.train.FeatureList(feature=[step, step])})
    >>> example = tf.train.SequenceExample(feature_lists=steps).SerializeToString()
    >>> words = {"word": tf.FixedLenSequenceFeature([], tf.int64)}
    >>> tf.Session().run(tf.parse_single_sequence_example(example, sequence_features=words)[1])
    {'word': array([7, 7])}
    """
    if not context_features and not sequence_features:
        raise ValueError(
            "Both `context_features` and `sequence_features` arguments are None, but at least one is needed."
        )
    context = _SortedFeatures(context_features, (VarLenFeature, FixedLenFeature))
    steps = _SortedFeatures(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, default in steps.defaults.items():
        if default is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None, got {default!r}")
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        debug_name = convert_to_tensor("" if example_name is None else example_name, dtypes.string, name="debug_name")
        missing = convert_to_tensor(
            list(steps.defaults), dtypes.string, name="feature_list_dense_missing_assumed_empty"
        )
        parts = raw_ops.ParseSingleSequenceExample(
            serialized, missing, list(context.sparse), list(context.dense), list(steps.sparse), list(steps.dense),
            context.default_tensors(), debug_name, context_sparse_types=list(context.sparse.values()),
            feature_list_dense_types=[dtype for dtype, _ in steps.dense.values()], context_dense_shapes=context.shapes,
            feature_list_sparse_types=list(steps.sparse.values()), feature_list_dense_shapes=steps.shapes,
        )  # fmt: skip
        return _outputs(context, *parts[:4]), _outputs(steps, *parts[4:])


def parse_sequence_example(
    serialized: Any, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_names: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # fmt: skip
    """A vector of encoded SequenceExamples -> features of their contexts, of their steps, and the numbers of steps.

    Steps of dense features are filled up to the longest sequence of the batch.

    Args:
      serialized: A vector of strings: encoded `tf.train.SequenceExample`s.
      context_features: The features of the contexts: for each key a `tf.FixedLenFeature` or `tf.VarLenFeature`; None
        for none.
      sequence_features: Those of the steps: for each key a `tf.FixedLenSequenceFeature` or `tf.VarLenFeature`; None
        for none.
      example_names: A vector of strings: a name for each example, shown in errors; None for none.
      name: A name for the op.

    Returns:
      Three dictionaries: tensors by the keys of `context_features`, by those of `sequence_features`, and int64
      vectors [batch] by those of dense `sequence_features`.

    >>> step = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> steps = tf.train.FeatureLists(feature_list={"word": tf.train.FeatureList(feature=[step, step])})
    >>> example = tf.train.SequenceExample(feature_lists=steps).SerializeToString()
    >>> words = {"word": tf.FixedLenSequenceFeature([], tf.int64)}
    >>> tf.Session().run(tf.io.parse_sequence_example([example], sequence_features=words)[2])
    {'word': array([2])}
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features: one of `context_features` and `sequence_features` is needed.")
    context = _SortedFeatures(context_features, (VarLenFeature, FixedLenFeature))
    steps = _SortedFeatures(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, default in steps.defaults.items():
        if default is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None, got {default!r}")
    with name_scope(name, "ParseSequenceExample", [serialized]):
        names = convert_to_tensor([] if example_names is None else example_names, dtypes.string, name="debug_name")
        parts = raw_ops.ParseSequenceExample(
            serialized, names, context.default_tensors(), feature_list_dense_missing_assumed_empty=list(steps.defaults),
            context_sparse_keys=list(context.sparse), context_dense_keys=list(context.dense),
            feature_list_sparse_keys=list(steps.sparse), feature_list_dense_keys=list(steps.dense),
            Ncontext_sparse=len(context.sparse), Ncontext_dense=len(context.dense),
            Nfeature_list_sparse=len(steps.sparse), Nfeature_list_dense=len(steps.dense),
            context_sparse_types=list(context.sparse.values()),
            feature_list_dense_types=[dtype for dtype, _ in steps.dense.values()], context_dense_shapes=context.shapes,
            feature_list_sparse_types=list(steps.sparse.values()), feature_list_dense_shapes=steps.shapes,
        )  # fmt: skip
        lengths = dict(zip(steps.dense, parts[8], strict=True))
        return _outputs(context, *parts[:4]), _outputs(steps, *parts[4:8]), lengths


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Examples written as JSON in their binary encoding, as `parse_example` takes them.

    Args:
      json_examples: A tensor of strings: `tf.train.Example`s as JSON.
      name: A name for the op.

    Returns:
      A tensor of strings of the shape of `json_examples`.

    >>> json = '{"features": {"feature": {"label": {"int64List": {"value": [7]}}}}}'
    >>> parsed = tf.parse_single_example(tf.decode_json_example(json), {"label": tf.FixedLenFeature([], tf.int64)})
    >>> tf.Session().run(parsed)
    {'label': np.int64(7)}
    """
    return raw_ops.DecodeJSONExample(json_examples, name=name)  # type: ignore[no-any-return]
