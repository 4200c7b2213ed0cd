"""plot_model: layers and what flows between them, as a drawing."""

from pathlib import Path

import pytest

import headrace as tf
from headrace.library.keras.utils import plot


def test_layers_and_edges(tmp_path: Path) -> None:
    inputs = tf.keras.Input((4,), name="x")
    first = tf.keras.layers.Dense(2, name="first")(inputs)
    inner = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(2,), name="within")], name="inner")
    model = tf.keras.Model(inputs, tf.keras.layers.add([first, inner(first)], name="sum"))
    tf.keras.utils.plot_model(model, tmp_path / "model.dot", show_shapes=True)
    text = (tmp_path / "model.dot").read_text()
    assert text.startswith("digraph model {") and text.count("->") == 4
    assert "first: Dense|{input:|output:}|{{(None, 4)}|{(None, 2)}}" in text and "within" not in text
    nested = tf.keras.utils.model_to_dot(model, expand_nested=True, show_layer_names=False, rankdir="LR").to_string()
    assert nested.count('"Dense"') == 2 and "rankdir=LR" in nested


def test_a_chain_of_layers() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.Dense(1)])
    assert tf.keras.utils.model_to_dot(model).to_string().count("->") >= 1


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    monkeypatch.setattr(plot.shutil, "which", lambda name: None)
    with pytest.raises(OSError, match=r"Graphviz's program 'dot' is not there.*test_plot.py"):
        tf.keras.utils.plot_model(model, tmp_path / "model.png")
    assert not (tmp_path / "model.png").exists()
    with pytest.raises(ValueError, match="has not been built yet"):
        tf.keras.utils.model_to_dot(tf.keras.Sequential([tf.keras.layers.Dense(2)]))


def test_graphviz_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\nif [ $1 = -Tbad ]; then echo no such format >&2; exit 1; fi\necho $1; head -1\n")
    program.chmod(0o755)
    monkeypatch.setattr(plot.shutil, "which", lambda name: str(program))
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    tf.keras.utils.plot_model(model, tmp_path / "model.png")
    assert (tmp_path / "model.png").read_text() == "-Tpng\ndigraph model {\n"
    with pytest.raises(OSError, match="Graphviz failed: no such format"):
        tf.keras.utils.plot_model(model, tmp_path / "model.bad")
