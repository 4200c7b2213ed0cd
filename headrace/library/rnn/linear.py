"""A linear map of one or several tensors, with its variables in the scope that is open: ``kernel`` and ``bias``."""

from __future__ import annotations

from typing import Any

from headrace.library import nest
from headrace.library.linalg.matrix import matmul
from headrace.library.network.activation import bias_add
from headrace.library.rnn.base import input_depth
from headrace.library.state import initializers
from headrace.library.state.variable_scope import get_variable
from headrace.library.tensor import array


class Linear:
    """``concat(args) @ kernel + bias``; the variables are made immediately, for arguments like the given ones."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        flat = self._flat(args)
        if not flat:
            raise ValueError("`args` must be specified")
        for tensor in flat:
            if tensor.shape.ndims != 2:
                raise ValueError(f"linear is expecting 2D arguments: {tensor.shape}")
        dtype = flat[0].dtype.base_dtype
        width = sum(input_depth(t.shape) for t in flat)
        self._kernel = get_variable("kernel", [width, output_size], dtype=dtype, initializer=kernel_initializer)
        self._bias = None
        if build_bias:
            bias_initializer = initializers.Zeros() if bias_initializer is None else bias_initializer
            self._bias = get_variable("bias", [output_size], dtype=dtype, initializer=bias_initializer)

    def __call__(self, args: Any) -> Any:
        flat = self._flat(args)
        result = matmul(flat[0] if len(flat) == 1 else array.concat(flat, 1), self._kernel)
        return result if self._bias is None else bias_add(result, self._bias)

    @staticmethod
    def _flat(args: Any) -> list[Any]:
        return list(args) if nest.is_sequence(args) else [args]


def linear(args: Any, output_size: int, bias: bool = True, bias_start: float = 0.0) -> Any:
    """The linear map of ``args`` with variables ``kernel`` and ``bias`` of the current scope."""
    return Linear(args, output_size, bias, bias_initializer=initializers.Constant(bias_start))(args)
