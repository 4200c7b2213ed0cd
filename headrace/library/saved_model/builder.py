"""Writing SavedModels.  The variables and assets are on the disk first, the file that makes the folder a SavedModel last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.core import file
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation
from headrace.library import log
from headrace.library.saved_model import layout, signature, tag
from headrace.library.saved_model.asset import AssetFiles
from headrace.library.saved_model.servable import servable, warn_of_own_nodes
from headrace.library.train.saver.meta_graph import export_meta_graph
from headrace.library.train.saver.saveable import all_saveables
from headrace.library.train.saver.saver import Saver

_RESERVED = (layout.INIT_OP_SIGNATURE_KEY, layout.TRAIN_OP_SIGNATURE_KEY)


class SavedModelBuilder:
    """Builds a SavedModel in a new or empty folder: graphs with tags, which share one set of variables.

    The first graph is added with the variables, the others without; `save` writes the file that makes it a SavedModel.

    Args:
      export_dir: The folder; it must be empty, or not there yet.

    >>> import tempfile
    >>> x = tf.placeholder(tf.float32, [None], name="x")
    >>> y = tf.multiply(x, tf.Variable(2.0), name="y")
    >>> folder = tempfile.mkdtemp()
    >>> builder = tf.saved_model.builder.SavedModelBuilder(folder)
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     signature = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
    ...     builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature})
    >>> builder.save().removeprefix(folder.encode())
    b'/saved_model.pb'
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = layout.path_text(export_dir)
        entries = file.beginning_with(f"{self._export_dir}/") if file.exists(self._export_dir) else []
        if entries:
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please choose a different export "
                f"directory, or delete all the contents of the specified directory. It has {entries[0]} {at()}"
            )
        file.make_folder(self._export_dir)
        self._saved_model = protos().SavedModel(saved_model_schema_version=layout.SAVED_MODEL_SCHEMA_VERSION)
        self._assets = AssetFiles(self._export_dir)
        self._has_saved_variables = False

    def add_meta_graph_and_variables(
        self, sess: Any, tags: Iterable[str], signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Any] | None = None, legacy_init_op: Operation | None = None,
        clear_devices: bool = False, main_op: Operation | None = None, strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the session's graph and saves its variables.

        ``assets_collection`` are constants that hold the paths of files.  ``main_op``, or ``legacy_init_op``, runs after the
        variables are restored whenever the model is loaded.  ``saver`` saves the variables in place of a new one for all.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` "
                f"instead. {at()}"
            )
        if not (hasattr(sess, "run") and hasattr(sess, "graph")):
            raise TypeError(f"'sess' must be a Session; got {sess!r} {at()}")
        with sess.graph.as_default():
            tags, signatures = _checked_tags(tags), _checked_signatures(signature_def_map, sess.graph)
            saver = self._prepare(assets_collection, legacy_init_op if main_op is None else main_op, saver)
            variables = layout.variables_path(self._export_dir)
            file.make_folder(variables.rpartition("/")[0])
            saver.save(sess, variables, write_meta_graph=False, write_state=False)
            self._add(saver, tags, signatures, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(
        self, tags: Iterable[str], signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Any] | None = None, legacy_init_op: Operation | None = None,
        clear_devices: bool = False, main_op: Operation | None = None, strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the default graph, whose variables are among those that were saved with the first graph."""
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                f"`add_meta_graph_and_variables()` first. {at()}"
            )
        tags, signatures = _checked_tags(tags), _checked_signatures(signature_def_map, context.get_default_graph())
        saver = self._prepare(assets_collection, legacy_init_op if main_op is None else main_op, saver)
        self._add(saver, tags, signatures, clear_devices, strip_default_attrs)

    def _prepare(self, assets: Iterable[Any] | None, main_op: Operation | None, saver: Saver | None) -> Saver:
        self._assets.add(assets)
        _add_main_op(main_op)
        return saver or Saver(all_saveables(), sharded=True, allow_empty=True)

    def _add(
        self, saver: Saver, tags: Iterable[str], signatures: Mapping[str, Any], clear_devices: bool, strip: bool
    ) -> None:
        def export(graph_def: Any) -> Any:
            meta_graph = export_meta_graph(
                graph_def=graph_def, saver_def=saver.to_proto(), clear_devices=clear_devices, strip_default_attrs=strip
            )
            meta_graph.meta_info_def.tags.extend(tags)
            for name, definition in signatures.items():
                meta_graph.signature_def[name].ParseFromString(definition.SerializeToString())
            return meta_graph

        if tag.SERVING in tags:
            meta_graph = servable(export, context.get_default_graph())
        else:
            meta_graph = export(None)
            warn_of_own_nodes(meta_graph)
        self._saved_model.meta_graphs.append(meta_graph)

    def save(self, as_text: bool = False) -> bytes:
        """Writes the file with the graphs, in binary form or as text, and gives its path."""
        name = layout.SAVED_MODEL_FILENAME_PBTXT if as_text else layout.SAVED_MODEL_FILENAME_PB
        path = f"{self._export_dir}/{name}"
        message = self._saved_model
        file.make_folder(self._export_dir)
        file.write_durably(path, str(message).encode() if as_text else message.SerializeToString(deterministic=True))
        log.info("SavedModel written to: %s", path)
        return path.encode()


Builder = SavedModelBuilder


def simple_save(
    session: Any, export_dir: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:  # fmt: skip
    """Saves the session's graph, variables and assets as a SavedModel with one signature, to be served.

    Args:
      session: The session with the graph and the values.
      export_dir: The folder; it must be empty, or not there yet.
      inputs: A dict from names to tensors to feed.
      outputs: A dict from names to tensors to fetch.
      legacy_init_op: What to run when the model is loaded; None for nothing.

    >>> import tempfile
    >>> x = tf.placeholder(tf.float32, [None], name="x")
    >>> y = tf.multiply(x, tf.Variable(3.0), name="y")
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Session() as sess:
    ...     sess.run(tf.global_variables_initializer())
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    >>> with tf.Session(graph=tf.Graph()) as sess:
    ...     model = tf.saved_model.loader.load(sess, ["serve"], folder)
    ...     print(sess.run("y:0", {"x:0": [1.0, 2.0]}))
    [3. 6.]
    """
    definition = signature.predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session, [tag.SERVING], {signature.DEFAULT_SERVING_SIGNATURE_DEF_KEY: definition},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op,
        clear_devices=True,
    )  # fmt: skip
    builder.save()


def _add_main_op(main_op: Any) -> None:
    if main_op is None:
        return
    if not isinstance(main_op, Operation):
        raise TypeError(f"The main op must be an Operation; got {main_op!r} of type {type(main_op).__name__} {at()}")
    graph = context.get_default_graph()
    for key in (layout.MAIN_OP_KEY, layout.LEGACY_INIT_OP_KEY):
        others = [op for op in graph.get_collection(key) if op is not main_op]
        if others:
            raise ValueError(
                f"Graph already contains one or more main ops under the collection {key}: {others[0].name}. {at()}"
            )
    if main_op not in graph.get_collection(layout.MAIN_OP_KEY):  # a graph may be saved twice
        graph.add_to_collection(layout.MAIN_OP_KEY, main_op)


def _checked_tags(tags: Any) -> list[str]:
    texts = [] if isinstance(tags, str) else list(tags)
    if isinstance(tags, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"tags must be a list of strings; got {tags!r} {at()}")
    return texts


def _checked_signatures(signatures: Mapping[str, Any] | None, graph: Graph) -> Mapping[str, Any]:
    for key, definition in (signatures or {}).items():
        if key in _RESERVED:
            raise KeyError(f'SignatureDef map key "{key}" is reserved. Please use a different key. {at()}')
        for label, infos in (("inputs", definition.inputs), ("outputs", definition.outputs)):
            for name, info in infos.items():
                _check_tensor_info(f"{label}[{name!r}] of the signature {key!r}", info, graph)
    return signatures or {}


def _check_tensor_info(where: str, info: Any, graph: Graph) -> None:
    if info.WhichOneof("encoding") is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields (e.g., name or coo_sparse) "
            f"set: {where} has none {at()}"
        )
    if info.dtype == protos().DT_INVALID and info.WhichOneof("encoding") != "composite_tensor":
        raise AssertionError(
            f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {where} has none {at()}"
        )
    for name in signature.tensor_names(info):
        try:
            graph.get_tensor_by_name(name)
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{where} names {name!r}, which is not a tensor of the graph: {error.args[0]} {at()}"
            ) from None
