"""Predictors: a SavedModel as a function from arrays to arrays, with a session of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.client.session import Session
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library.saved_model import signature, tag
from headrace.library.saved_model.loader import SavedModelLoader


class SavedModelPredictor:
    """What `from_saved_model` gives: call it with a dict from the names of inputs to values; it gives a dict of outputs."""

    def __init__(
        self, export_dir: Any, signature_def_key: str | None = None, signature_def: Any = None,
        input_names: Mapping[str, str] | None = None, output_names: Mapping[str, str] | None = None,
        tags: str | Iterable[str] | None = None, graph: Graph | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        ways = [signature_def_key is not None, signature_def is not None, input_names is not None]
        if sum(ways) > 1:
            raise ValueError(
                "You must specify at most one of: signature_def_key OR signature_def OR (input_names AND output_names). "
                + at()
            )
        if (input_names is None) != (output_names is None):
            raise ValueError(f"input_names and output_names must both be specified or both be unspecified. {at()}")
        self._graph = Graph() if graph is None else graph
        self._session = Session(graph=self._graph, config=config)
        try:
            texts = tags.split(",") if isinstance(tags, str) else [tag.SERVING] if tags is None else tags
            model = SavedModelLoader(export_dir).load(self._session, texts)
            if input_names is not None and output_names is not None:
                self._feeds = {key: self._graph.get_tensor_by_name(name) for key, name in input_names.items()}
                self._fetches = {key: self._graph.get_tensor_by_name(name) for key, name in output_names.items()}
                return
            key = signature_def_key or signature.DEFAULT_SERVING_SIGNATURE_DEF_KEY
            definition = get_signature_def_by_key(model, key) if signature_def is None else signature_def
            self._feeds, self._fetches = (
                {name: signature.get_tensor_from_tensor_info(info, self._graph) for name, info in sorted(infos.items())}
                for infos in (definition.inputs, definition.outputs)
            )
        except BaseException:
            self._session.close()
            raise

    @property
    def graph(self) -> Graph:
        """The graph of the model."""
        return self._graph

    @property
    def session(self) -> Session:
        """The session with its variables."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """The inputs by name."""
        return self._feeds

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """The outputs by name."""
        return self._fetches

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        unknown = set(input_dict) - set(self._feeds)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {sorted(unknown)}; expected: {sorted(self._feeds)} {at()}"
            )
        feeds = {self._feeds[name]: value for name, value in input_dict.items()}
        return self._session.run(self._fetches, feeds)

    def __repr__(self) -> str:
        return f"SavedModelPredictor with feed tensors {self._feeds} and fetch_tensors {self._fetches}"


def from_saved_model(
    export_dir: Any, signature_def_key: str | None = None, signature_def: Any = None,
    input_names: Mapping[str, str] | None = None, output_names: Mapping[str, str] | None = None,
    tags: str | Iterable[str] | None = None, graph: Graph | None = None, config: Any = None,
) -> SavedModelPredictor:  # fmt: skip
    """The SavedModel as a function; by default its signature "serving_default" under the tag "serve".

    ``tags`` may be one text with commas.  ``input_names`` and ``output_names`` name tensors in place of a signature.

    Args:
      export_dir: The folder of the SavedModel.
      signature_def_key: The name of the signature; None for "serving_default".
      signature_def: A SignatureDef to use in place of a name.
      input_names: A dict from names of inputs to names of tensors, in place of a signature.
      output_names: The same for outputs.
      tags: The tags of the graph; None for "serve".
      graph: The graph to load into; None for a new one.
      config: A `tf.ConfigProto` for the session.

    Returns:
      A function from a dict of input values to a dict of output values.

    >>> import tempfile
    >>> x = tf.placeholder(tf.float32, [None], name="x")
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Session() as sess:
    ...     tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": tf.square(x)})
    >>> predict = tf.contrib.predictor.from_saved_model(folder)
    >>> print(predict({"x": [3.0]})["y"])
    [9.]
    """
    return SavedModelPredictor(
        export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config
    )


def get_signature_def_by_key(meta_graph_def: Any, signature_def_key: str) -> Any:
    """The signature of this name in a MetaGraphDef.

    Args:
      meta_graph_def: What `tf.saved_model.load` returns.
      signature_def_key: The name; ValueError if there is no such signature.

    Returns:
      A SignatureDef.

    Example: ``tf.contrib.saved_model.get_signature_def_by_key(meta_graph_def, "serving_default").outputs``
    """
    signatures = meta_graph_def.signature_def
    if signature_def_key not in signatures:
        raise ValueError(
            f"No SignatureDef with key '{signature_def_key}' found in MetaGraphDef. There are: "
            f"{', '.join(sorted(signatures)) or 'none'} {at()}"
        )
    return signatures[signature_def_key]
