"""What a saver saves: variables as objects with tensors to save and a way to restore them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.core.device import DeviceSpec
from headrace.core.source import at
from headrace.graph import context, convert, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library import nest
from headrace.library.scope import name_scope
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.state.resource_variable import is_resource_variable
from headrace.library.state.saveable_object import SaveableObject as SaveableObject
from headrace.library.state.saveable_object import SaveSpec as SaveSpec
from headrace.library.state.variable import Variable

REFERENCE_OPS = ("Variable", "VariableV2")


def cpu_of(device: str) -> str:
    """The CPU of the task that a device belongs to: files are read and written there."""
    return DeviceSpec.from_string(device or "").replace(device_type="CPU", device_index=0).to_string()


class ReferenceVariableSaveable(SaveableObject):
    """A reference variable, or part of a partitioned one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    @property
    def handle(self) -> Tensor:
        """What stands for the variable itself."""
        return self.op if isinstance(self.op, Tensor) else self.op._ref()

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw_ops.Reshape(value, _as_tensor(restored_shapes[0]))
        ref = self.handle
        validate = restored_shapes is None and ref.shape.is_fully_defined()
        return raw_ops.Assign(ref, value, validate_shape=validate)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable (or its read), or part of a partitioned one."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._var_device, self._var_shape = var.device, var.shape
        tensor: Any
        if isinstance(var, Tensor):
            self.handle_op, tensor = _read_behind(var).op.inputs[0], var
        elif is_resource_variable(var):
            self.handle_op, tensor = var._ref(), _read_to_cpu(var)
        else:
            raise ValueError(f"Saveable is neither a resource variable nor a read operation. Got: {var!r}")
        super().__init__(var, [SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)], name)

    @property
    def handle(self) -> Tensor:
        """What stands for the variable itself."""
        return self.handle_op

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = raw_ops.Reshape(value, _as_tensor(restored_shapes[0]))
        with context.get_default_graph().device(self._var_device):
            value = raw_ops.Identity(value)
            self._var_shape.assert_is_compatible_with(value.shape)
            if self.handle_op.dtype.is_ref_dtype:  # eagerly, one class of variables serves
                return raw_ops.Assign(self.handle_op, value)
            return raw_ops.AssignVariableOp(self.handle_op, value)


VARIABLES = (ReferenceVariableSaveable, ResourceVariableSaveable)


def _read_to_cpu(var: Any) -> Callable[[], Tensor]:
    def read() -> Tensor:
        graph = context.get_default_graph()
        with graph.device(var.device):
            value = var.read_value()
            with graph.device("/device:CPU:0"):
                return raw_ops.Identity(value)

    return read


def _as_tensor(shape: Any) -> Any:
    return shape if isinstance(shape, Tensor) else convert.constant(shape.as_list(), "int32")


# ---- from variables to saveable objects


def all_saveables(scope: str | None = None) -> list[Any]:
    """The global variables and the saveable objects of the default graph."""
    graph = context.get_default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS, scope
    )


def saveables_by_name(var_list: Any) -> dict[str, Any]:
    """Variables and saveable objects by the names they have in a checkpoint; the parts of one variable in a list."""
    if not isinstance(var_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {var_list!r} {at()}")
    by_name: dict[str, Any] = {}
    for var in sorted(nest.flatten(list(var_list)), key=lambda v: v.name):
        if isinstance(var, SaveableObject):
            by_name[var.name] = var
        elif isinstance(var, Variable) and var._get_save_slice_info() is not None:
            name = var._get_save_slice_info().full_name
            parts = by_name.setdefault(name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name} {at()}")
            parts.append(var)
        else:
            name = _name_of(var)
            if name in by_name:
                raise ValueError(f"At least two variables have the same name: {name} {at()}")
            by_name[name] = var
    return by_name


def _name_of(var: Any) -> str:
    if isinstance(var, PartitionedVariable):
        return var.name
    if isinstance(var, Variable):
        return var._shared_name if context.executing_eagerly() else var._ref().op.name
    if not _is_variable_tensor(var):
        raise TypeError(f"Variable to save is not a Variable: {var!r} {at()}")
    read = _read_behind(var)
    return str(read.op.inputs[0].op.name if read.op.type == "ReadVariableOp" else var.op.name)


def _is_variable_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and value.op.type in (*REFERENCE_OPS, "ReadVariableOp")


def checked_saveables(by_name: dict[str, Any]) -> list[SaveableObject]:
    """The saveable objects in the order of their names; ValueError if one would be saved under two names."""
    saveables: list[SaveableObject] = []
    seen: set[int] = set()
    for name in sorted(by_name, key=_text):
        for saveable in _saveables_of(by_name[name], name):
            if saveable.op is not None and id(saveable.op) in seen:
                raise ValueError(f"The same saveable will be restored with two names: {name} {at()}")
            seen.add(id(saveable.op))
            saveables.append(saveable)
    return saveables


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to variables. Name is not a string: {name!r} {at()}"
        )
    return name


def _saveables_of(value: Any, name: str) -> Iterator[SaveableObject]:
    if isinstance(value, SaveableObject):
        yield value
    elif isinstance(value, (list, tuple, PartitionedVariable)):
        yield from _parts(list(value), name)
    elif isinstance(value, Variable) and hasattr(value, "_saveable"):  # it has several copies, and one entry for them
        yield value._saveable(name)
    elif isinstance(value, Variable):
        if value._is_resource and not context.executing_eagerly():
            yield ResourceVariableSaveable(value._as_graph_element(), "", name)
        elif context.executing_eagerly():
            yield ResourceVariableSaveable(value, "", name)
        else:
            yield ReferenceVariableSaveable(value._ref(), "", name)
    elif _is_variable_tensor(value):
        by_reference = value.op.type in REFERENCE_OPS
        yield (ReferenceVariableSaveable if by_reference else ResourceVariableSaveable)(value, "", name)
    else:
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: {value!r} {at()}"
        )


def _parts(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    full_name = None
    for part in parts:
        if isinstance(part, SaveableObject):
            yield part
            continue
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part!r} {at()}")
        info = part._get_save_slice_info()
        if info is None:
            raise ValueError(f"Slices must all be slices: {part!r} {at()}")
        if full_name not in (None, info.full_name):
            raise ValueError(f"Slices must all be from the same tensor: {full_name} != {info.full_name} {at()}")
        full_name = info.full_name
        yield (ResourceVariableSaveable if part._is_resource else ReferenceVariableSaveable)(part, info.spec, name)


def scope_of(name: str | None, saveables: Sequence[SaveableObject]) -> Any:
    """The name scope of a saver's nodes."""
    return name_scope(name, "save", [s.op for s in saveables if isinstance(s.op, Tensor)])


def _read_behind(tensor: Tensor) -> Tensor:
    """The read of a resource variable that an Identity hands on, as TensorFlow wrote it for some variables; else the tensor."""
    read = tensor
    while read.op.type == "Identity" and not read.op.inputs[0].dtype._is_ref_dtype:
        read = read.op.inputs[0]
    return read if read.op.type == "ReadVariableOp" else tensor
