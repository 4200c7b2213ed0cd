"""Meta graphs: a graph with its collections and its saver in one file, written beside a checkpoint as ``.meta``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from headrace.library import log
from headrace.library.compat import as_str_any
from headrace.library.summary.file_writer import set_meta_graph_maker
from headrace.library.system.version import GIT_VERSION, VERSION
from headrace.library.train.saver.collection_def import add_collection, restore_collections

UNBOUND = "unbound_inputs"  # the collection of what the nodes of an exported scope use outside it
_UNBOUND_PREFIX = "$unbound_inputs_"
_SAVES = ("Save", "SaveSlices", "SaveV2")
_PATHS = (str, bytes, os.PathLike)


def export_meta_graph(
    filename: Any = None, meta_info_def: Any = None, graph_def: Any = None, saver_def: Any = None,
    collection_list: Sequence[str] | None = None, as_text: bool = False, graph: Graph | None = None,
    export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False, save_debug_info: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """The graph (default: the default graph) as a MetaGraphDef, written to ``filename`` if there is one.

    With ``export_scope`` it is the nodes of that scope, named as they are inside it.  What they use outside has names that
    begin with "$unbound_inputs_": whoever imports the scope gives tensors for those (``input_map``).

    Args:
      filename: The file to write; None to write none.
      meta_info_def: A MetaInfoDef to take over; the version is replaced.
      graph_def: The nodes to export; None for those of `graph`.
      saver_def: A SaverDef to keep in the message, so that whoever imports it gets a saver.
      collection_list: The keys of the collections to export; None for all.
      as_text: Whether the file is text, not binary.
      graph: The graph; None for the default graph.
      export_scope: The name scope to export; None for the whole graph.
      clear_devices: Whether to leave out on which devices nodes are.
      clear_extraneous_savers: Whether to leave out the nodes of savers other than `saver_def`, and the collection of savers.
      strip_default_attrs: Whether to leave out attributes that have their default values.
      save_debug_info: Accepted as TensorFlow does; nothing more is written.
      **kwargs: None are accepted: any is a TypeError.

    Returns:
      A MetaGraphDef.

    >>> x = tf.constant(1.0, name='x')
    >>> [node.name for node in tf.train.export_meta_graph().graph_def.node]
    ['x']
    """
    meta_graph, _ = export_scoped_meta_graph(
        filename, graph_def, graph, export_scope, as_text, clear_devices=clear_devices, saver_def=saver_def,
        clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs,
        meta_info_def=meta_info_def, collection_list=collection_list, **kwargs,
    )  # fmt: skip
    return meta_graph


def export_scoped_meta_graph(
    filename: Any = None, graph_def: Any = None, graph: Graph | None = None, export_scope: str | None = None,
    as_text: bool = False, unbound_inputs_col_name: str | None = UNBOUND, clear_devices: bool = False, saver_def: Any = None,
    clear_extraneous_savers: bool = False, strip_default_attrs: bool = False, save_debug_info: bool = False,
    meta_info_def: Any = None, collection_list: Sequence[str] | None = None, **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """The nodes of a scope as a MetaGraphDef, and its variables by their names in the scope.

    The collection ``unbound_inputs_col_name`` of the MetaGraphDef lists what the nodes use outside the scope.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph() got unexpected keyword arguments {sorted(kwargs)} {at()}")
    graph = context.get_default_graph() if graph is None else graph
    scope = None if export_scope is None else export_scope.rstrip("/")
    meta_graph = create_meta_graph_def(meta_info_def, graph_def, saver_def, (), graph)
    definition = meta_graph.graph_def
    own = None if saver_def is None else saver_def.save_tensor_name.rpartition("/")[0]
    unbound: set[str] = set()
    meta_graph.graph_def.CopyFrom(
        _chosen(definition, scope, _other_savers(definition, own) if clear_extraneous_savers else (), unbound)
    )
    meta_graph.meta_info_def.stripped_default_attrs = strip_default_attrs
    for node in meta_graph.graph_def.node:
        if clear_devices:
            node.device = ""
        if strip_default_attrs:
            _strip_defaults(node)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if not (clear_extraneous_savers and key == GraphKeys.SAVERS):
            add_collection(meta_graph, key, graph.get_collection(key), scope)
    if unbound and unbound_inputs_col_name and (collection_list is None or unbound_inputs_col_name in collection_list):
        values = meta_graph.collection_def[unbound_inputs_col_name].bytes_list.value
        values[:] = [name.encode() for name in sorted(unbound)]
    if filename:
        data = str(meta_graph).encode() if as_text else meta_graph.SerializeToString(deterministic=True)
        file.write_durably(_path_text(filename), data)
    return meta_graph, _variables_in(graph, scope)


