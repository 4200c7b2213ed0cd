"""How many tensors lie in a few buffers, one for each dtype, and how these are cut into chunks that travel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import torch

from headrace.core.errors import InvalidArgumentError

CHUNK: Final = 1 << 20  # bytes; a round number


class Layout:
    """That of tensors with these dtypes and shapes.  Immutable."""

    def __init__(self, names: Sequence[str], dtypes: Sequence[torch.dtype], shapes: Sequence[tuple[int, ...]]) -> None:
        """``names``: of the variables, for messages."""
        self.names, self.shapes = tuple(names), tuple(shapes)
        self._tensors: dict[torch.dtype, list[int]] = {}  # those that lie in the buffer of a dtype, in this order
        for i, dtype in enumerate(dtypes):
            self._tensors.setdefault(dtype, []).append(i)
        self.chunks: list[tuple[torch.dtype, int, int]] = []  # from where to where in the buffer of the dtype
        for dtype, members in self._tensors.items():
            size, step = sum(prod(self.shapes[i]) for i in members), CHUNK // dtype.itemsize
            self.chunks += [(dtype, begin, min(begin + step, size)) for begin in range(0, size, step)]

    def pack(self, what: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Chunks with copies of the tensors.  ``what`` these are, for the message if one has another shape."""
        for name, shape, tensor in zip(self.names, self.shapes, tensors, strict=True):
            if tuple(tensor.shape) != shape:
                raise InvalidArgumentError(
                    None, None, f"{what} of {name}, which has shape {list(shape)}, has shape {list(tensor.shape)}"
                )
        buffers = {
            dtype: torch.cat([tensors[i].reshape(-1) for i in members]) for dtype, members in self._tensors.items()
        }
        return [buffers[dtype][begin:end] for dtype, begin, end in self.chunks]

    def fits(self, number: int, chunk: torch.Tensor) -> bool:
        """Whether it can be this chunk."""
        dtype, begin, end = self.chunks[number]
        return chunk.dtype == dtype and tuple(chunk.shape) == (end - begin,)

    def unpack(self, chunks: Sequence[torch.Tensor], divisor: int = 1) -> list[torch.Tensor]:
        """The tensors again, divided, in memory of their own."""
        tensors: dict[int, torch.Tensor] = {}
        for dtype, members in self._tensors.items():
            own = [chunk for chunk, (of, _, _) in zip(chunks, self.chunks, strict=True) if of == dtype]
            buffer = torch.cat(own) if own else torch.empty(0, dtype=dtype)
            if divisor > 1:
                buffer.div_(divisor)
            sizes = [prod(self.shapes[i]) for i in members]
            for i, one in zip(members, buffer.split(sizes), strict=True):
                tensors[i] = one.view(self.shapes[i])
        return [tensors[i] for i in range(len(self.shapes))]
