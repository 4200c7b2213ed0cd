"""Input functions of arrays: order, epochs, the last batch, what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as tf


def batches(input_fn: Callable[[], Any], limit: int = 50) -> list[Any]:
    """What every step gets until the input ends."""
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        tensors = input_fn()
        coordinator = tf.train.Coordinator()
        values = []
        with tf.Session() as sess:
            threads = tf.train.start_queue_runners(sess, coordinator)
            try:
                for _ in range(limit):
                    values.append(sess.run(tensors))
            except tf.errors.OutOfRangeError:
                pass
            finally:
                coordinator.request_stop()
                coordinator.join(threads)
    return values


def test_batches_in_order_and_a_smaller_last_one() -> None:
    x = {"a": np.arange(5), "b": np.arange(10.0).reshape(5, 2)}
    got = batches(tf.estimator.inputs.numpy_input_fn(x, np.arange(5) * 10, batch_size=2, shuffle=False))
    assert [f["a"].tolist() for f, _ in got] == [[0, 1], [2, 3], [4]]
    assert [labels.tolist() for _, labels in got] == [[0, 10], [20, 30], [40]]
    assert got[1][0]["b"].tolist() == [[4.0, 5.0], [6.0, 7.0]]


def test_a_batch_crosses_the_end_of_an_epoch() -> None:
    got = batches(tf.estimator.inputs.numpy_input_fn(np.arange(3), batch_size=2, num_epochs=2, shuffle=False))
    assert [b.tolist() for b in got] == [[0, 1], [2, 0], [1, 2]]


def test_without_a_number_of_epochs_the_input_never_ends() -> None:
    got = batches(
        tf.estimator.inputs.numpy_input_fn(np.arange(3), batch_size=2, num_epochs=None, shuffle=False), limit=7
    )
    assert len(got) == 7
    assert all(len(b) == 2 for b in got)


def test_shuffled_epochs_hold_every_row_once_in_orders_of_their_own() -> None:
    got = np.concatenate(
        batches(tf.estimator.inputs.numpy_input_fn(np.arange(50), batch_size=10, num_epochs=2, shuffle=True))
    )
    first, second = got[:50], got[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()
    assert first.tolist() != list(range(50))


def test_the_seed_of_the_graph_fixes_the_order() -> None:
    input_fn = tf.estimator.inputs.numpy_input_fn(np.arange(20), batch_size=20, shuffle=True)
    assert batches(input_fn)[0].tolist() == batches(input_fn)[0].tolist()


def test_several_threads_give_every_row_once() -> None:
    input_fn = tf.estimator.inputs.numpy_input_fn(np.arange(40), batch_size=7, shuffle=True, num_threads=3)
    assert sorted(np.concatenate(batches(input_fn))) == list(range(40))


def test_dictionaries_of_labels_and_strings() -> None:
    y = {"word": np.array(["a", "bc", "d"]), "n": np.arange(3, dtype=np.float32)}
    ((features, labels),) = batches(tf.estimator.inputs.numpy_input_fn(np.ones([3, 2]), y, shuffle=False))
    assert features.shape == (3, 2)
    assert labels["word"].tolist() == [b"a", b"bc", b"d"]
    assert labels["n"].dtype == np.float32


def test_static_shapes() -> None:
    ended = tf.estimator.inputs.numpy_input_fn(np.ones([6, 2]), batch_size=4, shuffle=False)()
    endless = tf.estimator.inputs.numpy_input_fn(np.ones([6, 2]), batch_size=4, num_epochs=None, shuffle=False)()
    assert ended.shape.as_list() == [None, 2]
    assert endless.shape.as_list() == [4, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"x": np.ones(3)}, ValueError, "shuffle must be provided and explicitly set as boolean.*got None"),
        ({"x": [1, 2], "shuffle": True}, TypeError, "x must be a numpy array.*got list"),
        ({"x": {"a": [1, 2]}, "shuffle": True}, TypeError, r"x\['a'\] must be a numpy array.*got list"),
        ({"x": {}, "shuffle": True}, ValueError, "empty dictionary"),
        ({"x": None, "shuffle": True}, TypeError, "got NoneType"),
        ({"x": np.ones(3), "y": np.ones(2), "shuffle": True}, ValueError, "mismatched.*'x': 3, 'y': 2"),
        ({"x": {"a": np.ones(3), "b": np.ones(4)}, "shuffle": True}, ValueError, "mismatched"),
        ({"x": np.ones(0), "shuffle": True}, ValueError, "at least one example"),
        ({"x": np.array(1.0), "shuffle": True}, ValueError, "first dimension"),
        ({"x": np.ones(3), "shuffle": True, "batch_size": 0}, ValueError, "batch_size must be.*got 0"),
        ({"x": np.ones(3), "shuffle": True, "num_epochs": 1.5}, ValueError, "num_epochs must be.*got 1.5"),
    ],
)
def test_what_numpy_input_fn_refuses(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        tf.estimator.inputs.numpy_input_fn(**arguments)
    assert "test_array_input.py" in str(raised.value)


class Series:
    """As much of a pandas Series as the input needs."""

    def __init__(self, values: Any, index: Any = None) -> None:
        self.values = np.asarray(values)
        self.index = np.arange(len(self.values)) if index is None else np.asarray(index)


class Frame:
    """As much of a pandas DataFrame as the input needs."""

    def __init__(self, columns: dict[str, Any], index: Any = None) -> None:
        self._data = {name: Series(values, index) for name, values in columns.items()}
        self.columns = list(columns)
        self.index = next(iter(self._data.values())).index

    def __getitem__(self, column: str) -> Series:
        return self._data[column]


def test_a_frame_gives_its_columns_by_name() -> None:
    frame = Frame({"age": [20, 30, 40], "name": np.array(["x", "y", "z"], object)})
    got = batches(tf.estimator.inputs.pandas_input_fn(frame, Series([0.0, 1.0, 0.0]), batch_size=2, shuffle=False))
    assert [f["age"].tolist() for f, _ in got] == [[20, 30], [40]]
    assert [f["name"].tolist() for f, _ in got] == [[b"x", b"y"], [b"z"]]
    assert [labels.tolist() for _, labels in got] == [[0.0, 1.0], [0.0]]


def test_labels_of_a_frame_are_a_dictionary() -> None:
    frame, labels = Frame({"a": [1, 2]}), Frame({"p": [3, 4], "q": [5, 6]})
    ((_, got),) = batches(tf.estimator.inputs.pandas_input_fn(frame, labels, shuffle=False))
    assert {key: value.tolist() for key, value in got.items()} == {"p": [3, 4], "q": [5, 6]}


def test_a_real_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [20, 30], "name": ["x", "y"]})
    ((features, labels),) = batches(tf.estimator.inputs.pandas_input_fn(frame, pandas.Series([0, 1]), shuffle=False))
    assert (features["name"].tolist(), labels.tolist()) == ([b"x", b"y"], [0, 1])


def test_frames_with_other_indices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Index for x and y are mismatched[\s\S]*test_array_input.py"):
        tf.estimator.inputs.pandas_input_fn(Frame({"a": [1, 2]}), Series([1, 2], index=[5, 6]), shuffle=False)
    with pytest.raises(TypeError, match="x must be a pandas DataFrame, got ndarray"):
        tf.estimator.inputs.pandas_input_fn(np.ones(3), shuffle=False)
