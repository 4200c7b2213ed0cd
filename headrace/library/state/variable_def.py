"""What describes a variable outside its graph: the names of its nodes, and the part of a larger variable that it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization


@dataclass(frozen=True, slots=True)
class VariableDef:
    """A variable by the names of its nodes, to find it again in an imported graph."""

    variable_name: str
    initial_value_name: str
    initializer_name: str
    snapshot_name: str
    trainable: bool = True
    is_resource: bool = False
    save_slice_info_def: Any = None
    synchronization: VariableSynchronization = VariableSynchronization.AUTO
    aggregation: VariableAggregation = VariableAggregation.NONE


class SaveSliceInfo:
    """Which part of a larger, partitioned variable this one holds."""

    def __init__(
        self, full_name: str | None = None, full_shape: Any = None, var_offset: Any = None, var_shape: Any = None,
        save_slice_info_def: Any = None, import_scope: str | None = None,
    ) -> None:  # fmt: skip
        info = save_slice_info_def
        if info is not None:
            full_name, full_shape = info.full_name, info.full_shape
            var_offset, var_shape = info.var_offset, info.var_shape
            if import_scope:
                full_name = f"{import_scope}/{full_name}"
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """The form checkpoints use: the full shape, then offset,length for each dimension joined by ':'."""
        full = " ".join(str(d) for d in self.full_shape) + " "
        return full + ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True))

    def to_proto(self, export_scope: str | None = None) -> SaveSliceInfo:
        name = self.full_name or ""
        if export_scope and name.startswith(export_scope + "/"):
            name = name[len(export_scope) + 1 :]
        return SaveSliceInfo(name, self.full_shape, self.var_offset, self.var_shape)