def create_meta_graph_def(
    meta_info_def: Any = None, graph_def: Any = None, saver_def: Any = None, collection_list: Sequence[str] | None = None,
    graph: Graph | None = None, export_scope: str | None = None,
) -> Any:  # fmt: skip
    """A MetaGraphDef of a graph (default: the default graph), whole, with its collections or those named."""
    graph = context.get_default_graph() if graph is None else graph
    _check_message("meta_info_def", meta_info_def, "MetaInfoDef")
    _check_message("graph_def", graph_def, "GraphDef")
    _check_message("saver_def", saver_def, "SaverDef")
    meta_graph = protos().MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.ParseFromString(meta_info_def.SerializeToString())
    meta_graph.meta_info_def.tensorflow_version = VERSION
    meta_graph.meta_info_def.tensorflow_git_version = GIT_VERSION
    meta_graph.graph_def.CopyFrom(
        as_message(graph_def if graph_def is not None else graph.as_graph_def(add_shapes=True))
    )
    if saver_def is not None:
        meta_graph.saver_def.ParseFromString(saver_def.SerializeToString())
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        add_collection(meta_graph, key, graph.get_collection(key), export_scope)
    return meta_graph


set_meta_graph_maker(create_meta_graph_def)


def _check_message(argument: str, message: Any, class_name: str) -> None:
    name = getattr(getattr(message, "DESCRIPTOR", None), "full_name", "")
    if message is not None and not name.endswith(f".{class_name}"):
        raise TypeError(f"{argument} must be of type {class_name}. Received type: {type(message)}. {at()}")


def _variables_in(graph: Graph, scope: str | None) -> dict[str, Any]:
    """The variables of a scope by their names in it."""
    prefix = f"{scope}/" if scope else ""
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    return {v.name.removeprefix(prefix): v for v in variables if v.name.startswith(prefix)}


def _chosen(definition: Any, scope: str | None, without: Sequence[str], unbound: set[str]) -> Any:
    """The nodes of a scope, under their names in it, without those of other savers.  Names of other nodes go to ``unbound``."""
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
            added.input[:] = [_inside(name, prefix, unbound) for name in node.input]
            if "_class" in node.attr:
                _strip_locations(added, prefix)
    if prefix and not chosen.node:
        log.warning("export_scope %r: the graph has no such nodes", scope)
    return chosen


