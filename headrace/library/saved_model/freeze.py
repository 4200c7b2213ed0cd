"""freeze_graph: a graph and a checkpoint, or a SavedModel, as one GraphDef with constants in the place of variables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace.client.session import Session
from headrace.core import checkpoint_def, errors
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.graph.importer import import_graph_def
from headrace.library.saved_model import loader, tag
from headrace.library.system.file import GFile
from headrace.library.system.graph_util import convert_variables_to_constants
from headrace.library.train.saver.meta_graph import read_meta_graph_file
from headrace.library.train.saver.reader import NewCheckpointReader
from headrace.library.train.saver.saver import Saver, import_meta_graph
from headrace.library.train.saver.state_file import checkpoint_exists

_RESTORABLE = ("Variable", "VariableV2", "VarHandleOp")


def freeze_graph_with_def_protos(
    input_graph_def: Any, input_saver_def: Any, input_checkpoint: str, output_node_names: str, restore_op_name: str | None,
    filename_tensor_name: str | None, output_graph: str | None, clear_devices: bool, initializer_nodes: str | None,
    variable_names_whitelist: str = "", variable_names_blacklist: str = "", input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None, saved_model_tags: Sequence[str] | None = None, checkpoint_version: int = 2,
) -> Any:  # fmt: skip
    """The part of a graph that its outputs need, with constants in the place of variables.

    Args:
      input_graph_def: The GraphDef; None with a meta graph or a SavedModel.
      input_saver_def: The SaverDef whose nodes of the graph restore the variables; None to restore them by their names.
      input_checkpoint: The prefix of the checkpoint; not used with a SavedModel.
      output_node_names: The names of the outputs, with commas between them.
      restore_op_name: Not used.
      filename_tensor_name: Not used.
      output_graph: The path of the file for the result; None or "" for none.
      clear_devices: Whether nodes forget their devices.
      initializer_nodes: Names of nodes to run before the values are taken, with commas between them; None or "" for none.
      variable_names_whitelist: The names of the only variables to replace, with commas between them; "" for all.
      variable_names_blacklist: The names of variables to keep, with commas between them; "" for none.
      input_meta_graph_def: The MetaGraphDef in the place of `input_graph_def`; None for none.
      input_saved_model_dir: The folder of a SavedModel; None for none.
      saved_model_tags: The tags of the graph in the SavedModel.
      checkpoint_version: Not used: both versions are read.

    Returns:
      A GraphDef.

    >>> from headrace.python.tools import freeze_graph
    >>> graph_def = tf.get_default_graph().as_graph_def()
    >>> make = freeze_graph.freeze_graph_with_def_protos
    >>> frozen = make(graph_def, None, "/tmp/model.ckpt-7", "y", None, None, None, True, None)  # doctest: +SKIP
    """
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist! {at()}")
    if not output_node_names:
        raise ValueError(f"You need to supply the name of a node to --output_node_names. {at()}")
    definition = None
    if input_graph_def is not None:
        definition = protos().GraphDef.FromString(input_graph_def.SerializeToString())
    if clear_devices and input_meta_graph_def is not None:
        input_meta_graph_def = protos().MetaGraphDef.FromString(input_meta_graph_def.SerializeToString())
    for one in (definition, input_meta_graph_def and input_meta_graph_def.graph_def):
        for node in one.node if clear_devices and one else ():
            node.device = ""
    with Graph().as_default() as graph, Session(graph=graph) as sess:
        if definition is not None and input_meta_graph_def is None and not input_saved_model_dir:
            import_graph_def(definition, name="")
        if input_saver_def is not None:
            Saver(saver_def=input_saver_def).restore(sess, input_checkpoint)
        elif input_meta_graph_def is not None:
            definition = input_meta_graph_def.graph_def
            restorer = import_meta_graph(input_meta_graph_def, clear_devices=True)
            if restorer is not None:  # else it has no variables
                restorer.restore(sess, input_checkpoint)
        elif input_saved_model_dir:
            definition = loader.load(sess, list(saved_model_tags or [tag.SERVING]), input_saved_model_dir).graph_def
        else:
            _restore_by_name(sess, input_checkpoint)
        if initializer_nodes and input_meta_graph_def is None and not input_saved_model_dir:
            sess.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            sess, definition, _names(output_node_names) or [], _names(variable_names_whitelist),
            _names(variable_names_blacklist),
        )  # fmt: skip
    if output_graph:
        with GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _names(text: str | None) -> list[str] | None:
    """The names between the commas of an argument."""
    return text.replace(" ", "").split(",") if text else None


def _restore_by_name(sess: Any, checkpoint: str) -> None:
    """Sets the variables of the graph whose names are in the checkpoint."""
    graph = sess.graph
    reader = NewCheckpointReader(checkpoint)
    types = reader.get_variable_to_dtype_map()
    partitioned = [
        node.name for node in graph.get_operations() if node.type in _RESTORABLE and "/part_0" in node.name
        and node.name not in types and node.name.partition("/part_0")[0] in types
    ]  # fmt: skip
    if partitioned:
        raise ValueError(
            "Models containing partition variables cannot be converted from checkpoint files. Please pass in a SavedModel "
            f"using the flag --input_saved_model_dir: {partitioned[0]} is a part {at()}"
        )
    assigned = []
    for node in graph.get_operations():
        if node.type in _RESTORABLE and node.name in types:
            value = raw_ops.RestoreV2(checkpoint, [node.name], [""], dtypes=[types[node.name]])[0]
            assign = raw_ops.AssignVariableOp if node.type == "VarHandleOp" else raw_ops.Assign
            assigned.append(assign(node.outputs[0], value))
    sess.run(assigned)


def freeze_graph(
    input_graph: str | None, input_saver: str | None, input_binary: bool, input_checkpoint: str, output_node_names: str,
    restore_op_name: str | None, filename_tensor_name: str | None, output_graph: str | None, clear_devices: bool,
    initializer_nodes: str | None, variable_names_whitelist: str = "", variable_names_blacklist: str = "",
    input_meta_graph: str | None = None, input_saved_model_dir: str | None = None, saved_model_tags: str = tag.SERVING,
    checkpoint_version: int = 2,
) -> Any:  # fmt: skip
    """Reads a graph and a checkpoint, or a SavedModel, and gives the part that its outputs need with constants for variables.

    Args:
      input_graph: The path of a GraphDef; None or "" with a meta graph or a SavedModel.
      input_saver: The path of a SaverDef; None or "" to restore variables by their names.
      input_binary: Whether these files are in binary form, not text.
      input_checkpoint: The prefix of the checkpoint; not used with a SavedModel.
      output_node_names: The names of the outputs, with commas between them.
      restore_op_name: Not used.
      filename_tensor_name: Not used.
      output_graph: The path of the file for the result; None or "" for none.
      clear_devices: Whether nodes forget their devices.
      initializer_nodes: Names of nodes to run before the values are taken, with commas between them; None or "" for none.
      variable_names_whitelist: The names of the only variables to replace, with commas between them; "" for all.
      variable_names_blacklist: The names of variables to keep, with commas between them; "" for none.
      input_meta_graph: The path of a MetaGraphDef in the place of `input_graph`; None or "" for none.
      input_saved_model_dir: The folder of a SavedModel; None or "" for none.
      saved_model_tags: The tags of the graph in the SavedModel, with commas between them.
      checkpoint_version: Not used: both versions are read.

    Returns:
      A GraphDef.

    >>> from headrace.python.tools import freeze_graph
    >>> freeze = freeze_graph.freeze_graph
    >>> frozen = freeze(  # doctest: +SKIP
    ...     "graph.pbtxt", "", False, "model.ckpt-7", "y", None, None, "frozen.pb", True, "")
    """
    graph_def = _read(input_graph, protos().GraphDef, input_binary) if input_graph else None
    meta_graph_def = read_meta_graph_file(input_meta_graph) if input_meta_graph else None
    saver_def = _read(input_saver, checkpoint_def.messages().SaverDef, input_binary) if input_saver else None
    return freeze_graph_with_def_protos(
        graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name, output_graph,
        clear_devices, initializer_nodes, variable_names_whitelist, variable_names_blacklist, meta_graph_def,
        input_saved_model_dir, _names(saved_model_tags), checkpoint_version,
    )  # fmt: skip


def _read(path: str, message_class: Any, binary: bool) -> Any:
    """The message in a file."""
    from google.protobuf import message, text_format

    if not os.path.isfile(path):
        raise errors.NotFoundError(
            None, None, f"{path}; the file with the {message_class.__name__} does not exist {at()}"
        )
    with GFile(path, "rb") as file:
        data = file.read()
    try:
        return message_class.FromString(data) if binary else text_format.Parse(data.decode(), message_class())
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        form = "binary form" if binary else "text"
        raise ValueError(f"{path} is not a {message_class.__name__} in {form}: {error} {at()}") from None
