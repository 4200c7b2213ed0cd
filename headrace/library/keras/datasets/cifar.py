"""CIFAR-10 and CIFAR-100: 60,000 colour images of 32 by 32 pixels, of ten and of a hundred classes."""

from __future__ import annotations

import os

import numpy as np

from headrace.library.backend.config import image_data_format
from headrace.library.keras.datasets.files import data_path
from headrace.library.keras.datasets.plain_pickle import read_pickle

Arrays = tuple[np.ndarray, np.ndarray]
_ORIGIN = "https://www.cs.toronto.edu/~kriz"


def load_cifar10() -> tuple[Arrays, Arrays]:
    """CIFAR-10's training and test set: images of ten classes.

    The folder ``cifar-10-batches-py`` of the archive for Python is in ``~/.keras/datasets``. Nothing is downloaded.

    Returns:
      Two pairs of images, [number, 32, 32, 3] of uint8 (channels first where `tf.keras.backend.image_data_format` says
      so), and labels, [number, 1].

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.cifar10.load_data()``
    """
    folder = data_path("cifar-10-batches-py", f"what {_ORIGIN}/cifar-10-python.tar.gz unpacks to")
    batches = [_read_batch(os.path.join(folder, f"data_batch_{i}"), "labels") for i in range(1, 6)]
    train = np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])
    return train, _read_batch(os.path.join(folder, "test_batch"), "labels")


def load_cifar100(label_mode: str = "fine") -> tuple[Arrays, Arrays]:
    """CIFAR-100's training and test set: images of a hundred classes, in groups.

    The folder ``cifar-100-python`` of the archive for Python is in ``~/.keras/datasets``. Nothing is downloaded.

    Args:
      label_mode: ``"fine"`` for the hundred classes, ``"coarse"`` for the twenty groups.

    Returns:
      Two pairs of images, [number, 32, 32, 3] of uint8 (channels first where `tf.keras.backend.image_data_format` says
      so), and labels, [number, 1].

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.cifar100.load_data()``
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f"`label_mode` must be one of 'fine', 'coarse', got {label_mode!r}")
    folder = data_path("cifar-100-python", f"what {_ORIGIN}/cifar-100-python.tar.gz unpacks to")
    key = f"{label_mode}_labels"
    return _read_batch(os.path.join(folder, "train"), key), _read_batch(os.path.join(folder, "test"), key)


def _read_batch(path: str, key: str) -> Arrays:
    """The images and labels of one file."""
    with open(path, "rb") as file:
        entries = read_pickle(file.read(), path)
    if not isinstance(entries, dict):
        raise ValueError(f"{path} holds a {type(entries).__name__}, not the dict of a CIFAR batch")
    named = {name.decode() if isinstance(name, bytes) else name: value for name, value in entries.items()}
    if missing := {"data", key} - set(named):
        raise ValueError(f"{path} has no entry {sorted(missing)[0]!r}; it has {', '.join(sorted(named))}")
    images, labels = np.asarray(named["data"]), np.asarray(named[key], dtype=np.uint8)
    if images.dtype != np.uint8 or images.shape != (len(labels), 3 * 32 * 32):
        raise ValueError(
            f"{path} should hold {len(labels)} rows of 3072 bytes, has {images.dtype} of shape {images.shape}"
        )
    images = images.reshape(-1, 3, 32, 32)
    if image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), labels.reshape(-1, 1)
