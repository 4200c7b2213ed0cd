"""Variables as messages: what a meta graph holds of them, and what programs write of collections of their own."""

from __future__ import annotations

from typing import Any

from headrace.core.proto import protos
from headrace.graph import context
from headrace.library.state.variable import Variable
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.state.variable_def import SaveSliceInfo, VariableDef


def encoded_variable(definition: VariableDef) -> Any:
    """The message of a description."""
    message = protos().VariableDef(
        variable_name=definition.variable_name, initial_value_name=definition.initial_value_name,
        initializer_name=definition.initializer_name, snapshot_name=definition.snapshot_name,
        trainable=definition.trainable, is_resource=definition.is_resource,
        synchronization=definition.synchronization.value, aggregation=definition.aggregation.value,
    )  # fmt: skip
    info = definition.save_slice_info_def
    if info is not None:
        part = message.save_slice_info_def
        part.full_name = info.full_name
        for field in ("full_shape", "var_offset", "var_shape"):
            getattr(part, field).extend(int(size) for size in getattr(info, field))
    return message


def decoded_variable(message: Any, scope: str | None) -> Variable:
    """The variable of the default graph that a message describes; ``scope`` is where its nodes were imported."""
    name: str = message.variable_name
    graph = context.get_default_graph()
    handle = graph.get_tensor_by_name(f"{scope}/{name}" if scope else name)
    info = message.save_slice_info_def if message.HasField("save_slice_info_def") else None
    definition = VariableDef(
        name, message.initial_value_name or _initial(message.initializer_name, scope), message.initializer_name,
        message.snapshot_name, message.trainable, handle.op.type == "VarHandleOp",
        info and SaveSliceInfo(info.full_name, list(info.full_shape), list(info.var_offset), list(info.var_shape)),
        VariableSynchronization(message.synchronization), VariableAggregation(message.aggregation),
    )  # fmt: skip
    return Variable.from_proto(definition, scope)


def _initial(initializer_name: str, scope: str | None) -> str:
    """The initial value of a variable whose message is older than the field for it."""
    prefix = f"{scope}/" if scope else ""
    operation = context.get_default_graph().get_operation_by_name(prefix + initializer_name)
    return operation.inputs[1].name.removeprefix(prefix)


def _to_proto_fn(v: Any, export_scope: str | None = None) -> Any:
    """The VariableDef message of a variable; None if the variable is not inside ``export_scope``."""
    definition = v.to_proto(export_scope)
    return None if definition is None else encoded_variable(definition)


def _from_proto_fn(v: Any, import_scope: str | None = None) -> Variable:
    """The variable of the default graph that a VariableDef message describes."""
    return decoded_variable(v, import_scope)
