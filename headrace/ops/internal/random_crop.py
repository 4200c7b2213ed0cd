"""A window of a value at a random place, as one op (passes/fuse_crop.py)."""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY, int32
from headrace.core.errors import InvalidArgumentError
from headrace.core.registry import op
from headrace.core.shape import TensorShape
from headrace.ops.shared.generator import make_generator
from headrace.ops.shared.summarise import summarise

random_crop = op(
    "_RandomCrop(value: T, size: host int32[1]; seed: int = 0, seed2: int = 0, text: string) -> (output: T)",
    T=ANY, view=True, random=True, stateful=True,
)  # fmt: skip
random_crop.state(make_generator)
random_crop.shape(lambda value, size, seed, seed2, text: TensorShape(size))
random_crop.not_differentiable()


@random_crop.kernel
def _(value, size, seed, seed2, text, *, state, device):
    room = [have - expected for have, expected in zip(value.shape, size, strict=True)]
    if min(room) < 0:
        shown = " ".join(
            f"[{summarise(torch.tensor(sizes, dtype=torch.int32), 1000)}]" for sizes in (value.shape, size)
        )
        error = InvalidArgumentError(None, None, f"assertion failed: [{text.decode()}] {shown}")
        error.member = 1  # the assertion
        raise error
    drawn = torch.randint(0, int32.max, [len(size)], generator=state, dtype=torch.int32, device=device).tolist()
    for axis, (number, left, expected) in enumerate(zip(drawn, room, size, strict=True)):
        if left:
            value = value.narrow(axis, number % (left + 1), expected)
    return value
