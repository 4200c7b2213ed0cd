"""What a layer accepts: InputSpec, and the check of its inputs against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.library import nest


class InputSpec:
    """The rank, dtype, shape or sizes of certain axes that an input of a layer must have; None for anything.

    Args:
      dtype: The type of the elements.
      shape: The shape, with None for sizes that may be anything.
      ndim: The rank.
      max_ndim: The largest rank.
      min_ndim: The smallest rank.
      axes: A dictionary from axes to their sizes.

    >>> tf.keras.layers.InputSpec(min_ndim=2, axes={-1: 3})
    InputSpec(min_ndim=2, axes={-1: 3})
    """

    def __init__(
        self, dtype: Any = None, shape: Sequence[int | None] | None = None, ndim: int | None = None,
        max_ndim: int | None = None, min_ndim: int | None = None, axes: Mapping[int, int | None] | None = None,
    ) -> None:  # fmt: skip
        self.dtype = dtypes.as_dtype(dtype).name if dtype is not None else None
        self.shape = tuple(shape) if shape is not None else None
        self.ndim = len(self.shape) if self.shape is not None else ndim
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(k): v for k, v in axes.items()} if axes else {}

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as plain data."""
        return {name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        return cls(**config)

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        fields_set = [f"{name}={getattr(self, name)}" for name in fields if getattr(self, name)]
        return f"InputSpec({', '.join(fields_set)})"


def check_inputs(spec: Any, inputs: Any, layer_name: str) -> None:
    """Raises ValueError for the first input that does not fit ``spec`` (one InputSpec, or a list of them)."""
    if not spec:
        return
    specs, values = nest.flatten(spec), nest.flatten(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(values)} input tensors. "
            f"Inputs received: {inputs}"
        )
    for i, (one, value) in enumerate(zip(specs, values, strict=True)):
        problem = _problem(one, value) if one is not None else None
        if problem is not None:
            raise ValueError(f"Input {i} of layer {layer_name} is incompatible with the layer: {problem} {at()}")


def _problem(spec: InputSpec, value: Any) -> str | None:
    limited = spec.ndim is not None or spec.min_ndim is not None or spec.max_ndim is not None
    shape = value.shape
    if shape.ndims is None:
        return "its rank is undefined, but the layer requires a defined rank." if limited else None
    dims, rank = shape.as_list(), shape.ndims
    if spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {dims}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f": expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {dims}"
    if spec.dtype is not None and value.dtype.base_dtype.name != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={value.dtype.base_dtype.name}"
    for axis, size in spec.axes.items():
        if size is not None and dims[axis] not in (size, None):
            return f"expected axis {axis} of input shape to have value {size} but received input with shape {dims}"
    for expected, dim in zip(spec.shape or (), dims, strict=False):
        if expected is not None and dim is not None and expected != dim:
            return f"expected shape={spec.shape}, found shape={dims}"
    return None
