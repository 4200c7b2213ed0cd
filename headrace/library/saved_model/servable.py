"""Graphs to be served: without the nodes of training that only Headrace has, so that TensorFlow and its servers load them.

The types of those nodes begin with "_": most are gradients.  A graph is left whole if what it serves needs one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.proto import protos
from headrace.graph.graph import Graph
from headrace.graph.graph_def import of_operations, without_stashes
from headrace.library import log
from headrace.library.saved_model import layout, signature
from headrace.library.system.graph_util import functions_used, names_in, node_of
from headrace.library.train.saver.collection_def import VARIABLES


def servable(export: Callable[[Any], Any], graph: Graph) -> Any:
    """The MetaGraphDef of the graph as it is to be served; ``export(graph_def)`` makes one, of the whole graph for None."""
    operations = graph.get_operations()
    forward = without_stashes(operations)
    left_out = {op.name for op in operations}.difference(op.name for op in forward)
    meta_graph = export(of_operations(forward, add_shapes=True) if left_out else None)
    if not left_out.isdisjoint(_needed(meta_graph)):
        meta_graph = export(None)
        left_out = set()
    _drop_own_nodes(meta_graph, left_out)
    return meta_graph


def _drop_own_nodes(meta_graph: Any, left_out: set[str]) -> None:
    """Takes the nodes that only Headrace has, and those that depend on them, out of a MetaGraphDef and its collections.

    Those in ``left_out`` are not in its graph any more.
    """
    graph_def = meta_graph.graph_def
    own = _own_nodes(graph_def)
    if not own and not left_out:
        return
    dropped = _dependents(graph_def, set(own)) | left_out
    kept_back = sorted(dropped & set(_needed(meta_graph)))
    if kept_back:
        warn_of_own_nodes(meta_graph, f", and {kept_back[0]} needs one")
        return
    log.info("The graph to be served is saved without %d nodes of training.", len(dropped))
    nodes = [node for node in graph_def.node if node.name not in dropped]
    functions = functions_used(nodes, graph_def.library.function)
    pruned = protos().GraphDef(node=nodes, versions=graph_def.versions)
    pruned.library.function.extend(functions)
    pruned.library.gradient.extend(graph_def.library.gradient)
    graph_def.CopyFrom(pruned)
    for node in graph_def.node:
        if "_class" in node.attr:
            places = node.attr["_class"].list.s
            places[:] = [place for place in places if place.decode().removeprefix("loc:@") not in dropped]
            if not places:
                del node.attr["_class"]
    for key, collection in list(meta_graph.collection_def.items()):
        if collection.WhichOneof("kind") == "node_list":
            names = collection.node_list.value
            names[:] = [name for name in names if node_of(name) not in dropped]
            if not names:
                del meta_graph.collection_def[key]


def warn_of_own_nodes(meta_graph: Any, reason: str = "") -> None:
    """A line in the log if only Headrace can load the graph."""
    types = Counter(_own_nodes(meta_graph.graph_def).values())
    if types:
        log.warning(
            "Only Headrace can load the graph with the tags %s: it has nodes of its own types (%s)%s",
            list(meta_graph.meta_info_def.tags), ", ".join(sorted(types)), reason,
        )  # fmt: skip


def _own_nodes(graph_def: Any) -> dict[str, str]:
    """The names of the nodes that only Headrace has, or that hold such nodes in their bodies, with a type that says so."""
    functions = graph_def.library.function
    own_types: dict[str, str] = {}  # by function
    for function in functions:
        bodies = (function, *functions_used(function.node_def, functions))
        inner = [node.op for body in bodies for node in body.node_def if node.op.startswith("_")]
        if inner:
            own_types[function.signature.name] = inner[0]
    own = {}
    for node in graph_def.node:
        types = [own_types[name] for name in names_in(node) if name in own_types]
        if node.op.startswith("_") or types:
            own[node.name] = node.op if node.op.startswith("_") else types[0]
    return own


def _dependents(graph_def: Any, names: set[str]) -> set[str]:
    """These nodes and all that depend on them."""
    users: dict[str, list[str]] = {}
    for node in graph_def.node:
        for text in node.input:
            users.setdefault(node_of(text), []).append(node.name)
    reached, pending = set(names), list(names)
    while pending:
        for user in users.get(pending.pop(), ()):
            if user not in reached:
                reached.add(user)
                pending.append(user)
    return reached


def _needed(meta_graph: Any) -> Iterator[str]:
    """The nodes that a served model names: of its signatures, its main op, its saver, its variables and assets."""
    saver = meta_graph.saver_def
    names = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
    for definition in meta_graph.signature_def.values():
        for info in (*definition.inputs.values(), *definition.outputs.values()):
            names += signature.tensor_names(info)
    for key in (layout.MAIN_OP_KEY, layout.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names += meta_graph.collection_def[key].node_list.value
    for key in VARIABLES:
        if key in meta_graph.collection_def:
            for data in meta_graph.collection_def[key].bytes_list.value:
                variable = protos().VariableDef.FromString(data)
                names += [variable.variable_name, variable.initializer_name, variable.snapshot_name]
                names += [variable.initial_value_name] if variable.initial_value_name else []
    return (node_of(name) for name in names)
