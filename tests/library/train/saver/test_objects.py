"""What is made after an eager restore gets its value: however the checkpoint was restored, and at a cost that grows linearly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.library.train.saver import object_graph

X = np.ones([1, 2], np.float32)


@pytest.fixture(autouse=True)
def _eagerly() -> Iterator[None]:
    with tf.eager_mode():
        yield


class Stack(tf.keras.Model):  # type: ignore[misc]
    """Some dense layers in a list, built at the first call."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.stack = [tf.keras.layers.Dense(2) for _ in range(count)]

    def call(self, inputs: Any) -> Any:
        for layer in self.stack:
            inputs = layer(inputs)
        return inputs


def _step(model: Any, optimizer: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(X))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))


def _saved(folder: Path, count: int) -> tuple[str, Any]:
    """A checkpoint of a trained model with its optimizer and more than another program will ask for."""
    model, optimizer = Stack(count), tf.train.AdamOptimizer(0.1)
    _step(model, optimizer)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, more=tf.Variable(1.0))
    return checkpoint.write(str(folder / "ckpt")), model(X).numpy()


def test_nobody_has_to_keep_the_status_or_the_checkpoint(tmp_path: Path) -> None:
    path, wanted = _saved(tmp_path, 2)
    kept, model = tf.train.Checkpoint(model=Stack(2)), Stack(2)
    kept.restore(path)
    np.testing.assert_array_equal(kept.model(X).numpy(), wanted)
    tf.train.Checkpoint(model=model).restore(path)
    np.testing.assert_array_equal(model(X).numpy(), wanted)


def test_a_layer_that_is_added_later_is_found(tmp_path: Path) -> None:
    path, wanted = _saved(tmp_path, 3)
    model = Stack(1)
    tf.train.Checkpoint(model=model).restore(path)
    model(X)
    model.stack.append(tf.keras.layers.Dense(2))
    model(X)
    model.stack.append(tf.keras.layers.Dense(2))
    np.testing.assert_array_equal(model(X).numpy(), wanted)


def test_the_latest_checkpoint_counts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (old, _), (new, wanted) = _saved(tmp_path / "a", 2), _saved(tmp_path / "b", 2)
    model = Stack(2)
    checkpoint = tf.train.Checkpoint(model=model)
    for path in (old, new, old, new):
        checkpoint.restore(path)
    np.testing.assert_array_equal(model(X).numpy(), wanted)


def test_layers_of_a_sequential_model_go_by_those_with_weights(tmp_path: Path) -> None:
    def make(*before: Any) -> Any:
        return tf.keras.Sequential([*before, tf.keras.layers.Dense(2), tf.keras.layers.Dense(2)])

    model = make()
    wanted = model(X).numpy()
    path = tf.train.Checkpoint(model=model, more=tf.Variable(1.0)).write(str(tmp_path / "ckpt"))
    other = make(tf.keras.layers.Dropout(0.5))
    tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_array_equal(other(X).numpy(), wanted)


@pytest.mark.parametrize("with_optimizer", [False, True])
def test_the_work_grows_with_the_number_of_layers(tmp_path: Path, monkeypatch: Any, with_optimizer: bool) -> None:
    """Each layer that is built and each slot that is made was a walk through all objects."""
    visits = []
    children = object_graph._children
    monkeypatch.setattr(object_graph, "_children", lambda value: visits.append(1) or children(value))
    counts = []
    for number in (10, 40):
        (tmp_path / str(number)).mkdir()
        path, _ = _saved(tmp_path / str(number), number)
        model, optimizer = Stack(number), tf.train.AdamOptimizer(0.1)
        tf.train.Checkpoint(model=model, **{"optimizer": optimizer} if with_optimizer else {}).restore(path)
        visits.clear()
        model(X)
        _step(model, optimizer)
        counts.append(len(visits))
    assert counts[1] < 6 * counts[0]


def test_a_checkpoint_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    path = tf.train.Checkpoint(v=v).write(str(tmp_path / "ckpt"))
    reader = tf.train.NewCheckpointReader(path)
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_tensor(key).tolist() == [1.0, 2.0]
    v.assign([3.0, 4.0])
    tf.train.Checkpoint(first=tf.Variable([5.0] * 7), v=v).write(path)
    assert reader.get_tensor(key).tolist() == [3.0, 4.0]
