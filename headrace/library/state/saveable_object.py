"""What a saver saves: an object with tensors to save and a way to restore them.  Variables as such objects are the saver's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.source import at
from headrace.graph.operation import Tensor


class SaveSpec:
    """One tensor of a saveable object: ``tensor`` (or what makes it), its slice, its name and dtype in the checkpoint."""

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: DType | None = None, device: str | None = None
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor) and (dtype is None or device is None):
            raise AssertionError(
                f"When passing a callable `tensor` to a SaveSpec, dtype and device must be given {at()}"
            )
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = tensor.device if device is None else device

    @property
    def tensor(self) -> Any:
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Something that a saver can save: subclass it, give its tensors as ``specs``, and say in ``restore`` how they come back."""

    restored_first = False  # whether it may refuse what was read: then no variable is to be assigned

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def optional_restore(self) -> bool:
        """Whether a checkpoint may lack it."""
        return False

    @property
    def device(self) -> str:
        """The device of the tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """The op that takes over the tensors that were read; ``restored_shapes`` if they are to be reshaped."""
        raise NotImplementedError("Calling an abstract method.")
