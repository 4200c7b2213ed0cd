"""Meta graphs: a graph with its collections and its saver in one file, written beside a checkpoint as ``.meta``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core import errors, file
from headrace.core.proto import protos
from headrace.core.registry import REGISTRY
from headrace.core.signature import REQUIRED
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.attr_value import encode
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.importer import as_message, import_graph_def
from headrace.library.compat import as_str_any
from headrace.library.train.saver.collection_def import add_collection, restore_collections

_SAVES = ("Save", "SaveSlices", "SaveV2")
_PATHS = (str, bytes, os.PathLike)


def export_meta_graph(
    filename: Any = None, meta_info_def: Any = None, graph_def: Any = None, saver_def: Any = None,
    collection_list: Sequence[str] | None = None, as_text: bool = False, graph: Graph | None = None,
    export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False, save_debug_info: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """The graph (default: the default graph) as a MetaGraphDef, written to ``filename`` if there is one.

    With ``export_scope`` it is the nodes of that scope, which must not use others, named as they are inside it.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph() got unexpected keyword arguments {sorted(kwargs)} {at()}")
    graph = context.get_default_graph() if graph is None else graph
    scope = None if export_scope is None else export_scope.rstrip("/")
    meta_graph = protos().MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.ParseFromString(meta_info_def.SerializeToString())
    meta_graph.meta_info_def.stripped_default_attrs = strip_default_attrs
    definition = as_message(graph_def if graph_def is not None else graph.as_graph_def(add_shapes=True))
    own = None if saver_def is None else saver_def.save_tensor_name.rpartition("/")[0]
    meta_graph.graph_def.CopyFrom(
        _chosen(definition, scope, _other_savers(definition, own) if clear_extraneous_savers else ())
    )
    for node in meta_graph.graph_def.node:
        if clear_devices:
            node.device = ""
        if strip_default_attrs:
            _strip_defaults(node)
    if saver_def is not None:
        meta_graph.saver_def.ParseFromString(saver_def.SerializeToString())
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if not (clear_extraneous_savers and key == GraphKeys.SAVERS):
            add_collection(meta_graph, key, graph.get_collection(key), scope)
    if filename:
        data = str(meta_graph).encode() if as_text else meta_graph.SerializeToString(deterministic=True)
        file.write_durably(_path_text(filename), data)
    return meta_graph


def _chosen(definition: Any, scope: str | None, without: Sequence[str]) -> Any:
    """The nodes of a scope, under their names in it, without those of other savers."""
    chosen = protos().GraphDef()
    chosen.CopyFrom(definition)
    del chosen.node[:]
    prefix = f"{scope}/" if scope else ""
    for node in definition.node:
        if not node.name.startswith(prefix) or any(node.name.startswith(f"{other}/") for other in without):
            continue
        added = chosen.node.add()
        added.CopyFrom(node)
        if prefix:
            added.name = node.name.removeprefix(prefix)
            added.input[:] = [_inside(name, node.name, prefix) for name in node.input]
            if "_class" in node.attr:
                _strip_locations(added, prefix)
    if prefix and not chosen.node:
        raise ValueError(f"export_scope {scope!r}: the graph has no such nodes {at()}")
    return chosen


def _inside(name: str, user: str, prefix: str) -> str:
    mark, plain = ("^", name[1:]) if name.startswith("^") else ("", name)
    if not plain.startswith(prefix):
        raise ValueError(f"export_scope {prefix[:-1]!r}: node {user} uses {plain}, which is outside {at()}")
    return mark + plain.removeprefix(prefix)


def _strip_locations(node: Any, prefix: str) -> None:
    start = f"loc:@{prefix}".encode()
    values = node.attr["_class"].list.s
    values[:] = [b"loc:@" + value.removeprefix(start) for value in values if value.startswith(start)]
    if not values:
        del node.attr["_class"]


def _other_savers(definition: Any, own: str | None) -> list[str]:
    """The scopes of the savers except this one."""
    scopes = {node.name.rpartition("/")[0] for node in definition.node if node.op in _SAVES}
    return sorted(scope for scope in scopes if scope and scope != own)


def _strip_defaults(node: Any) -> None:
    if node.op not in REGISTRY:
        return
    for attr in REGISTRY.get(node.op).signature.attrs:
        if attr.default is REQUIRED or attr.name not in node.attr or attr.default is None:
            continue
        if node.attr[attr.name] == encode(attr.default, attr.kind):
            del node.attr[attr.name]


def read_meta_graph_file(filename: Any) -> Any:
    """The MetaGraphDef in a file, in binary form or as text."""
    from google.protobuf import message, text_format

    path = _path_text(filename)
    if not file.exists(path):
        raise OSError(f"File {path} does not exist. {at()}")
    with file.open_to_read(path) as opened:
        data = opened.read()
    meta_graph = protos().MetaGraphDef()
    try:
        meta_graph.ParseFromString(data)
        return meta_graph
    except message.DecodeError:
        pass
    try:
        return text_format.Merge(data.decode(), protos().MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise OSError(f"Cannot parse file {path}: {error}. {at()}") from None


@contextlib.contextmanager
def naming(meta_graph_or_file: Any) -> Iterator[None]:
    """Errors of importing a meta graph name its file, if it comes from one."""
    from google.protobuf import message

    if not isinstance(meta_graph_or_file, _PATHS):
        yield
        return
    path = _path_text(meta_graph_or_file)
    try:
        yield
    except (errors.OpError, ValueError, TypeError, KeyError, IndexError, AttributeError, message.Error) as error:
        if path in str(error):
            raise
        raise ValueError(f"{path}: the meta graph cannot be imported: {error} {at()}") from error


def add_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> tuple[Any, str | None]:
    """Adds the nodes and the collections to the default graph; gives the MetaGraphDef and the scope they are in."""
    if context.executing_eagerly():
        raise RuntimeError(
            f"Exporting/importing meta graphs is not supported when eager execution is enabled: use a tf.Graph {at()}"
        )
    if isinstance(meta_graph_or_file, _PATHS):
        meta_graph = read_meta_graph_file(meta_graph_or_file)
    else:
        meta_graph = protos().MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.device = ""
    scope = None if not import_scope else import_scope.rstrip("/")
    graph = context.get_default_graph()
    if scope is not None:
        scope = graph.unique_name(scope, mark_as_used=False)
    try:
        import_graph_def(meta_graph.graph_def, name=scope or "", input_map=kwargs.get("input_map"))
    except errors.OpError as error:
        raise ValueError(f"the meta graph cannot be imported: {error} {at()}") from error
    restore_collections(meta_graph, scope)
    return meta_graph, scope


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
