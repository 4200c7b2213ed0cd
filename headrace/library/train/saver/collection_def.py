"""Collections of a graph as messages: variables and queue runners by messages of their own, nodes by name, numbers, text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headrace.core.proto import protos
from headrace.core.queue_runner_def import queue_runner_def_class
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Operation, Tensor
from headrace.library import log
from headrace.library.compat import as_bytes
from headrace.library.state.variable import Variable
from headrace.library.state.variable_def import VariableDef
from headrace.library.train.queue_runner import QueueRunner
from headrace.library.train.saver.proto_function import (
    get_collection_proto_type,
    get_from_proto_function,
    get_to_proto_function,
)
from headrace.library.train.saver.variable_message import decoded_variable, encoded_variable

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
    to_proto = get_to_proto_function(key)
    if to_proto is not None:
        definition.bytes_list.value.extend(_registered_messages(key, to_proto, elements, scope))
    elif key in (*VARIABLES, GraphKeys.QUEUE_RUNNERS, GraphKeys.SAVERS) and hasattr(first, "to_proto"):
        nodes = {node.name: node for node in graph_def.node}
        for element in elements:
            message = element.to_proto(scope)
            if message is not None:
                is_variable = isinstance(message, VariableDef)
                encoded = encoded_variable(_as_written(message, nodes)) if is_variable else message
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


def _registered_messages(key: str, to_proto: Any, elements: list[Any], scope: str | None) -> Iterator[bytes]:
    """The messages of a collection for which the program has registered functions."""
    proto_type = get_collection_proto_type(key)
    for element in elements:
        message = to_proto(element, export_scope=scope)
        if message is None:
            continue
        if proto_type is not None and not isinstance(message, proto_type):
            raise ValueError(
                f"collection {key!r}: the registered to_proto returned {message!r} of type {type(message).__name__}; "
                f"registered is {proto_type.__name__} {at()}"
            )
        yield message.SerializeToString()


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
        from_proto, proto_type = get_from_proto_function(key), get_collection_proto_type(key)
        if kind == "bytes_list" and from_proto is not None and proto_type is not None:
            for data in values:
                graph.add_to_collection(key, from_proto(proto_type.FromString(data), import_scope=import_scope))
        elif kind == "bytes_list" and key in VARIABLES:
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
        variables[name] = decoded_variable(message, scope)
    return variables[name]


def _add_node(key: str, name: str) -> None:
    graph = context.get_default_graph()
    try:
        graph.add_to_collection(key, graph.as_graph_element(name))
    except (KeyError, ValueError) as error:
        log.warning("Collection %s: %s", key, error)
