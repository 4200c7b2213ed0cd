"""Collections of a graph as messages: variables and queue runners by messages of their own, nodes by name, numbers, text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.core.proto import protos
from headrace.core.queue_runner_def import queue_runner_def_class
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.library import log
from headrace.library.compat import as_bytes
from headrace.library.state.variable import SaveSliceInfo, Variable, VariableDef
from headrace.library.state.variable_creator import VariableAggregation, VariableSynchronization
from headrace.library.train.queue_runner import QueueRunner

VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.METRIC_VARIABLES, GraphKeys.GLOBAL_STEP,
)  # fmt: skip


# ---- writing


def add_collection(meta_graph: Any, key: Any, elements: list[Any], export_scope: str | None) -> None:
    """Adds a collection to a MetaGraphDef; one whose elements have no message is left out, with a line in the log."""
    if not isinstance(key, str) or not elements:
        return
    definition = protos().CollectionDef()
    try:
        _fill(definition, key, elements, export_scope, meta_graph.graph_def)
    except TypeError as error:
        log.warning("Collection %s is not exported: %s", key, error)
        return
    if definition.WhichOneof("kind"):
        meta_graph.collection_def[key].CopyFrom(definition)


def _fill(definition: Any, key: str, elements: list[Any], scope: str | None, graph_def: Any) -> None:
    prefix = f"{scope}/" if scope else ""
    elements = [e for e in elements if not isinstance(e, str) or e.startswith(prefix)]
    if not elements:
        return
    first = elements[0]
    if key in (*VARIABLES, GraphKeys.QUEUE_RUNNERS, GraphKeys.SAVERS) and hasattr(first, "to_proto"):
        nodes = {node.name: node for node in graph_def.node}
        for element in elements:
            message = element.to_proto(scope)
            if message is not None:
                is_variable = isinstance(message, VariableDef)
                encoded = _variable_message(_as_written(message, nodes)) if is_variable else message
                definition.bytes_list.value.append(encoded.SerializeToString())
    elif isinstance(first, (Tensor, Operation, Variable)):
        if names := [element.name for element in elements if element.name.startswith(prefix)]:
            definition.node_list.value.extend(name.removeprefix(prefix) for name in names)
    elif isinstance(first, (str, bytes)):
        definition.bytes_list.value.extend(map(as_bytes, elements))
    elif isinstance(first, int):
        definition.int64_list.value.extend(elements)
    elif isinstance(first, float):
        definition.float_list.value.extend(elements)
    elif _is_any(first):
        for element in elements:
            definition.any_list.value.add(type_url=element.type_url, value=element.value)
    else:
        raise TypeError(f"a {type(first).__name__} has no message")


def _as_written(definition: VariableDef, nodes: dict[str, Any]) -> VariableDef:
    """What describes the variable as the GraphDef has it: one whose handle goes into a body is written as a resource."""
    handle, initializer = nodes.get(definition.variable_name.split(":")[0]), nodes.get(definition.initializer_name)
    if definition.is_resource or handle is None or handle.op != "VarHandleOp" or initializer is None:
        return definition
    assign = next(name[1:] for name in initializer.input if name.startswith("^"))
    return replace(definition, is_resource=True, initializer_name=assign)


def _is_any(element: Any) -> bool:
    """Whether it is a message that holds another of any type, as the assets of a SavedModel are."""
    return getattr(getattr(element, "DESCRIPTOR", None), "full_name", "") == "google.protobuf.Any"


def _variable_message(definition: VariableDef) -> Any:
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


def add_collection_def(
    meta_graph_def: Any, key: Any, graph: Any = None, export_scope: str | None = None, exclude_nodes: Any = None,
    override_contents: list[Any] | None = None,
) -> None:  # fmt: skip
    """Adds a collection of the graph (default: the default graph) to a MetaGraphDef."""
    graph = context.get_default_graph() if graph is None else graph
    elements = graph.get_collection(key) if override_contents is None else override_contents
    left_out = set(exclude_nodes or ())
    elements = [e for e in elements if not left_out or getattr(e, "name", None) not in left_out]
    add_collection(meta_graph_def, key, elements, export_scope)


# ---- reading


def restore_collections(meta_graph: Any, import_scope: str | None) -> None:
    """Fills the collections of the default graph.  A variable in several of them is one object."""
    graph = context.get_default_graph()
    variables: dict[str, Any] = {}
    for key, definition in sorted(meta_graph.collection_def.items()):
        kind = definition.WhichOneof("kind")
        values = getattr(definition, kind).value if kind else []
        if key == GraphKeys.SAVERS:
            continue  # for the module of savers
        if kind == "bytes_list" and key in VARIABLES:
            for data in values:
                graph.add_to_collection(key, _variable(data, import_scope, variables))
        elif kind == "bytes_list" and key == GraphKeys.QUEUE_RUNNERS:
            for data in values:
                runner = QueueRunner.from_proto(queue_runner_def_class().FromString(data), import_scope)
                graph.add_to_collection(key, runner)
        elif kind == "node_list":
            for name in values:
                _add_node(key, f"{import_scope}/{name}" if import_scope else name)
        elif kind == "bytes_list":
            for data in values:
                graph.add_to_collection(key, _in_scope(data, import_scope))
        else:  # numbers, messages
            for value in values:
                graph.add_to_collection(key, value)


def _in_scope(data: bytes, scope: str | None) -> str | bytes:
    """Text is taken for a name if there is a scope, as TensorFlow does; messages stay what they are."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return f"{scope}/{text}" if scope and text.isprintable() else data


def _variable(data: bytes, scope: str | None, variables: dict[str, Any]) -> Any:
    message = protos().VariableDef.FromString(data)
    name: str = message.variable_name
    if name not in variables:
        graph = context.get_default_graph()
        handle = graph.get_tensor_by_name(f"{scope}/{name}" if scope else name)
        info = message.save_slice_info_def if message.HasField("save_slice_info_def") else None
        definition = VariableDef(
            name, message.initial_value_name or _initial(message.initializer_name, scope), message.initializer_name,
            message.snapshot_name, message.trainable, handle.op.type == "VarHandleOp",
            info and SaveSliceInfo(info.full_name, list(info.full_shape), list(info.var_offset), list(info.var_shape)),
            VariableSynchronization(message.synchronization), VariableAggregation(message.aggregation),
        )  # fmt: skip
        variables[name] = Variable.from_proto(definition, scope)
    return variables[name]


def _initial(initializer_name: str, scope: str | None) -> str:
    """The initial value of a variable whose message is older than the field for it."""
    prefix = f"{scope}/" if scope else ""
    operation = context.get_default_graph().get_operation_by_name(prefix + initializer_name)
    return operation.inputs[1].name.removeprefix(prefix)


def _add_node(key: str, name: str) -> None:
    graph = context.get_default_graph()
    try:
        graph.add_to_collection(key, graph.as_graph_element(name))
    except (KeyError, ValueError) as error:
        log.warning("Collection %s: %s", key, error)
