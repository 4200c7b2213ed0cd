"""MNIST: 70,000 images of handwritten digits, and in the same format images of clothes."""

from __future__ import annotations

import os

import numpy as np

from headrace.library.keras.datasets.files import FOLDER, ORIGIN, data_path, read_npz
from headrace.library.system.mnist import (
    FASHION,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    extract_images,
    extract_labels,
)

Arrays = tuple[np.ndarray, np.ndarray]


def load_data(path: str = "mnist.npz") -> tuple[Arrays, Arrays]:
    """MNIST's training and test set.

    Args:
      path: The path of ``mnist.npz``, or its name in ``~/.keras/datasets``. Nothing is downloaded.

    Returns:
      Two pairs of images, [number, 28, 28] of uint8, and labels, [number] of uint8.

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.mnist.load_data()``
    """
    names = ("x_train", "y_train", "x_test", "y_test")
    x_train, y_train, x_test, y_test = read_npz(data_path(path, f"{ORIGIN}mnist.npz"), names)
    return (x_train, y_train), (x_test, y_test)


def load_fashion_data() -> tuple[Arrays, Arrays]:
    """Fashion-MNIST's training and test set: images of ten kinds of clothes.

    The four files are in ``~/.keras/datasets/fashion-mnist``, or where Debian's package ``dataset-fashion-mnist`` puts
    them. Nothing is downloaded.

    Returns:
      Two pairs of images, [number, 28, 28] of uint8, and labels, [number] of uint8.

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()``
    """
    train = _images(TRAIN_IMAGES), _labels(TRAIN_LABELS)
    test = _images(TEST_IMAGES), _labels(TEST_LABELS)
    for images, labels in (train, test):
        if len(images) != len(labels):
            raise ValueError(f"Fashion-MNIST's files have {len(images)} images and {len(labels)} labels")
    return train, test


def _fashion_path(name: str) -> str:
    own = os.path.join(os.path.expanduser(FOLDER), "fashion-mnist")
    for folder in (own, FASHION):
        for candidate in (name, name.removesuffix(".gz")):
            path = os.path.join(folder, candidate)
            if os.path.exists(path):
                return path
    raise FileNotFoundError(
        f"{os.path.join(own, name)} does not exist, and nothing is downloaded: put {ORIGIN}{name} there, or install"
        f" Debian's package dataset-fashion-mnist, which has it in {FASHION}"
    )


def _images(name: str) -> np.ndarray:
    with open(_fashion_path(name), "rb") as file:
        return extract_images(file)[..., 0]


def _labels(name: str) -> np.ndarray:
    with open(_fashion_path(name), "rb") as file:
        return extract_labels(file)
