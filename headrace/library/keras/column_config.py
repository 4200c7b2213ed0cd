"""Feature columns as plain data and back, for the configurations of layers that have them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from headrace.core import dtypes
from headrace.library.feature_column.categorical import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
)
from headrace.library.feature_column.column import FeatureColumn
from headrace.library.feature_column.crossed import CrossedColumn, IndicatorColumn, WeightedCategoricalColumn
from headrace.library.feature_column.embedding import EmbeddingColumn, SharedEmbeddingColumn
from headrace.library.feature_column.numeric import BucketizedColumn, NumericColumn
from headrace.library.layers import initializers
from headrace.library.layers.named_object import find_object, serialize_keras_object

_CLASSES: dict[str, Any] = {
    c.__name__: c
    for c in (
        BucketizedColumn, CrossedColumn, EmbeddingColumn, HashedCategoricalColumn, IdentityCategoricalColumn,
        IndicatorColumn, NumericColumn, SharedEmbeddingColumn, VocabularyFileCategoricalColumn,
        VocabularyListCategoricalColumn, WeightedCategoricalColumn,
    )
}  # fmt: skip


def serialize_column(column: FeatureColumn) -> dict[str, Any]:
    """A column as plain data: the name of its class, and its fields."""
    config = {f.name: _plain(f.name, getattr(column, f.name)) for f in fields(column)}  # type: ignore[arg-type]
    return {"class_name": type(column).__name__, "config": config}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return serialize_column(value)
    if isinstance(value, (list, tuple)):
        return [_plain("", item) for item in value]
    if name == "dtype":
        return dtypes.as_dtype(value).name
    return serialize_keras_object(value) if callable(value) else value


def deserialize_column(config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The column that plain data stands for; names of functions are looked up in ``custom_objects``."""
    if not isinstance(config, dict) or config.get("class_name") not in _CLASSES:
        raise ValueError(f"Unknown feature column: {config!r}. Accepted: {', '.join(_CLASSES)}")
    found = _CLASSES[config["class_name"]]
    known = {f.name for f in fields(found)}
    if set(config["config"]) != known:
        raise ValueError(f"A {found.__name__} has the fields {sorted(known)}. Received: {sorted(config['config'])}")
    return found(**{name: _field(name, value, custom_objects) for name, value in config["config"].items()})


def _field(name: str, value: Any, custom_objects: Any) -> Any:
    if name == "initializer":
        return initializers.deserialize(value, custom_objects)
    if isinstance(value, dict):
        return deserialize_column(value, custom_objects)
    if isinstance(value, (list, tuple)):
        return tuple(_field("", item, custom_objects) for item in value)
    if name == "dtype":
        return dtypes.as_dtype(value)
    if name == "normalizer_fn" and isinstance(value, str):
        function = find_object(value, None, custom_objects)
        if function is None:
            raise ValueError(f"Unknown normalizer_fn: {value}. Give the function in `custom_objects`.")
        return function
    return value