def _inside(name: str, prefix: str, unbound: set[str]) -> str:
    mark, plain = ("^", name[1:]) if name.startswith("^") else ("", name)
    if plain.startswith(prefix):
        return mark + plain.removeprefix(prefix)
    unbound.add(f"{mark}{_UNBOUND_PREFIX}{plain}")
    return f"{mark}{_UNBOUND_PREFIX}{plain}"


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
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None, unbound_inputs_col_name: str | None = UNBOUND,
    restore_collections_predicate: Callable[[str], bool] = lambda key: True, return_elements: Sequence[str] | None = None,
) -> tuple[Any, str | None, list[Any] | None]:  # fmt: skip
    """Adds the nodes and the collections to the default graph.

    Gives the MetaGraphDef, the scope they are in, and ``return_elements``.
    """
    if context.executing_eagerly():
        raise RuntimeError(
            f"Exporting/importing meta graphs is not supported when eager execution is enabled: use a tf.Graph {at()}"
        )
    if isinstance(meta_graph_or_file, _PATHS):
        meta_graph = read_meta_graph_file(meta_graph_or_file)
    elif hasattr(meta_graph_or_file, "SerializeToString"):
        meta_graph = protos().MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    else:
        raise TypeError(
            f"Expected a MetaGraphDef or the path of a file that holds one, got {meta_graph_or_file!r} {at()}"
        )
    if unbound_inputs_col_name:
        _check_bound(meta_graph, unbound_inputs_col_name, input_map or {})
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.device = ""
    scope = None if not import_scope else import_scope.rstrip("/")
    graph = context.get_default_graph()
    if scope is not None:
        scope = graph.unique_name(scope, mark_as_used=False)
    try:
        elements = import_graph_def(meta_graph.graph_def, input_map, return_elements, scope or "")
    except errors.OpError as error:
        raise ValueError(f"the meta graph cannot be imported: {error} {at()}") from error
    for key in list(meta_graph.collection_def):
        if key == unbound_inputs_col_name or not restore_collections_predicate(key):
            del meta_graph.collection_def[key]
    restore_collections(meta_graph, scope)
    return meta_graph, scope, elements


def _check_bound(meta_graph: Any, name: str, input_map: Mapping[str, Any]) -> None:
    """Refuses a meta graph of a scope if ``input_map`` lacks something that its nodes use."""
    if name in meta_graph.collection_def:
        values = meta_graph.collection_def[name].bytes_list.value
        missing = [text for value in values if (text := as_str_any(value)) not in input_map]
        if missing:
            raise ValueError(
                f"Graph contains unbound inputs: {', '.join(missing)}. Must provide these inputs through input_map. {at()}"
            )


def import_scoped_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None, unbound_inputs_col_name: str | None = UNBOUND,
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:  # fmt: skip
    """Adds a meta graph to ``graph`` (default: the default graph); gives its variables by their names in ``import_scope``."""
    variables, _ = import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, graph, import_scope, input_map, unbound_inputs_col_name,
        restore_collections_predicate,
    )  # fmt: skip
    return variables


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any, clear_devices: bool = False, graph: Graph | None = None, import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None, unbound_inputs_col_name: str | None = UNBOUND,
    restore_collections_predicate: Callable[[str], bool] = lambda key: True, return_elements: Sequence[str] | None = None,
) -> tuple[dict[str, Any], list[Any] | None]:  # fmt: skip
    """Imports a MetaGraphDef into a scope; gives its variables, and the nodes and tensors in ``return_elements``."""
    graph = context.get_default_graph() if graph is None else graph
    with graph.as_default():
        _, scope, elements = add_meta_graph(
            meta_graph_or_file, clear_devices, import_scope, input_map, unbound_inputs_col_name,
            restore_collections_predicate, return_elements,
        )  # fmt: skip
        return _variables_in(graph, scope), elements


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None
) -> dict[str, Any]:
    """Copies the nodes of a scope, and what collections have of them, into another scope or graph; gives its variables."""
    from_graph = context.get_default_graph() if from_graph is None else from_graph
    to_graph = context.get_default_graph() if to_graph is None else to_graph
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph, both are "
            f"{from_scope!r} {at()}"
        )
    meta_graph, _ = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    return import_scoped_meta_graph(meta_graph, graph=to_graph, import_scope=to_scope)


def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """The types of the nodes of a GraphDef and of its functions, without the functions' own names."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    used = {node.op for node in graph_def.node}
    for function in functions.values():
        used.update(node.op for node in function.node_def)
    return [op for op in used if op not in functions]


def _path_text(path: Any) -> str:
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
