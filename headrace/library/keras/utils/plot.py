"""tf.keras.utils.plot_model: a model's layers as a picture, drawn by Graphviz."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from headrace.core.source import at
from headrace.library import nest


class Dot:
    """A drawing in Graphviz's language.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="last")])
    >>> "last: Dense" in tf.keras.utils.model_to_dot(model).to_string()
    True
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def to_string(self) -> str:
        """The drawing as text."""
        return "\n".join(["digraph model {", *(f"  {line};" for line in self._lines), "}", ""])

    def create(self, prog: str = "dot", format: str = "ps") -> bytes:  # noqa: A002 - pydot's name
        """The drawing as a picture, by Graphviz.

        Args:
          prog: The program of Graphviz.
          format: The format: "png", "svg" ...; "dot" for the text itself.
        """
        if format in ("dot", "raw"):
            return self.to_string().encode()
        found = shutil.which(prog)
        if found is None:
            raise OSError(
                f"Graphviz's program {prog!r} is not there, which draws {format!r} files: install Graphviz, or write a file "
                f"whose name ends with .dot {at()}"
            )
        done = subprocess.run([found, f"-T{format}"], input=self.to_string().encode(), capture_output=True, check=False)
        if done.returncode:
            raise OSError(f"Graphviz failed: {done.stderr.decode(errors='replace').strip()} {at()}")
        return done.stdout

    def write(self, path: Any, prog: str = "dot", format: str = "raw") -> bool:  # noqa: A002 - pydot's name
        """Writes the picture into a file.

        Args:
          path: The file.
          prog: The program of Graphviz.
          format: The format.
        """
        picture = self.create(prog, format)
        with open(path, "wb") as file:
            file.write(picture)
        return True


def model_to_dot(
    model: Any, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB",
    expand_nested: bool = False, dpi: int = 96, subgraph: bool = False,
) -> Dot:  # fmt: skip
    """The layers of a model and what flows between them, as a drawing.

    Args:
      model: A model that has been built.
      show_shapes: Whether to show the shapes of inputs and outputs.
      show_layer_names: Whether to show the names of layers.
      rankdir: "TB" for a drawing from top to bottom, "LR" from left to right.
      expand_nested: Whether to draw the layers of models inside the model too.
      dpi: Dots per inch.
      subgraph: Accepted for TensorFlow's sake; it has no effect.

    Returns:
      A drawing with `to_string`, `create` and `write`.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="last")])
    >>> tf.keras.utils.model_to_dot(model).to_string().count("shape=record")
    1
    """
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} has not been built yet: call it on some input, or give its first layer an "
            f"input shape {at()}"
        )
    lines = [f"rankdir={rankdir}", "concentrate=true", f"dpi={int(dpi)}"]
    return Dot([*lines, *_drawn(model, show_shapes, show_layer_names, expand_nested)])


def _drawn(model: Any, shapes: bool, names: bool, nested: bool) -> Iterator[str]:
    layers = list(model.layers)
    own = {id(layer) for layer in layers}
    for layer in layers:
        if nested and getattr(layer, "_is_graph_network", False):
            yield from _drawn(layer, shapes, names, nested)
        title = type(layer).__name__
        label = f"{layer.name}: {title}" if names else title
        if shapes:
            sizes = [str(getattr(layer, f"{side}_shape", "?")) for side in ("input", "output")]
            label = f"{label}|{{input:|output:}}|{{{{{sizes[0]}}}|{{{sizes[1]}}}}}"
        yield f'"{id(layer)}" [label="{label}", shape=record]'
    if not getattr(model, "_is_graph_network", False):
        for first, second in zip(layers, layers[1:], strict=False):
            yield f'"{id(first)}" -> "{id(second)}"'
        return
    for layer in layers:
        for node in layer._inbound_nodes:
            for before in dict.fromkeys(t._keras_history[0] for t in _tensors(node)):
                if id(before) in own:
                    yield f'"{id(before)}" -> "{id(layer)}"'


def _tensors(node: Any) -> list[Any]:
    return [t for t in nest.flatten(node.inputs) if hasattr(t, "_keras_history")]


def plot_model(
    model: Any, to_file: Any = "model.png", show_shapes: bool = False, show_layer_names: bool = True,
    rankdir: str = "TB", expand_nested: bool = False, dpi: int = 96,
) -> None:  # fmt: skip
    """Draws a model into a file; Graphviz draws it, but for files whose names end with ".dot".

    Args:
      model: A model that has been built.
      to_file: The file, whose name says the format: "model.png", "model.svg", "model.dot".
      show_shapes: Whether to show the shapes of inputs and outputs.
      show_layer_names: Whether to show the names of layers.
      rankdir: "TB" for a drawing from top to bottom, "LR" from left to right.
      expand_nested: Whether to draw the layers of models inside the model too.
      dpi: Dots per inch.

    Example: ``tf.keras.utils.plot_model(model, "model.png", show_shapes=True)``
    """
    drawing = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    form = os.path.splitext(os.fspath(to_file))[1].removeprefix(".") or "png"
    drawing.write(to_file, format=form)
