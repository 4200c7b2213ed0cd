"""Loading SavedModels.  What is wrong with the folder is said before a node is added to the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core import file
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library import log
from headrace.library.saved_model import layout, signature
from headrace.library.saved_model.asset import asset_paths
from headrace.library.train.saver.saver import Saver, import_meta_graph
from headrace.library.train.saver.state_file import checkpoint_exists


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether the folder has the file of a SavedModel; it need not be one that can be loaded.

    Args:
      export_dir: The folder.

    Returns:
      True or False.

    >>> tf.saved_model.contains_saved_model('/no/such/folder')
    False
    """
    folder = layout.path_text(export_dir)
    return any(file.exists(f"{folder}/{name}") for name in _FILENAMES)


contains_saved_model = maybe_saved_model_directory


def load(sess: Any, tags: Iterable[str], export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any) -> Any:
    """Adds the graph with exactly these tags to the session's graph, restores its variables and runs its main op.

    With ``import_scope`` the nodes are below that name.  Gives the MetaGraphDef, with the names they were saved under: its
    ``signature_def`` says what to feed and fetch.  ``saver_kwargs`` go to `tf.train.import_meta_graph`.

    Args:
      sess: The session; the nodes are added to its graph.
      tags: The tags of the graph to load, such as ``[tf.saved_model.tag_constants.SERVING]``.
      export_dir: The folder of the SavedModel.
      import_scope: A name scope for the nodes; None for none.
      **saver_kwargs: Further arguments for `tf.train.import_meta_graph`.

    Returns:
      A MetaGraphDef.

    Example: ``tf.saved_model.load(sess, ["serve"], "/tmp/export").signature_def["serving_default"].inputs``
    """
    if not (hasattr(sess, "run") and hasattr(sess, "graph")):
        raise TypeError(f"'sess' must be a Session; got {sess!r} {at()}")
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """A SavedModel, read from its folder, and the steps of loading it."""

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = layout.path_text(export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    @property
    def export_dir(self) -> str:
        """The folder."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The prefix of the files of the checkpoint."""
        return layout.variables_path(self._export_dir)

    @property
    def saved_model(self) -> Any:
        """The SavedModel as a message."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """The MetaGraphDef that has these tags and no others."""
        tag_set = {tags} if isinstance(tags, str) else set(tags)
        for meta_graph in self._saved_model.meta_graphs:
            if set(meta_graph.meta_info_def.tags) == tag_set:
                return meta_graph
        available = [sorted(meta_graph.meta_info_def.tags) for meta_graph in self._saved_model.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(tag_set)} could not be found in SavedModel {self._export_dir}. The tags "
            f"of its graphs are: {', '.join(map(str, available)) or 'none, it has no graph'} {at()}"
        )

    def load(self, sess: Any, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any) -> Any:
        """Adds the graph, restores the variables, runs the main op; gives the MetaGraphDef."""
        tags = [tags] if isinstance(tags, str) else list(tags)
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        self._check_files(meta_graph)
        with sess.graph.as_default():
            # The name that import_meta_graph gives the scope.
            scope = sess.graph.unique_name(import_scope.rstrip("/"), mark_as_used=False) if import_scope else None
            saver = self.load_graph(sess.graph, tags, scope, **saver_kwargs)
            self.restore_variables(sess, saver, scope)
            self.run_init_ops(sess, tags, scope)
        _warn_of_unknown_tensors(meta_graph, sess.graph, scope)
        return meta_graph

    def load_graph(
        self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> Saver | None:
        """Adds the nodes and the collections to a graph; gives the saver of the graph, None if it has no variables."""
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)

    def restore_variables(self, sess: Any, saver: Saver | None, import_scope: str | None = None) -> None:
        """Sets the variables of the session to what was saved."""
        if saver is None:
            log.info("The specified SavedModel has no variables; no checkpoints were restored.")
            return
        with sess.graph.as_default():
            saver.restore(sess, self.variables_path)

    def run_init_ops(self, sess: Any, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Runs the main op of the graph, if it has one, with the paths of the assets."""
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        name = _main_op_name(meta_graph)
        if name is not None:
            element = sess.graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)
            sess.run(getattr(element, "op", element), asset_paths(self._export_dir, meta_graph, import_scope))

    def _check_files(self, meta_graph: Any) -> None:
        asset_paths(self._export_dir, meta_graph)
        if meta_graph.HasField("saver_def") and not checkpoint_exists(self.variables_path):
            raise ValueError(
                f"The SavedModel {self._export_dir} has variables, but not the files with their values: "
                f"{self.variables_path}.index does not exist {at()}"
            )


# ---- the file


def parse_saved_model(export_dir: Any) -> Any:
    """The SavedModel in a folder, as a message."""
    folder = layout.path_text(export_dir)
    for name, parse in _FILENAMES.items():
        path = f"{folder}/{name}"
        if file.exists(path):
            with file.open_to_read(path) as opened:
                data = opened.read()
            message = parse(path, data)
            if not message.meta_graphs:
                raise OSError(f"Cannot parse file {path}: it holds no graph, so it is no SavedModel {at()}")
            return message
    reason = "has no such file" if file.exists(folder) else "does not exist"
    raise OSError(
        f"SavedModel file does not exist at: {folder}/{{{'|'.join(_FILENAMES)}}}; the folder {folder} {reason} {at()}"
    )


def _parse_binary(path: str, data: bytes) -> Any:
    from google.protobuf import message

    try:
        return protos().SavedModel.FromString(data)
    except message.DecodeError as error:
        raise OSError(f"Cannot parse file {path}: it is damaged or no SavedModel ({error}) {at()}") from None


def _parse_text(path: str, data: bytes) -> Any:
    from google.protobuf import text_format

    try:
        text = data.decode().replace("[type.googleapis.com/tensorflow.", "[type.googleapis.com/tensorboard.")
        return text_format.Parse(text, protos().SavedModel(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise OSError(f"Cannot parse file {path}: {error} {at()}") from None


_FILENAMES = {layout.SAVED_MODEL_FILENAME_PB: _parse_binary, layout.SAVED_MODEL_FILENAME_PBTXT: _parse_text}


# ---- what the graph says


def _main_op_name(meta_graph: Any) -> str | None:
    definition = meta_graph.signature_def
    if layout.INIT_OP_SIGNATURE_KEY in definition:  # where TensorFlow 2 has it
        return definition[layout.INIT_OP_SIGNATURE_KEY].outputs[layout.INIT_OP_SIGNATURE_KEY].name
    for key in (layout.MAIN_OP_KEY, layout.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel main op, found {len(names)}: {list(names)} {at()}")
            return str(names[0])
    return None


def _warn_of_unknown_tensors(meta_graph: Any, graph: Graph, scope: str | None) -> None:
    prefix = f"{scope}/" if scope else ""
    for key, definition in meta_graph.signature_def.items():
        for infos in (definition.inputs, definition.outputs):
            for label, info in infos.items():
                for name in signature.tensor_names(info):
                    if not _has_element(graph, prefix + name):
                        log.warning(
                            "The signature %s is unusable: its %s is %s, which is not in the graph", key, label, name
                        )


def _has_element(graph: Graph, name: str) -> bool:
    try:
        graph.as_graph_element(name)
    except (KeyError, ValueError):
        return False
    return True
