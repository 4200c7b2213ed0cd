"""Configurations that later versions of Keras wrote, as TensorFlow 1.15's Keras has them.

Only spellings change: what TensorFlow 1.15 has no counterpart for stays as it is, and is refused by the layer that gets it.
"""

from __future__ import annotations

from typing import Any

# Arguments that came later, with the value that means what layers did before.
_LATER_ARGUMENTS: dict[str, dict[str, Any]] = {
    "InputLayer": {"optional": False, "ragged": False},
    "Conv1D": {"groups": 1}, "Conv2D": {"groups": 1}, "Conv3D": {"groups": 1}, "Conv1DTranspose": {"groups": 1},
    "Conv2DTranspose": {"groups": 1}, "Conv3DTranspose": {"groups": 1}, "SeparableConv1D": {"groups": 1},
    "SeparableConv2D": {"groups": 1}, "DepthwiseConv2D": {"groups": 1},
    "GlobalAveragePooling1D": {"keepdims": False}, "GlobalAveragePooling2D": {"keepdims": False},
    "GlobalAveragePooling3D": {"keepdims": False}, "GlobalMaxPooling1D": {"keepdims": False},
    "GlobalMaxPooling2D": {"keepdims": False}, "GlobalMaxPooling3D": {"keepdims": False},
    "BatchNormalization": {"synchronized": False}, "Embedding": {"sparse": False},
}  # fmt: skip
_REGULARIZERS = {"L1": "l1", "L2": "l2"}


def as_before(config: Any) -> Any:
    """The configuration with classes and arguments spelt as TensorFlow 1.15 does."""
    if isinstance(config, list):
        return [as_before(one) for one in config]
    if not isinstance(config, dict):
        return config
    config = {key: as_before(value) for key, value in config.items()}
    name, arguments = config.get("class_name"), config.get("config")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return config
    if name in _REGULARIZERS and arguments.keys() <= {"l1", "l2"}:
        return {**config, "class_name": "L1L2"}
    later = _LATER_ARGUMENTS.get(name, {})
    known = {key: value for key, value in arguments.items() if not (key in later and later[key] == value)}
    return {**config, "config": known}
