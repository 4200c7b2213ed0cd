"""tensorflow.tools.graph_transforms: changes of a GraphDef that is to be used, not trained."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.client.session import Session
from headrace.core.proto import protos
from headrace.core.registry import REGISTRY
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.graph.importer import as_message, import_graph_def
from headrace.library.compat import as_text
from headrace.library.system.graph_util import (
    extract_sub_graph,
    make_tensor_proto,
    names_in,
    node_of,
    remove_training_nodes,
)  # fmt: skip

_TRANSFORM = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<arguments>[^)]*)\))?\s*")
_ARGUMENT = re.compile(r'\s*(?P<name>\w+)\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]*))\s*(?:,|$)')
Arguments = dict[str, list[str]]


def TransformGraph(  # noqa: N802 - TensorFlow's name
    input_graph_def: Any, inputs: Sequence[Any], outputs: Sequence[Any], transforms: Sequence[str]
) -> Any:
    """A GraphDef changed by transforms, one after the other.

    Args:
      input_graph_def: A GraphDef.
      inputs: The names of the nodes that are fed.
      outputs: The names of the nodes that are fetched.
      transforms: Names of transforms with their arguments in parentheses, such as ``"remove_nodes(op=Identity)"``.

    Returns:
      A new GraphDef.

    Example: ``TransformGraph(graph_def, ["x"], ["y"], ["strip_unused_nodes", "fold_constants(ignore_errors=true)"])``
    """
    definition = protos().GraphDef()
    definition.CopyFrom(as_message(input_graph_def))
    fed, fetched = [node_of(as_text(n)) for n in inputs], [node_of(as_text(n)) for n in outputs]
    there = {node.name for node in definition.node}
    for name in (*fed, *fetched):
        if name not in there:
            raise ValueError(f"the graph has no node {name!r}, which inputs or outputs name {at()}")
    for text in transforms:
        name, arguments = _parsed(as_text(text))
        if name not in _TRANSFORMS:
            raise ValueError(f"there is no transform {name!r}; there are {', '.join(sorted(_TRANSFORMS))} {at()}")
        definition = _TRANSFORMS[name](definition, fed, fetched, arguments)
    return definition


def _parsed(text: str) -> tuple[str, Arguments]:
    match = _TRANSFORM.fullmatch(text)
    if match is None:
        raise ValueError(f"a transform is written name or name(argument=value, ...), got {text!r} {at()}")
    arguments: Arguments = {}
    for argument in _ARGUMENT.finditer(match["arguments"] or ""):
        value = argument["quoted"] if argument["quoted"] is not None else argument["plain"].strip()
        arguments.setdefault(argument["name"], []).append(value)
    return match["name"], arguments


def _one(arguments: Arguments, name: str) -> str:
    if name not in arguments:
        raise ValueError(f"the transform needs an argument {name}; it has {sorted(arguments)} {at()}")
    return arguments[name][-1]


def _strip_unused_nodes(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    """What the outputs do not need goes, and what is above an input; such an input becomes a Placeholder."""
    for node in definition.node:
        if node.name in fed and node.op != "Placeholder":
            types = [node.attr[key].type for key in ("dtype", "T", "DstT") if key in node.attr]
            if not types:
                raise ValueError(f"the type of the input {node.name!r}, a {node.op}, is not known {at()}")
            node.op = "Placeholder"
            del node.input[:]
            node.attr.clear()
            node.attr["dtype"].type = types[0]
    return extract_sub_graph(definition, fetched)


def _remove_nodes(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    """Nodes of an op with one input are passed by."""
    ops = set(arguments.get("op", ()))
    if not ops:
        raise ValueError(f"remove_nodes needs an argument op {at()}")
    protected = {node.name for node in definition.node if node.op not in ops} | {*fed, *fetched}
    renamed = {}
    for node in definition.node:
        if node.name not in protected and node.op not in ("Identity", "CheckNumerics"):
            renamed[node.name], node.op = node.op, "CheckNumerics"
    changed = remove_training_nodes(definition, list(protected))
    for node in changed.node:
        node.op = renamed.get(node.name, node.op)
    return changed


def _remove_attribute(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    name, op = _one(arguments, "attribute_name"), arguments.get("op_name", ["*"])[-1]
    for node in definition.node:
        if op in ("*", node.op) and name in node.attr:
            del node.attr[name]
    return definition


def _rename_attribute(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    old, new = _one(arguments, "old_attribute_name"), _one(arguments, "new_attribute_name")
    op = arguments.get("op_name", ["*"])[-1]
    for node in definition.node:
        if op in ("*", node.op) and old in node.attr:
            node.attr[new].CopyFrom(node.attr[old])
            del node.attr[old]
    return definition


def _rename_op(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    old, new = _one(arguments, "old_op_name"), _one(arguments, "new_op_name")
    for node in definition.node:
        node.op = new if node.op == old else node.op
    return definition


def _set_device(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    only_default = arguments.get("if_default", ["false"])[-1] == "true"
    for node in definition.node:
        if not (only_default and node.device):
            node.device = arguments.get("device", [""])[-1]
    return definition


def _remove_device(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    for node in definition.node:
        node.device = ""
    return definition


def _sort_by_execution_order(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    nodes = {node.name: node for node in definition.node}
    done: dict[str, Any] = {}
    for start in nodes:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            before = [n for n in names_in(nodes[name]) if n not in done and n in nodes]
            if before and name not in waiting[:-1]:
                waiting += before
            else:
                done.setdefault(waiting.pop(), nodes[name])
    result = protos().GraphDef(node=list(done.values()), versions=definition.versions)
    result.library.CopyFrom(definition.library)
    return result


def _fold_constants(definition: Any, fed: list[str], fetched: list[str], arguments: Arguments) -> Any:
    """Nodes that depend on constants only become constants."""
    nodes = {node.name: node for node in definition.node}
    constant: set[str] = set()
    for node in _sort_by_execution_order(definition, fed, fetched, arguments).node:
        if node.name in fed or any(name.startswith("^") for name in node.input):
            continue
        if node.op == "Const" or (node.input and _is_pure(node.op) and all(node_of(n) in constant for n in node.input)):
            constant.add(node.name)
    needed = {
        f"{node_of(name)}:0": None for node in definition.node if node.name not in constant for name in node.input
    }
    folded = [
        name[:-2]
        for name in [*needed, *(f"{one}:0" for one in fetched)]
        if name[:-2] in constant and nodes[name[:-2]].op != "Const"
    ]
    several = {name for node in definition.node for name in node.input if ":" in name and not name.endswith(":0")}
    folded = [name for name in dict.fromkeys(folded) if not any(node_of(other) == name for other in several)]
    if folded:
        with Graph().as_default() as graph, Session(graph=graph) as session:
            import_graph_def(extract_sub_graph(definition, folded), name="")
            values = session.run({name: f"{name}:0" for name in folded})
        for name, value in values.items():
            node, tensor = nodes[name], make_tensor_proto(value)
            node.op = "Const"
            del node.input[:]
            node.attr.clear()
            node.attr["dtype"].type = tensor.dtype
            node.attr["value"].tensor.CopyFrom(tensor)
    return extract_sub_graph(definition, fetched)


def _is_pure(op: str) -> bool:
    return op in REGISTRY and REGISTRY.get(op).traits.pure


_TRANSFORMS: dict[str, Callable[[Any, list[str], list[str], Arguments], Any]] = {
    "fold_constants": _fold_constants, "remove_attribute": _remove_attribute, "remove_device": _remove_device,
    "remove_nodes": _remove_nodes, "rename_attribute": _rename_attribute, "rename_op": _rename_op,
    "set_device": _set_device, "sort_by_execution_order": _sort_by_execution_order,
    "strip_unused_nodes": _strip_unused_nodes,
}  # fmt: skip
