"""The MNIST reader of TF1's tutorials (``tf.examples.tutorials.mnist.input_data``), from files on this machine.

Reads the four IDX files, gzipped or not, of MNIST or of a set in its format.  Downloads nothing.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np

from headrace.core import dtypes, errors
from headrace.library.numeric.random import get_seed

TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"
FASHION = "/usr/share/datasets/fashion-mnist"


def _number(stream: Any) -> int:
    data = stream.read(4)
    if len(data) != 4:
        raise errors.DataLossError(None, None, "the IDX file ends within its header")
    return int.from_bytes(data, "big")


@contextmanager
def _plain(file: Any) -> Iterator[Any]:
    """The stream of an opened file, unpacked if it is gzipped."""
    start = file.read(2)
    file.seek(0)
    if start == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield unpacked
    else:
        yield file


def _body(stream: Any, count: int, name: Any) -> np.ndarray:
    data = stream.read(count)
    if len(data) != count:
        raise errors.DataLossError(None, None, f"{name} holds {len(data)} bytes after its header, not {count}")
    return np.frombuffer(data, np.uint8)


def extract_images(f: IO[bytes]) -> np.ndarray:
    """Reads an IDX file of images: uint8, [images, rows, columns, 1].

    Args:
      f: An open binary file, packed with gzip or plain.

    Returns:
      An array of uint8.

    Example: ``images = extract_images(open("train-images-idx3-ubyte.gz", "rb"))``
    """
    name = getattr(f, "name", "the file")
    with _plain(f) as stream:
        magic = _number(stream)
        if magic != 2051:
            raise ValueError(
                f"Invalid magic number {magic} in MNIST image file: {name} (2051 begins an IDX file of images)"
            )
        count, rows, columns = _number(stream), _number(stream), _number(stream)
        return _body(stream, count * rows * columns, name).reshape(count, rows, columns, 1)


def extract_labels(f: IO[bytes], one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Reads an IDX file of labels: uint8, [labels], or one row of `num_classes` for each if `one_hot`.

    Args:
      f: An open binary file, packed with gzip or plain.
      one_hot: Whether each label becomes a row with a one at its place.
      num_classes: The length of such a row.

    Returns:
      An array of uint8, or of float64 if `one_hot`.

    Example: ``labels = extract_labels(open("train-labels-idx1-ubyte.gz", "rb"), one_hot=True)``
    """
    name = getattr(f, "name", "the file")
    with _plain(f) as stream:
        magic = _number(stream)
        if magic != 2049:
            raise ValueError(
                f"Invalid magic number {magic} in MNIST label file: {name} (2049 begins an IDX file of labels)"
            )
        labels = _body(stream, _number(stream), name)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """A row for each label, with a one at its place.

    Args:
      labels_dense: An array of integers from 0.
      num_classes: The length of a row.

    Returns:
      An array of float64, [labels, num_classes].

    >>> tf.contrib.learn.datasets.mnist.dense_to_one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return np.eye(num_classes)[labels_dense.ravel()]


class DataSet:
    """Images and their labels, handed out in shuffled batches, epoch after epoch. Not thread-safe.

    Args:
      images: An array, [images, rows, columns, 1].
      labels: An array with a label, or a row, for each image.
      fake_data: Whether the arrays are not looked at; pass ``fake_data=True`` to `next_batch` too, for images of ones.
      one_hot: Whether the labels of fake data are rows of 10.
      dtype: tf.float32 for images from 0 to 1, tf.uint8 for images as they are.
      reshape: Whether each image becomes one row.
      seed: The seed of the shuffles; None for the graph's, or a random one.

    >>> data = tf.contrib.learn.datasets.mnist.DataSet(np.zeros([6, 28, 28, 1], np.uint8), np.arange(6))
    >>> images, labels = data.next_batch(4)
    >>> images.shape, labels.shape
    ((4, 784), (4,))
    """

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, fake_data: bool = False, one_hot: bool = False,
        dtype: Any = dtypes.float32, reshape: bool = True, seed: int | None = None,
    ) -> None:  # fmt: skip
        graph_seed, op_seed = get_seed(seed)
        self._random = np.random.RandomState(graph_seed if seed is None else op_seed)
        dtype = dtypes.as_dtype(dtype)
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._fake, self._one_hot = fake_data, one_hot
        self._epochs_completed = 0
        self._index = 0
        self._num_examples = 10000 if fake_data else images.shape[0]
        self._images, self._labels = images, labels
        if fake_data:
            return
        if images.shape[0] != labels.shape[0]:
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape} differ in their number")
        if reshape:
            images = images.reshape(images.shape[0], -1)
        self._images = images.astype(np.float32) * (1.0 / 255.0) if dtype == dtypes.float32 else images

    @property
    def images(self) -> np.ndarray:
        """All images, in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> np.ndarray:
        """All labels, in the order of the current epoch."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often `next_batch` has gone through all of them."""
        return self._epochs_completed

    def _shuffle(self) -> None:
        order = self._random.permutation(self._num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next `batch_size` images and labels; a batch that reaches the end goes on in a newly shuffled epoch."""
        if fake_data:
            label: Any = [1] + [0] * 9 if self._one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index += batch_size
            return self._images[start : self._index], self._labels[start : self._index]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index = batch_size - len(images)
        new_images, new_labels = self._images[: self._index], self._labels[: self._index]
        return np.concatenate([images, new_images]), np.concatenate([labels, new_labels])


class Datasets(NamedTuple):
    """The three parts."""

    train: Any
    validation: Any
    test: Any


def _existing_path(folder: str, name: str) -> str:
    for candidate in (name, name.removesuffix(".gz")):
        path = os.path.join(folder, candidate)
        if os.path.exists(path):
            return path
    listed = "\n".join(f"  {one}" for one in (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS))
    message = (
        f"{os.path.join(folder, name)} does not exist, with or without .gz. Nothing is downloaded: put MNIST's four "
        f"IDX files\n{listed}\ninto {os.path.abspath(folder)}, or pass the folder of a set in the same format (Debian's "
        f"package dataset-fashion-mnist installs one in {FASHION})."
    )
    raise errors.NotFoundError(None, None, message)


def read_data_sets(
    train_dir: str, fake_data: bool = False, one_hot: bool = False, dtype: Any = dtypes.float32, reshape: bool = True,
    validation_size: int = 5000, seed: int | None = None, source_url: str = "",
) -> Datasets:  # fmt: skip
    """MNIST's training, validation and test sets from the four files in `train_dir`; `source_url` is not used.

    Args:
      train_dir: The folder of the four files; NotFoundError, which lists them, if one is not there.
      fake_data: Whether to return sets of fake data, without any file.
      one_hot: Whether each label becomes a row with a one at its place.
      dtype: tf.float32 for images from 0 to 1, tf.uint8 for images as they are.
      reshape: Whether each image becomes one row of 784.
      validation_size: How many of the training images become the validation set.
      seed: The seed of the shuffles; None for the graph's, or a random one.
      source_url: Not used: nothing is fetched.

    Returns:
      A named tuple of three `DataSet` objects: ``train``, ``validation`` and ``test``.

    Example: ``mnist = tf.contrib.learn.datasets.mnist.read_data_sets("data/mnist", one_hot=True)``
    """
    if fake_data:
        empty = np.zeros([0])
        return Datasets(*(DataSet(empty, empty, True, one_hot, dtype, seed=seed) for _ in range(3)))

    def images(name: str) -> np.ndarray:
        with open(_existing_path(train_dir, name), "rb") as file:
            return extract_images(file)

    def labels(name: str) -> np.ndarray:
        with open(_existing_path(train_dir, name), "rb") as file:
            return extract_labels(file, one_hot)

    train_images, train_labels = images(TRAIN_IMAGES), labels(TRAIN_LABELS)
    test_images, test_labels = images(TEST_IMAGES), labels(TEST_LABELS)
    if not 0 <= validation_size <= len(train_images):
        limit = len(train_images)
        raise ValueError(f"Validation size should be between 0 and {limit}. Received: {validation_size}.")
    cut = validation_size

    def data_set(images: np.ndarray, labels: np.ndarray) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(
        train=data_set(train_images[cut:], train_labels[cut:]),
        validation=data_set(train_images[:cut], train_labels[:cut]),
        test=data_set(test_images, test_labels),
    )
